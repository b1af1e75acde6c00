"""Reads one pack file: given the offset of an entry, returns its kind and bytes.

Nothing here is hash-checked; ``packs`` does that. Every damage is a StoreDamaged whose
message is the second half of a sentence that ``packs`` completes.
"""

from __future__ import annotations

import os
import zlib

from takeback import errors
from takeback.git.delta import apply_delta, check_size, delta_pieces, read_number, size_made
from takeback.git.objects import KIND_NAMES, LONGEST, ObjectId
from takeback.model.value import Value
from takeback.remembered import Remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from takeback.git.idx import PackIndex

PIECE = 1 << 20
# O_NONBLOCK has no effect on a file and keeps a FIFO of that name from blocking us
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_FIRST = 4096  # most objects lie whole in the first read
_OFS_DELTA = 6
_REF_DELTA = 7
_DEEPEST = 4096  # git writes 50, and never more than 4095
_LONGEST_DELTAED = 1 << 29  # git makes no delta of a longer file (core.bigFileThreshold)
_DENSEST = 1040  # zlib cannot make more than 1032 bytes of one
_REMEMBERED = 4 << 20
_A_BASE = 250
"""Bytes that Python needs for one of them, besides those of the object."""


class PackEntry(Value):
    """The head of one entry: what it is, and where its compressed bytes begin.

    ``base`` is the offset or the id of what a delta is applied to; ``first`` holds the
    compressed bytes already read, ``position`` is where the next ones are.
    """

    kind: int
    size: int
    base: int | ObjectId | None
    first: bytes
    position: int


def inflate(
    read: Callable[[int, int], bytes], position: int, first: bytes, size: int | None
) -> Generator[bytes, None, None]:
    """Yields what a zlib stream holds, in pieces of at most 1 MB.

    Raises StoreDamaged if the stream is cut short, garbled or not of ``size`` bytes.
    """
    inflater = zlib.decompressobj()
    made = 0
    raw = first
    while not inflater.eof:
        if not raw:
            raw = read(position, _FIRST if size is not None and size < _FIRST else PIECE)
            position += len(raw)
            if not raw:
                raise errors.StoreDamaged("it is cut short")
        try:
            piece = inflater.decompress(raw, PIECE)
        except zlib.error as error:
            raise errors.StoreDamaged(f"it does not inflate: {error}") from error
        raw = inflater.unconsumed_tail
        made += len(piece)
        if size is not None and made > size:
            raise errors.StoreDamaged("it is longer than it says")
        if piece:
            yield piece
    if size is not None and made != size:
        raise errors.StoreDamaged("it is shorter than it says")


class Bases:
    """The last objects that deltas led through, of all packs together, up to some MB.

    Versions of a directory are deltas of one another, fifty in a row. Without this, reading all of
    them would apply each one fifty times.
    """

    __slots__ = ("_found", "_opened")

    def __init__(self) -> None:
        self._found: Remembered[tuple[int, int], tuple[int, bytes]] = Remembered(_REMEMBERED)
        self._opened = 0

    def new_pack(self) -> int:
        """Returns a number for a pack that was opened; a name may come to be that of another."""
        self._opened += 1
        return self._opened

    def get(self, pack: int, offset: int) -> tuple[int, bytes] | None:
        return self._found.get((pack, offset))

    def add(self, pack: int, offset: int, kind: int, data: bytes) -> None:
        if len(data) <= _REMEMBERED // 4:
            self._found.add((pack, offset), (kind, data), len(data) + _A_BASE)

    def clear(self) -> None:
        self._found.clear()


class PackFile:
    """An open pack. OSError if it cannot be opened; StoreDamaged for anything wrong in it."""

    __slots__ = ("_bases", "_fd", "_number", "_size")

    def __init__(self, path: str, bases: Bases) -> None:
        self._fd = os.open(path, _FLAGS)
        self._size = os.fstat(self._fd).st_size
        self._bases = bases
        self._number = bases.new_pack()

    def problem(self, index: PackIndex) -> str | None:
        """Says why this is not the whole pack that ``index`` was made for, None if it is.

        A truncated pack is noticed without reading it: its checksum comes last.
        """
        if self._size < 32:
            return "its pack file is empty or cut short"
        try:
            last = self._read(self._size - 20, 20)
        except errors.StoreDamaged as error:
            return error.message
        if last != index.pack_checksum:
            return "its pack file does not end as its index says"
        return None

    def _read(self, position: int, length: int) -> bytes:
        try:
            return os.pread(self._fd, length, position)
        except OSError as error:
            raise errors.StoreDamaged(f"it cannot be read: {error.strerror}") from error

    def entry(self, offset: int) -> PackEntry:
        """Returns the head of the entry at ``offset``."""
        if not 12 <= offset < self._size:
            raise errors.StoreDamaged("its place lies outside the pack")
        raw = self._read(offset, _FIRST)
        size, used = read_number(raw, 0)
        # the first byte holds the kind and four bits, the others seven bits each
        kind = size >> 4 & 7
        size = size & 0x0F | (size >> 7) << 4
        base: int | ObjectId | None = None
        if kind == _OFS_DELTA:
            distance, used = _read_distance(raw, used)
            base = offset - distance
        elif kind == _REF_DELTA:
            base = raw[used : used + 20]
            used += 20
            if used > len(raw):
                raise errors.StoreDamaged("it is cut short")
        elif kind not in KIND_NAMES:
            raise errors.StoreDamaged(f"it has the unknown kind {kind}")
        if size > (self._size - offset) * _DENSEST:
            raise errors.StoreDamaged("its size cannot be right")
        return PackEntry(kind, size, base, raw[used:], offset + len(raw))

    def pieces(self, entry: PackEntry) -> Generator[bytes, None, None]:
        """Yields the inflated bytes of one entry as they are: for a delta, its instructions."""
        return inflate(self._read, entry.position, entry.first, entry.size)

    def open(
        self, offset: int, index: PackIndex, most: int | None = None
    ) -> tuple[int, int, Generator[bytes, None, None]]:
        """Returns kind, size and bytes of the object at ``offset``, its deltas applied.

        It may have at most ``most`` bytes. What it is a delta of is any object of its kind, so that
        may have as many as one of that kind, and so may all deltas together. Of a long one only
        what its own delta is applied to is in memory, not its bytes.
        """
        deltas: list[tuple[int, PackEntry]] = []
        for _ in range(_DEEPEST):
            found = self._bases.get(self._number, offset)
            if found is not None:
                break
            entry = self.entry(offset)
            if entry.base is None:
                break
            deltas.append((offset, entry))
            offset = self._base_offset(entry.base, index)
        else:
            raise errors.StoreDamaged("its deltas have no end")
        longest = LONGEST.get(entry.kind if found is None else found[0], _LONGEST_DELTAED)
        most = longest if most is None else min(most, longest)
        check_size(sum(delta.size for _, delta in deltas), longest)
        if found is None:
            check_size(entry.size, longest if deltas else most)
            found = entry.kind, b"".join(self.pieces(entry))
        check_size(len(found[1]), longest if deltas else most)
        return self._undeltaed(offset, found, deltas, most)

    def _undeltaed(
        self,
        offset: int,
        base: tuple[int, bytes],
        deltas: list[tuple[int, PackEntry]],
        most: int,
    ) -> tuple[int, int, Generator[bytes, None, None]]:
        """Applies deltas, the last one first, to the object at ``offset``."""
        kind, data = base
        longest = LONGEST.get(kind, _LONGEST_DELTAED)
        if deltas:
            self._bases.add(self._number, offset, kind, data)
        while deltas:
            offset, delta = deltas.pop()
            orders = b"".join(self.pieces(delta))
            if not deltas and size_made(orders) > _REMEMBERED:
                return kind, size_made(orders), delta_pieces(data, orders, most)
            data = apply_delta(data, orders, longest if deltas else most)
            self._bases.add(self._number, offset, kind, data)
        return kind, len(data), _cut(data)

    def _base_offset(self, base: int | ObjectId, index: PackIndex) -> int:
        if isinstance(base, int):
            return base
        found = index.find(base)
        if found is None:  # a stored pack is never thin
            raise errors.StoreDamaged(f"its base {base.hex()} is not in the pack")
        return found

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _read_distance(raw: bytes, position: int) -> tuple[int, int]:
    """Returns how far before a delta its base begins."""
    distance = -1
    for at in range(position, min(position + 10, len(raw))):
        distance = (distance + 1) << 7 | raw[at] & 0x7F
        if raw[at] < 0x80:
            if distance <= 0:  # else a delta could be its own base
                break
            return distance, at + 1
    raise errors.StoreDamaged("it names no base")


def _cut(data: bytes) -> Generator[bytes, None, None]:
    for start in range(0, len(data), PIECE):
        yield data[start : start + PIECE]
