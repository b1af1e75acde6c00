"""The operation log as lines of text."""

from __future__ import annotations

from takeback.model.naming import age
from takeback.model.operation import Move
from takeback.visible import shown
from takeback.words.text import shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.timeline.operations import Logged
    from takeback.words.paint import Paint

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
