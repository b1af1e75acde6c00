"""Packing: many packs become few, or all of them one without what nothing leads to."""

from __future__ import annotations

import os
import time

from takeback import durable
from takeback.errors import InUse, StoreDamaged, TakebackError, WriteFailed
from takeback.git.objects import COMMIT, TREE, decode_commit, decode_tree, new_hasher
from takeback.git.process import pack_reachable, pack_together, reachable_bytes
from takeback.model.value import Value
from takeback.ordinary import all_names, ordinary
from takeback.store import journal, namespace, notes
from takeback.store import store as detached
from takeback.store.lock import Lock
from takeback.store.sink import PackSink
from takeback.store.trust import RETIRED, Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from takeback.store.lock import Locked
    from takeback.store.store import Store


# -- the directory of the packs: how large they are, and whether their disk has room for new ones
#
# Packing anew writes a second copy before the first one goes. How much that takes is known before
# the first byte is written, and it is refused, with the figure, where it would not fit.


def pack_dir(store: Store) -> str:
    return os.path.join(store.git_dir, "objects", "pack")


def pack_sizes(store: Store, names: Iterable[str]) -> dict[str, int]:
    """Returns the bytes of packs, each with its index; one that is gone has none."""
    return {
        name: sum(_bytes(store, name + suffix) for suffix in (".pack", ".idx")) for name in names
    }


def whole_packs(store: Store) -> list[str]:
    """Lists the packs that have an index: it comes last, and without it git knows no pack.

    An index alone is none either: git stops at it.
    """
    names = set(all_names(pack_dir(store)))
    found = (name.removesuffix(".idx") for name in names if name.endswith(".idx"))
    return sorted(name for name in found if f"{name}.pack" in names)


def _bytes(store: Store, name: str) -> int:
    try:
        return os.stat(os.path.join(pack_dir(store), name)).st_size
    except OSError:
        return 0


def shortage(store: Store, needed: int, disk_floor: int) -> str | None:
    """Says what is short if so many more bytes would not fit for a while; else None."""
    status = os.statvfs(store.directory)
    free = status.f_bavail * status.f_frsize
    if free >= needed + disk_floor:
        return None
    return (
        f"packing anew may need {_mb(needed + disk_floor)} MB for a while,"
        f" and only {free >> 20} MB are free"
    )


def check_room(store: Store, needed: int, disk_floor: int) -> None:
    """Raises WriteFailed, which gives the figures, if that would not fit."""
    short = shortage(store, needed, disk_floor)
    if short is not None:
        raise WriteFailed(short, hint="free some space on the disk of the store")


def _mb(size: int) -> int:
    """Returns whole megabytes, rounded up: what is asked for has to be enough."""
    return -(-size >> 20)


# -- checks whether a pack is, byte for byte, the one that was written under its name


def reads_whole(pack_dir: str, pack: str) -> bool:
    """Tells whether a pack and its index are those written under this name. Reads all of both."""
    path = os.path.join(pack_dir, pack)
    return (
        name_fits(f"{path}.pack", pack)
        and checksum_holds(f"{path}.idx")
        and checksum_holds(f"{path}.pack")
    )


def name_fits(path: str, pack: str) -> bool:
    """Tells whether a pack is named after its checksum."""
    try:
        with open(path, "rb", opener=ordinary) as file:
            file.seek(-20, os.SEEK_END)
            return pack == f"pack-{file.read().hex()}"
    except OSError:
        return False


def checksum_holds(path: str) -> bool:
    """Tells whether the trailer of a pack or an index is the hash of its bytes."""
    try:
        with open(path, "rb", opener=ordinary) as file:
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


# -- keeps the number of packs bounded: above fifty, a separate process combines them
#
# Which ones goes by their size: afterwards each pack is at least twice as large as the next smaller
# one, so that a byte is written anew only as often as the store doubles.
#
# It has a lock of its own, so that captures can go on meanwhile, and readers list the packs again
# when one is gone. Captures rely on the packs that the table names (trust.py), so none is removed
# before the table names its replacement:
#
#     git writes the combined pack      beside the others; nobody relies on it yet
#     it is read whole
#     lock
#     table, flushed                    the combined pack is sound, the old ones are retired
#     old packs removed                 index first: what a kill leaves is not a pack to any reader
#     table                             the old ones are forgotten
#
# After a kill at any point, the next run removes what is still retired.


_FAILED = "maintenance.failed"
"""An empty file that is there after a failure: it is not tried again at each capture."""
_PAUSE = 3600.0
_NICENESS = 10


def start_detached(store: Store) -> None:
    """Starts the combining in a process that outlives this one.

    Not while another one is at it, and some time after a failure only.
    """
    if Lock(store.path("maintenance.lock")).is_free and not _has_failed_lately(store):
        detached.start(store, "takeback.store.repack")


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
        notes.append(store, f"maintenance failed: {error}")
    finally:
        store.close()


def _forget_failure(store: Store) -> None:
    try:
        durable.unlink(store.path(_FAILED))
    except FileNotFoundError:
        return


# -- notes that something in a store was given up and is still there, until all is packed anew


_NOTE = "garbage"
"""A file that is there while packing anew is due."""


def note_garbage(locked: Locked) -> None:
    """Notes that something is about to be led to by nothing; ``collect`` ends that."""
    try:
        os.close(durable.create(locked.store.path(_NOTE)))
    except FileExistsError:
        return


def has_garbage(store: Store) -> bool:
    """Tells whether packing anew is due: something was given up, and is still there."""
    return os.path.exists(store.path(_NOTE))


def forget_garbage(locked: Locked) -> None:
    """Notes that packing anew is done."""
    try:
        durable.unlink(locked.store.path(_NOTE))
    except FileNotFoundError:
        return


# -- garbage: objects that nothing leads to go when all others are packed anew
#
#   git packs what the refs lead to      beside the others, while captures go on
#   the new pack is read whole
#   lock                                 nothing comes, nothing goes
#   what was kept meanwhile              is in packs of its own, which stay; what it takes from old
#                                        packs, and what the stat cache may hand out, is copied
#   table, flushed                       the old packs are retired
#   old packs removed
#
# Killed anywhere, the old packs are there and believed, or retired, and then nothing relies on
# them.


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


# -- how many bytes a store takes on its disk


class Size(Value):
    """``all`` of it, the ``snapshots`` (files and conversations), and those that are ``young``."""

    all: int
    snapshots: int
    young: int


def size_on_disk(store: Store, *, since: float = 0.0) -> Size:
    """Returns the bytes on disk; those of snapshots that came after ``since`` are young."""
    total = snapshots = young = 0
    objects = os.path.join(store.git_dir, "objects")
    for base, _, names in os.walk(store.directory):
        is_object = base == objects or base.startswith(objects + os.sep)
        for name in names:
            try:
                found = os.lstat(os.path.join(base, name))
            except OSError:
                continue
            used = found.st_blocks * 512
            total += used
            if is_object:
                snapshots += used
                young += used if found.st_mtime > since else 0
    return Size(total, snapshots, young)


# -- the floor of a store: how large it was after a sweep that found nothing more that may go


_FILE = "floor"


def floor(store: Store) -> int:
    """Returns the bytes that the last sweep could not bring within the bound; 0 if it could."""
    try:
        with open(store.path(_FILE), encoding="ascii", opener=ordinary) as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def note_floor(store: Store, size: int) -> None:
    """Writes down what a sweep could not bring within the bound, 0 if it is within."""
    if size:
        durable.replace_file(store.path(_FILE), b"%d\n" % size, flush=False)
        return
    try:
        durable.unlink(store.path(_FILE))
    except FileNotFoundError:
        return


# -- when a store was last swept: how far its numbers were then, and how large it was
#
#     size of the store = its size after that sweep + what its packs have grown by since
#
# The packs are looked at, nothing is added up: so what several processes add at once counts, and
# what one adds that is killed, and what is combined meanwhile counts as it is.


EVERY = 50
"""So many checkpoints, operations and labels after a sweep there is another one ..."""
GROWTH = 256 << 20
"""... or when the packs have become so much larger: fifty turns of a large file are too many."""
SHARE = 8
"""... or when the store is larger than its bound by one part in so many: as much again is left for
what comes while the sweep goes on."""
_TRIES = 3
"""So often one that does not come to its end is begun again at the next event ..."""
_SOON = 5
"""... and then so many checkpoints later."""
_MARK = "swept"


class Mark(Value):
    """The number that was last given, and the bytes of the packs and of all the store, when a sweep
    had come to its end; how many have begun since, and the number before which none begins.
    """

    sequence: int = 0
    packs: int = 0
    all: int = 0
    begun: int = 0
    not_before: int = 0


def last_sweep(store: Store) -> Mark:
    """Returns the mark of the last sweep; all 0 if there was none, or it does not read."""
    try:
        with open(store.path(_MARK), encoding="ascii", opener=ordinary) as file:
            sequence, packs, whole, begun, not_before = map(int, file.read().split())
    except (OSError, ValueError):
        return Mark()
    return Mark(sequence, packs, whole, begun, not_before)


def is_sweep_due(store: Store, sequence: int, most: int = 0) -> bool:
    """Tells whether enough came since the last sweep; ``sequence`` is the newest number.

    It is a distance and no multiple: whoever takes a number, and whichever are left out, it comes.
    ``most`` is how large the store may be, 0 for any size.
    """
    last = last_sweep(store)
    if _is_put_off(last, sequence):
        return False
    if not 0 <= sequence - last.sequence < EVERY:
        return True
    grown = _pack_bytes(store) - last.packs
    return grown >= GROWTH or _is_over(store, last.all + grown, most)


def is_due_by_size(store: Store, sequence: int, most: int) -> bool:
    """Tells whether one is due because the store is too large."""
    last = last_sweep(store)
    size = last.all + _pack_bytes(store) - last.packs
    return not _is_put_off(last, sequence) and _is_over(store, size, most)


def _is_put_off(last: Mark, sequence: int) -> bool:
    return 0 < last.not_before - sequence <= EVERY  # more was never written: numbers began anew


def _is_over(store: Store, size: int, most: int) -> bool:
    """Tells whether a size is above a bound by a notable part, and a sweep may change that.

    Where the last one could not, there is no other until as much came as a part of what it left: or
    each capture would begin one in vain.
    """
    if not most or size <= most:
        return False
    most = max(most, floor(store))
    return size > most + most // SHARE


def note_beginning(store: Store) -> None:
    """Writes down that a sweep begins: one that is killed is begun again at the next event.

    So is one that found somebody at work; but not for ever at each.
    """
    last = last_sweep(store)
    later = store.sequence + _SOON if last.begun >= _TRIES else last.not_before
    _write(store, last.replace(begun=last.begun + 1, not_before=later))


def note_failure(store: Store) -> None:
    """Writes down that one failed: whatever the reason, it is there a while.

    Where not even that can be written, as on a full disk, the next event begins one again.
    """
    last = last_sweep(store)
    try:
        _write(store, last.replace(not_before=store.sequence + EVERY))
    except OSError:
        return


def note_sweep(store: Store) -> None:
    """Writes down that one has come to its end."""
    _write(store, Mark(store.sequence, _pack_bytes(store), size_on_disk(store).all))


def _write(store: Store, mark: Mark) -> None:
    numbers = (mark.sequence, mark.packs, mark.all, mark.begun, mark.not_before)
    text = " ".join(map(str, numbers)) + "\n"
    durable.replace_file(store.path(_MARK), text.encode(), flush=False)


def _pack_bytes(store: Store) -> int:
    return sum(pack_sizes(store, store.pack_names()).values())
