"""Workspaces: every directory for which takeback keeps something, on this machine."""

from __future__ import annotations

import os
from hashlib import sha256

from takeback.model.value import Value
from takeback.store import location as locations
from takeback.store.pulse import pulse


class KnownWorkspace(Value):
    """A directory with a store."""

    root: bytes
    store: str

    @property
    def is_there(self) -> bool:
        """False if the directory was moved or deleted; looks now, and that may take its time."""
        return os.path.isdir(self.root)

    @property
    def id(self) -> str:
        """Returns a short name for programs: the same as long as the store is that one."""
        place = "/".join(self.store.rsplit("/", 2)[-2:])
        return sha256(os.fsencode(place)).hexdigest()[:16]

    @property
    def pulse(self) -> tuple[int, ...]:
        """Returns numbers that change whenever something happens there; opens nothing."""
        return pulse(self.store)


def workspaces(home: str) -> list[KnownWorkspace]:
    """Returns the workspaces of all stores under ``home``, by path.

    Opens and touches none of them: one may be on a disk that does not answer.
    """
    found = [KnownWorkspace(one.root, one.directory) for one in locations.all_locations(home)]
    return sorted(found, key=lambda one: one.root)
