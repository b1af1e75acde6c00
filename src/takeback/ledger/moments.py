"""Questions about an earlier moment: how far sessions and turns were when a checkpoint was made."""

from __future__ import annotations

from takeback.ledger.expired import position_of
from takeback.ledger.sessions import turn_by_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.timeline import Turn


def up_to(ledger: Ledger, last: Checkpoint, limit: int) -> list[Checkpoint]:
    """Returns the checkpoints of a session up to one of them, newest first."""
    rows = ledger.rows(
        "select id from checkpoints where session = ?1 "
        "and position <= (select position from checkpoints where id = ?2) "
        "order by position desc limit ?3",
        last.session,
        last.id,
        limit,
    )
    return _read(ledger, rows)


def previous(ledger: Ledger, checkpoint: Checkpoint) -> Checkpoint | None:
    """Returns the checkpoint of its session before another one."""
    found = up_to(ledger, checkpoint, 2)
    return found[1] if len(found) > 1 else None


def followers(ledger: Ledger, first: Checkpoint, below: int) -> list[Checkpoint]:
    """Returns the checkpoints of a session after one and before a position, oldest first."""
    rows = ledger.rows(
        "select id from checkpoints where session = ?1 and position < ?3 "
        "and position > (select position from checkpoints where id = ?2) order by position",
        first.session,
        first.id,
        below,
    )
    return _read(ledger, rows)


def heard(ledger: Ledger, session: str, first: int, last: int) -> list[Checkpoint]:
    """Returns a session's checkpoints after a position, up to the first in time after another."""
    rows = ledger.rows(
        "select id from checkpoints where session = ?1 and position > ?2 and position <= "
        "coalesce((select min(position) from checkpoints where session = ?1 and position > ?3 "
        "and instr(meta, '\"late\"') = 0), 9e18) order by position",
        session,
        first,
        last,
    )
    return _read(ledger, rows)


def next_in_session(ledger: Ledger, checkpoint: Checkpoint) -> list[Checkpoint]:
    """Returns the checkpoint of its session after another one, if there is any."""
    rows = ledger.rows(
        "select id from checkpoints where session = ?1 and position > "
        "(select position from checkpoints where id = ?2) order by position limit 1",
        checkpoint.session,
        checkpoint.id,
    )
    return _read(ledger, rows)


def next_of_each_session(ledger: Ledger, position: int) -> list[Checkpoint]:
    """Returns the first checkpoint of every session after a position."""
    rows = ledger.rows(
        "select id from checkpoints where position in "
        "(select min(position) from checkpoints where position > ? group by session)",
        position,
    )
    return _read(ledger, rows)


def newest_turns(ledger: Ledger, position: int) -> list[Turn]:
    """Returns the turn of each session that began last before a position, and may be open there.

    Turns are in the order in which they began. One that ended before, and is not open now, was not.
    """
    rows = ledger.rows(
        "with last as (select turns.position from checkpoints join turns on turns.id = "
        "checkpoints.id where checkpoints.position < ?1 order by checkpoints.position desc limit 1)"
        " select id from turns where position in "
        "(select max(position) from turns where position <= (select position from last) "
        "group by session) and (state in ('running', 'background') or (select position "
        "from checkpoints where checkpoints.id = turns.after) >= ?1) order by position",
        position,
    )
    found = (turn_by_id(ledger, str(id)) for (id,) in rows)
    return [turn for turn in found if turn is not None]


def newest_turn(ledger: Ledger, checkpoint: Checkpoint) -> Turn | None:
    """Returns the turn of its session that began last before a checkpoint."""
    rows = ledger.rows(
        "select turns.id from checkpoints join turns on turns.id = checkpoints.id "
        "where checkpoints.session = ?1 and checkpoints.position < ?2 "
        "order by checkpoints.position desc limit 1",
        checkpoint.session,
        position_of(ledger, checkpoint.id),
    )
    return turn_by_id(ledger, str(rows[0][0])) if rows else None


def was_amid(ledger: Ledger, position: int) -> bool:
    """Tells whether the checkpoint before a position was taken in the middle of an operation."""
    rows = ledger.rows(
        "select instr(meta, '\"amid\"') > 0 from checkpoints where position < ? "
        "order by position desc limit 1",
        position,
    )
    return bool(rows and rows[0][0])


def _read(ledger: Ledger, rows: list[tuple[object, ...]]) -> list[Checkpoint]:
    found = (ledger.by_id(str(id)) for (id,) in rows)
    return [one for one in found if one is not None]
