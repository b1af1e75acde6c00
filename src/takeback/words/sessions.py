"""The lists beside the timeline: sessions, operations, what a search found."""

from __future__ import annotations

import os

from takeback.model.checkpoint import AMID, EXPIRED
from takeback.model.entries import ENDED
from takeback.model.naming import age, short_ids
from takeback.model.operation import Move
from takeback.model.path_text import to_text
from takeback.visible import shown
from takeback.words import listing
from takeback.words.listing import here_words, session_names
from takeback.words.outcomes import counts, short
from takeback.words.text import count, cut, filled, more_files, quoted, shown_file, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from takeback.model.entries import Candidate, Session, Turn
    from takeback.timeline.look import Found
    from takeback.timeline.operations import Logged
    from takeback.timeline.sessions import Node, SessionEntry
    from takeback.words.text import Paint


# -- sessions and the tree that they form, as lines of text


_FILES = 3


def whose(session: Candidate, way: str = "") -> str:
    """Says which session an answer is about where none was named; ``way`` is what names one."""
    said = f', "{session.prompt}"' if session.prompt else ""
    another = f"; another: {way}" if way else ""
    return f"This is of {shown(session.id)}{said}, where the files stand{another}"


def session_line(entry: SessionEntry, paint: Paint, now: float) -> str:
    """Returns one line of ``sessions``."""
    session = entry.session
    words = [
        paint.id(session.id),
        f"{age(session.last, now):>4}",
        count(entry.turns, "turn"),
        count(entry.checkpoints, "checkpoint"),
    ]
    if entry.newest is not None and entry.newest.prompt:
        words.append(f'"{short(entry.newest.prompt)}"')
    if entry.newest is not None and entry.newest.state != ENDED:
        words.append(paint.warning(entry.newest.state))
    if session.parent is not None:
        where = f" in {shown(session.root)}" if session.root else ""
        words.append(f"from {session.parent}{where}")
    if entry.below is not None:
        words.append(f"begun by {shown(entry.below)}")
    if entry.disagrees is not None:
        words.append(paint.warning(f"files are at {shown(entry.disagrees)}"))
    return "  ".join(words)


def tree_lines(roots: Sequence[Node], paint: Paint, now: float) -> Iterator[str]:
    """Yields the tree, one line per session or turn.

    A session that was cut from a turn and has none of its own shares that turn's line.
    """
    tree = _Tree(short_ids(_sessions(roots)), paint, now)
    for root in roots:
        above = root.session.parent
        yield tree.label(root) + (f"  from {shown(above)}" if above is not None else "")
        yield from tree.below(root, "")


def _sessions(nodes: Sequence[Node]) -> Iterator[Session]:
    for node in nodes:
        if node.turn is None:
            yield node.session
        yield from _sessions(node.children)


def _is_unused(node: Node) -> bool:
    return node.turn is None and not node.children


class _Tree:
    def __init__(self, names: Mapping[str, str], paint: Paint, now: float) -> None:
        self._names = names
        self._paint = paint
        self._now = now

    def below(self, node: Node, indent: str) -> Iterator[str]:
        shown_below = [c for c in node.children if node.turn is None or not _is_unused(c)]
        for number, fork in enumerate(node.elsewhere):
            last = not shown_below and number == len(node.elsewhere) - 1
            whose = f" as {shown(fork.session)}" if fork.session is not None else ""
            yield f"{indent}{'`-' if last else '|-'} fork in {shown(fork.directory)}{whose}"
        for number, child in enumerate(shown_below):
            last = number == len(shown_below) - 1
            yield f"{indent}{'`-' if last else '|-'} {self.label(child)}"
            yield from self.below(child, indent + ("   " if last else "|  "))

    def label(self, node: Node) -> str:
        paint, turn = self._paint, node.turn
        if turn is None:
            return paint.strong(node.session.id)
        words = [_turn_name(turn), f"{age(turn.began, self._now):>4}"]
        if turn.prompt:
            words.append(f'"{short(turn.prompt)}"')
        if node.expired is None:
            words.append(_changed(node, paint))
        else:
            words.append(paint.warning(EXPIRED))
        if turn.state != ENDED:
            words.append(paint.warning(turn.state))
        if node.abandoned:
            words.append(paint.warning(listing.ABANDONED))
        if node.amid is not None:
            words.append(paint.warning(f"its beginning {AMID}"))
        words.append(paint.id(turn.id))
        if node.here is not None:
            words.append(paint.strong(here_words(node.here)))
        unused = [self._names[child.session.id] for child in node.children if _is_unused(child)]
        return "  ".join(filter(None, [*words, listing.resumed(unused)]))


def _turn_name(turn: Turn) -> str:
    return f"turn {turn.number}" if turn.number is not None else turn.kind


def _changed(node: Node, paint: Paint) -> str:
    if not node.changes:
        return "no changes"
    names = ", ".join(shown_file(change.path) for change in node.changes[:_FILES])
    more = more_files([change.path for change in node.changes[_FILES:]])
    added = sum(change.added or 0 for change in node.changes)
    deleted = sum(change.deleted or 0 for change in node.changes)
    lines = f"  {counts(added, deleted, paint)}" if added or deleted else ""
    return f"{names}{more}{lines}"


# -- the operation log as lines of text


WHERE_TO = "To before which operation (Enter, b), or after which (a)?"
NONE_YET = "Nothing was rewound, undone or forked here yet."
_NEXT = {"undo": "<- undo takes this back", "redo": "<- redo does this again"}


def operation_line(entry: Logged, paint: Paint, now: float) -> str:
    """Returns one line of the operation log; the id comes first."""
    return f"{paint.id(entry.operation.id)}  {operation_words(entry, paint, now)}"


def operation_words(entry: Logged, paint: Paint, now: float) -> str:
    """Returns when an operation was done, what it was about, and what it did."""
    done = entry.operation
    words = [
        f"{age(done.time, now):>4}",
        shown(done.kind),
        entry.about,
        *(_effects(done) if isinstance(done, Move) else ()),
    ]
    if not entry.here:
        words.append("on another machine")
    if entry.next is not None:
        words.append(paint.strong(_NEXT[entry.next]))
    return "  ".join(words)


def _effects(done: Move) -> Iterator[str]:
    yield f"{done.written} written, {done.deleted} deleted"
    if done.left_alone:
        yield f"{done.left_alone} left alone"
    if done.paths:
        yield "only " + " ".join(shown_file(path) for path in done.paths)
    if done.child is not None:
        yield f"-> session {done.child}"
    if done.recovered:
        yield "recovered"


# -- what a search found, as lines of text: what happened to it, whose it is, and how to go back


_WIDEST = 24
_INDENT = " " * 6


def found_lines(
    items: Sequence[Found],
    sessions: Sequence[Session],
    paint: Paint,
    now: float,
    *,
    root: bytes,
    room: int | None = None,
) -> Iterator[str]:
    """Yields two lines for each: what was found where, and the command that goes back there."""
    names = {id: cut(name, _WIDEST) for id, name in session_names(sessions).items()}
    whose = [names.get(item.checkpoint.session, "") for item in items]
    places = [_place(item) for item in items]
    for item, who, place in zip(items, whose, places, strict=True):
        left = [
            f"{age(item.checkpoint.time, now):>4}",
            filled(who, max(map(width, whose))),
            filled(place, max(map(width, places))),
            item.change or item.what,
        ]
        if item.place.expired is not None:
            left.append(EXPIRED)
        start = "  ".join([item.place.id, *left])
        line = f"{start}  {_text(item)}"
        if room is not None:
            line = cut(line, room)
        yield paint.id(line[: len(item.place.id)]) + line[len(item.place.id) :]
        argv = command(item, root) if item.place.expired is None else None
        if argv is not None:
            yield _INDENT + " ".join(quoted(word) for word in argv)


def _place(item: Found) -> str:
    checkpoint = item.checkpoint
    return f"turn {checkpoint.turn}" if checkpoint.turn else checkpoint.kind


def _text(item: Found) -> str:
    if item.path is None:
        return f'"{short(item.text)}"'
    return shown_file(item.path) + (f": {shown(item.text)}" if item.what == "content" else "")


def command(item: Found, root: bytes, start: bytes | None = None) -> list[str] | None:
    """Returns the command that goes back to what was found; None if it cannot be typed.

    Its path is relative to the current directory, as every command takes it, or to ``start``.
    """
    argv = ["takeback", "rewind", item.place.id]
    if item.path is None:
        return argv
    try:
        path = to_text(os.path.relpath(os.path.join(root, item.path), start or os.getcwdb()))
        path.encode()
    except (UnicodeEncodeError, OSError):
        return None
    return [*argv, "--", path]
