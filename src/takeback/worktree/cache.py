"""The stat cache: which bytes a file had when it was last read. Disposable, always."""

from __future__ import annotations

import marshal
import os
from struct import Struct, pack
from zlib import crc32

from takeback import durable
from takeback.c_modules import bisect_left
from takeback.ordinary import ordinary
from takeback.worktree.directory import (
    LINKED,
    NEVER_TRUSTED,
    PATH,
    REPOSITORY,
    SAVED_SIGNATURES,
    SIGNATURES,
    UNRULED,
    CacheDamaged,
    Directory,
    all_doubted,
    decode,
    encode,
    is_marked,
    listing,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from takeback.worktree.directory import Row

    Logged = tuple[int, bytes | None]
    """The number of the record that it supersedes, and the new one; None if it is gone."""

# -- the table of the stat cache: a file with the records of all directories, written once, whole
#
#       records | where each begins | hashes of the paths | their numbers | marked ones | head | end
#
# The end says how long the other parts are and has a checksum of all but the records, each of
# which has its own. So opening a table reads 16 bytes a directory, and nothing of the files in
# it. A record is known by its number; ``Known`` knows which of them have been superseded since.
#
# Read with pread and not with mmap: a bad sector, or a file that somebody cuts, is then an error
# that can be handled, where a mapped page would kill the process with SIGBUS.


_MAGIC = b"TB stat\3"
"""Ends with the version. With the bytes of numbers in another order the lengths do not fit."""
_END = Struct("=8sQ8sIIII")
_OFFSET, _NUMBER = 8, 4
_READ_WHOLE = 1 << 20
"""A table up to this size (8,000 files) is read at once: most of it will be looked at."""
_PIECE = 1 << 20
_TOKEN = 8


class Table:
    """An open table. Raises OSError or CacheDamaged if it cannot be used."""

    def __init__(self, path: str) -> None:
        self._whole: bytes | None = None
        self._fd = ordinary(path, os.O_RDONLY)
        self.size = os.fstat(self._fd).st_size
        self._open()
        if self.size <= _READ_WHOLE:
            self.whole()

    def __del__(self) -> None:
        self._close()

    def _close(self) -> None:
        fd, self._fd = getattr(self, "_fd", -1), -1
        if fd >= 0:
            os.close(fd)

    def _open(self) -> None:
        end = self._bytes(self.size - _END.size, _END.size)
        magic, records, token, count, marked, head, checksum = _END.unpack(end)
        index = (count + 1) * _OFFSET + (2 * count + marked) * _NUMBER
        if magic != _MAGIC or records + index + head + _END.size != self.size:
            raise CacheDamaged("the stat cache is of another format, or cut short")
        tail = self._bytes(records, index + head)
        if crc32(end[:-_NUMBER], crc32(tail)) != checksum:
            raise CacheDamaged("the index of the stat cache is not as it was written")
        self.token: bytes = token
        self.count: int = count
        self.head = tail[index:]
        self.offsets = tail[: (count + 1) * _OFFSET]
        numbers = memoryview(tail)[len(self.offsets) : index].cast("I")
        self._offsets = memoryview(self.offsets).cast("Q")
        self._hashes, self._numbers = numbers[:count], numbers[count : 2 * count]
        self.marked = numbers[2 * count :].tolist()
        """The numbers of the records that ``is_marked`` picks."""

    def _bytes(self, offset: int, length: int) -> bytes:
        if self._whole is not None:
            return self._whole[offset : offset + length]
        if offset < 0:
            raise CacheDamaged("the stat cache is cut short")
        try:
            data = os.pread(self._fd, length, offset)
        except OSError as error:
            raise CacheDamaged(f"the stat cache cannot be read: {error.strerror}") from error
        if len(data) != length:
            raise CacheDamaged("the stat cache is cut short")
        return data

    def whole(self) -> bytes:
        """Returns all records, one after the other as ``offsets`` has it."""
        if self._whole is None:
            self._whole = self._bytes(0, self._offsets[-1])
            self._close()
        return self._whole

    def record(self, number: int) -> bytes:
        """Returns one record as it lies there, unchecked."""
        start, end = self._offsets[number : number + 2]
        return self._bytes(start, end - start)

    def row(self, number: int) -> Row:
        """Returns one directory; raises CacheDamaged."""
        return decode(self.record(number))

    def find(self, path: bytes) -> tuple[int, Row] | None:
        """Returns a directory and its number, or None if it is not in the table."""
        wanted = hash_of(path)
        at = bisect_left(self._hashes, wanted)
        while at < self.count and self._hashes[at] == wanted:
            number = self._numbers[at]
            row = self.row(number)
            if row[PATH] == path:
                return number, row
            at += 1
        return None

    def hashes(self) -> list[int]:
        """Returns the hash of each record's path, by its number."""
        found = [0] * self.count
        for wanted, number in zip(self._hashes, self._numbers, strict=True):
            found[number] = wanted
        return found


def new_token() -> bytes:
    """Returns what tells one table from any other."""
    return os.urandom(_TOKEN)


def hash_of(path: bytes) -> int:
    """Returns the number by which a path is found in a table."""
    return crc32(path)


def encoded(records: Iterable[tuple[int, bytes]], head: bytes, token: bytes) -> Iterator[bytes]:
    """Yields a table of (hash of the path, record) in pieces, as they are to be written."""
    offsets, hashes, marked = [0], [], []
    pieces: list[bytes] = []
    written = at = 0
    for number, (hashed, record) in enumerate(records):
        pieces.append(record)
        at += len(record)
        offsets.append(at)
        hashes.append(hashed)
        if is_marked(record):
            marked.append(number)
        if at - written >= _PIECE:
            yield b"".join(pieces)
            pieces, written = [], at
    count = len(hashes)
    order = sorted(range(count), key=hashes.__getitem__)
    tail = b"".join(
        (
            pack(f"={count + 1}Q", *offsets),
            pack(f"={count}I", *[hashes[number] for number in order]),
            pack(f"={count}I", *order),
            pack(f"={len(marked)}I", *marked),
            head,
        )
    )
    end = _END.pack(_MAGIC, at, token, count, len(marked), len(head), 0)[:-_NUMBER]
    checksum = pack("=I", crc32(end, crc32(tail)))
    yield b"".join((*pieces, tail, end, checksum))


# -- the directories that the stat cache knows, made into objects only when they are needed
#
#         made      looked at or changed by this process
#         logged    written since the table was
#         table     all others, by their numbers
#
# Each supersedes what is below it.


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


# -- the stat cache
#
#         stat/table    all directories, and what they were made from       (``table``)
#         stat/log      what has changed since, one frame for each capture
#
# A capture appends what it learnt to the log. Once that is long, all is written into a new table;
# the log goes just before it takes its place. So what is on disk at any moment is what some
# capture knew: less than the last one if it was killed, and then files are looked at again. A log
# that is damaged, or of another table, makes all of it void. Nothing is flushed: the worst that a
# power loss can leave is a cache that cannot be used, which costs one full read of the workspace.


_TABLE, _LOG = "table", "log"
_FRAME = Struct("=8sII")
_LEAST_LOG = 1 << 16
_SHARE_OF_TABLE = 16
"""The longest log: the longer, the more there is to load at each capture; the shorter, the more
often a table is written."""


class CacheHeader:
    """What the cache was made from; if any of it differs, some or all of the cache is void."""

    __slots__ = (
        "epoch",
        "ignored_directories",
        "index",
        "inside",
        "read_at",
        "rules",
        "token",
        "tree",
        "unsaved",
    )

    def __init__(self) -> None:
        self.epoch = -1
        self.rules = b""
        self.token = b""
        """Another one with each save: a watch knows by it whether it goes with this cache."""
        self.tree = b""
        self.unsaved: list[bytes] = []
        self.read_at = 0
        self.index: dict[bytes, tuple[int, ...]] = {}
        self.ignored_directories: list[bytes] = []
        self.inside: list[tuple[bytes, bytes, int, bytes]] = []

    def encoded(self) -> dict[str, bytes]:
        """Returns each part as bytes, which are the same as long as the part is."""
        return {slot: marshal.dumps(getattr(self, slot), 2) for slot in self.__slots__}

    def take(self, parts: dict[str, bytes]) -> None:
        """Reads what ``encoded`` returned, or some parts of it."""
        for slot, part in parts.items():
            setattr(self, slot, marshal.loads(part))


class StatCache:
    """All known directories, and what they were made from."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.header = CacheHeader()
        self.known = Known()
        self._parts: dict[str, bytes] = {}
        """The header as it is on disk."""
        self._table: Table | None = None
        self._log_size = 0
        self._may_append = False

    @classmethod
    def load(cls, directory: str) -> StatCache:
        """Reads the cache; returns an empty one if there is none or it cannot be read."""
        for _ in range(2):  # without the lock, a new table may come between the two files
            self = cls(directory)
            try:
                self._load()
            except FileNotFoundError:
                break
            except (OSError, ValueError, EOFError, TypeError, AttributeError):
                continue
            return self
        return cls(directory)

    @staticmethod
    def is_in(directory: str) -> bool:
        """Tells whether there is one, of whatever use."""
        return os.path.exists(os.path.join(directory, _TABLE))

    def _load(self) -> None:
        table = Table(os.path.join(self.directory, _TABLE))
        files, parts = marshal.loads(table.head)
        logged: dict[bytes, Logged] = {}
        log = self._read_log()
        at = 0
        while at + _FRAME.size <= len(log):
            token, length, checksum = _FRAME.unpack_from(log, at)
            if token != table.token:
                raise CacheDamaged("the log of the stat cache is of another table")
            start, end = at + _FRAME.size, at + _FRAME.size + length
            if end > len(log):  # whoever wrote it was killed, or the disk was full
                break
            frame = log[start:end]
            if crc32(frame) != checksum:
                raise CacheDamaged("the log of the stat cache is not as it was written")
            files, changed_parts, changed = marshal.loads(frame)
            parts.update(changed_parts)
            logged.update(changed)
            at = end
        self.header.take(parts)
        self.known = Known(table, logged, files=files)
        self._table, self._parts, self._log_size = table, parts, at
        self._may_append = at == len(log)

    def _read_log(self) -> bytes:
        try:
            with open(os.path.join(self.directory, _LOG), "rb", opener=ordinary) as file:
                return file.read()
        except FileNotFoundError:
            return b""

    @property
    def is_worth_its_blocks(self) -> bool:
        """False for a new one of an empty workspace, which has nothing to say."""
        return self._table is not None or not self.known.is_bare()

    def doubt(self) -> None:
        """Stops trusting any file's cached bytes; which paths were held stays known."""
        self.known = self.known.doubted()
        self._may_append = False
        self.header.inside = [
            (path, NEVER_TRUSTED if mark else b"", mode, oid)
            for path, mark, mode, oid in self.header.inside
        ]

    def save(self, changed: set[bytes] | None) -> None:
        """Writes what is known of the ``changed`` paths (None: of all)."""
        durable.make_directories(self.directory)
        self.header.token = new_token()
        if changed is not None and self._append(changed):
            return
        try:
            self._write_table()
        except CacheDamaged:  # what was not looked at cannot be taken over: all is void
            self._remove(_TABLE)

    def _append(self, changed: set[bytes]) -> bool:
        """Adds a frame to the log; False if there must be a new table instead."""
        if self._table is None or not self._may_append:
            return False
        parts = dict(self.header.encoded().items() - self._parts.items())
        frame = marshal.dumps((self.known.file_count(), parts, self.known.logged(changed)))
        data = _FRAME.pack(self._table.token, len(frame), crc32(frame)) + frame
        size = self._log_size + len(data)
        if size > max(_LEAST_LOG, self._table.size // _SHARE_OF_TABLE):
            return False
        try:
            if durable.append(os.path.join(self.directory, _LOG), data) != size:
                return False  # the disk is full
        except OSError:  # nothing that can be written to is where the log should be
            return False
        self._log_size = size
        self._parts.update(parts)
        return True

    def _write_table(self) -> None:
        self._may_append = False  # the new table has other numbers than those that we know
        for name in os.listdir(self.directory):
            if name not in (_TABLE, _LOG):  # of an older version, or left by a killed process
                self._remove(name)
        head = marshal.dumps((self.known.file_count(), self.header.encoded()))
        durable.replace_file(
            os.path.join(self.directory, _TABLE),
            encoded(self.known.records(), head, new_token()),
            flush=False,
            check=lambda: self._remove(_LOG),
        )

    def _remove(self, name: str) -> None:
        try:
            durable.unlink(os.path.join(self.directory, name))
        except FileNotFoundError:
            pass
