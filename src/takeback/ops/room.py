"""The room on a store's disk: bytes and file names, and whether they are short."""

from __future__ import annotations

import os

from takeback.errors import Command
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.errors import Hint

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
