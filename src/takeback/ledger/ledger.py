"""Opens the ledger and answers questions about checkpoints."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence

from takeback.errors import LedgerDamaged, LedgerUnwritable
from takeback.ledger.schema import MIGRATIONS, TABLES
from takeback.model import json_text
from takeback.model.checkpoint import Checkpoint, decode
from takeback.model.ids import CheckpointId, SnapshotId
from takeback.model.operation import Operation
from takeback.model.timeline import OwnedChange
from takeback.model.value import Value

IN_MEMORY = ":memory:"
"""A ledger for one command, where the disk takes none."""
PATIENCE = 3.0
"""How long, in seconds, another process may keep the file to itself before a command does without.

Long enough for one that catches up with a thousand turns, so that it need not be done twice.
"""
_COLUMNS = "meta, snapshot, commit_id, (select name from labels where checkpoint = checkpoints.id)"
_NEWEST_FIRST = "order by place desc"


def _translated(error: sqlite3.DatabaseError) -> LedgerDamaged | LedgerUnwritable:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    unwritable = (
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_PERM,
    )
    return (LedgerUnwritable if code in unwritable else LedgerDamaged)(str(error))


class Point(Value):
    """Where the files stood at one moment: its place, its sequence number, the snapshot."""

    place: int
    sequence: int
    snapshot: str


class Ledger:
    """One SQLite file. Every method may raise LedgerDamaged or LedgerUnwritable."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        except sqlite3.DatabaseError as error:
            raise _translated(error) from error
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        try:
            if self._path != IN_MEMORY:
                os.chmod(self._path, 0o600)
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = normal")
            self._db.execute("pragma foreign_keys = on")
            self._migrate()
        except sqlite3.DatabaseError as error:
            raise _translated(error) from error
        except OSError as error:
            raise LedgerUnwritable(str(error)) from error

    def _migrate(self) -> None:
        (version,) = self._db.execute("pragma user_version").fetchone()
        if version > len(MIGRATIONS):
            raise LedgerUnwritable(f"it was made by a newer takeback, format {version}")
        for number in range(version, len(MIGRATIONS)):
            script = (
                f"begin immediate; {MIGRATIONS[number]} pragma user_version = {number + 1}; commit;"
            )
            self._db.executescript(script)

    def close(self) -> None:
        self._db.close()

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        rows = self.columns(query, *values)
        return [tuple(original(v) if isinstance(v, str) else v for v in row) for row in rows]

    def columns(self, query: str, *values: object) -> list[tuple[object, ...]]:
        """Returns rows as SQLite has them: text of a person's has to go through ``original``.

        For thousands of rows, of which few columns are such text.
        """
        bound = [_storable(v) if isinstance(v, str) else v for v in values]
        try:
            # To Python 3.12.0 and 3.12.1 a number is a name, and names want a mapping.
            if "?1" in query:
                named = {str(number): value for number, value in enumerate(bound, 1)}
                return self._db.execute(query, named).fetchall()
            return self._db.execute(query, bound).fetchall()
        except sqlite3.DatabaseError as error:
            raise _translated(error) from error

    # -- catching up

    def begin(self) -> None:
        self.rows("begin immediate")

    def commit(self) -> None:
        self.rows("commit")

    def rollback(self) -> None:
        if self._db.in_transaction:
            self.rows("rollback")

    def tips(self) -> dict[str, str]:
        """Returns how far each ref is indexed."""
        return {str(ref): str(tip) for ref, tip in self.rows("select ref, tip from tips")}

    def set_tip(self, ref: str, tip: str) -> None:
        self.rows("insert or replace into tips values (?, ?)", ref, tip)

    def forget_tip(self, ref: str) -> None:
        self.rows("delete from tips where ref = ?", ref)

    def clear(self) -> None:
        """Forgets everything, to read it anew from the store."""
        for table in TABLES:
            self.rows(f"delete from {table}")

    def last_point(self, *, undo: bool = True) -> Point | None:
        """Returns the newest checkpoint or operation."""
        columns = "select place, sequence, snapshot from"
        rows = self.rows(
            f"{columns} checkpoints where ?1 or kind != 'undo' union all "
            f"{columns} operations order by place desc limit 1",
            undo,
        )
        if not rows:
            return None
        place, sequence, snapshot = rows[0]
        return Point(int(str(place)), int(str(sequence)), str(snapshot))

    def add(self, checkpoint: Checkpoint, place: int, changes: Sequence[OwnedChange]) -> None:
        """Indexes one checkpoint with what changed since the state before it.

        ``place`` is where it stands among all checkpoints and operations of the workspace.
        """
        origin = checkpoint.origin
        self.rows(
            "insert into checkpoints values (?,?,?,?,?,?,?,?,?,?,?,?)",
            checkpoint.id,
            place,
            checkpoint.sequence,
            checkpoint.session,
            checkpoint.kind,
            checkpoint.time,
            checkpoint.snapshot,
            checkpoint.commit.hex(),
            checkpoint.turn,
            checkpoint.turn_id,
            None if origin is None else origin.checkpoint,
            json_text.dumps(checkpoint.encode()),
        )
        for change in changes:
            self.rows(
                "insert into changes values (?,?,?,?,?,?,?,?)",
                checkpoint.id,
                change.path,
                change.kind,
                change.added,
                change.deleted,
                change.who,
                change.session,
                change.turn,
            )

    def add_operation(self, operation: Operation, place: int) -> None:
        """Indexes where an operation left the files, so that nobody is blamed for its changes."""
        self.rows(
            "insert into operations values (?,?,?,?,?)",
            operation.id,
            place,
            operation.sequence,
            operation.time,
            operation.after,
        )

    def set_labels(self, labels: Iterable[tuple[CheckpointId, str]]) -> None:
        """Replaces all labels."""
        self.rows("delete from labels")
        for checkpoint, name in labels:
            self.rows("insert into labels values (?, ?)", checkpoint, name)

    # -- questions

    def checkpoints(
        self, *, session: str | None = None, without: Sequence[str] = (), limit: int = -1
    ) -> list[Checkpoint]:
        """Returns checkpoints, newest first, leaving out some kinds."""
        kinds = ", ".join(f"?{number}" for number in range(2, 2 + len(without)))
        return self._select(
            f"(?1 is null or session = ?1) and kind not in ({kinds})",
            session,
            *without,
            limit=limit,
        )

    def by_id(self, text: str) -> Checkpoint | None:
        found = self._select("id = ?1", text)
        return found[0] if found else None

    def after(self, checkpoint: Checkpoint, *, everywhere: bool = False) -> list[Checkpoint]:
        """Returns what came after a checkpoint in its session, or in any, oldest first."""
        found = self._select(
            "(?3 or session = ?1) and place > (select place from checkpoints where id = ?2)",
            checkpoint.session,
            checkpoint.id,
            everywhere,
        )
        return found[::-1]

    def children(self, checkpoint: CheckpointId) -> list[Checkpoint]:
        """Returns the first checkpoints of the sessions that descend from a checkpoint."""
        return self._select("origin = ?1", checkpoint)

    def by_prefix(self, text: str) -> list[Checkpoint]:
        return self._select("substr(id, 1, length(?1)) = ?1", text)

    def by_label(self, name: str) -> list[Checkpoint]:
        return self._select("id in (select checkpoint from labels where name = ?1)", name)

    def at_or_before(self, time: float, *, session: str | None = None) -> Checkpoint | None:
        """Returns the newest checkpoint that is not younger than ``time``."""
        found = self._select(
            "time <= ?1 and kind != 'undo' and (?2 is null or session = ?2)",
            time,
            session,
            limit=1,
        )
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

        A session that takeback cut from another begins with a copy of an earlier state. No file
        was changed for it, so nothing is compared with it, unless it is the first thing here.
        """
        copy = "kind = 'fork' and origin is not null"
        earlier = f"place < (select place from checkpoints where id = ?1 and not ({copy}))"
        rows = self.rows(
            "select snapshot, place from checkpoints "
            f"where {earlier} and (place = 0 or not ({copy})) "
            f"union all select snapshot, place from operations where {earlier} "
            "order by place desc limit 1",
            checkpoint.id,
        )
        return SnapshotId(str(rows[0][0])) if rows else None

    def counts(self) -> tuple[int, int, int]:
        """Returns the number of checkpoints (undo snapshots apart), snapshots and sessions."""
        ((checkpoints, snapshots, sessions),) = self.rows(
            "select count(*), count(distinct snapshot), count(distinct session) "
            "from checkpoints where kind != 'undo'"
        )
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


def _checkpoint(row: Sequence[object]) -> Checkpoint:
    meta, snapshot, commit, label = row
    try:
        record = json_text.loads(str(meta))
        if not isinstance(record, dict):
            raise ValueError("it is no object")
        found = decode(
            record, snapshot=SnapshotId(str(snapshot)), commit=bytes.fromhex(str(commit))
        )
    except ValueError as error:
        raise LedgerDamaged(f"a row does not read back: {error}") from None
    return found if label is None else found.replace(label=str(label))


_PRIVATE = 0x100000


def _storable(text: str) -> str:
    """Returns text that SQLite takes: lone surrogates (bytes that are not UTF-8) moved aside.

    They go to the last private plane of Unicode, which nobody types, and come back from there.
    """
    if text.isascii():
        return text
    return "".join(chr(ord(c) + _PRIVATE) if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)


def original(text: str) -> str:
    """Returns text as it was before SQLite took it."""
    if text.isascii():
        return text
    low, high = 0xD800 + _PRIVATE, 0xDFFF + _PRIVATE
    return "".join(chr(ord(c) - _PRIVATE) if low <= ord(c) <= high else c for c in text)


def remove(path: str) -> None:
    """Deletes a ledger's files; the store has everything that they said."""
    for suffix in ("", "-wal", "-shm"):
        try:
            os.unlink(path + suffix)
        except FileNotFoundError:
            continue
