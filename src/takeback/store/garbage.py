"""Garbage: objects that nothing leads to go when all others are packed anew.

    git packs what the refs lead to      beside the others, while captures go on
    the new pack is read whole
    lock                                 nothing comes, nothing goes
    what was kept meanwhile              is in packs of its own, which stay; what it takes from old
                                         packs, and what the stat cache may hand out, is copied
    table, flushed                       the old packs are retired
    old packs removed

Killed anywhere, the old packs are there and believed, or retired, and then nothing relies on them.
"""

from __future__ import annotations

import os

from takeback.errors import InUse, StoreDamaged
from takeback.git.objects import COMMIT, TREE, decode_commit, decode_tree
from takeback.git.repository import pack_reachable, reachable_bytes
from takeback.model.value import Value
from takeback.store import journal, namespace
from takeback.store.checksum import reads_whole
from takeback.store.given_up import forget_garbage
from takeback.store.lock import Lock
from takeback.store.maintenance import remove_retired
from takeback.store.packdir import check_room, pack_dir, pack_sizes, shortage
from takeback.store.sink import PackSink
from takeback.store.trust import Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from takeback.store.store import Store


class Collected(Value):
    """How many bytes the packs had before, and have now."""

    before: int
    after: int


def collect(
    store: Store, handed_out: Callable[[], Iterable[bytes]], *, disk_floor: int, wait: float = 0.0
) -> Collected | None:
    """Packs anew what is kept and drops the rest; None if that has to wait.

    It has to while another process is at it, for longer than ``wait`` seconds, and while an
    operation is interrupted, which may need what no ref leads to yet. ``handed_out`` returns the
    ids that are used without asking the store. Raises GitFailed and changes nothing if an object is
    missing: what leads to it is then found by verify. Raises WriteFailed if the disk could not hold
    both for a while.
    """
    lock = Lock(store.path("maintenance.lock"))
    try:
        lock.acquire("maintenance", wait=wait)
    except InUse:
        return None
    with lock:
        store.reopen_packs()
        before = store.pack_names()
        size = sum(pack_sizes(store, before).values())
        check_room(store, needed(store, size, disk_floor), disk_floor)
        new = pack_reachable(store.git, pack_dir(store))
        if not all(reads_whole(pack_dir(store), name) for name in new):
            raise StoreDamaged("the packs that were just written do not read back")
        with store.locked("maintenance", wait=60) as locked:
            if journal.exists(store):
                return None
            store.reopen_packs()
            old = [name for name in before if name not in new]
            sink = PackSink(locked, disk_floor=disk_floor)
            rescue = _Rescue(store, new, old, sink)
            rescue.copy((*_tips(store), *handed_out()))
            copied = sink.publish()  # with the very name of an old one, if it holds the same
            Trust(store).retire(locked, [name for name in old if name not in copied], new)
            remove_retired(locked)
            forget_garbage(locked)
            store.reopen_packs()
            return Collected(size, sum(pack_sizes(store, store.pack_names()).values()))


def needed(store: Store, size: int, disk_floor: int) -> int:
    """Returns how many bytes packing anew may need at most.

    As many as all packs have. Only if there is no room for those is it found out what of them is
    still led to: where much was given up, that is much less.
    """
    if shortage(store, size, disk_floor) is None:
        return size
    indexes = sum(_index_size(store, name) for name in store.pack_names())
    return min(size, reachable_bytes(store.git) + indexes)


def _index_size(store: Store, name: str) -> int:
    try:
        return os.stat(os.path.join(pack_dir(store), f"{name}.idx")).st_size
    except OSError:
        return 0


def _tips(store: Store) -> list[bytes]:
    """Returns what all refs lead to; raises StoreDamaged if one does not read."""
    return list(store.refs.list(namespace.EVERYTHING).values())


class _Rescue:
    """Copies what is wanted and would go, into a sink.

    What an object of the new packs leads to is in them too. A later pack may take things from the
    old ones: its objects stay, and what they lead to is looked at.
    """

    def __init__(self, store: Store, new: list[str], old: list[str], sink: PackSink) -> None:
        self._store = store
        store.packs.catch_up()
        self._is_new = frozenset(new).__contains__
        self._stays = lambda name: name not in old
        self._sink = sink

    def copy(self, wanted: Iterable[bytes]) -> None:
        """Copies objects and all that they lead to, as far as the packs that stay lack it."""
        waiting = list(wanted)
        seen: set[bytes] = set()
        while waiting:
            oid = waiting.pop()
            if oid in seen or self._store.packs.has_among(oid, self._is_new):
                continue
            seen.add(oid)
            kind, data = self._store.packs.read(oid)
            if not self._store.packs.has_among(oid, self._stays):
                self._sink.add(kind, data, oid)
            if kind == COMMIT:
                commit = decode_commit(data)
                waiting += [commit.tree, *commit.parents]
            elif kind == TREE:
                waiting += [child for _, _, child in decode_tree(data)]
