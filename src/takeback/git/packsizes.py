"""How many bytes each object takes in the packs: up to where the next one stands."""

from __future__ import annotations

import os
from itertools import pairwise

from takeback import errors
from takeback.git.idx import PackIndex
from takeback.ordinary import all_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.git.objects import ObjectId

_CHECKSUM = 20


def stored_sizes(pack_dir: str) -> dict[ObjectId, int]:
    """Returns the bytes of each object, the fewest where there are several copies.

    A pack that cannot be read, or goes meanwhile, is passed over.
    """
    found: dict[ObjectId, int] = {}
    for name in all_names(pack_dir):
        if not name.endswith(".idx"):
            continue
        path = os.path.join(pack_dir, name.removesuffix(".idx"))
        try:
            _add(found, path)
        except (OSError, errors.StoreDamaged):
            continue
    return found


def _add(found: dict[ObjectId, int], path: str) -> None:
    index = PackIndex(f"{path}.idx")
    try:
        offsets = index.offsets()
        order = sorted(range(len(offsets)), key=offsets.__getitem__)
        sizes = [0] * len(offsets)
        for position, follower in pairwise(order):
            sizes[position] = offsets[follower] - offsets[position]
        if order:
            sizes[order[-1]] = os.stat(f"{path}.pack").st_size - _CHECKSUM - offsets[order[-1]]
        for oid, size in zip(index, sizes, strict=True):
            found[oid] = min(size, found.get(oid, size))
    finally:
        index.close()
