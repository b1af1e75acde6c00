"""Workspaces: every directory for which takeback keeps something, on this machine."""

from __future__ import annotations

import os
from hashlib import sha256

from takeback.model.value import Value
from takeback.store import location as locations
from takeback.store.pulse import pulse


class KnownWorkspace(Value):
    """A directory with a store. ``is_there`` is False if the directory was moved or deleted."""

    root: bytes
    store: str
    is_there: bool

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
    """Returns the workspaces of all stores under ``home``, by path; opens none of them."""
    found = [
        KnownWorkspace(one.root, one.directory, os.path.isdir(one.root))
        for one in locations.all_locations(home)
    ]
    return sorted(found, key=lambda one: one.root)
