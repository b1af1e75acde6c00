"""Reads objects back from the store: from packs of ours, packs git has repacked, loose files."""

from __future__ import annotations

import os

from takeback import errors
from takeback.git.objects import (
    BLOB,
    KIND_NAMES,
    KINDS,
    ObjectId,
    check_size,
    new_hasher,
    parse_hex,
    stream_id,
)
from takeback.git.packfile import ListedPack, PackList, inflate
from takeback.ordinary import all_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from typing import TypeVar

    T = TypeVar("T")

# -- loose objects: the files that git itself writes one by one (merge-tree, hash-object)
#
# takeback writes none, but its store may hold some. Nothing here is hash-checked.


def loose_path(objects_dir: str, oid: ObjectId) -> str:
    """Returns where git keeps an object that is in no pack."""
    name = oid.hex()
    return f"{objects_dir}/{name[:2]}/{name[2:]}"


def loose_objects(objects_dir: str) -> Iterator[ObjectId]:
    """Yields the ids of all loose objects, taken from their file names."""
    for directory in sorted(all_names(objects_dir)):
        if len(directory) == 2 and os.path.isdir(f"{objects_dir}/{directory}"):
            for name in sorted(all_names(f"{objects_dir}/{directory}")):
                oid = parse_hex((directory + name).encode())
                if oid is not None:
                    yield oid


class LooseObject:
    """One open loose object: kind and size are known, its bytes come from ``pieces`` once.

    Raises FileNotFoundError if there is none, StoreDamaged for anything wrong in it.
    """

    def __init__(self, path: str, most: int | None = None) -> None:
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise errors.StoreDamaged(f"it cannot be read: {error.strerror}") from error
        self._inflated = inflate(self._read, 0, b"", None)
        try:
            self.kind, self.size, self._first = self._parse()
            check_size(self.size, most)
        except BaseException:
            self.close()
            raise

    def _read(self, position: int, length: int) -> bytes:
        try:
            return os.pread(self._fd, length, position)
        except OSError as error:
            raise errors.StoreDamaged(f"it cannot be read: {error.strerror}") from error

    def _parse(self) -> tuple[int, int, bytes]:
        head, zero, rest = next(self._inflated, b"").partition(b"\0")
        name, _, size = head.partition(b" ")
        if not zero or name not in KINDS or not size.isdigit() or len(size) > 15:
            raise errors.StoreDamaged("it has no object header")
        return KINDS[name], int(size), rest

    def pieces(self) -> Generator[bytes, None, None]:
        """Returns the object's bytes in pieces of at most 1 MB; closing it closes the file."""
        pieces = self._pieces()
        next(pieces)  # so that close() reaches its finally
        return pieces

    def _pieces(self) -> Generator[bytes, None, None]:
        made = len(self._first)
        try:
            yield b""
            yield self._first
            for piece in self._inflated:
                made += len(piece)
                if made > self.size:
                    raise errors.StoreDamaged("it is longer than it says")
                yield piece
            if made != self.size:
                raise errors.StoreDamaged("it is not as long as it says")
        finally:
            self.close()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


# -- reads objects back from the store
#
# Every object handed out is hash-checked. An object may be in several places; a damaged copy is
# skipped for a sound one, and what was found damaged is kept in ``damaged``.


_LOOKS = 8
"""How often packs are listed for one object, at most, while they come and go."""


class Collision(Exception):
    """Different bytes have the same id: somebody constructed them."""


class Packs:
    """The objects below one ``objects`` directory.

    Packs come and go while it is open (a repack replaces them), so after a miss they are listed
    again, until none came or went meanwhile, before it counts. Only listing the directory raises
    OSError.
    """

    def __init__(self, objects_dir: str, on_damage: Callable[[str], None] | None = None) -> None:
        self._objects_dir = objects_dir
        self._list = PackList(f"{objects_dir}/pack", on_damage)
        self.damaged = self._list.damaged
        """Pack name -> what is wrong with it, as far as noticed."""

    def has(self, oid: ObjectId) -> bool:
        """Tells whether packs that look whole hold an object, according to their indexes."""
        for _ in range(_LOOKS):
            if self._locate(oid) is not None or self._has_loose(oid):
                return True
            # a miss is the usual answer here, so the listing is renewed only if it is stale
            if not self._list.is_stale():
                break
            self._list.refresh()
        return False

    def catch_up(self) -> None:
        """Lists the packs again if some came or went since they were listed."""
        if self._list.is_stale():
            self._list.refresh()

    def has_among(self, oid: ObjectId, believed: Callable[[str], bool]) -> bool:
        """Tells whether one of the packs that are ``believed``, by name, holds an object.

        Asks those that are listed: for new objects a miss is the usual answer, and looking each
        time whether the listing is stale would cost as much as the rest. Whoever knows that a pack
        came, or has not asked yet, calls ``catch_up`` first.
        """
        return any(believed(pack.name) for pack, _ in self._located(oid))

    def holds_among(self, oid: ObjectId, data: bytes, believed: Callable[[str], bool]) -> bool:
        """Tells whether one of the packs that are ``believed`` holds these very bytes.

        Asks those that are listed, as ``has_among`` does. A damaged copy does not count. Raises
        Collision if one holds other bytes of that id.
        """
        return self._holds(oid, believed, lambda pieces: b"".join(pieces) == data)

    def streams_among(
        self, oid: ObjectId, fd: int, size: int, believed: Callable[[str], bool]
    ) -> bool:
        """Tells the same of what an open file holds from its position on, which it keeps.

        False if that has changed since its id was computed: it is being written.
        """
        start = os.lseek(fd, 0, os.SEEK_CUR)

        def is_there(pieces: Iterable[bytes]) -> bool:
            os.lseek(fd, start, os.SEEK_SET)
            same = all(os.read(fd, len(piece)) == piece for piece in pieces)
            os.lseek(fd, start, os.SEEK_SET)
            return same

        try:
            return self._holds(oid, believed, is_there)
        except Collision:
            if stream_id(BLOB, fd, size) != oid:
                return False
            raise

    def _holds(
        self,
        oid: ObjectId,
        believed: Callable[[str], bool],
        is_same: Callable[[Iterable[bytes]], bool],
    ) -> bool:
        for pack, offset in list(self._located(oid)):
            if not believed(pack.name):
                continue
            try:
                if is_same(self._open(oid, pack, offset)[2]):
                    return True
                self._deliver(oid, pack, offset, _drop)
            except (errors.StoreDamaged, errors.ObjectMissing):
                continue
            raise Collision(f"two contents have the id {oid.hex()}")
        return False

    def find(self, oid: ObjectId) -> tuple[str, int] | None:
        """Returns the pack and the offset of an object, None if it is in no sound pack."""
        if not self.has(oid):
            return None
        found = self._locate(oid)
        return None if found is None else (found[0].name, found[1])

    def pack_of(self, oid: ObjectId) -> str | None:
        """Returns the name of a pack that holds an object."""
        found = self.find(oid)
        return None if found is None else found[0]

    def names(self) -> list[str]:
        """Returns the names of all packs listed, damaged ones too."""
        return sorted(pack.name for pack in self._list.packs())

    def read(self, oid: ObjectId, most: int | None = None) -> tuple[int, bytes]:
        """Returns the kind and the bytes of an object, hash-checked.

        Raises ObjectMissing, or StoreDamaged if no copy of it can be read back, or if it claims to
        have more than ``most`` bytes.
        """

        def whole(pack: ListedPack | None, offset: int) -> tuple[int, bytes]:
            parts: list[bytes] = []
            kind, _ = self._deliver(oid, pack, offset, parts.append, most)
            return kind, parts[0] if len(parts) == 1 else b"".join(parts)

        return self._from_any_copy(oid, whole)

    def check(self, oid: ObjectId) -> None:
        """Reads an object to its end, as ``read`` does, but keeps none of it in memory."""
        self._from_any_copy(oid, lambda pack, offset: self._deliver(oid, pack, offset, _drop))

    def size_of(self, oid: ObjectId) -> int:
        """Returns the size that an object's header gives, without hashing it.

        Raises as ``read`` does.
        """

        def size(pack: ListedPack | None, offset: int) -> int:
            _, size, pieces = self._open(oid, pack, offset)
            pieces.close()
            return size

        return self._from_any_copy(oid, size)

    def open_stream(self, oid: ObjectId, write: Callable[[bytes], object]) -> int:
        """Hands an object to ``write`` in pieces of at most 1 MB and returns its size.

        Its hash is known only at the end: if this raises StoreDamaged, discard what was written. If
        there are several copies, one is checked before a byte of it is written.
        """

        def checked(pack: ListedPack | None, offset: int) -> tuple[ListedPack | None, int]:
            self._deliver(oid, pack, offset, _drop)
            return pack, offset

        copies = list(self._copies(oid))
        if len(copies) == 1:
            try:
                return self._deliver(oid, *copies[0], write)[1]
            except errors.ObjectMissing:
                pass  # repacked away before its first byte was read
        place = self._from_any_copy(oid, checked)
        return self._deliver(oid, *place, write)[1]

    def count(self, pack_name: str) -> int:
        """Returns how many objects a pack has by its index; 0 if that cannot be read."""
        found = (pack for pack in self._list.packs() if pack.name == pack_name)
        index = next((self._list.index(pack) for pack in found), None)
        return 0 if index is None else index.count

    def iterate(self, pack_name: str) -> Iterator[ObjectId]:
        """Yields the id of every object in a pack's index, in order."""
        if all(pack.name != pack_name for pack in self._list.packs()) and self._list.is_stale():
            self._list.refresh()
        for pack in self._list.packs():
            if pack.name == pack_name:
                index = self._list.index(pack)
                if index is None:
                    reason = self.damaged.get(pack_name, "it is gone")
                    raise errors.StoreDamaged(f"pack {pack_name} cannot be listed: {reason}")
                yield from index
                return
        raise errors.StoreDamaged(f"there is no pack {pack_name}")

    def close(self) -> None:
        """Closes all descriptors; the next call lists the packs again."""
        self._list.close()

    def _locate(self, oid: ObjectId) -> tuple[ListedPack, int] | None:
        """Returns a sound pack that holds an object, and where."""
        return next(self._located(oid), None)

    def _located(self, oid: ObjectId) -> Iterator[tuple[ListedPack, int]]:
        """Yields the sound packs that hold an object, and where."""
        first = oid[0]
        for pack in self._list.packs():
            # for an object that no pack has, dozens are asked: avoids a call for most of them
            index = pack.index or self._list.index(pack)
            if index is None or index.fan_out[first] == index.fan_out[first + 1]:
                continue
            if pack.sound and oid not in pack.bad:
                offset = self._list.offset(pack, oid)
                if offset is not None:
                    yield pack, offset

    def _has_loose(self, oid: ObjectId) -> bool:
        try:
            return os.stat(loose_path(self._objects_dir, oid)).st_size > 0
        except OSError:
            return False

    def _copies(self, oid: ObjectId) -> Iterator[tuple[ListedPack | None, int]]:
        """Yields every place of an object: sound packs, loose (None), packs known to be damaged.

        The last are worth a try: a pack that lost its end still holds its beginning.
        """
        damaged = []
        first = oid[0]
        for pack in tuple(self._list.packs()):
            index = pack.index or self._list.index(pack)
            if index is None or index.fan_out[first] == index.fan_out[first + 1]:
                continue  # as in _located
            offset = self._list.offset(pack, oid)
            if offset is not None:
                if pack.sound and oid not in pack.bad:
                    yield pack, offset
                else:
                    damaged.append((pack, offset))
        if os.path.lexists(loose_path(self._objects_dir, oid)):
            yield None, 0
        yield from damaged

    def _from_any_copy(self, oid: ObjectId, use: Callable[[ListedPack | None, int], T]) -> T:
        """Returns the result of ``use`` on the first copy on which it does not fail."""
        failure = None
        for look in range(_LOOKS):
            if look:  # a repack may have replaced what was listed, and another what was listed then
                if look > 1 and not self._list.is_stale():
                    break
                self._list.refresh()
            for pack, offset in self._copies(oid):
                try:
                    made = use(pack, offset)
                except errors.ObjectMissing:
                    continue
                except errors.StoreDamaged as error:
                    failure = failure or error
                    continue
                if pack is not None:
                    self._list.prefer(pack)
                return made
        if failure is not None:
            raise failure
        raise errors.ObjectMissing(f"object {oid.hex()} is not in the store")

    def _deliver(
        self,
        oid: ObjectId,
        pack: ListedPack | None,
        offset: int,
        write: Callable[[bytes], object],
        most: int | None = None,
    ) -> tuple[int, int]:
        """Hands one copy to ``write`` and returns its kind and size if its hash is right."""
        kind, size, pieces = self._open(oid, pack, offset, most)
        hasher = new_hasher(size)
        hasher.update(b"%s %d\0" % (KIND_NAMES[kind], size))
        while True:
            try:
                piece = next(pieces, None)
            except errors.StoreDamaged as error:
                raise self._blame(oid, pack, error.message) from error
            if piece is None:
                break
            hasher.update(piece)
            write(piece)
        if hasher.digest() != oid:
            raise self._blame(oid, pack, "its bytes have another hash")
        return kind, size

    def _open(
        self, oid: ObjectId, pack: ListedPack | None, offset: int, most: int | None = None
    ) -> tuple[int, int, Generator[bytes, None, None]]:
        """Returns kind, size and bytes of one copy; ObjectMissing if it has vanished meanwhile."""
        try:
            if pack is None:
                loose = LooseObject(loose_path(self._objects_dir, oid), most)
                return loose.kind, loose.size, loose.pieces()
            file = self._list.file(pack)
            entry = file.entry(offset)
            if entry.base is None:
                check_size(entry.size, most)
                return entry.kind, entry.size, file.pieces(entry)
            index = self._list.index(pack)
            if index is None:
                raise errors.StoreDamaged("its index is gone")
            return file.open(offset, index, most)
        except FileNotFoundError as error:
            raise errors.ObjectMissing(f"object {oid.hex()} went away") from error
        except OSError as error:
            if pack is not None:  # not reported as damage: the system may be short of descriptors
                self.damaged.setdefault(pack.name, f"it cannot be opened: {error.strerror}")
            raise self._blame(oid, pack, f"it cannot be opened: {error.strerror}") from error
        except errors.StoreDamaged as error:
            raise self._blame(oid, pack, error.message) from error

    def _blame(self, oid: ObjectId, pack: ListedPack | None, reason: str) -> errors.StoreDamaged:
        """Notes a damaged copy and returns the error that names it."""
        if pack is None:
            return errors.StoreDamaged(f"the loose object {oid.hex()} is damaged: {reason}")
        pack.bad.add(oid)
        self._list.tell(pack, f"object {oid.hex()}: {reason}")
        return errors.StoreDamaged(f"object {oid.hex()} in {pack.name} is damaged: {reason}")


def _drop(piece: bytes) -> None:
    """Takes a piece of an object that is only being checked."""
