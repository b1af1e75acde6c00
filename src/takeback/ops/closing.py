"""Closing: the turn of an agent that was killed ends when its process is found to be gone.

A killed agent says nothing any more. Whoever captures next ends its turn, with a checkpoint of
that session, so that all who read the refs agree on it: what is found changed until there is the
turn's, what comes after it is not. Where the process cannot be seen, a turn stays open.
"""

from __future__ import annotations

from takeback.model.turn import IDLE, SESSION_END, ended
from takeback.ops.capture import draft, record
from takeback.ops.processes import is_gone
from takeback.store import open_turns
from takeback.store.checkpoints import newest_checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.ids import SessionId
    from takeback.ops.capture import Captured
    from takeback.ops.context import Context


def close_gone(context: Context, captured: Captured, *, besides: SessionId | None = None) -> None:
    """Ends the open turns of agents that are gone. The caller holds the lock.

    ``besides`` is the session that speaks at this moment: its own events end its turns.
    """
    for session in open_turns.sessions(context.store):
        if session == besides:
            continue
        newest = newest_checkpoint(context.store, session)
        if newest is None or newest.moment.phase == IDLE or newest.process is None:
            open_turns.note(context.store, session, is_open=False)
            continue
        if not is_gone(newest.process):
            continue
        moment = ended(SESSION_END, newest.moment)
        drafted = draft(context, kind=moment.kind, session=session).replace(
            phase=moment.phase, unfinished=moment.unfinished
        )
        record(context, captured, drafted)
        open_turns.note(context.store, session, is_open=False)
