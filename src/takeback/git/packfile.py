"""Reads one pack file by its index, and lists the packs that a store has at the moment."""

from __future__ import annotations

import os
import time
import zlib
from struct import Struct

from takeback import errors
from takeback.git.objects import (
    KIND_NAMES,
    LONGEST,
    ObjectId,
    apply_delta,
    check_size,
    delta_pieces,
    new_hasher,
    read_number,
    size_made,
)
from takeback.model.value import Value
from takeback.ordinary import all_names
from takeback.remembered import Remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator


# -- the index of a pack (idx, version 2): which object is at which offset
#
#     magic, version | fan-out, 256 numbers | ids, sorted | crc32s | offsets | two checksums
#
# Read with pread and not with mmap: a bad sector is then an error that can be reported,
# where a mapped page would kill the process with SIGBUS.


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


# -- reads one pack file: given the offset of an entry, returns its kind and bytes
#
# Nothing here is hash-checked; ``packs`` does that. Every damage is a StoreDamaged whose
# message is the second half of a sentence that ``packs`` completes.


PIECE = 1 << 20
# O_NONBLOCK has no effect on a file and keeps a FIFO of that name from blocking us
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


# -- the packs that a store has at the moment, each opened when it is first needed
#
# Packs come and go meanwhile: a repack by another process writes one and removes many.


_MOST_OPEN = 32
_TICK = 20_000_000
"""Nanoseconds in which a directory may change and keep its time: kernels' clocks are coarse."""
_NEVER = -1


class ListedPack:
    """One pack of the listing.

    ``sound`` is False once the pack as a whole looks damaged; ``bad`` are the objects in it that
    could not be read back.
    """

    __slots__ = ("bad", "index", "name", "opened", "sound", "stamp")

    def __init__(self, name: str, stamp: tuple[int, int, int]) -> None:
        self.name = name
        self.stamp = stamp  # mtime, inode, size of its index
        self.index: PackIndex | None = None
        self.opened = False
        self.sound = True
        self.bad: set[ObjectId] = set()


class PackList:
    """The listing of one ``pack`` directory: the last used first, then newest first."""

    def __init__(self, pack_dir: str, on_damage: Callable[[str], None] | None = None) -> None:
        self._pack_dir = pack_dir
        self._on_damage = on_damage
        self._packs: list[ListedPack] | None = None
        self._listed_at = _NEVER
        self._files: dict[str, PackFile] = {}
        self._bases = Bases()
        self.damaged: dict[str, str] = {}

    def packs(self) -> list[ListedPack]:
        """Returns the packs as they were last listed."""
        if self._packs is None:
            self.refresh()
        return self._packs or []

    def is_stale(self) -> bool:
        """Tells whether the directory has changed since it was listed, or may have."""
        return self._changed_at() != self._listed_at

    def refresh(self) -> None:
        """Lists the packs again and keeps open files of those that have not changed."""
        began, changed_at = time.time_ns(), self._changed_at()
        known = {pack.name: pack for pack in self._packs or ()}
        listed = []
        for name, stamp in self._scan():
            pack = known.get(name)
            if pack is not None and pack.stamp == stamp and not (pack.opened and not pack.index):
                del known[name]
            else:
                pack = ListedPack(name, stamp)
            listed.append(pack)
        listed.sort(key=lambda pack: pack.stamp, reverse=True)
        for pack in known.values():
            self._forget(pack)
        self._packs = listed
        self._listed_at = changed_at if began - changed_at > _TICK else _NEVER

    def close(self) -> None:
        """Closes all descriptors; the next call lists the packs again."""
        for pack in self._packs or ():
            self._close_index(pack)
        self._packs = None
        self._close_files()

    def _changed_at(self) -> int:
        try:
            return os.stat(self._pack_dir).st_mtime_ns
        except FileNotFoundError:
            return 0

    def _scan(self) -> list[tuple[str, tuple[int, int, int]]]:
        found = []
        try:
            names = all_names(self._pack_dir)
        except FileNotFoundError:
            return []
        for name in names:
            if name.startswith("pack-") and name.endswith(".idx"):
                try:
                    status = os.lstat(f"{self._pack_dir}/{name}")
                except FileNotFoundError:
                    continue
                stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
                found.append((name[:-4], stamp))
        return found

    def _forget(self, pack: ListedPack) -> None:
        self._close_index(pack)
        file = self._files.pop(pack.name, None)
        if file is not None:
            file.close()
        self.damaged.pop(pack.name, None)

    def _close_index(self, pack: ListedPack) -> None:
        if pack.index is not None:
            pack.index.close()
            pack.index = None

    def index(self, pack: ListedPack) -> PackIndex | None:
        """Returns the index of a pack, None if it is damaged or gone."""
        if pack.opened:
            return pack.index
        pack.opened = True
        path = f"{self._pack_dir}/{pack.name}"
        try:
            pack.index = PackIndex(f"{path}.idx")
            file = PackFile(f"{path}.pack", self._bases)
        except errors.StoreDamaged as error:
            self._note(pack, error.message)
            return None
        except OSError as error:
            # if its index is gone too, it was repacked away, which is not damage
            if os.path.exists(f"{path}.idx"):
                self.damaged.setdefault(pack.name, f"it cannot be opened: {error.strerror}")
            self._close_index(pack)
            pack.sound = False
            return None
        problem = file.problem(pack.index)
        file.close()
        if problem is not None:
            self._note(pack, problem)
        return pack.index

    def _note(self, pack: ListedPack, reason: str) -> None:
        pack.sound = False
        self.tell(pack, reason)

    def tell(self, pack: ListedPack, reason: str) -> None:
        """Notes what is wrong with a pack's bytes, and reports it the first time."""
        if pack.name not in self.damaged:
            self.damaged[pack.name] = reason
            if self._on_damage is not None:
                self._on_damage(pack.name)

    def offset(self, pack: ListedPack, oid: ObjectId) -> int | None:
        """Returns the offset of an object in a pack, None if it is not in it."""
        index = self.index(pack)
        if index is None:
            return None
        try:
            return index.find(oid)
        except errors.StoreDamaged as error:
            self._note(pack, error.message)
            return None

    def file(self, pack: ListedPack) -> PackFile:
        """Returns a pack's open file; OSError if it has none."""
        file = self._files.get(pack.name)
        if file is None:
            if len(self._files) >= _MOST_OPEN:
                self._close_files()
            path = f"{self._pack_dir}/{pack.name}.pack"
            file = self._files[pack.name] = PackFile(path, self._bases)
        return file

    def _close_files(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._bases.clear()

    def prefer(self, pack: ListedPack) -> None:
        """Asks this pack first from now on: objects that are read together are stored together."""
        packs = self.packs()
        if packs[0] is not pack:
            packs.remove(pack)
            packs.insert(0, pack)
