"""The packs that a store has at the moment, each opened when it is first needed.

Packs come and go meanwhile: a repack by another process writes one and removes many.
"""

from __future__ import annotations

import os
import time

from takeback import errors
from takeback.git.idx import PackIndex
from takeback.git.packfile import Bases, PackFile
from takeback.ordinary import all_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.git.objects import ObjectId

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
