"""Due: whether a store is larger than it may be, and whether its disk has room to pack it anew."""

from __future__ import annotations

import os

from takeback.errors import Command
from takeback.model.value import Value
from takeback.store.repack import (
    has_garbage,
    is_due_by_size,
    pack_sizes,
    shortage,
    size_on_disk,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.context import Context
    from takeback.errors import Hint
    from takeback.store.store import Store


# -- due: whether a store is to be packed anew or swept, and whether there is room for that
#
# Apart from the sweep itself, so that ``status`` need not import all of it to warn, nor a hook to
# find that nothing is due.


_WORTH_IT = 16 << 20


def keep_house(context: Context) -> None:
    """Starts combining packs if there are too many, and a sweep if the store is too large.

    In processes of their own. Sweeps for other reasons are left to agents' sessions.
    """
    store = context.store
    try:
        store.keep_house()
        is_due = is_due_by_size(store, store.sequence, context.policy.max_bytes)
    except FileNotFoundError:  # it was forgotten since
        return
    if is_due:
        from takeback.retention.sweep import start

        start(context, at_start=False)


def exceeds(store: Store, most: int) -> bool:
    """Tells whether a store takes more of its disk than it may."""
    return bool(most) and size_on_disk(store).all > most


def is_outgrown(store: Store) -> bool:
    """Tells whether as much came as there was when all was last packed anew, in one pack."""
    sizes = pack_sizes(store, store.pack_names()).values()
    rest = sum(sizes) - max(sizes, default=0)
    return rest >= max(_WORTH_IT, *sizes) if rest else False


def maintenance_shortage(store: Store, max_bytes: int, disk_floor: int) -> str | None:
    """Says what is short if packing anew is due and the disk has no room for it; else None.

    The figure is that of all packs: two stats each, and nothing is read.
    """
    if not (has_garbage(store) or exceeds(store, max_bytes) or is_outgrown(store)):
        return None
    return shortage(store, sum(pack_sizes(store, store.pack_names()).values()), disk_floor)


# -- the room on a store's disk: bytes and file names, and whether they are short


_NAMES_NEEDED = 200
"""A capture needs a few, a rewind one for each file that it writes."""
_EARLY = 4
"""Below this many times what is needed there is a warning, but nothing stops yet."""


class Room(Value):
    """What is free; ``names`` is None if the file system has no fixed number of files."""

    bytes: int
    names: int | None
    floor: int

    @property
    def lacks(self) -> str | None:
        """Says what is short, if captures stop for it or cannot be written; else None."""
        if self.bytes < self.floor:
            return (
                f"{self.bytes >> 20} MB are free on the disk of the store; captures stop at "
                f"{self.floor >> 20} MB"
            )
        if self.names is not None and self.names < _NAMES_NEEDED:
            return f"only {self.names} more files can be made on the disk of the store"
        return None

    @property
    def is_nearly_full(self) -> bool:
        """True some time before captures stop."""
        few = self.names is not None and self.names < _EARLY * _NAMES_NEEDED
        return few or self.bytes < _EARLY * self.floor

    def __str__(self) -> str:
        names = "" if self.names is None else f", and room for {self.names} files"
        return f"{self.bytes >> 20} MB are free{names}"


def room_at(directory: str, floor: int) -> Room:
    """Asks the file system; one call."""
    status = os.statvfs(directory)
    names = status.f_favail if status.f_files else None
    return Room(status.f_bavail * status.f_frsize, names, floor)


def advice() -> Hint:
    """Returns what to do about a full disk."""
    return ("free some space, or lower the floor: ", Command("config", "disk_floor_mb"))
