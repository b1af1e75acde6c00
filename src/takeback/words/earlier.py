"""The words that offer what was kept for a path before the directory that is there now."""

from __future__ import annotations

from takeback.errors import NotAWorkspace
from takeback.model.address import label_words
from takeback.model.naming import ago
from takeback.words.outcomes import short
from takeback.words.text import count, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.entries import Earlier
    from takeback.words.documents import Document

TAKES_OVER = "The checkpoints of what stood at this path before are taken over."
SETS_ASIDE = (
    "The checkpoints of what stood at this path before are taken over; those of the present"
    " directory are kept aside (takeback doctor)."
)


def offer(found: Sequence[Earlier], now: float) -> str:
    """Returns one line that says what there is and how to get it; empty if there is nothing."""
    what = _what(found, now)
    return f"{what}: {_ways(found)}" if what else ""


def worded(error: NotAWorkspace, found: Sequence[Earlier], now: float) -> NotAWorkspace:
    """Returns the error with the earlier checkpoints in its words, if there are any."""
    what = _what(found, now)
    if not what:
        return error
    return NotAWorkspace(
        f"{error.message}, but {what}",
        hint=f"{_ways(found)}; or begin anew: takeback checkpoint",
        new=error.new,
    )


def _what(found: Sequence[Earlier], now: float) -> str:
    number = sum(one.checkpoints for one in found)
    newest = next((one.newest for one in found if one.newest is not None), None)
    if newest is None:
        return ""
    about = _about(newest)
    verb = "is" if number == 1 else "are"
    of = f"{count(number, 'earlier checkpoint')} of this path {verb} kept"
    return f"{of} (newest: {about}{ago(newest.time, now)})"


def question(one: Earlier, now: float) -> str:
    """Returns the question for a person who opens a directory for which nothing is kept yet."""
    what = _what([one], now)
    return f"Nothing is kept of this directory yet, but {what}. Take over?"


def _about(newest: Checkpoint) -> str:
    if newest.label is not None:
        return f'"{label_words(newest)}", '
    return f'"{short(newest.prompt)}", ' if newest.prompt else ""


def _ways(found: Sequence[Earlier]) -> str:
    first = next(one for one in found if one.newest is not None)
    assert first.newest is not None
    more = sum(1 for one in found if one.newest is not None) - 1
    others = f" ({count(more, 'older store')}: takeback doctor)" if more else ""
    return (
        f"go back to them: takeback rewind {first.newest.id}; or take them over:"
        f" {adopt_command(first)}{others}"
    )


def adopt_command(one: Earlier) -> str:
    """Returns the command that takes over an earlier store."""
    return f"takeback doctor --adopt {one.name}"


def document(one: Earlier) -> Document:
    """Returns an earlier store as ``status`` has it."""
    from takeback.words.documents import path_fields  # with all that plans are told with

    newest = one.newest
    return {
        "id": one.name,
        **path_fields(one.path, "path"),
        "checkpoints": one.checkpoints,
        "newest": None
        if newest is None
        else {
            "id": newest.id,
            "time": timestamp(newest.time),
            "label": newest.label,
            "label_by": newest.label_by,
            "prompt": newest.prompt,
        },
        "adopt": adopt_command(one),
    }
