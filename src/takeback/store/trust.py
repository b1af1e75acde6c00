"""Which packs are believed without reading them.

An object that is "already there" is not written again. After an unclean stop, or when a
pack file is not the one we wrote, "already there" may be a lie: the entry is in the index
and its bytes are gone, and adding the same bytes once more would restore nothing. So a
pack is believed only if its size, time and inode are those we saw when we wrote it, in
this run of the machine; any other object is read and hashed before it counts as there.
"""

from __future__ import annotations

import marshal
import os

from takeback import durable
from takeback.git.objects import new_hasher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.store.store import Store

_UNFLUSHED_NS = 10 * 60 * 1_000_000_000
"""A pack this much older than the newest one reached the disk before any crash."""

Signature = tuple[int, int, int]


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "unknown"


def _signature(path: str) -> Signature | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns, status.st_ino)


class Trust:
    """The packs that we wrote ourselves and that nobody touched since."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pack_dir = os.path.join(store.git_dir, "objects", "pack")
        self._checked: dict[str, bool] = {}
        self._boot, self._packs = self._load()

    def _load(self) -> tuple[str, dict[str, Signature]]:
        try:
            with open(self._store.path("trust"), "rb") as file:
                boot, packs = marshal.loads(file.read())
                return str(boot), dict(packs)
        except (OSError, ValueError, EOFError, TypeError):
            return "", {}

    def believes(self, pack: str) -> bool:
        """Tells whether the objects of a pack may be taken as there without reading them."""
        answer = self._checked.get(pack)
        if answer is None:
            known = self._packs.get(pack)
            answer = known is not None and known == _signature(self._path(pack))
            self._checked[pack] = answer
        return answer

    def _path(self, pack: str) -> str:
        return os.path.join(self._pack_dir, pack + ".pack")

    def add(self, packs: Iterable[str]) -> None:
        """Records packs that were just written and flushed, or checked byte by byte."""
        for pack in packs:
            signature = _signature(self._path(pack))
            if signature is not None:
                self._packs[pack] = signature
                self._checked[pack] = True
        self._save()

    def _save(self) -> None:
        here = {p: s for p, s in self._packs.items() if os.path.exists(self._path(p))}
        data = marshal.dumps((self._boot or _boot_id(), here))
        durable.replace_file(self._store.path("trust"), data, flush=False)

    def _on_disk(self) -> dict[str, Signature]:
        found = {}
        for name in os.listdir(self._pack_dir):
            if name.startswith("pack-") and name.endswith(".pack"):
                pack = name.removesuffix(".pack")
                signature = _signature(self._path(pack))
                if signature is not None:
                    found[pack] = signature
        return found

    def recheck_after_restart(self) -> bool:
        """Reads the packs of the last minutes before a restart; False if one is damaged.

        Costs one small read while the machine keeps running. The caller holds the lock.
        """
        boot = _boot_id()
        if boot == self._boot:
            return True
        here = self._on_disk()
        newest = max((time for _, time, _ in here.values()), default=0)
        sound = {}
        for pack, signature in here.items():
            recent = signature[1] > newest - _UNFLUSHED_NS
            known = self._packs.get(pack) == signature
            if checksum_holds(self._path(pack)) if recent or not known else True:
                sound[pack] = signature
        all_sound = sound.keys() >= here.keys() | self._packs.keys()
        self._boot, self._packs, self._checked = boot, sound, {}
        self._save()
        return all_sound


def checksum_holds(path: str) -> bool:
    """Tells whether a pack's trailer is the hash of its bytes."""
    try:
        with open(path, "rb") as file:
            left = os.fstat(file.fileno()).st_size - 20
            digest = new_hasher(max(left, 0))
            if left < 12:
                return False
            while left:
                piece = file.read(min(left, 1 << 20))
                if not piece:
                    return False
                digest.update(piece)
                left -= len(piece)
            return file.read() == digest.digest()
    except OSError:
        return False
