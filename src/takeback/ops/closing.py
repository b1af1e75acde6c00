"""Closing: ends the turn of an agent that will never announce its end.

A killed agent sends no more events, and some send none when a person stops them with Esc. The next
capture, or look, ends such a turn with a checkpoint of that session, so that all who read the refs
agree on it: what had changed by then belongs to the turn, what comes after it does not. If neither
the process nor the transcript shows it, a turn stays open.
"""

from __future__ import annotations

from takeback.errors import TakebackError
from takeback.model.turn import IDLE, SESSION_END, TURN_END, ended
from takeback.ops.capture import capture, draft_after, record
from takeback.ops.processes import SILENT_FOR, is_alive_here, is_gone
from takeback.store import journal, notes
from takeback.store.checkpoints import newest_checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import SessionId
    from takeback.model.turn import Moment
    from takeback.ops.capture import Captured
    from takeback.ops.context import Context, LockedContext

    IsStopped = Callable[[Checkpoint], bool]


def close_gone(
    context: LockedContext,
    captured: Captured,
    *,
    besides: SessionId | None = None,
    is_stopped: IsStopped | None = None,
) -> None:
    """Ends the open turns of agents that are gone.

    ``besides`` is the session whose event this is: its own events end its turns. ``is_stopped``
    tells from a session's newest checkpoint whether Esc has ended its turn; without it that is not
    checked.
    """
    for session in notes.with_open_turn(context.store):
        if session == besides:
            continue
        newest = newest_checkpoint(context.store, session)
        if newest is None or newest.moment.phase == IDLE or _is_old(context, newest):
            notes.note_turn(context.lock, session, is_open=False)
            continue
        moment = _end(newest, is_stopped)
        if moment is None:
            continue
        drafted = draft_after(newest, context, kind=moment.kind, session=session).replace(
            phase=moment.phase,
            unfinished=moment.unfinished,
            stopped=newest.stopped,
            left=(),
        )
        record(context, captured, drafted)
        notes.note_turn(context.lock, session, is_open=False)


def _end(newest: Checkpoint, is_stopped: IsStopped | None) -> Moment | None:
    """Returns how a turn has ended whose agent will not say so; None if it may be running."""
    if newest.left:
        return None if any(map(is_alive_here, newest.left)) else ended(TURN_END, newest.moment)
    if newest.process is not None and is_gone(newest.process):
        return ended(SESSION_END, newest.moment)
    if is_stopped is not None and is_stopped(newest):
        return ended(TURN_END, newest.moment)
    return None


def _is_old(context: Context, newest: Checkpoint) -> bool:
    return (
        newest.process is None
        and not newest.left
        and context.clock.now() - newest.time > SILENT_FOR
    )


def close_ended(context: Context, is_stopped: IsStopped) -> None:
    """Ends the turns that are over, before somebody looks; never prevents the look.

    Nothing is done while another process is at work here or an operation was interrupted, nor if
    nothing can be captured: then the turns look as before.
    """
    store = context.store
    if store.lock.held or not _any_ended(context, is_stopped):
        return
    try:
        with context.locked(wait=0.0) as locked:
            if not journal.exists(store):
                from takeback.ops.receive import record_waiting

                captured = capture(locked)
                record_waiting(locked, captured)
                close_gone(locked, captured, is_stopped=is_stopped)
                captured.keep()
    except (TakebackError, OSError):
        return


def _any_ended(context: Context, is_stopped: IsStopped) -> bool:
    for session in notes.with_open_turn(context.store):
        newest = newest_checkpoint(context.store, session)
        if newest is not None and newest.moment.phase != IDLE and _end(newest, is_stopped):
            return True
    return False
