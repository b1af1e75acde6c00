"""Keeps the number of packs bounded: above fifty, a separate process combines them.

Which ones goes by their size: afterwards each pack is at least twice as large as the next smaller
one, so that a byte is written anew only as often as the store doubles.

It has a lock of its own, so that captures can go on meanwhile, and readers list the packs again
when one is gone. Captures rely on the packs that the table names (trust.py), so none is removed
before the table names its replacement:

    git writes the combined pack      beside the others; nobody relies on it yet
    it is read whole
    lock
    table, flushed                    the combined pack is sound, the old ones are retired
    old packs removed                 index first: what a kill leaves is not a pack to any reader
    table                             the old ones are forgotten

After a kill at any point, the next run removes what is still retired.
"""

from __future__ import annotations

import os
import time

from takeback import durable
from takeback.errors import InUse, StoreDamaged, TakebackError
from takeback.git.repository import pack_together
from takeback.store import detached, log
from takeback.store.checksum import reads_whole
from takeback.store.lock import Lock
from takeback.store.packdir import check_room, pack_dir, pack_sizes, whole_packs
from takeback.store.trust import RETIRED, Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.store.locked import Locked
    from takeback.store.store import Store

_FAILED = "maintenance.failed"
"""An empty file that is there after a failure: it is not tried again at each capture."""
_PAUSE = 3600.0
_NICENESS = 10


def start_detached(store: Store) -> None:
    """Starts the combining in a process that outlives this one.

    Not while another one is at it, and some time after a failure only.
    """
    if Lock(store.path("maintenance.lock")).is_free and not _has_failed_lately(store):
        detached.start(store, "takeback.store.maintenance")


def _has_failed_lately(store: Store) -> bool:
    try:
        return abs(time.time() - os.stat(store.path(_FAILED)).st_mtime) < _PAUSE
    except OSError:
        return False


def to_combine(sizes: Mapping[str, int]) -> list[str]:
    """Returns the smallest packs, as many as have to become one.

    1 1 2 3 | 20 50 200        what is left of the bar becomes 7: each is twice the next
    """
    names = sorted(sizes, key=lambda name: (sizes[name], name))
    split = len(names) - 1
    while split > 0 and sizes[names[split]] >= 2 * sizes[names[split - 1]]:
        split -= 1
    if split <= 0:
        return []
    split += 1
    total = sum(sizes[name] for name in names[:split])
    while split < len(names) and sizes[names[split]] < 2 * total:
        total += sizes[names[split]]
        split += 1
    return names[:split]


def combine_packs(store: Store, *, disk_floor: int) -> bool:
    """Combines packs; False if another process is doing so. Readers and captures may go on.

    Raises WriteFailed, with nothing changed, if the disk could not hold the new one beside them.
    """
    lock = Lock(store.path("maintenance.lock"))
    try:
        lock.acquire("maintenance", wait=0)
    except InUse:
        return False
    with lock:
        before = pack_sizes(store, whole_packs(store))
        chosen = to_combine(before)
        check_room(store, sum(before[name] for name in chosen), disk_floor)
        new = pack_together(store.git, pack_dir(store), chosen) if chosen else []
        whole = [name for name in new if reads_whole(pack_dir(store), name)]
        others = [name for name in chosen if name not in new]
        redundant = [name for name in others if any(_holds_all(store, n, name) for n in whole)]
        with store.locked("maintenance", wait=60) as locked:
            Trust(store).retire(locked, redundant, whole)
            remove_retired(locked)
    return True


def _holds_all(store: Store, larger: str, smaller: str) -> bool:
    """Tells whether one pack holds every object of another."""
    store.packs.catch_up()
    try:
        return all(
            store.packs.has_among(oid, larger.__eq__) for oid in store.packs.iterate(smaller)
        )
    except StoreDamaged:
        return False


def remove_retired(locked: Locked) -> None:
    """Removes the packs that the table has as retired."""
    store = locked.store
    trust = Trust(store)
    retired = trust.retired()
    directory = pack_dir(store)
    for name in retired:
        for suffix in (".idx", ".pack"):
            try:
                durable.unlink(os.path.join(directory, name + suffix))
            except FileNotFoundError:
                continue
    durable.sync_directory(directory)
    trust.forget(locked, RETIRED)


def main(directory: str) -> None:
    """What the detached process runs."""
    from takeback import config
    from takeback.store.location import read_location
    from takeback.store.store import Store

    os.nice(_NICENESS)
    location = read_location(directory)
    if location is None:
        return
    store = Store.open(location, os.environ)
    try:
        policy = config.for_workspace(os.environ, directory).policy()
        combine_packs(store, disk_floor=policy.disk_floor)
        _forget_failure(store)
    except (TakebackError, OSError) as error:
        durable.replace_file(store.path(_FAILED), b"", flush=False)
        log.append(store, f"maintenance failed: {error}")
    finally:
        store.close()


def _forget_failure(store: Store) -> None:
    try:
        durable.unlink(store.path(_FAILED))
    except FileNotFoundError:
        return
