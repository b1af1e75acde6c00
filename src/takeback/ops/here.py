"""Here: the place that the files are at, and the one row of a list that shows it."""

from __future__ import annotations

from takeback.ledger import browse as questions
from takeback.model.operation import history
from takeback.store.operations import known_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final, Literal

    from takeback.ledger.ledger import Ledger
    from takeback.ops.context import Context

    Side = Literal["before", "after", "at"]
    Place = tuple[str, Side]
    """The id of a row, and whether the files are ``before`` it, ``after`` it, or ``at`` it."""

BEFORE: Final = "before"
AFTER: Final = "after"
AT: Final = "at"


def current_place(context: Context, ledger: Ledger) -> str | None:
    """Returns the checkpoint that the files are at: the newest, or where a rewind went.

    A rewind of the whole workspace counts until it is undone or something is captured; one of some
    paths, of only the conversation, or to a state that no checkpoint has leaves the files where
    they were.
    """
    newest = questions.newest_state(ledger, context.store.machine)
    steps = history(known_here(context.store)).undo
    moved = (step.operation for step in reversed(steps))
    went = (one for one in moved if one.moves_files and not one.paths and one.target is not None)
    last = next(went, None)
    if last is not None and (newest is None or last.sequence > newest[1]):
        return last.target
    return None if newest is None else newest[0]


def row_of(
    ledger: Ledger, rows: Sequence[tuple[str, str | None, str | None]], place: str | None
) -> Place | None:
    """Returns the row that shows a place, None if it is not in the list. There is at most one.

    ``rows`` are newest first: id, and for a turn the checkpoints before and after it. A checkpoint
    can be the end of one turn and the beginning of the next; the turn that made it is meant.
    """
    if place is None:
        return None
    for exactly in (True, False):
        for id, before, after in rows:
            word = word_of(id, before, after, place)
            if word is not None and (not exactly or place in (id, after)):
                return id, word
    turn = questions.turn_around(ledger, place)
    return (turn, AFTER) if turn is not None and any(id == turn for id, *_ in rows) else None


def word_of(id: str, before: str | None, after: str | None, place: str) -> Side | None:
    """Says where a place is relative to a row, given the checkpoints before and after its turn."""
    if id == place:
        return AT if before is None else BEFORE
    if after == place and after != before:
        return AFTER
    return BEFORE if before == place else None
