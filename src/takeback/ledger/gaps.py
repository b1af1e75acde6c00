"""What the ledger knows to be missing: lines not yet counted, checkpoints not read."""

from __future__ import annotations

from takeback.model.ids import CheckpointId
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from takeback.ledger.ledger import Ledger

CHECKPOINT = "checkpoint"
TURN = "turn"
_TABLES = {CHECKPOINT: ("changes", "checkpoint"), TURN: ("turn_changes", "turn")}
CHAIN = "chain"
RECORD = "record"
CHANGES = "changes"
ROW = "row"
_AT_ONCE = 400


class Uncounted(Value):
    """Changes of a checkpoint or turn, as the two trees whose lines have to be counted.

    What a turn did may be several, each with its ``paths``; None: all that differ.
    """

    id: str
    what: str
    old: str
    new: str
    paths: frozenset[bytes] | None = None


def note_uncounted(ledger: Ledger, rows: Iterable[Uncounted]) -> None:
    """Notes what has to be counted, replacing what was noted before of the same."""
    noted = list(rows)
    for id, what in {(row.id, row.what) for row in noted}:
        forget_uncounted(ledger, id, what)
    ledger.many(
        "insert into uncounted values (?,?,?,?,?)",
        [(row.id, row.what, row.old, row.new, _joined(row.paths)) for row in noted],
    )


def _joined(paths: frozenset[bytes] | None) -> bytes | None:
    return None if paths is None else b"\0".join(sorted(paths))


def _parted(paths: object) -> frozenset[bytes] | None:
    return frozenset(paths.split(b"\0")) if isinstance(paths, bytes) else None


def forget_uncounted(ledger: Ledger, id: str, what: str) -> None:
    """Notes that there is nothing to be counted."""
    ledger.rows("delete from uncounted where id = ? and what = ?", id, what)


def uncounted(ledger: Ledger, ids: Sequence[str]) -> list[Uncounted]:
    """Returns what is not yet counted for some checkpoints and turns, in the order of the ids."""
    found = []
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        found += ledger.rows(
            f"select id, what, old, new, paths from uncounted where id in ({marks})", *some
        )
    place = {id: number for number, id in enumerate(ids)}
    rows = [
        Uncounted(str(id), str(what), str(old), str(new), _parted(paths))
        for id, what, old, new, paths in found
    ]
    return sorted(rows, key=lambda row: (place[row.id], row.what))


def set_lines(
    ledger: Ledger, row: Uncounted, lines: Mapping[bytes, tuple[int, int]] | None
) -> None:
    """Adds what was counted, unless the row has been counted or changed meanwhile.

    None means that it cannot be counted and will not be tried again.
    """
    same = "uncounted where id = ? and what = ? and old = ? and new = ?"
    values = (row.id, row.what, row.old, row.new)
    if not ledger.rows(f"select 1 from {same}", *values):
        return
    ledger.rows(f"delete from {same}", *values)
    if lines:
        table, key = _TABLES[row.what]
        ledger.many(
            f"update {table} set added = coalesce(added, 0) + ?, "
            f"deleted = coalesce(deleted, 0) + ? where {key} = ? and path = ?",
            [
                (added, deleted, row.id, path)
                for path, (added, deleted) in lines.items()
                if row.paths is None or path in row.paths
            ],
        )


class Unread(Value):
    """A commit that is not indexed as it should be.

    ``stage`` says what failed: the commit itself, so that the ``CHAIN`` ends there; its ``RECORD``,
    so that it is not listed; working out its ``CHANGES``; or the ledger would not take its ``ROW``.
    """

    commit: str
    ref: str
    checkpoint: str | None
    stage: str
    reason: str


def note_unread(ledger: Ledger, row: Unread) -> None:
    ledger.rows(
        "insert or replace into unread values (?,?,?,?,?)",
        *(row.commit, row.ref, row.checkpoint, row.stage, row.reason),
    )


def forget_unread(ledger: Ledger, ref: str) -> None:
    """Forgets what could not be read of a ref: it was rewritten."""
    ledger.rows("delete from unread where ref = ?", ref)


def note_unfolded(ledger: Ledger, turns: Iterable[str]) -> None:
    """Notes turns that advanced: everything that each changed has yet to be worked out."""
    ledger.many("insert or ignore into unfolded values (?)", [(turn,) for turn in turns])


def unfolded(ledger: Ledger, limit: int, *, ended: bool = False) -> list[CheckpointId]:
    """Returns some of the turns that were noted, or of those among them that have ``ended``."""
    which = " where (select ended from turns where id = turn) is not null" if ended else ""
    rows = ledger.rows(f"select turn from unfolded{which} limit ?", limit)
    return [CheckpointId(str(turn)) for (turn,) in rows]


def set_folded(ledger: Ledger, turns: Iterable[str]) -> None:
    ledger.many("delete from unfolded where turn = ?", [(turn,) for turn in turns])


def unread(ledger: Ledger) -> list[Unread]:
    rows = ledger.rows("select commit_id, ref, checkpoint, stage, reason from unread")
    return [Unread(*row) for row in rows]  # type: ignore[arg-type]
