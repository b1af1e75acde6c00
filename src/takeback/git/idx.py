"""The index of a pack (idx, version 2): which object is at which offset.

    magic, version | fan-out, 256 numbers | ids, sorted | crc32s | offsets | two checksums

Read with pread and not with mmap: a bad sector is then an error that can be reported,
where a mapped page would kill the process with SIGBUS.
"""

from __future__ import annotations

import os
from struct import Struct

from takeback import errors
from takeback.git.objects import ObjectId, new_hasher
from takeback.remembered import Remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# O_NONBLOCK has no effect on a file and keeps a FIFO of that name from blocking us
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MAGIC = b"\xfftOc\0\0\0\x02"
_FAN_OUT = Struct(">256I")
_NUMBER = Struct(">I")
_LARGE_NUMBER = Struct(">Q")
_IDS_AT = len(_MAGIC) + 1024
_ROW = Struct(">20sII")
_PER_OBJECT = 28  # id 20, crc 4, offset 4
_CHECKSUMS = 40
_LARGE = 1 << 31
_IDS_KEPT = 2 << 20
"""Bytes of ids that are remembered of one index: all of 100,000 objects, else the last used."""

READ_WHOLE = 1 << 16
"""An index up to this size (2,300 objects) is read whole and its descriptor closed: there may
be thousands of small packs, and processes have 256 descriptors on macOS."""


class IndexEntries:
    """The objects of a pack that is being written, in flat bytes: there may be a million."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows = bytearray()

    def __len__(self) -> int:
        return len(self._rows) // _ROW.size

    def add(self, oid: ObjectId, crc: int, offset: int) -> None:
        """Adds an object at an offset below 2 GB."""
        self._rows += _ROW.pack(oid, crc, offset)

    def columns(self) -> tuple[bytes, bytes, bytes]:
        """Returns the ids, sorted, and the crc32 and the offset of each."""
        size = _ROW.size
        rows = [bytes(self._rows[at : at + size]) for at in range(0, len(self._rows), size)]
        rows.sort()
        joined = b"".join(rows)
        return (_column(joined, 0, 20), _column(joined, 20, 4), _column(joined, 24, 4))


def _column(rows: bytes, start: int, width: int) -> bytes:
    """Returns some bytes of each row; made byte by byte, as there are fewer of these than rows."""
    column = bytearray(len(rows) // _ROW.size * width)
    for byte in range(width):
        column[byte::width] = rows[start + byte :: _ROW.size]
    return bytes(column)


def encode_index(entries: IndexEntries, pack_checksum: bytes) -> bytes:
    """Returns the index of a pack."""
    ids, checksums, offsets = entries.columns()
    fan_out = [0] * 256
    for first in ids[::20]:
        fan_out[first] += 1
    total = 0
    for first, count in enumerate(fan_out):
        total += count
        fan_out[first] = total
    body = b"".join(
        (
            _MAGIC,
            _FAN_OUT.pack(*fan_out),
            ids,
            checksums,
            offsets,
            pack_checksum,
        )
    )
    hasher = new_hasher(len(body))
    hasher.update(body)
    return body + hasher.digest()


class PackIndex:
    """An open index. Raises StoreDamaged, or OSError if it cannot be opened at all.

    Only its shape is checked on opening (the checksum of a large one costs 3 ms): a
    wrong answer is found when the object is hashed.
    """

    __slots__ = ("_buckets", "_fd", "_size", "_whole", "count", "fan_out", "pack_checksum")

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, _FLAGS)
        self._whole = b""
        self._buckets: Remembered[int, bytes] = Remembered(_IDS_KEPT, at_least=1)
        try:
            self._size = os.fstat(self._fd).st_size
            self._open()
        except BaseException:
            self.close()
            raise
        if self._whole:
            self.close()

    def _open(self) -> None:
        if self._size < _IDS_AT + _CHECKSUMS:
            raise errors.StoreDamaged("its index is cut short")
        if self._size <= READ_WHOLE:
            self._whole = self._bytes(0, self._size)
        head = self._bytes(0, _IDS_AT)
        if not head.startswith(_MAGIC):
            raise errors.StoreDamaged("its index has no index header")
        fan_out = _FAN_OUT.unpack_from(head, len(_MAGIC))
        if sorted(fan_out) != list(fan_out):
            raise errors.StoreDamaged("its index has a garbled fan-out table")
        # of the ids that begin with byte b, the first is fan_out[b], the last before fan_out[b+1]
        self.fan_out = (0, *fan_out)
        self.count = fan_out[255]
        large = self._size - _IDS_AT - self.count * _PER_OBJECT - _CHECKSUMS
        if large < 0 or large % 8 or large // 8 > self.count:
            raise errors.StoreDamaged("its index has the wrong size")
        self.pack_checksum = self._bytes(self._size - _CHECKSUMS, 20)

    def _bytes(self, offset: int, length: int) -> bytes:
        if self._whole:
            return self._whole[offset : offset + length]
        try:
            data = os.pread(self._fd, length, offset)
        except OSError as error:
            raise errors.StoreDamaged(f"its index cannot be read: {error.strerror}") from error
        if len(data) != length:
            raise errors.StoreDamaged("its index is cut short")
        return data

    def find(self, oid: ObjectId) -> int | None:
        """Returns the offset of an object in the pack, or None if it is not in it."""
        first = oid[0]
        start = self.fan_out[first]
        low, high = 0, self.fan_out[first + 1] - start
        if not high:
            return None
        ids = self._buckets.get(first)
        if ids is None:
            ids = self._bytes(_IDS_AT + start * 20, high * 20)
            self._buckets.add(first, ids, len(ids))
        while low < high:
            middle = (low + high) >> 1
            found = ids[middle * 20 : middle * 20 + 20]
            if found < oid:
                low = middle + 1
            elif found == oid:
                return self._offset(start + middle)
            else:
                high = middle
        return None

    def _offset(self, position: int) -> int:
        offsets_at = _IDS_AT + self.count * 24
        (offset,) = _NUMBER.unpack(self._bytes(offsets_at + position * 4, 4))
        number = int(offset)
        if number < _LARGE:
            return number
        # git's repack may write a pack of more than 2 GB; ours are split before that
        at = offsets_at + self.count * 4 + (number - _LARGE) * 8
        if at + 8 > self._size - _CHECKSUMS:
            raise errors.StoreDamaged("its index has an offset out of range")
        return int(_LARGE_NUMBER.unpack(self._bytes(at, 8))[0])

    def __iter__(self) -> Iterator[ObjectId]:
        """Yields every id, in order."""
        for start in range(0, self.count, 4096):
            number = min(4096, self.count - start)
            ids = self._bytes(_IDS_AT + start * 20, number * 20)
            for at in range(0, len(ids), 20):
                yield ids[at : at + 20]

    def offsets(self) -> list[int]:
        """Returns where each object stands in the pack, in the order of their ids."""
        return [self._offset(position) for position in range(self.count)]

    def close(self) -> None:
        """Closes the descriptor; an index that was read whole stays usable."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
