"""What has expired: checkpoints without files, operations and sessions that left nothing behind."""

from __future__ import annotations

from bisect import bisect_left

from takeback.ledger.ledger import rest_of
from takeback.model import json_text
from takeback.model.checkpoint import Checkpoint
from takeback.model.ids import CheckpointId
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from takeback.ledger.ledger import Ledger, Point

_COPY = "kind = 'fork' and origin is not null"
_KEPT = "id not in (select id from expired)"


class Gap(Value):
    """What happened since the state that changes are counted from, and has expired.

    ``operations`` says that others did, too, who left no checkpoint: operations whose state is in
    none any more, and sessions that are gone.
    """

    checkpoints: tuple[Checkpoint, ...] = ()
    operations: bool = False

    def __bool__(self) -> bool:
        return bool(self.checkpoints) or self.operations


def gap_now(ledger: Ledger, machine: str, below: int) -> Gap:
    """Returns what of a machine has expired since its ``state_now``, up to the number ``below``."""
    return _gap(ledger, machine, ledger.point_now(machine, below), (None, below))


def gap_before(ledger: Ledger, checkpoint: Checkpoint) -> Gap:
    """Returns what of its machine had expired between a checkpoint and its ``state_before``."""
    end = position_of(ledger, checkpoint.id), checkpoint.sequence
    return _gap(ledger, checkpoint.machine, ledger.point_before(checkpoint), end)


def _gap(ledger: Ledger, machine: str, since: Point | None, end: tuple[int | None, int]) -> Gap:
    rows = ledger.rows(
        "select id from expired where machine = ?1 and position > ?2 "
        "and (?3 is null or position < ?3) order by position",
        machine,
        -1 if since is None else since.position,
        end[0],
    )
    points = [ledger.by_id(str(id)) for (id,) in rows]
    kept = tuple(point for point in points if point is not None)
    lost = len(kept) < len(points)
    return Gap(kept, lost or has_gone(ledger, -1 if since is None else since.sequence, end[1]))


def position_of(ledger: Ledger, id: CheckpointId) -> int:
    ((position,),) = ledger.rows("select position from checkpoints where id = ?", id)
    return int(str(position))


def expired_ids(ledger: Ledger) -> set[str]:
    """Returns the checkpoints and operations whose files are not kept."""
    return {str(id) for (id,) in ledger.columns("select id from expired")}


def note_expired(ledger: Ledger, id: str, position: int, machine: str) -> None:
    """Notes that the files of a checkpoint, or those an operation left, are not kept."""
    ledger.rows("insert or replace into expired values (?, ?, ?)", id, position, machine)


def forget_expired(ledger: Ledger, id: str) -> None:
    """Notes that the files of a checkpoint, or those an operation left, are kept again."""
    ledger.rows("delete from expired where id = ?", id)


def note_gone(ledger: Ledger, numbers: Iterable[int]) -> None:
    """Notes the numbers of what agents made in sessions that went whole."""
    ledger.many("insert or ignore into gone values (?)", [(number,) for number in numbers])


def has_gone(ledger: Ledger, above: int, below: int) -> bool:
    """Tells whether a session that went whole had done something between two numbers."""
    return bool(
        ledger.rows(
            "select 1 from gone where sequence > ? and sequence < ? "
            "and not exists (select 1 from checkpoints where sequence = gone.sequence) limit 1",
            above,
            below,
        )
    )


class Left(Value):
    """An operation, with its place, the state that it left, and its undo snapshot."""

    id: str
    position: int
    machine: str
    after: str
    before: str


def operations_left(ledger: Ledger, undone: Collection[str]) -> list[Left]:
    """Returns the operations whose undo snapshot is one of some, or is no longer there."""
    rows = ledger.rows(
        "select id, position, machine, snapshot, before, "
        "exists (select 1 from checkpoints where id = operations.before) from operations"
    )
    return [Left(*row[:5]) for row in rows if row[4] in undone or not row[5]]  # type: ignore[arg-type]


def set_record(ledger: Ledger, checkpoint: Checkpoint) -> None:
    """Writes what a checkpoint says of itself now."""
    ledger.rows(
        "update checkpoints set meta = ?, snapshot = ?, commit_id = ? where id = ?",
        rest_of(checkpoint),
        checkpoint.snapshot,
        checkpoint.commit.hex(),
        checkpoint.id,
    )


def positions_at(ledger: Ledger, numbers: Collection[int]) -> set[int]:
    """Returns the positions that follow those of what was made just before some numbers."""
    if not numbers:
        return set()
    rows = ledger.columns(
        "select sequence, position from checkpoints union all "
        "select sequence, position from operations order by 1, 2"
    )
    made = [(int(str(sequence)), int(str(position))) for sequence, position in rows]
    before = (bisect_left(made, (number, -1)) - 1 for number in numbers)
    return {made[at][1] + 1 if at >= 0 else 0 for at in before}


def made_between(ledger: Ledger, numbers: Collection[int]) -> list[CheckpointId]:
    """Returns the checkpoints with numbers from the lowest to the highest of some."""
    if not numbers:
        return []
    rows = ledger.rows(
        "select id from checkpoints where sequence between ? and ?", min(numbers), max(numbers)
    )
    return [CheckpointId(str(id)) for (id,) in rows]


def found_around(ledger: Ledger, ids: Iterable[CheckpointId]) -> set[CheckpointId]:
    """Returns what others have kept between the neighbours of some checkpoints in their session.

    Their tools may claim what was found there, and their turns may have been open.
    """
    rows = ledger.rows(
        "select others.id from checkpoints mine join checkpoints others "
        "on others.position > coalesce((select max(position) from checkpoints "
        "where session = mine.session and position < mine.position), -1) "
        "and others.position < coalesce((select min(position) from checkpoints "
        "where session = mine.session and position > mine.position), 9e18) "
        "where mine.id in (select value from json_each(?1)) and others.session != mine.session "
        "and others.id not in (select id from expired)",
        json_text.dumps([*ids]),
    )
    return {CheckpointId(str(id)) for (id,) in rows}


def heirs(ledger: Ledger, positions: Iterable[int]) -> dict[int, CheckpointId]:
    """Returns the checkpoints at which what happened at some positions is found, in order.

    On each machine that is the next one that is kept, unless an operation came before it.
    """
    machines = [str(name) for (name,) in ledger.rows("select distinct machine from checkpoints")]
    ordered = sorted(positions)
    found: dict[int, CheckpointId] = {}
    for machine in machines:
        reached = -1
        for position in ordered:
            if position < reached:  # the same one as for the position before
                continue
            rows = ledger.rows(
                "select position, id from checkpoints where position >= ?1 and machine = ?2 "
                f"and not ({_COPY}) and {_KEPT} union all "
                "select position, null from operations where position >= ?1 and machine = ?2 "
                f"and {_KEPT} order by position limit 1",
                position,
                machine,
            )
            if not rows:
                break
            reached = int(str(rows[0][0]))
            if rows[0][1] is not None:
                found[reached] = CheckpointId(str(rows[0][1]))
    return dict(sorted(found.items()))
