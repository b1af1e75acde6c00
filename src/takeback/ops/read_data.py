"""Reads every byte that a store keeps: each pack as a whole, and each object for its hash."""

from __future__ import annotations

import os

from takeback.errors import StoreDamaged
from takeback.git.loose import loose_objects
from takeback.model.value import Value
from takeback.ops.walk import Problem
from takeback.store.checksum import checksum_holds, name_fits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.ops.context import Context
    from takeback.store.store import Store

_DOING = "reading objects"


class Everything(Value):
    """How many objects were read, which of them are damaged, and every problem found."""

    objects: int
    damaged: frozenset[bytes]
    problems: tuple[Problem, ...]


NOTHING_READ = Everything(0, frozenset(), ())


def read_everything(context: Context) -> Everything:
    """Reads all packs and loose objects, with progress by the object."""
    store, progress = context.store, context.reporter.progress
    packs = store.packs.names()
    total = sum(store.packs.count(pack) for pack in packs)
    problems: list[Problem] = []
    damaged: set[bytes] = set()
    count = 0
    for pack in packs:
        problems += _whole(store, pack)
        try:
            for oid in store.packs.iterate(pack):
                progress(_DOING, count, total)
                count += 1
                if not store.reads_back(oid):
                    damaged.add(oid)
                    problems.append(Problem(f"object {oid.hex()}", f"damaged in pack {pack}"))
        except StoreDamaged as error:
            problems.append(Problem(f"pack {pack}", error.message))
    for oid in loose_objects(os.path.join(store.git_dir, "objects")):
        progress(_DOING, count, max(count, total))
        count += 1
        if not store.reads_back(oid):
            damaged.add(oid)
            problems.append(Problem(f"object {oid.hex()}", "damaged, and in no pack"))
    progress(_DOING, count, count)
    return Everything(count, frozenset(damaged), tuple(problems))


def _whole(store: Store, pack: str) -> Iterator[Problem]:
    """Checks the name of a pack, and the checksums of its two files."""
    path = os.path.join(store.git_dir, "objects", "pack", pack)
    if not name_fits(f"{path}.pack", pack):
        store.blame(pack)
        yield Problem(f"pack {pack}", "its name is not its checksum")
    for suffix in (".pack", ".idx"):
        if not checksum_holds(path + suffix):
            store.blame(pack)
            yield Problem(f"pack {pack}", f"the checksum of {pack}{suffix} does not match")
