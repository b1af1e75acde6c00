"""What dead processes of takeback left in a store: temporary packs and temporary files.

The lock ensures that no capture has a temporary pack now, the maintenance lock that git has none.
Other files of ours are written without a lock, by any live process: those have to be old.
"""

from __future__ import annotations

import os
import time

from takeback import durable
from takeback.git.pack import TEMPORARY
from takeback.ordinary import all_names
from takeback.store.lock import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.store.locked import Locked
    from takeback.store.store import Store

_OLD = 3600.0
"""No process takes this long to write and rename a file of ours."""
_OF_GIT = ("tmp_pack_", "tmp_idx_", ".tmp-")


class Leftovers:
    """The temporary files of dead processes, found while the lock is held."""

    def __init__(self, locked: Locked) -> None:
        self.paths = [*_packs(locked.store), *_files(locked.store)]

    @property
    def bytes(self) -> int:
        return sum(_size(path) for path in self.paths)

    def remove(self) -> int:
        """Removes them and returns how many there were."""
        removed = 0
        for path in self.paths:
            try:
                durable.unlink(path)
                removed += 1
            except FileNotFoundError:
                continue
        return removed


def _packs(store: Store) -> Iterator[str]:
    prefixes = (TEMPORARY, *(_OF_GIT if Lock(store.path("maintenance.lock")).is_free else ()))
    directory = os.path.join(store.git_dir, "objects", "pack")
    for name in _listing(directory):
        if name.startswith(prefixes):
            yield os.path.join(directory, name)


def _files(store: Store) -> Iterator[str]:
    """Yields what ``durable.replace_file`` leaves when it is killed: ``.NAME.PID.tmp``."""
    now = time.time()
    waiting = [store.directory]
    while waiting:
        directory = waiting.pop()
        for name in _listing(directory):
            path = os.path.join(directory, name)
            if name == "objects" and directory == store.git_dir:
                continue
            if os.path.isdir(path) and not os.path.islink(path):
                waiting.append(path)
            elif _is_temporary(name) and now - _changed(path, now) > _OLD:
                yield path


def _is_temporary(name: str) -> bool:
    stem, _, pid = name.removesuffix(".tmp").rpartition(".")
    return name.startswith(".") and name.endswith(".tmp") and len(stem) > 1 and pid.isdigit()


def _listing(directory: str) -> list[str]:
    try:
        return sorted(all_names(directory))
    except OSError:
        return []


def _changed(path: str, now: float) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return now


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
