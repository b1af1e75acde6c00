"""News: what happened in a workspace since somebody last looked."""

from __future__ import annotations

from takeback.model.checkpoint import UNDO
from takeback.model.news import BEGAN, ENDED, NewsMark
from takeback.model.operation import PRUNE, PURGE
from takeback.model.turn import PROMPT, SHELL, TURN_END
from takeback.model.value import Value
from takeback.ops import browse
from takeback.ops.sessions import beginning_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.context import Context
    from takeback.ops.operation_log import Logged
    from takeback.ops.running import IsOver
    from takeback.ops.timeline import TimelineEntry

    Found = tuple[Checkpoint, Checkpoint]
    """A checkpoint that is new, and the one to show for it: where its turn begins."""
    Timed = tuple[float, "Happening"]

MOST = 500
"""More than this at once is not told one by one."""


class Happening(Value):
    """One new checkpoint (``entry``) or operation (``logged``).

    ``turn`` says what became of the turn that the entry is, if it is about one; ``dropped`` that
    the operation took something out of the store.
    """

    session: str | None
    turn: str | None = None
    entry: TimelineEntry | None = None
    logged: Logged | None = None
    dropped: bool = False


def seen_now(ledger: Ledger, log: Sequence[Logged]) -> NewsMark:
    """Returns the present moment, to ask later what is new since."""
    position = ledger.last_position()
    operations = frozenset(one.operation.id for one in log)
    return NewsMark(position, ledger.id_at(position), operations)


def happened(
    context: Context, ledger: Ledger, log: Sequence[Logged], since: NewsMark, *, is_over: IsOver
) -> tuple[list[Happening] | None, NewsMark]:
    """Returns what is new, oldest first, and the moment up to which that is.

    None instead of what is new if that cannot be told one by one. What comes while this is asked
    is left for the next time: else it would be told twice.
    """
    now = seen_now(ledger, log)
    if ledger.id_at(since.position) != since.newest:  # counted anew, or dropped
        return None, now
    new = ledger.between(since.position, now.position, MOST + 1)
    if len(new) > MOST:
        return None, now
    places = [
        (one, beginning_of(ledger, one) if one.kind == TURN_END else one)
        for one in new
        if one.kind != UNDO
    ]
    shown = browse.entries(context, ledger, {place.id for _, place in places}, is_over=is_over)
    return _in_order(list(_checkpoints(places, shown)), list(_operations(log, since))), now


def _in_order(checkpoints: list[Timed], operations: list[Timed]) -> list[Happening]:
    """Returns both in the order in which they happened; each has an order of its own already."""
    found = []
    for time, happening in checkpoints:
        while operations and operations[0][0] <= time:
            found.append(operations.pop(0)[1])
        found.append(happening)
    return [*found, *(happening for _, happening in operations)]


def _checkpoints(places: Sequence[Found], shown: Mapping[str, TimelineEntry]) -> Iterator[Timed]:
    for one, place in places:
        entry = shown.get(place.id)
        if entry is None:
            continue
        what = {PROMPT: BEGAN, TURN_END: ENDED, SHELL: ENDED}.get(one.kind)
        yield one.time, Happening(one.session, what, entry=entry)


def _operations(log: Sequence[Logged], since: NewsMark) -> Iterator[Timed]:
    for one in log:
        if one.operation.id not in since.operations:
            dropped = one.operation.kind in (PRUNE, PURGE)
            yield one.operation.time, Happening(one.session, logged=one, dropped=dropped)
