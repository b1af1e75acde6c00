"""The ledger's file: its tables, opening it, running SQL on it, what can be wrong with it."""

from __future__ import annotations

import os
import sqlite3

from takeback import durable
from takeback.errors import LedgerDamaged, LedgerUnwritable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


# -- the tables, one migration per version. ``user_version`` says how many were applied
#
# Everything here can be read again from the refs, so a migration may discard what it cannot carry
# over: with no tips left, the next command reads the store from its beginning, and without those of
# the labels, these. Statements end with a semicolon, and have no other.


MIGRATIONS = (
    """
    create table if not exists tips (ref text primary key, tip text not null) without rowid;
    create table if not exists checkpoints (
        id text primary key,
        position integer not null unique,
        sequence integer not null,
        machine text not null,
        session text not null,
        kind text not null,
        time real not null,
        snapshot text not null,
        commit_id text not null,
        turn integer,
        turn_id text,
        origin text,
        meta text not null
    );
    create index if not exists by_time on checkpoints (time);
    create index if not exists checkpoints_by_session on checkpoints (session, position);
    create table if not exists operations (
        id text primary key,
        position integer not null unique,
        sequence integer not null,
        machine text not null,
        time real not null,
        snapshot text not null
    );
    create table if not exists changes (
        checkpoint text not null references checkpoints on delete cascade,
        path blob not null,
        kind text not null,
        added integer,
        deleted integer,
        who text,
        session text,
        turn text,
        primary key (checkpoint, path)
    ) without rowid;
    create index if not exists by_turn on changes (turn) where turn is not null;
    create table if not exists labels (
        checkpoint text primary key, name text not null
    ) without rowid;
    create table if not exists sessions (
        id text primary key,
        agent text,
        native text,
        directory text,
        transcript text,
        parent text,
        origin text,
        root text,
        began real not null,
        last real not null,
        last_event real not null,
        newest text not null
    ) without rowid;
    create table if not exists turns (
        id text primary key,
        position integer not null unique,
        session text not null,
        number integer,
        kind text not null,
        prompt text,
        native text,
        before text not null,
        after text not null,
        began real not null,
        ended real,
        state text not null
    );
    create index if not exists turns_by_session on turns (session, position);
    create table if not exists turn_changes (
        turn text not null references turns on delete cascade,
        path blob not null,
        kind text not null,
        added integer,
        deleted integer,
        who text,
        primary key (turn, path)
    ) without rowid;
    create virtual table if not exists words using fts5 (
        text, checkpoint unindexed, what unindexed, tokenize = 'trigram'
    );
    create table if not exists uncounted (
        id text not null,
        what text not null,
        old text not null,
        new text not null,
        primary key (id, what)
    ) without rowid;
    create table if not exists unread (
        commit_id text primary key,
        ref text not null,
        checkpoint text,
        stage text not null,
        reason text not null
    ) without rowid;
    create index if not exists checkpoints_by_kind on checkpoints (kind, id);
    """,
    """
    create table if not exists missing_refs (
        ref text not null, tip text not null, primary key (ref, tip)
    ) without rowid;
    create table if not exists unfolded (turn text primary key) without rowid;
    create index if not exists checkpoints_by_machine on checkpoints (machine, position);
    """,
    """
    create table if not exists expired (
        id text primary key,
        position integer not null,
        machine text not null
    ) without rowid;
    """,
    """
    drop table if exists operations;
    create table operations (
        id text primary key,
        position integer not null unique,
        sequence integer not null,
        machine text not null,
        time real not null,
        snapshot text not null,
        before text not null
    );
    create table if not exists gone (sequence integer primary key);
    delete from tips;
    """,
    """
    create index if not exists checkpoints_tested on checkpoints (position)
        where instr(meta, '"tested') > 0;
    """,
    """
    create index if not exists turns_open on turns (position)
        where state in ('running', 'background');
    create index if not exists checkpoints_by_sequence on checkpoints (sequence);
    create index if not exists checkpoints_numbered on checkpoints (machine, sequence);
    """,
    """
    drop index if exists checkpoints_by_session;
    create index checkpoints_by_session on checkpoints (session, position, kind);
    create index if not exists checkpoints_by_snapshot on checkpoints (snapshot, kind, id);
    """,
    """
    drop table if exists uncounted;
    create table uncounted (
        id text not null,
        what text not null,
        old text not null,
        new text not null,
        paths blob,
        primary key (id, what, old, new)
    ) without rowid;
    delete from tips;
    """,
    """
    drop index if exists checkpoints_tested;
    create index if not exists checkpoints_telling on checkpoints (position)
        where instr(meta, '"tested') > 0 or instr(meta, '"follows"') > 0;
    """,
    """
    alter table labels add column agent text;
    delete from tips where ref like '%/labels/%';
    """,
)
TABLES = (
    "gone",
    "unfolded",
    "expired",
    "uncounted",
    "unread",
    "words",
    "turn_changes",
    "turns",
    "sessions",
    "labels",
    "changes",
    "operations",
    "checkpoints",
    "tips",
)
"""All that is read from the store, in an order that breaks no reference when they are emptied."""


# -- the ledger's file


IN_MEMORY = ":memory:"
"""A ledger for one command only, if the disk takes none."""
PATIENCE = 3.0
"""How long, in seconds, another process may lock the file before a command does without it.

Long enough for a process that catches up with a thousand turns, so that this is not done twice.
"""
_MOST_WAITING = 1 << 20
"""How large, in bytes, the file may stay that holds what is yet to go into the ledger.

Without a limit it keeps the size of the largest catch-up for as long as anybody has it open.
"""


PAGE = 4096
SMALL_PAGE = 512
"""Each table and each index takes a page from the beginning: 160 KB with the usual ones, 26 KB with
these. Reading many rows takes longer with them, so a ledger has them only while it is small."""
_OUTGROWN = 256 << 10
_BEING_MADE = 1
"""What SQLite keeps for an application, in the same transaction as the rows: 0 is the usual."""
_SPARE = 4
"""A ledger is written anew when more than this part of its pages is free."""


class LedgerRefused(Exception):
    """A ledger cannot hold this row: a number is too large, or its id is already there."""


def _dense(script: str) -> str:
    """Returns a script without needless spaces: SQLite keeps what it is told as it was written."""
    return " ".join(script.split()).replace(", ", ",").replace("( ", "(").replace(" )", ")")


def _translated(
    error: sqlite3.DatabaseError,
) -> LedgerDamaged | LedgerUnwritable | LedgerRefused:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH):
        return LedgerRefused(str(error))
    unwritable = (
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_PERM,
    )
    if code in unwritable:
        return LedgerUnwritable(str(error), busy=code == sqlite3.SQLITE_BUSY)
    return LedgerDamaged(str(error))


def _casefold(text: str | bytes | float | None) -> str | bytes | float | None:
    """Lets SQL compare as people do; its own ``lower`` knows only ASCII."""
    return text.casefold() if isinstance(text, str) else text


class LedgerFile:
    """One SQLite file, opened and brought up to the newest tables.

    A new one has pages of ``page`` bytes; one that has outgrown small ones gets larger ones. Every
    method may raise LedgerDamaged or LedgerUnwritable, one that writes also LedgerRefused.
    """

    def __init__(self, path: str, *, page: int = PAGE, patience: float | None = None) -> None:
        self._path = path
        self._page = page
        self._patience = PATIENCE if patience is None else patience
        self._is_held = False
        self.is_stopgap = False
        """True if it is in memory only because another process was writing the file."""
        for own in _files(path):
            if os.path.islink(own):  # SQLite would follow it, and write there
                raise LedgerDamaged(f"{own} is a link")
        try:
            # Threads may take turns with it, never use it at once: app/given.py sees to that.
            self._db = sqlite3.connect(
                path, timeout=self._patience, isolation_level=None, check_same_thread=False
            )
        except sqlite3.DatabaseError as error:
            raise _translated(error) from error
        self._db.create_function("casefold", 1, _casefold, deterministic=True)
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    @property
    def is_replaced(self) -> bool:
        """True if another process has removed the file and begun to make it anew."""
        return _identity(self._path) not in (None, self._identity)

    def _prepare(self) -> None:
        try:
            if self._path != IN_MEMORY and os.stat(self._path).st_mode & 0o077:
                durable.make_private(self._path, 0o600)
            self._db.execute(f"pragma page_size = {self._page:d}")  # of one that is not there yet
            self._enlarge_pages()
            self._db.execute("pragma journal_mode = wal")
            self._db.execute(f"pragma journal_size_limit = {_MOST_WAITING}")
            self._db.execute(f"pragma wal_autocheckpoint = {_MOST_WAITING // 4096}")
            self._db.execute("pragma synchronous = normal")
            self._db.execute("pragma foreign_keys = on")
            self._migrate()
            self._identity = _identity(self._path)
        except sqlite3.DatabaseError as error:
            raise _translated(error) from error
        except OSError as error:
            raise LedgerUnwritable(str(error)) from error

    def _enlarge_pages(self) -> None:
        """Writes a ledger anew that has outgrown its pages, unless another process has it open."""
        page, count = self._number("page_size"), self._number("page_count")
        if page >= PAGE or page * count <= _OUTGROWN:
            return
        self._db.execute("pragma busy_timeout = 0")
        try:
            self._db.execute("pragma journal_mode = delete")  # the size is fixed as long as it logs
            self._db.execute(f"pragma page_size = {PAGE:d}")
            self._db.execute("vacuum")
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _BUSY:
                raise
        finally:
            self._db.execute(f"pragma busy_timeout = {self._patience * 1000:.0f}")

    def slim(self, *, anew: bool) -> None:
        """Gives the disk back what rows took that are gone, unless others are at work in the file.

        SQLite keeps their pages, and the gaps in others, for rows to come: only writing all of it
        ``anew`` helps. That is done for a quarter of the pages in any case.
        """
        self._db.execute("pragma busy_timeout = 0")
        try:
            spare = _SPARE * self._number("freelist_count") > self._number("page_count")
            if anew or spare:
                self._db.execute("insert into words (words) values ('optimize')")
                self._db.execute("vacuum")
            self._db.execute("pragma wal_checkpoint(truncate)").fetchall()
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _BUSY:
                raise _translated(error) from error
        except sqlite3.DatabaseError as error:
            raise _translated(error) from error
        finally:
            self._db.execute(f"pragma busy_timeout = {self._patience * 1000:.0f}")

    def _number(self, pragma: str) -> int:
        (number,) = self._db.execute(f"pragma {pragma}").fetchone()
        return int(number)

    def _migrate(self) -> None:
        while (version := self._number("user_version")) < len(MIGRATIONS):
            self._db.execute("begin immediate")
            if self._number("user_version") == version:  # no other process was there first
                for step in _dense(MIGRATIONS[version]).split(";"):
                    self._db.execute(step)
                self._db.execute(f"pragma user_version = {version + 1}")
            self._db.execute("commit")
        if version > len(MIGRATIONS):
            raise LedgerUnwritable(f"it was made by a newer takeback, format {version}")

    def close(self) -> None:
        self._db.close()

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        return [_originals(row) for row in self.columns(query, *values)]

    def columns(self, query: str, *values: object) -> list[tuple[object, ...]]:
        """Returns rows as SQLite has them: text that a person wrote has to go through ``original``.

        For thousands of rows, of which few columns are such text.
        """
        bound = _bound(values)
        try:
            # Python 3.12.0 and 3.12.1 take a number for a name, and names require a mapping.
            if "?1" in query:
                named = {str(number): value for number, value in enumerate(bound, 1)}
                return self._db.execute(query, named).fetchall()
            return self._db.execute(query, bound).fetchall()
        except sqlite3.DatabaseError as error:
            raise _translated(error) from error
        except OverflowError as error:
            raise LedgerRefused(str(error)) from error

    def many(self, query: str, values: Iterable[Sequence[object]]) -> None:
        """Runs one statement for many rows; takes half the time of running it row by row."""
        try:
            self._db.executemany(query, map(_bound, values))
        except sqlite3.DatabaseError as error:
            raise _translated(error) from error
        except OverflowError as error:
            raise LedgerRefused(str(error)) from error

    def begin(self) -> None:
        self.rows("begin immediate")

    def commit(self) -> None:
        self.rows("commit")

    @property
    def is_whole(self) -> bool:
        """False while it is made anew, a batch at a time: much of what it knew is missing."""
        return self._number("application_id") != _BEING_MADE

    def set_whole(self, *, whole: bool) -> None:
        """Notes whether all is there, in the transaction that is open."""
        self.rows(f"pragma application_id = {0 if whole else _BEING_MADE:d}")

    @property
    def is_held(self) -> bool:
        """True between ``hold`` and ``let_go``."""
        return self._is_held

    def hold(self) -> None:
        """Keeps to the state of this moment, whatever others write; nothing is written meanwhile.

        Their log cannot be emptied for so long: this is for one question.
        """
        self.rows("begin")
        self._is_held = True

    def let_go(self) -> None:
        """Sees again what others wrote."""
        self._is_held = False
        self.rollback()

    def all_or_nothing(self, write: Callable[[], None]) -> None:
        """Writes one part of a catch-up; if that fails, nothing of that part stays."""
        self.rows("savepoint part")
        try:
            write()
        except BaseException:
            if self._db.in_transaction:
                self.rows("rollback to part")
            raise
        finally:
            if self._db.in_transaction:
                self.rows("release part")

    def rollback(self) -> None:
        if self._db.in_transaction:
            self.rows("rollback")


_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)
_PRIVATE = 0x100000


def _bound(values: Iterable[object]) -> list[object]:
    return [_storable(v) if isinstance(v, str) and not v.isascii() else v for v in values]


def _originals(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple([original(v) if isinstance(v, str) and not v.isascii() else v for v in row])


def _storable(text: str) -> str:
    """Returns text that SQLite takes: lone surrogates (bytes that are not UTF-8) moved aside.

    They are mapped to the last private plane of Unicode, which nobody types, and back.
    """
    return "".join(chr(ord(c) + _PRIVATE) if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)


def original(text: str) -> str:
    """Returns text as it was before ``_storable``."""
    if text.isascii():
        return text
    low, high = 0xD800 + _PRIVATE, 0xDFFF + _PRIVATE
    return "".join(chr(ord(c) - _PRIVATE) if low <= ord(c) <= high else c for c in text)


def _identity(path: str) -> tuple[int, int] | None:
    """Returns what tells a file from another of its name; None if there is none."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def is_busy(path: str) -> bool:
    """Tells whether another process is writing a ledger at this moment."""
    db = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        db.execute("begin immediate")
        db.execute("rollback")
    except sqlite3.OperationalError as error:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY
    except sqlite3.DatabaseError:
        return False
    finally:
        db.close()
    return False


def remove(path: str) -> None:
    """Deletes a ledger's files; the store has everything that was in them."""
    for own in _files(path):
        try:
            durable.unlink(own)
        except FileNotFoundError:
            continue


def _files(path: str) -> list[str]:
    """Returns the names that SQLite uses for a database."""
    return [path + suffix for suffix in ("", "-wal", "-shm", "-journal")]
