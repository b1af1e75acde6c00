"""Ways: turns that an agent left by going back by itself, within one session.

    turn 1 ─┬─ turn 2 ── turn 3      abandoned
            └─ turn 4 ── turn 5      the line: what the newest turn follows

It is written in the agent's own transcript, which its model can write too. So nothing is decided by
it but how turns are drawn, and whose a change was that brought back what the session had been at.
"""

from __future__ import annotations

from itertools import pairwise

from takeback.ledger import sessions as questions
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId
    from takeback.model.timeline import Turn

FOLLOWING = "select id from checkpoints where instr(meta, '\"follows\"') > 0 order by position"
"""In the very words of its index, or SQLite does not use that."""


class Return(Value):
    """An agent went back: ``turn`` follows ``after`` (None: the beginning), not the one before it.

    ``left`` are the turns between the two, oldest first; there is at least one.
    """

    turn: Turn
    after: Turn | None
    left: tuple[Turn, ...]


def return_at(turns: Sequence[Turn], checkpoint: Checkpoint) -> Return | None:
    """Returns what a checkpoint says of its session's ``turns``, which are in their order."""
    if not checkpoint.follows:
        return None
    turn, *above = checkpoint.follows
    places = {one.native: number for number, one in enumerate(turns) if one.native is not None}
    end = places.get(turn)
    if end is None:
        return None
    for name in above:
        begin = -1 if not name else places.get(name)
        if begin is not None and begin < end:
            after = turns[begin] if begin >= 0 else None
            left = tuple(turns[begin + 1 : end])
            return Return(turns[end], after, left) if left else None
    return None


def returning(ledger: Ledger) -> list[Checkpoint]:
    """Returns the checkpoints that say that their agent had gone back by itself, oldest first."""
    found = (ledger.by_id(str(id)) for (id,) in ledger.rows(FOLLOWING))
    return [one for one in found if one is not None]


def abandoned(ledger: Ledger) -> dict[CheckpointId, CheckpointId | None]:
    """Returns the turns that are on no line, each with the turn on the line that it hangs from.

    None if that is the beginning of its session.
    """
    found: dict[CheckpointId, CheckpointId | None] = {}
    by_session: dict[str, list[Checkpoint]] = {}
    for checkpoint in returning(ledger):
        by_session.setdefault(checkpoint.session, []).append(checkpoint)
    for session, checkpoints in by_session.items():
        turns = questions.turns(ledger, session=session)[::-1]
        returns = (return_at(turns, one) for one in checkpoints)
        found.update(_off_the_line(turns, {one.turn.id: one for one in returns if one}.values()))
    return found


def _off_the_line(
    turns: Sequence[Turn], returns: Iterable[Return]
) -> Mapping[CheckpointId, CheckpointId | None]:
    before = {turn.id: above.id for above, turn in pairwise(turns)}
    above: dict[CheckpointId, CheckpointId | None] = dict(before)
    above.update({one.turn.id: None if one.after is None else one.after.id for one in returns})
    line: set[CheckpointId | None] = set()
    here = turns[-1].id if turns else None
    while here is not None:  # each is older than the one before it, so this ends
        line.add(here)
        here = above.get(here)
    found: dict[CheckpointId, CheckpointId | None] = {}
    for turn in turns:
        if turn.id not in line:
            on = above.get(turn.id)
            found[turn.id] = on if on is None else found.get(on, on)
    return found
