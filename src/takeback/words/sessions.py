"""Sessions and the tree that they form, as lines of text."""

from __future__ import annotations

from takeback.model.checkpoint import AMID, EXPIRED
from takeback.model.naming import age, short_ids
from takeback.model.timeline import ENDED
from takeback.visible import shown
from takeback.words import rows
from takeback.words.listing import here_words
from takeback.words.render import counts, short
from takeback.words.text import count, more_files, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from takeback.model.timeline import Candidate, Session, Turn
    from takeback.timeline.sessions import Node, SessionEntry
    from takeback.words.paint import Paint

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
            words.append(paint.warning(rows.ABANDONED))
        if node.amid is not None:
            words.append(paint.warning(f"its beginning {AMID}"))
        words.append(paint.id(turn.id))
        if node.here is not None:
            words.append(paint.strong(here_words(node.here)))
        unused = [self._names[child.session.id] for child in node.children if _is_unused(child)]
        return "  ".join(filter(None, [*words, rows.resumed(unused)]))


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
