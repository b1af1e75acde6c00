"""Opens the ledger and answers questions about checkpoints."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence

from takeback.ledger.schema import MIGRATIONS
from takeback.model.change import CountedChange
from takeback.model.checkpoint import Checkpoint
from takeback.model.ids import CheckpointId, SessionId, SnapshotId

IN_MEMORY = ":memory:"
"""A ledger for one command, where the disk takes none."""
_COLUMNS = (
    "id, session, kind, time, snapshot, commit_id, complete, files, saved, prompt, turn, "
    "branch, head, operation, (select name from labels where checkpoint = checkpoints.id)"
)
_NEWEST_FIRST = "order by time desc, place desc"


class LedgerDamaged(Exception):
    """The file is not a ledger any more; it is made anew from the store."""


class LedgerUnwritable(Exception):
    """Not ours to write now: disk full, read-only, of a newer format. Nothing is damaged."""


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


class Ledger:
    """One SQLite file. Every method may raise LedgerDamaged or LedgerUnwritable."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None)
            if path != IN_MEMORY:
                os.chmod(path, 0o600)
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

    def _rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        bound = [_storable(v) if isinstance(v, str) else v for v in values]
        try:
            rows = self._db.execute(query, bound).fetchall()
        except sqlite3.DatabaseError as error:
            raise _translated(error) from error
        return [tuple(_original(v) if isinstance(v, str) else v for v in row) for row in rows]

    # -- catching up

    def begin(self) -> None:
        self._rows("begin immediate")

    def commit(self) -> None:
        self._rows("commit")

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._rows("rollback")

    def tips(self) -> dict[str, str]:
        """Returns how far each ref is indexed."""
        return {str(ref): str(tip) for ref, tip in self._rows("select ref, tip from tips")}

    def set_tip(self, ref: str, tip: str) -> None:
        self._rows("insert or replace into tips values (?, ?)", ref, tip)

    def forget_session(self, session: str) -> None:
        """Drops a session's rows, to read it anew or because its ref is gone."""
        self._rows("delete from checkpoints where session = ?", session)

    def forget_tip(self, ref: str) -> None:
        self._rows("delete from tips where ref = ?", ref)

    def next_place(self, session: str) -> int:
        rows = self._rows("select max(place) from checkpoints where session = ?", session)
        return int(str(rows[0][0])) + 1 if rows[0][0] is not None else 0

    def add(self, checkpoint: Checkpoint, place: int, changes: Sequence[CountedChange]) -> None:
        """Indexes one checkpoint with what changed since the one before it."""
        self._rows(
            "insert into checkpoints values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            checkpoint.id,
            checkpoint.session,
            place,
            checkpoint.kind,
            checkpoint.time,
            checkpoint.snapshot,
            checkpoint.commit.hex(),
            int(checkpoint.complete),
            checkpoint.files,
            checkpoint.saved,
            checkpoint.prompt,
            checkpoint.turn,
            checkpoint.branch,
            checkpoint.head,
            checkpoint.operation,
        )
        for change in changes:
            self._rows(
                "insert into changes values (?,?,?,?,?)",
                checkpoint.id,
                change.path,
                change.kind,
                change.added,
                change.deleted,
            )

    def set_labels(self, labels: Iterable[tuple[CheckpointId, str]]) -> None:
        """Replaces all labels."""
        self._rows("delete from labels")
        for checkpoint, name in labels:
            self._rows("insert into labels values (?, ?)", checkpoint, name)

    # -- questions

    def checkpoints(
        self, *, session: str | None = None, undo: bool = True, limit: int = -1
    ) -> list[Checkpoint]:
        """Returns checkpoints, newest first."""
        return self._select(
            "(?1 is null or session = ?1) and (?2 or kind != 'undo')", session, undo, limit=limit
        )

    def by_id(self, text: str) -> Checkpoint | None:
        found = self._select("id = ?1", text)
        return found[0] if found else None

    def by_prefix(self, text: str) -> list[Checkpoint]:
        return self._select("substr(id, 1, length(?1)) = ?1", text)

    def by_label(self, name: str) -> list[Checkpoint]:
        return self._select("id in (select checkpoint from labels where name = ?1)", name)

    def sessions(self) -> list[str]:
        """Returns the ids of all sessions."""
        return [str(row[0]) for row in self._rows("select distinct session from checkpoints")]

    def at_or_before(self, time: float, *, session: str | None = None) -> Checkpoint | None:
        """Returns the newest checkpoint that is not younger than ``time``."""
        found = self._select(
            "time <= ?1 and kind != 'undo' and (?2 is null or session = ?2)",
            time,
            session,
            limit=1,
        )
        return found[0] if found else None

    def changes(self, checkpoint: CheckpointId) -> list[CountedChange]:
        """Returns what changed between the checkpoint before and this one."""
        rows = self._rows(
            "select path, kind, added, deleted from changes where checkpoint = ? order by path",
            checkpoint,
        )
        return [CountedChange(*row) for row in rows]  # type: ignore[arg-type]

    def counts(self) -> tuple[int, int, int]:
        """Returns the number of checkpoints (undo snapshots apart), snapshots and sessions."""
        ((checkpoints, snapshots, sessions),) = self._rows(
            "select count(*), count(distinct snapshot), count(distinct session) "
            "from checkpoints where kind != 'undo'"
        )
        return int(str(checkpoints)), int(str(snapshots)), int(str(sessions))

    def _select(self, where: str, *values: object, limit: int = -1) -> list[Checkpoint]:
        rows = self._rows(
            f"select {_COLUMNS} from checkpoints where {where} {_NEWEST_FIRST} limit {limit:d}",
            *values,
        )
        return [_checkpoint(row) for row in rows]

    def dump(self) -> list[str]:
        """Returns the whole content as text, to compare two ledgers."""
        return list(self._db.iterdump())


def _checkpoint(row: Sequence[object]) -> Checkpoint:
    (id, session, kind, time, snapshot, commit, complete, files, *rest) = row
    saved, prompt, turn, branch, head, operation, label = rest
    return Checkpoint(
        id=CheckpointId(str(id)),
        session=SessionId(str(session)),
        kind=str(kind),
        time=float(str(time)),
        snapshot=SnapshotId(str(snapshot)),
        commit=bytes.fromhex(str(commit)),
        complete=bool(complete),
        files=int(str(files)),
        saved=saved,  # type: ignore[arg-type]
        prompt=prompt,  # type: ignore[arg-type]
        turn=turn,  # type: ignore[arg-type]
        label=label,  # type: ignore[arg-type]
        branch=branch,  # type: ignore[arg-type]
        head=head,  # type: ignore[arg-type]
        operation=operation,  # type: ignore[arg-type]
    )


_PRIVATE = 0x100000


def _storable(text: str) -> str:
    """Returns text that SQLite takes: lone surrogates (bytes that are not UTF-8) moved aside.

    They go to the last private plane of Unicode, which nobody types, and come back from there.
    """
    if text.isascii():
        return text
    return "".join(chr(ord(c) + _PRIVATE) if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)


def _original(text: str) -> str:
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
