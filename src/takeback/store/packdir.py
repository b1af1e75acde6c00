"""The directory of the packs: how large they are, and whether their disk has room for new ones.

Packing anew writes a second copy before the first one goes. How much that takes is known before
the first byte is written, and it is refused, with the figure, where it would not fit.
"""

from __future__ import annotations

import os

from takeback.errors import WriteFailed
from takeback.ordinary import all_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.store.store import Store


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
