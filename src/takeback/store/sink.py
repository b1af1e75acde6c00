"""Writes new objects into the store: one pack per capture, none when nothing is new."""

from __future__ import annotations

import os

from takeback import durable
from takeback.errors import CaptureFailed, Command, WriteFailed
from takeback.git.objects import KIND_NAMES, LONGEST, TREE, decode_tree, object_id, stream_id
from takeback.git.pack import PackWriter, SourceFailed
from takeback.git.packs import Collision
from takeback.store.trust import Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.git.packs import Packs
    from takeback.store.lock import Locked
    from takeback.store.store import Store


# -- a look at the files that stores nothing: ids are computed, trees stay in memory


class Looking:
    """The ObjectSink for only looking: no lock is needed, and a read-only disk is enough."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._trust = Trust(store)
        store.packs.catch_up()
        self._trees: dict[bytes, list[tuple[int, bytes, bytes]]] = {}

    def tree(self, oid: bytes) -> list[tuple[int, bytes, bytes]]:
        """Returns the entries of a tree, of this look or of the store."""
        found = self._trees.get(oid)
        return self._store.tree(oid) if found is None else found

    def has(self, oid: bytes) -> bool:
        return oid in self._trees or self._store.packs.has_among(oid, self._trust.believes)

    def holds(self, oid: bytes, data: bytes) -> bool:
        return True  # only the id of a file is needed

    def add(self, kind: int, data: bytes, oid: bytes | None = None) -> bytes:
        oid = oid or object_id(kind, data)
        if kind == TREE:
            self._trees[oid] = decode_tree(data)
        return oid

    def add_stream(self, kind: int, fd: int, size: int) -> bytes | None:
        return stream_id(kind, fd, size)

    def fork(self) -> Looking:
        return self

    def publish(self) -> list[str]:
        return []

    def adopt(self, names: list[str]) -> None:
        return None

    def discard(self) -> None:
        return None


# -- the bytes of a store's blobs, hash-checked, for the code that writes files


_LONGEST_LINK = 1 << 16
"""Only the target of a link is read whole; no system has longer paths."""


class StoreBlobs:
    """Reads blobs one by one; long ones in pieces."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def blob(self, oid: bytes) -> bytes:
        return self._store.blob(oid, _LONGEST_LINK)

    def size_of(self, oid: bytes) -> int:
        return self._store.packs.size_of(oid)

    def stream(self, oid: bytes, write: Callable[[bytes], None]) -> None:
        self._store.packs.open_stream(oid, write)


# -- writes new objects into the store


_LEAST_INODES = 16
"""More than an operation makes in the store from its undo snapshot to its line in the log, so that
it fails before the first file is changed and not after the last."""


class PackSink:
    """The ObjectSink of a store that is locked, until its objects are published.

    Code that writes records takes a sink, and so also has the lock: ``locked``, which the sink was
    made with. An object counts as "already there" only if a pack that ``trust`` believes holds it:
    one in any other pack is written again.
    """

    def __init__(self, locked: Locked, *, disk_floor: int = 0, trust: Trust | None = None) -> None:
        self.locked = locked
        self._begin(locked.store, disk_floor, trust or Trust(locked.store))

    def _begin(self, store: Store, disk_floor: int, trust: Trust) -> None:
        self._store = store
        self._disk_floor = disk_floor
        self._trust = trust
        self._pack_dir = os.path.join(store.git_dir, "objects", "pack")
        self._writer: PackWriter | None = None
        self._is_caught_up = False
        self._revealed: list[str] = []
        self._is_at_once = False

    @property
    def _packs(self) -> Packs:
        """The packs, listed since the last one came that is believed."""
        if not self._is_caught_up:
            self._store.packs.catch_up()
            self._is_caught_up = True
        return self._store.packs

    def _open_writer(self) -> PackWriter:
        if self._writer is None:
            self._check_space()
            self._writer = PackWriter(self._pack_dir)
        return self._writer

    def _check_space(self) -> None:
        status = os.statvfs(self._store.directory)
        if status.f_files and status.f_favail < _LEAST_INODES:
            raise WriteFailed(
                f"there is no space for more files on the disk of the store: only "
                f"{status.f_favail} inodes are free",
                hint="remove some files from that disk",
            )
        if self._disk_floor <= 0:
            return
        free = status.f_bavail * status.f_frsize
        if free < self._disk_floor:
            raise WriteFailed(
                f"only {free >> 20} MB are free on the disk of the store, "
                f"less than the floor of {self._disk_floor >> 20} MB",
                hint=("free some space, or lower the floor: ", Command("config", "disk_floor_mb")),
            )

    def has(self, oid: bytes) -> bool:
        if self._writer is not None and oid in self._writer:
            return True
        return self._packs.has_among(oid, self._trust.believes)

    def holds(self, oid: bytes, data: bytes) -> bool:
        if self._writer is None or oid not in self._writer:
            return self._packs.holds_among(oid, data, self._trust.believes)
        if not self._writer.may_be(oid, data):
            raise Collision(f"two contents have the id {oid.hex()}")
        return True

    def add(self, kind: int, data: bytes, oid: bytes | None = None) -> bytes:
        if kind in LONGEST and len(data) > LONGEST[kind]:
            raise CaptureFailed(
                f"{KIND_NAMES[kind].decode()} of {len(data) >> 20} MB: it could not be read back",
                hint=("keep the largest directory out of it: ", Command("config", "exclude")),
            )
        return self._open_writer().add(kind, data, oid)

    def add_stream(self, kind: int, fd: int, size: int) -> bytes | None:
        """Keeps a long file, unless its very bytes are kept: they are read once more for that."""
        try:
            oid = stream_id(kind, fd, size)
        except OSError as error:
            raise SourceFailed(error.errno, error.strerror) from error
        if oid is None or self._packs.streams_among(oid, fd, size, self._trust.believes):
            return oid
        return self._open_writer().add_stream(kind, fd, size)

    def fork(self) -> PackSink:
        return _ChildSink(self._store, self._disk_floor, self._trust)

    def publish(self) -> list[str]:
        """Flushes the pack and makes it visible; RuntimeError once the lock is released."""
        names = self._finish(names=True)
        if self._revealed and not names:
            durable.sync_directory(self._pack_dir)
        self._revealed += names
        return self.settle()

    def reveal(self) -> None:
        """Makes the pack visible, and its name durable only with the ref that relies on it.

        For operations that read what they have captured and record it a moment later. No table has
        it until then. From now on pack and index are flushed at once.
        """
        self._is_at_once = True
        self._revealed += self._finish(names=False)
        self._trust.believe(self._revealed)
        self._is_caught_up = False

    def publish_for_ref(self) -> str | None:
        """Publishes; returns the directory that has to be flushed before the ref, if any.

        ``settle`` has to follow the ref.
        """
        if not self._is_at_once:
            self.publish()
            return None
        self.reveal()
        return self._pack_dir if self._revealed else None

    def settle(self) -> list[str]:
        """Puts packs whose names are flushed by now into the table; returns these names."""
        names, self._revealed = self._revealed, []
        self.adopt(names)
        return names

    def _finish(self, *, names: bool) -> list[str]:
        if self._writer is None:
            return []
        writer, self._writer = self._writer, None
        try:
            return writer.finish(at_once=self._is_at_once, names=names)
        except BaseException:  # a time limit that ends a hook must leave no temporary file
            writer.abort()
            raise

    def adopt(self, names: list[str]) -> None:
        self.locked.check()
        if names:
            self._trust.add(self.locked, names)
            self._is_caught_up = False

    def discard(self) -> None:
        if self._writer is not None:
            self._writer.abort()
            self._writer = None


class _ChildSink(PackSink):
    """The sink of a forked child, which has no lock: its parent adopts the packs that it writes."""

    def __init__(self, store: Store, disk_floor: int, trust: Trust) -> None:
        self._begin(store, disk_floor, trust)

    def adopt(self, names: list[str]) -> None:
        return None
