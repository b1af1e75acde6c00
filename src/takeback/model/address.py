"""Address: where a checkpoint is, in the words that every face uses."""

from __future__ import annotations

from takeback.model.checkpoint import MANUAL, UNDO
from takeback.model.naming import time_of_day
from takeback.model.turn import (
    COMPACTION,
    FORK,
    PROMPT,
    ROUND,
    SESSION_END,
    SESSION_START,
    SHELL,
    STEER,
    TURN_END,
)
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.row import TimelineRow


_LONGEST = 60
_BY_MODEL = "model's: "


def address(checkpoint: Checkpoint, now: float) -> str:
    """Returns where a checkpoint is; never only its id, and fit to be shown anywhere."""
    if checkpoint.label:
        return f'"{label_words(checkpoint)}"'
    said = _line(checkpoint.prompt or "")
    if checkpoint.kind == PROMPT and checkpoint.turn:
        return f"before turn {checkpoint.turn}" + (f": {said}" if said else "")
    when = time_of_day(checkpoint.time, now)
    if checkpoint.kind == UNDO:
        return f"{said or 'before an operation'}, {when}"
    words = _WORDS.get(checkpoint.kind, checkpoint.kind)
    if checkpoint.kind in (MANUAL, SESSION_START, SESSION_END, FORK, PROMPT):
        who = shown(checkpoint.agent or checkpoint.session)
        return f"{words.format(who=who)}, {when}"
    turn = f"turn {checkpoint.turn}" if checkpoint.turn else "the first turn"
    if checkpoint.kind == STEER and said:
        return f"in {turn}, before: {said}"
    return f"{words} {turn}, {when}"


def label_words(place: Checkpoint | TimelineRow) -> str:
    """Returns the label of a place as terminals show it: one that a model gave begins with that.

    What is cut for want of room is not the mark. The page has the same one (static/words.js).
    """
    label = shown(place.label or "")
    return label if place.label_by is None else f"{_BY_MODEL}{label}"


_WORDS = {
    MANUAL: "made by hand",
    PROMPT: "before a prompt of {who}",
    SESSION_START: "when {who} started",
    SESSION_END: "when {who} ended",
    FORK: "where a session of {who} begins",
    TURN_END: "after",
    ROUND: "in",
    STEER: "in",
    COMPACTION: "at a compaction in",
    SHELL: "after a command that followed",
}


def _line(text: str) -> str:
    """Returns a text as one line, cut if it is long."""
    line = shown(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
