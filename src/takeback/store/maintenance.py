"""Keeps the number of packs bounded: above fifty, a separate process combines them.

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

from takeback import durable
from takeback.errors import GitFailed, InUse, StoreDamaged, TimedOut
from takeback.git.repository import repack_geometric
from takeback.store import detached, log
from takeback.store.checksum import reads_whole
from takeback.store.lock import Lock
from takeback.store.trust import RETIRED, Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.locked import Locked
    from takeback.store.store import Store


def start_detached(store: Store) -> None:
    """Starts the combining in a process that outlives this one."""
    detached.start(store, "takeback.store.maintenance")


def combine_packs(store: Store) -> bool:
    """Combines packs; False if another process is doing so. Readers and captures may go on."""
    lock = Lock(store.path("maintenance.lock"))
    try:
        lock.acquire("maintenance", wait=0)
    except InUse:
        return False
    with lock:
        before = store.pack_names()
        repack_geometric(store.git)
        new = [name for name in store.pack_names() if name not in before]
        whole = [name for name in new if reads_whole(_pack_dir(store), name)]
        redundant = [name for name in before if any(_holds_all(store, n, name) for n in whole)]
        with store.locked("maintenance", wait=60) as locked:
            Trust(store).retire(locked, redundant, whole)
            remove_retired(locked)
    return True


def _holds_all(store: Store, larger: str, smaller: str) -> bool:
    """Tells whether one pack holds every object of another."""
    try:
        return all(
            store.packs.has_among(oid, larger.__eq__) for oid in store.packs.iterate(smaller)
        )
    except StoreDamaged:
        return False


def _pack_dir(store: Store) -> str:
    return os.path.join(store.git_dir, "objects", "pack")


def remove_retired(locked: Locked) -> None:
    """Removes the packs that the table has as retired."""
    store = locked.store
    trust = Trust(store)
    retired = trust.retired()
    directory = _pack_dir(store)
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
    from takeback.store.location import read_location
    from takeback.store.store import Store

    location = read_location(directory)
    if location is None:
        return
    store = Store.open(location, os.environ)
    try:
        combine_packs(store)
    except (GitFailed, TimedOut, InUse, OSError) as error:
        log.append(store, f"maintenance failed: {error}")
    finally:
        store.close()
