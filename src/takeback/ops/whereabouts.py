"""Whereabouts: which session a conversation is at, after everything that was done and undone.

A rewind of the conversation leaves one session for another, and each of them may be continued
later. A *line* is the sessions through which rewinds have led; a fork beside it is a line of its
own.

        turns in s      at s
        rewind A        at a      handed out by A
        rewind B        at b
        undo (of B)     at a      where it was before B
        undo (of A)     at s
        redo (of A)     at a
        turns in s      at s      the session that was used last
"""

from __future__ import annotations

from takeback.ledger import sessions as questions
from takeback.model.ids import SessionId
from takeback.model.operation import REDO, UNDO, history, moves
from takeback.store.operations import read_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.operation import Move
    from takeback.ops.context import Context


def current_session(
    context: Context, ledger: Ledger, session: str, *, before: Move | None = None
) -> SessionId | None:
    """Returns the session that the line of ``session`` continues with.

    Now, or just before an operation of the log. None if a rewind led to before the first prompt and
    the agent does not name the new session beforehand.
    """
    log = moves(read_operations(context.store))
    line = line_of(log, session)
    took = history(log).took
    steps = [one for one in log if one.session in line and _leads_on(one)]
    end = None if before is None else before.sequence
    while True:
        earlier = [one for one in steps if end is None or one.sequence < end]
        last = earlier[-1] if earlier else None
        spoken = questions.last_spoken(
            ledger, line, after=-1 if last is None else last.sequence, before=end
        )
        if spoken is not None:
            return spoken
        if last is None:
            return SessionId(session)
        if last.kind not in (UNDO, REDO):
            return last.child
        if last.id not in took:  # the beginning of the log is lost
            return last.session
        end = took[last.id].sequence


def line_of(log: Sequence[Move], session: str) -> frozenset[str]:
    """Returns the sessions through which rewinds have led, including ``session``."""
    found = {session}
    links = [(one.session, one.child) for one in log if one.child is not None and _leads_on(one)]
    grown = True
    while grown:
        more = {end for link in links if found & {*link} for end in link} - found
        found |= more
        grown = bool(more)
    return frozenset(found)


def _leads_on(operation: Move) -> bool:
    """A fork that leaves the files alone is beside the conversation and does not move it."""
    return operation.moves_conversation and operation.can_be_undone
