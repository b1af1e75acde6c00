"""Indexes checkpoints and answers questions about them, also what it knows to be missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from takeback.errors import LedgerDamaged
from takeback.ledger.file import TABLES, LedgerFile
from takeback.model import json_text
from takeback.model.checkpoint import Checkpoint, decode
from takeback.model.entries import OwnedChange
from takeback.model.ids import CheckpointId, SnapshotId
from takeback.model.operation import Move
from takeback.model.value import Value

# -- which events in a ledger happened to the files of one machine
#
#         A   a1 - a2 - a3 - a4             the store was copied after a2, and fetched from later
#         B             b3 - b4             what happened to the files of B: a1 a2 b3 b4
#
# What a machine did has its name; what a copy came with has lower numbers than everything it did.


_ALL = (1 << 63) - 1


class Lineage(Value):
    """``machine`` and the numbers below ``first``."""

    machine: str
    first: int = 0

    def holds(self, checkpoint: Checkpoint) -> bool:
        """Tells whether a checkpoint is of this machine's files."""
        return checkpoint.machine == self.machine or checkpoint.sequence < self.first


def lineage(ledger: Ledger, machine: str, *, is_copy: bool) -> Lineage:
    """Returns the lineage of a machine, whose store may be a copy of another one's."""
    if not is_copy:
        return Lineage(machine)
    ((first,),) = ledger.rows(
        "select min(sequence) from (select sequence from checkpoints where machine = ?1 "
        "union all select sequence from operations where machine = ?1)",
        machine,
    )
    return Lineage(machine, _ALL if first is None else int(str(first)))


# -- refs that the ledger has followed and that are gone, which the store itself cannot tell
#
# A ref is one small file. If it is lost, its checkpoints are still in the packs, but nothing
# leads to them, and the store looks whole. The ledger is the only witness, so it remembers where
# such a ref led until that place is reached again. Reading the store again does not clear this.


def missing_refs(ledger: Ledger) -> list[tuple[str, str]]:
    """Returns (ref, commit) of each place that a ref led to and that is no longer reached."""
    rows = ledger.rows("select ref, tip from missing_refs order by ref, tip")
    return [(str(ref), str(tip)) for ref, tip in rows]


def note_missing(ledger: Ledger, refs: Mapping[str, str]) -> None:
    """Remembers where refs led that are gone."""
    ledger.many("insert or ignore into missing_refs values (?, ?)", refs.items())


def forget_missing(ledger: Ledger, ref: str, tip: str) -> None:
    """Forgets a place that is reached again."""
    ledger.rows("delete from missing_refs where ref = ? and tip = ?", ref, tip)


# -- what the ledger knows to be missing: lines not yet counted, checkpoints not read


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


# -- indexes checkpoints and answers questions about them


_OF_THEIR_OWN = ("id", "session", "kind", "time", "sequence", "machine", "turn", "turn_id")
"""What of a record has a column, and so is not kept twice: a third of all that it says."""
_NOT_IN_REST = frozenset(("type", *_OF_THEIR_OWN))
_COLUMNS = (
    f"{', '.join(_OF_THEIR_OWN)}, meta, snapshot, commit_id, "
    "(select name from labels where checkpoint = checkpoints.id), "
    "(select agent from labels where checkpoint = checkpoints.id)"
)
_SOUND = "ok"
"""What SQLite says if it finds nothing wrong with a file."""
_NEWEST_FIRST = "order by position desc"
_COPY = "kind = 'fork' and origin is not null"
_KEPT = "id not in (select id from expired)"


class Point(Value):
    """The state of the files at one moment: its position, its sequence number, the snapshot."""

    position: int
    sequence: int
    snapshot: SnapshotId


class Ledger(LedgerFile):
    """The index of one store, in the order in which things happened."""

    # -- catching up

    def tips(self) -> dict[str, str]:
        """Returns how far each ref is indexed."""
        return {str(ref): str(tip) for ref, tip in self.rows("select ref, tip from tips")}

    def set_tips(self, tips: Mapping[str, str]) -> None:
        self.many("insert or replace into tips values (?, ?)", tips.items())

    def forget_tip(self, ref: str) -> None:
        self.rows("delete from tips where ref = ?", ref)

    def clear(self) -> None:
        """Forgets everything, so that it is read again from the store."""
        for table in TABLES:
            self.rows(f"delete from {table}")

    def unsound(self) -> str:
        """Reads every page and says what is wrong with the file; empty if nothing is."""
        found = [str(row[0]) for row in self.rows("pragma quick_check(1)")]
        return "" if found == [_SOUND] else "; ".join(found)

    def has_point(self, id: str) -> bool:
        """Tells whether a checkpoint or an operation of that id is indexed."""
        found = [f"select 1 from {table} where id = ?1" for table in ("checkpoints", "operations")]
        return bool(self.rows(" union all ".join(found), id))

    def last_point(self, machine: str | None = None, *, undo: bool = True) -> Point | None:
        """Returns the newest checkpoint or operation that is kept, of one machine or of any."""
        columns = "select position, sequence, snapshot from"
        rows = self.rows(
            f"{columns} checkpoints where (?1 or kind != 'undo') and (?2 is null or machine = ?2) "
            f"and {_KEPT} union all {columns} operations "
            f"where (?2 is null or machine = ?2) and {_KEPT} order by position desc limit 1",
            undo,
            machine,
        )
        return _point(rows[0]) if rows else None

    def highest_sequence(self, machine: str | None = None) -> int:
        """Returns the highest number of a checkpoint or operation, of one machine or of any.

        -1 without any.
        """
        return self._highest("sequence", machine)

    def last_position(self) -> int:
        """Returns the place of the newest checkpoint or operation, -1 without any."""
        return self._highest("position")

    def _highest(self, column: str, machine: str | None = None) -> int:
        which = "" if machine is None else " where machine = ?1"  # without it an index answers
        rows = [f"select max({column}) as n from {t}{which}" for t in ("checkpoints", "operations")]
        question = f"select coalesce(max(n), -1) from ({' union all '.join(rows)})"
        ((highest,),) = self.rows(question, *(() if machine is None else (machine,)))
        return int(str(highest))

    def state_now(self, machine: str, below: int) -> SnapshotId | None:
        """Returns the snapshot that the changes of a machine's next checkpoint are counted from.

        ``below`` is its number: the first of a copied store continues from what it came with.
        """
        found = self.point_now(machine, below)
        return None if found is None else found.snapshot

    def point_now(self, machine: str, below: int) -> Point | None:
        """Returns the state of the files that ``state_now`` names."""
        return self._state("true", machine, below)

    def add(self, checkpoint: Checkpoint, position: int, changes: Sequence[OwnedChange]) -> None:
        """Indexes one checkpoint with what changed since the state before it.

        ``position`` is its place among all checkpoints and operations of the workspace.
        """
        origin = checkpoint.origin
        self.rows(
            "insert into checkpoints values (?,?,?,?,?,?,?,?,?,?,?,?,?)",
            checkpoint.id,
            position,
            checkpoint.sequence,
            checkpoint.machine,
            checkpoint.session,
            checkpoint.kind,
            checkpoint.time,
            checkpoint.snapshot,
            checkpoint.commit.hex(),
            checkpoint.turn,
            checkpoint.turn_id,
            None if origin is None else origin.checkpoint,
            rest_of(checkpoint),
        )
        self.many(
            "insert into changes values (?,?,?,?,?,?,?,?)",
            [
                (checkpoint.id, c.path, c.kind, c.added, c.deleted, c.who, c.session, c.turn)
                for c in changes
            ],
        )

    def add_operation(self, operation: Move, position: int) -> None:
        """Indexes how an operation left the files, so that nobody is blamed for its changes."""
        self.rows(
            "insert into operations values (?,?,?,?,?,?,?)",
            operation.id,
            position,
            operation.sequence,
            operation.machine,
            operation.time,
            operation.after,
            operation.before,
        )

    def set_labels(self, labels: Iterable[tuple[CheckpointId, str, str | None]]) -> None:
        """Replaces all labels: checkpoints, names, and the agents whose models gave them."""
        self.rows("delete from labels")
        for label in labels:
            self.rows("insert into labels values (?, ?, ?)", *label)

    # -- questions

    def checkpoints(
        self,
        *,
        session: str | None = None,
        without: Sequence[str] = (),
        labelled: bool = False,
        besides: Iterable[str] = (),
        limit: int = -1,
        before: CheckpointId | None = None,
    ) -> list[Checkpoint]:
        """Returns checkpoints, newest first, leaving out some kinds.

        With ``labelled`` one that has a label is never left out because of its kind. Those whose
        ids are in ``besides`` are left out, and with ``before`` all but those older than that one.
        """
        where, values = _which(session, without, besides, labelled=labelled)
        if before is not None:
            where += " and position < (select position from checkpoints where id = ?)"
            values += (before,)
        return self._select(where, *values, limit=limit)

    def count_of(self, session: str, *, without: Sequence[str] = ()) -> int:
        """Returns how many checkpoints a session has, leaving out some kinds."""
        return self._count(*_which(session, without, (), labelled=False))

    def amount(self, *, session: str | None, without: Sequence[str], besides: Iterable[str]) -> int:
        """Returns how many ``checkpoints`` would find without a limit, labelled ones included."""
        return self._count(*_which(session, without, besides, labelled=True))

    def _count(self, where: str, values: tuple[object, ...]) -> int:
        ((number,),) = self.rows(f"select count(*) from checkpoints where {where}", *values)
        return int(str(number))

    def by_id(self, text: str) -> Checkpoint | None:
        found = self._select("id = ?1", text)
        return found[0] if found else None

    def after(
        self,
        checkpoint: Checkpoint,
        *,
        everywhere: bool = False,
        until: CheckpointId | None = None,
    ) -> list[Checkpoint]:
        """Returns what came after a checkpoint in its session, or in all sessions, oldest first.

        With ``until``, up to and including that one.
        """
        found = self._select(
            "(?3 or session = ?1) and position > (select position from checkpoints where id = ?2)"
            " and (?4 is null or position <= (select position from checkpoints where id = ?4))",
            checkpoint.session,
            checkpoint.id,
            everywhere,
            until,
        )
        return found[::-1]

    def between(self, position: int, last: int, limit: int) -> list[Checkpoint]:
        """Returns what came after a place, up to another, oldest first; the newest if many."""
        found = self._select("position > ?1 and position <= ?2", position, last, limit=limit)
        return found[::-1]

    def id_at(self, position: int) -> str:
        """Returns the checkpoint or operation at a place (``last_position``); empty if none is."""
        rows = [f"select id from {t} where position = ?1" for t in ("checkpoints", "operations")]
        found = self.rows(" union all ".join(rows), position)
        return next((str(id) for (id,) in found), "")

    def children(self, checkpoint: CheckpointId) -> list[Checkpoint]:
        """Returns the first checkpoints of the sessions that descend from a checkpoint."""
        return self._select("origin = ?1", checkpoint)

    def by_prefix(self, text: str) -> list[Checkpoint]:
        return self._select("substr(id, 1, length(?1)) = ?1", text)

    def by_label(self, name: str) -> list[Checkpoint]:
        return self._select("id in (select checkpoint from labels where name = ?1)", name)

    def at_or_before(self, time: float, *, session: str | None = None) -> Checkpoint | None:
        """Returns the newest checkpoint made at or before ``time``.

        The first checkpoint of a session that was cut from another does not count: it is a copy of
        an earlier state.
        """
        found = self._select(
            f"time <= ?1 and kind != 'undo' and not ({_COPY}) and (?2 is null or session = ?2)",
            time,
            session,
            limit=1,
        )
        return found[0] if found else None

    def previous(self, checkpoint: Checkpoint) -> Checkpoint | None:
        """Returns the checkpoint that came before another, in any session."""
        found = self._select(
            "position < (select position from checkpoints where id = ?1) and kind != 'undo' "
            f"and not ({_COPY})",
            checkpoint.id,
            limit=1,
        )
        return found[0] if found else None

    def nearest_kept(self, checkpoint: Checkpoint) -> list[Checkpoint | None]:
        """Returns the nearest of its session before and after it that have their files."""
        near = f"session = ?1 and kind != 'undo' and {_KEPT} and position "
        found = []
        for sign, way in (("<", "max"), (">", "min")):
            where = f"{near} {sign} (select position from checkpoints where id = ?2)"
            there = f"position = (select {way}(position) from checkpoints where {where})"
            rows = self._select(there, checkpoint.session, checkpoint.id)
            found.append(rows[0] if rows else None)
        return found

    def with_snapshot(self, snapshot: SnapshotId) -> Checkpoint | None:
        """Returns the newest checkpoint that keeps exactly that state, of any kind."""
        found = self._select(f"snapshot = ?1 and {_KEPT}", snapshot, limit=1)
        return found[0] if found else None

    def changes(self, checkpoint: CheckpointId) -> list[OwnedChange]:
        """Returns what changed between the state before and this checkpoint."""
        rows = self.rows(
            "select path, kind, added, deleted, who, session, turn from changes "
            "where checkpoint = ? order by path",
            checkpoint,
        )
        return [OwnedChange(*row) for row in rows]  # type: ignore[arg-type]

    def state_before(self, checkpoint: Checkpoint) -> SnapshotId | None:
        """Returns the snapshot that a checkpoint's changes are counted from, None for the first.

        A session that takeback cut from another begins with a copy of an earlier state. No file was
        changed for it, so nothing is compared with it, unless it is the first checkpoint here.
        """
        found = self.point_before(checkpoint)
        return None if found is None else found.snapshot

    def point_before(self, checkpoint: Checkpoint) -> Point | None:
        """Returns the state of the files that ``state_before`` names."""
        earlier = f"position < (select position from checkpoints where id = ?3 and not ({_COPY}))"
        return self._state(earlier, checkpoint.machine, checkpoint.sequence, checkpoint.id)

    def _state(self, where: str, machine: str, below: int, *values: object) -> Point | None:
        """Returns the newest state of which the files are kept."""
        for whose in ("machine = ?1 and ?2 >= 0", "machine != ?1 and sequence < ?2"):
            rows = self.rows(
                "select position, sequence, snapshot from checkpoints "
                f"where {whose} and {where} and (position = 0 or not ({_COPY})) and {_KEPT} "
                "union all select position, sequence, snapshot from operations "
                f"where {whose} and {where} and {_KEPT} order by position desc limit 1",
                machine,
                below,
                *values,
            )
            if rows:
                return _point(rows[0])
        return None

    def expired(self) -> dict[CheckpointId, float]:
        """Returns the checkpoints whose files were dropped, with when that was."""
        found = self._select("id in (select id from expired)")
        return {one.id: one.expired for one in found if one.expired is not None}

    def counts(self) -> tuple[int, int, int]:
        """Returns the number of checkpoints (without undo snapshots), snapshots and sessions."""
        counted = "kind != 'undo'"  # three questions, of which indexes alone know the answers
        all_but = "select count(*) from checkpoints where kind = 'undo'"
        ((checkpoints,),) = self.rows(f"select count(*) - ({all_but}) from checkpoints")
        kept = f"select 1 from checkpoints where {counted} and {_KEPT} group by snapshot"
        ((snapshots,),) = self.rows(f"select count(*) from ({kept})")
        theirs = f"select 1 from checkpoints where {counted} group by session"
        ((sessions,),) = self.rows(f"select count(*) from ({theirs})")
        return int(str(checkpoints)), int(str(snapshots)), int(str(sessions))

    def _select(self, where: str, *values: object, limit: int = -1) -> list[Checkpoint]:
        rows = self.rows(
            f"select {_COLUMNS} from checkpoints where {where} {_NEWEST_FIRST} limit {limit:d}",
            *values,
        )
        return [_checkpoint(row) for row in rows]

    def dump(self) -> list[str]:
        """Returns the whole content as text, to compare two ledgers."""
        return [
            f"{table}: {row!r}"
            for table in TABLES
            for row in sorted(self.rows(f"select * from {table}"), key=repr)
        ]


def _point(row: Sequence[object]) -> Point:
    position, sequence, snapshot = row
    return Point(int(str(position)), int(str(sequence)), SnapshotId(str(snapshot)))


def _which(
    session: str | None, without: Sequence[str], besides: Iterable[str], *, labelled: bool
) -> tuple[str, tuple[object, ...]]:
    """Returns the clause for checkpoints of a session, or of all, and its values."""
    ids = tuple(besides)
    named = " or id in (select checkpoint from labels)" if labelled else ""
    clauses = [f"(kind not in ({', '.join('?' * len(without))}){named})"]
    values: tuple[object, ...] = tuple(without)
    if ids:
        clauses.append(f"id not in ({', '.join('?' * len(ids))})")
        values += ids
    if session is not None:  # a separate clause, so that its index is used
        clauses.append("session = ?")
        values += (session,)
    return " and ".join(clauses), values


def rest_of(checkpoint: Checkpoint) -> str:
    """Returns what a checkpoint's record says beside what has a column of its own."""
    record = checkpoint.encode()
    rest = {
        key: value for key, value in record.items() if value is not None and key not in _NOT_IN_REST
    }
    return json_text.dumps(rest)


def _checkpoint(row: Sequence[object]) -> Checkpoint:
    *own, meta, snapshot, commit, label, by = row
    try:
        record = json_text.loads(str(meta))
        if not isinstance(record, dict):
            raise ValueError("it is no object")
        record.update(zip(_OF_THEIR_OWN, own, strict=True))
        found = decode(
            record, snapshot=SnapshotId(str(snapshot)), commit=bytes.fromhex(str(commit))
        )
    except ValueError as error:
        raise LedgerDamaged(f"a row does not read back: {error}") from None
    if label is None:
        return found
    return found.replace(label=str(label), label_by=None if by is None else str(by))
