"""The table of the stat cache: a file with the records of all directories, written once, whole.

        records | where each begins | hashes of the paths | their numbers | marked ones | head | end

The end says how long the other parts are and has a checksum of all but the records, each of which
has its own. So opening a table reads 16 bytes a directory, and nothing of the files in it. A record
is known by its number; ``Known`` knows which of them have been superseded since.

Read with pread and not with mmap: a bad sector, or a file that somebody cuts, is then an error that
can be handled, where a mapped page would kill the process with SIGBUS.
"""

from __future__ import annotations

import os
from struct import Struct, pack
from zlib import crc32

from takeback.c_modules import bisect_left
from takeback.ordinary import ordinary
from takeback.worktree.directory import PATH
from takeback.worktree.record import CacheDamaged, decode, is_marked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from takeback.worktree.directory import Row

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
