"""Sessions, the tree and what a search found, as lines of text."""

from __future__ import annotations

from takeback.model.ages import age
from takeback.model.checkpoint import AMID
from takeback.visible import shown
from takeback.words.render import counts, here_mark, short
from takeback.words.text import count, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.model.timeline import Turn
    from takeback.ops.sessions import Found, Node, SessionEntry
    from takeback.ops.whose import Candidate
    from takeback.words.paint import Paint

_FILES = 3


def whose(session: Candidate, now: float) -> str:
    """Says whose an answer is that could be about several sessions."""
    return f"This is of {session.id} ({session.words(now)})"


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
    if entry.newest is not None and entry.newest.state != "ended":
        words.append(paint.warning(entry.newest.state))
    if session.parent is not None:
        where = f" in {shown(session.root)}" if session.root else ""
        words.append(f"from {session.parent}{where}")
    if entry.disagrees is not None:
        words.append(paint.warning(f"files are at {shown(entry.disagrees)}"))
    return "  ".join(words)


def tree_lines(roots: Sequence[Node], paint: Paint, now: float) -> Iterator[str]:
    """Yields the tree, one line a session or turn."""
    for root in roots:
        yield _label(root, paint, now)
        yield from _below(root, "", paint, now)


def _below(node: Node, indent: str, paint: Paint, now: float) -> Iterator[str]:
    for number, child in enumerate(node.children):
        last = number == len(node.children) - 1
        yield f"{indent}{'`-' if last else '|-'} {_label(child, paint, now)}"
        yield from _below(child, indent + ("   " if last else "|  "), paint, now)


def _label(node: Node, paint: Paint, now: float) -> str:
    here = here_mark(node.here, paint)
    if node.turn is None:
        return f"{paint.strong(node.session.id)}{here}"
    words = [_turn_name(node.turn), f"{age(node.turn.began, now):>4}"]
    if node.turn.prompt:
        words.append(f'"{short(node.turn.prompt)}"')
    words.append(_changed(node, paint))
    if node.turn.state != "ended":
        words.append(paint.warning(node.turn.state))
    if node.amid is not None:
        words.append(paint.warning(f"its beginning {AMID}"))
    return "  ".join([*words, paint.id(node.turn.id)]) + here


def _turn_name(turn: Turn) -> str:
    return f"turn {turn.number}" if turn.number is not None else turn.kind


def _changed(node: Node, paint: Paint) -> str:
    if not node.changes:
        return "no changes"
    names = ", ".join(shown_path(change.path) for change in node.changes[:_FILES])
    more = f" +{len(node.changes) - _FILES} more" if len(node.changes) > _FILES else ""
    added = sum(change.added or 0 for change in node.changes)
    deleted = sum(change.deleted or 0 for change in node.changes)
    lines = f"  {counts(added, deleted, paint)}" if added or deleted else ""
    return f"{names}{more}{lines}"


def found_line(item: Found, paint: Paint, now: float) -> str:
    """Returns one line of ``search``."""
    checkpoint = item.checkpoint
    place = f"turn {checkpoint.turn}" if checkpoint.turn else checkpoint.kind
    text = f'"{short(item.text)}"' if item.what == "prompt" else shown(item.text)
    words = [paint.id(checkpoint.id), f"{age(checkpoint.time, now):>4}", place, item.what, text]
    return "  ".join(words)
