"""The directories that the stat cache knows, made into objects only when they are needed.

        made      looked at or changed by this process
        logged    written since the table was
        table     all others, by their numbers

Each supersedes what is below it.
"""

from __future__ import annotations

from struct import pack

from takeback.worktree.directory import (
    LINKED,
    PATH,
    REPOSITORY,
    SAVED_SIGNATURES,
    SIGNATURES,
    UNRULED,
    Directory,
    all_doubted,
)
from takeback.worktree.record import decode, encode, is_marked, listing
from takeback.worktree.table import hash_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from takeback.worktree.directory import Row
    from takeback.worktree.table import Table

    Logged = tuple[int, bytes | None]
    """The number of the record that it supersedes, and the new one; None if it is gone."""

_NOWHERE = -1
"""Stands for the number of a directory that is not in the table."""


class Known:
    """A mapping from path to Directory. ``files`` is how many files table and log hold together.

    Whatever asks for a directory that is not made yet raises CacheDamaged if it cannot be used.
    """

    def __init__(
        self,
        table: Table | None = None,
        logged: dict[bytes, Logged] | None = None,
        *,
        files: int = 0,
    ) -> None:
        self._table = table
        self._logged = {} if logged is None else logged
        self._made: dict[bytes, Directory | None] = {}
        """None for one that was forgotten."""
        self._numbers = {path: number for path, (number, _) in self._logged.items()}
        self._files = files
        """In directories that are not made."""
        self._marked_are_made = False
        self._doubting = False

    def get(self, path: bytes) -> Directory | None:
        if path in self._made:
            return self._made[path]
        if path in self._logged:
            number, record = self._logged[path]
            return None if record is None else self._make(decode(record), number)
        found = None if self._table is None else self._table.find(path)
        return None if found is None else self._make(found[1], found[0])

    def _make(self, row: Row, number: int) -> Directory:
        path = row[PATH]
        made = self._made[path] = Directory.load(_doubted(row) if self._doubting else row)
        self._numbers[path] = number
        self._files -= len(made.files)
        return made

    def __getitem__(self, path: bytes) -> Directory:
        found = self.get(path)
        if found is None:
            raise KeyError(path)
        return found

    def __setitem__(self, path: bytes, directory: Directory) -> None:
        self.get(path)  # so that the files of what it supersedes do not count any more
        self._made[path] = directory

    def __contains__(self, path: bytes) -> bool:
        return self.get(path) is not None

    def pop(self, path: bytes) -> Directory | None:
        """Forgets a directory and returns it; None if it was not known."""
        found = self.get(path)
        if found is not None:
            self._made[path] = None
        return found

    def rows(self) -> Iterator[Row]:
        """Yields all directories as rows, those that were made into objects last."""
        return self._read(decode)

    def listings(self) -> Iterator[Row]:
        """Yields the first columns of all directories, up to when each was listed."""
        return self._read(listing)

    def _read(self, read: Callable[[bytes], Row]) -> Iterator[Row]:
        for _, record in self._unmade():
            yield read(record)
        yield from (made.dump() for made in self._made.values() if made is not None)

    def paths(self) -> list[bytes]:
        return [row[PATH] for row in self.listings()]

    def records(self) -> Iterator[tuple[int, bytes]]:
        """Yields the hash of its path and the record of each directory, for a table of all."""
        yield from self._unmade()
        yield from self._made_records()

    def logged(self, paths: Iterable[bytes]) -> dict[bytes, Logged]:
        """Returns what a log has to say of some directories: those of them that were made."""
        found: dict[bytes, Logged] = {}
        for path in paths:
            if path in self._made:
                made = self._made[path]
                record = None if made is None else encode(made.dump())
                found[path] = (self._numbers.get(path, _NOWHERE), record)
        return found

    def in_table(self) -> tuple[Table, set[int]] | None:
        """Returns the table and which numbers of it do not count; None if none of them does."""
        if self._table is None or self._doubting:
            return None
        return self._table, {*self._numbers.values()} - {_NOWHERE}

    def beside_table(self) -> tuple[bytes, bytes]:
        """Returns the records of what the table has not, and where each begins, as it has them."""
        rest = self._unmade() if self.in_table() is None else self._unmade_in_log()
        records = [record for _, record in (*rest, *self._made_records())]
        ends = [0]
        for record in records:
            ends.append(ends[-1] + len(record))
        return b"".join(records), pack(f"={len(ends)}Q", *ends)

    def _unmade(self) -> Iterator[tuple[int, bytes]]:
        for part in (self._unmade_in_table(), self._unmade_in_log()):
            for hashed, record in part:
                yield hashed, encode(_doubted(decode(record))) if self._doubting else record

    def _unmade_in_table(self) -> Iterator[tuple[int, bytes]]:
        if self._table is not None:
            superseded = {*self._numbers.values()}
            self._table.whole()
            for number, hashed in enumerate(self._table.hashes()):
                if number not in superseded:
                    yield hashed, self._table.record(number)

    def _unmade_in_log(self) -> Iterator[tuple[int, bytes]]:
        for path, (_, record) in self._logged.items():
            if record is not None and path not in self._made:
                yield hash_of(path), record

    def _made_records(self) -> Iterator[tuple[int, bytes]]:
        for path, made in sorted(self._made.items(), key=lambda item: item[0]):
            if made is not None:
                yield hash_of(path), encode(made.dump())

    def file_count(self) -> int:
        return self._files + sum([len(made.files) for made in self._made.values() if made])

    def is_bare(self) -> bool:
        """Tells whether there is nothing to know: no directory but the top, nothing in that."""
        if self.file_count() or self.special():
            return False
        return sum(1 for _ in self._unmade()) + sum(map(bool, self._made.values())) <= 1

    def special(self) -> list[Directory]:
        """Returns those with gaps, saved or tracked-but-ignored files, in no order."""
        return [made for made in self._marked() if made.gaps or made.saved.names or made.tracked]

    def unruled(self) -> set[bytes]:
        """Returns the paths of directories below which git is not asked."""
        return {made.path for made in self._marked() if made.flags & UNRULED}

    def repositories(self) -> list[bytes]:
        """Returns the paths of directories that hold a ``.git``."""
        return [made.path for made in self._marked() if made.flags & REPOSITORY]

    def linked(self) -> list[bytes]:
        """Returns the paths of directories with a file that has several links."""
        return [made.path for made in self._marked() if made.flags & LINKED]

    def below(self, path: bytes) -> Iterator[bytes]:
        """Yields a directory and all below it, as far as they are known."""
        stack = [path]
        while stack:
            directory = self.get(at := stack.pop())
            if directory is not None:
                yield at
                prefix = at + b"/" if at else b""
                stack.extend(prefix + name for name in directory.subs)

    def _marked(self) -> list[Directory]:
        """Returns the directories that were made, with all that are more than files."""
        if not self._marked_are_made:
            for path, (_, record) in self._logged.items():
                if record is not None and is_marked(record):
                    self.get(path)
            if self._table is not None:
                superseded = {*self._numbers.values()}
                for number in self._table.marked:
                    if number not in superseded:
                        self._make(self._table.row(number), number)
            self._marked_are_made = True
        return [made for made in self._made.values() if made is not None]

    def doubted(self) -> Known:
        """Returns the same directories with no file's cached bytes trusted any more."""
        doubted = Known(self._table, self._logged, files=self._files)
        doubted._doubting = True
        doubted._numbers = dict(self._numbers)
        doubted._marked_are_made = self._marked_are_made
        for path, made in self._made.items():
            doubted._made[path] = None if made is None else Directory.load(_doubted(made.dump()))
        return doubted


def _doubted(row: Row) -> Row:
    return (
        *row[:SIGNATURES],
        all_doubted(row[SIGNATURES]),
        *row[SIGNATURES + 1 : SAVED_SIGNATURES],
        all_doubted(row[SAVED_SIGNATURES]),
        *row[SAVED_SIGNATURES + 1 :],
    )
