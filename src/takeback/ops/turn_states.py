"""Turn states: what a checkpoint of its session makes of a turn; pure, it asks no ledger."""

from __future__ import annotations

from takeback.model import turn as moments
from takeback.model.checkpoint import MANUAL, UNDO
from takeback.model.timeline import BACKGROUND, ENDED, LEFT_UNFINISHED, RUNNING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.timeline import Turn, TurnState

_OPEN = (RUNNING, BACKGROUND)
_BEGINNINGS = (moments.PROMPT, moments.SHELL)
NOT_EVENTS = (MANUAL, UNDO, moments.FORK)
STATES: dict[moments.Phase, TurnState] = {
    moments.RUNNING: RUNNING,
    moments.BACKGROUND: BACKGROUND,
    moments.IDLE: ENDED,
}


def is_event(checkpoint: Checkpoint) -> bool:
    """Tells whether an agent's event made a checkpoint: only those move turns."""
    return checkpoint.kind not in NOT_EVENTS and checkpoint.agent is not None


def begins_a_turn(checkpoint: Checkpoint) -> bool:
    return is_event(checkpoint) and checkpoint.kind in _BEGINNINGS


def is_open(turn: Turn) -> bool:
    return turn.state in _OPEN


def reopened(turn: Turn, checkpoint: Checkpoint) -> Turn:
    """Returns a turn that was closed as over as running again, if its agent continues it."""
    continues = checkpoint.kind in (moments.ROUND, moments.TURN_END) and not checkpoint.unfinished
    if (
        continues
        and not checkpoint.left
        and turn.state == LEFT_UNFINISHED
        and turn.native == checkpoint.turn_id
    ):
        return turn.replace(state=RUNNING, ended=None)
    return turn


def closed(turn: Turn, checkpoint: Checkpoint) -> Turn:
    """Returns an open turn as left unfinished, if that is what a checkpoint says."""
    if not is_open(turn) or not checkpoint.unfinished:
        return turn
    cut = checkpoint.stopped or turn.state == RUNNING
    state = LEFT_UNFINISHED if cut else ENDED
    return turn.replace(after=checkpoint.id, ended=checkpoint.time, state=state)


def advanced(turn: Turn, checkpoint: Checkpoint) -> Turn | None:
    """Returns a turn after an event that begins no other; None if the event is not part of it."""
    if not is_open(turn) and checkpoint.kind != moments.TURN_END:
        return None
    return closed(turn, checkpoint) if checkpoint.unfinished else moved_to(turn, checkpoint)


def moved_to(turn: Turn, end: Checkpoint) -> Turn:
    """Returns a turn as it is at the last checkpoint that is known of it."""
    phase = end.moment.phase
    ended = end.time if phase != moments.RUNNING else None
    cut = end.stopped and phase == moments.IDLE
    state = LEFT_UNFINISHED if cut else STATES[phase]
    return turn.replace(after=end.id, ended=ended, state=state)


def as_it_was(turn: Turn, began: Checkpoint, followed: Iterable[Checkpoint]) -> Turn:
    """Returns a turn as it was after some checkpoints of its session that followed its first."""
    now = turn.replace(state=STATES[began.moment.phase], after=began.id)
    for checkpoint in followed:
        now = reopened(now, checkpoint)
        if is_event(checkpoint):
            now = advanced(now, checkpoint) or now
    return now
