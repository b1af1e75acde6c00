"""Keeps the number of packs bounded: above fifty they are combined by a process of its own.

It has a lock of its own, so that captures go on meanwhile: git only removes packs whose
objects it has written anew, and readers list the packs again when one is gone.
"""

from __future__ import annotations

import os

from takeback.errors import GitFailed, Locked, TimedOut
from takeback.git.repository import repack_geometric
from takeback.store import detached, log
from takeback.store.lock import Lock
from takeback.store.store import MOST_PACKS
from takeback.store.trust import Trust, checksum_holds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.store import Store


def is_due(store: Store) -> bool:
    """Tells whether there are so many packs that reading slows down."""
    return len(store.pack_names()) > MOST_PACKS


def start_detached(store: Store) -> None:
    """Starts the combining in a process that outlives this one."""
    detached.start(store, "takeback.store.maintenance")


def combine_packs(store: Store) -> bool:
    """Combines packs; False if another process is at it. Readers and captures may go on."""
    lock = Lock(store.path("maintenance.lock"))
    try:
        lock.acquire("maintenance", wait=0)
    except Locked:
        return False
    with lock:
        before = set(store.pack_names())
        repack_geometric(store.git)
        after = set(store.pack_names())
        sound = [name for name in after - before if checksum_holds(_pack_path(store, name))]
        store.lock.acquire("maintenance", wait=60)
        try:
            Trust(store).add(sound)
        finally:
            store.lock.release()
    return True


def _pack_path(store: Store, name: str) -> str:
    return os.path.join(store.git_dir, "objects", "pack", name + ".pack")


def main(directory: str) -> None:
    """What the detached process runs."""
    from takeback.store.place import read_place
    from takeback.store.store import Store

    place = read_place(directory)
    if place is None:
        return
    store = Store.open(place, os.environ)
    try:
        combine_packs(store)
    except (GitFailed, TimedOut, Locked, OSError) as error:
        log.append(store, f"maintenance failed: {error}")
    finally:
        store.close()
