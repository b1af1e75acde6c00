"""Forget: the store of one workspace goes into the trash, whole, and comes back from there.

It waits there for the ``grace_days`` of its own settings, as what a prune drops does in a store.
Sweeps empty both: what is over its grace, and the oldest first where all stores of the user are
larger together than ``max_total_bytes`` (retention/sweep.py).
"""

from __future__ import annotations

import os

from takeback import config
from takeback.errors import (
    Command,
    InUse,
    NotAWorkspace,
    StoreMoved,
    TakebackError,
    UsageError,
)
from takeback.model.value import Value
from takeback.ops.earlier import look
from takeback.ops.failures import Translated
from takeback.ops.open import LockedStore, Making
from takeback.store import log, succession
from takeback.store.forgotten import all_forgotten, clear, give_up, put_away, put_back
from takeback.store.lock import Lock
from takeback.store.repack import size_on_disk
from takeback.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.store.forgotten import Forgotten

_PATIENCE = 10.0
_WHY = "forget"
_BACK = "bringing back what was forgotten"


class Discarded(Value):
    """A store in the trash, as people are told of it: until when, how many checkpoints, how large.

    ``until`` is None where its settings do not say.
    """

    forgotten: Forgotten
    until: float | None
    checkpoints: int
    size: int

    @property
    def id(self) -> str:
        return self.forgotten.id

    @property
    def root(self) -> bytes:
        """The directory whose store it was."""
        return self.forgotten.location.root

    @property
    def time(self) -> float:
        """When it was forgotten."""
        return self.forgotten.time


class BroughtBack(Value):
    """A store that is where it was again; ``aside`` is the id of the one that was there meanwhile.

    That one is kept as an earlier one of the same path.
    """

    kept: Discarded
    aside: str | None


def forget(store: Store, home: str, now: float) -> Discarded | None:
    """Puts all that is kept of a workspace into the trash; its files are not touched.

    Returns it, or None if it is gone already: its settings give no grace. What is over its grace
    goes, too. Raises InUse if packs are combined or swept there: that would go on at its old place.
    """
    sweeping, combining = (Lock(store.path(name)) for name in ("sweep.lock", "maintenance.lock"))
    sweeping.acquire(_WHY, wait=_PATIENCE)
    with sweeping:
        combining.acquire(_WHY, wait=_PATIENCE)
        with combining, store.locked(_WHY, wait=_PATIENCE) as locked, Translated("forgetting"):
            made = put_away(locked, home, now)
    empty(home, store.environ, now)
    return _kept(made, store.environ) if os.path.isdir(made.location.directory) else None


def forgotten(home: str, environ: Mapping[str, str]) -> list[Discarded]:
    """Returns what is in the trash, the oldest first."""
    return [_kept(one, environ) for one in all_forgotten(home)]


def _kept(one: Forgotten, environ: Mapping[str, str]) -> Discarded:
    seen = look(one.location, environ)
    size = size_on_disk(Store(one.location, environ)).all
    return Discarded(one, _until(one, environ), seen.checkpoints, size)


def _until(one: Forgotten, environ: Mapping[str, str]) -> float | None:
    try:
        return one.time + config.for_workspace(environ, one.location.directory).bounds().grace
    except TakebackError:
        return None


def forgotten_at(
    home: str, path: str, environ: Mapping[str, str], name: str | None = None
) -> list[Discarded]:
    """Returns what is in the trash of the workspace that a path is in, or was; the oldest first.

    ``name`` is the id of one store. Raises NotAWorkspace if there is nothing, UsageError if nothing
    has that name.
    """
    there = all_forgotten(home)
    found = _of(path, there) or _of(os.path.realpath(path), there)
    if not found:
        raise NotAWorkspace(
            f"nothing that was kept of {os.path.abspath(path)} is in the trash",
            hint=("what is there: ", Command("forget", "--restore")),
        )
    meant = [one for one in found if name in (None, one.id)]
    if not meant:
        names = ", ".join(one.id for one in found)
        raise UsageError(f"{name!r} is not in the trash", hint=f"there is {names}")
    return [_kept(one, environ) for one in meant]


def _of(path: str, there: Sequence[Forgotten]) -> list[Forgotten]:
    """Returns what the nearest directory at or above a path has in the trash."""
    folder = os.path.abspath(os.fsencode(path))
    while True:
        found = [one for one in there if folder in (one.location.root, *one.location.also)]
        if found or folder == os.path.dirname(folder):
            return found
        folder = os.path.dirname(folder)


def bring_back(kept: Discarded, home: str, environ: Mapping[str, str]) -> BroughtBack:
    """Puts a store back whole; what has been kept in its place since becomes an earlier one.

    First it lies beside that one, then the two change places: killed in between, it is the earlier
    one. Raises StoreMoved if it has left the trash meanwhile.
    """
    one = kept.forgotten
    with Translated("bringing a store back"), Making(home):
        present = succession.in_its_place(home, one.location, one.was)
        if present is None:
            with LockedStore(Store.open(one.location, environ), _BACK) as locked:
                put_back(locked, one)
            return BroughtBack(kept, None)
        with LockedStore(Store.open(present, environ), _BACK) as now:
            with LockedStore(Store.open(one.location, environ), _BACK) as locked:
                back = put_back(locked, one)
            with LockedStore(Store.open(back, environ), _BACK) as earlier:
                succession.change_places(earlier, now)
        return BroughtBack(kept, present.id)


def delete(one: Forgotten, home: str) -> None:
    """Deletes a store that is in the trash, for good; raises InUse."""
    with Translated("emptying the trash"):
        try:
            give_up(one)
        except StoreMoved:  # brought back, or deleted by another
            return
        clear(home)


def drop(one: Forgotten, home: str) -> bool:
    """Deletes it unless that has to wait, and tells which; a disk that refuses is said."""
    try:
        delete(one, home)
    except InUse:
        return False
    except TakebackError as error:
        log.complain(error.message)
        return False
    return True


def empty(home: str, environ: Mapping[str, str], now: float) -> None:
    """Deletes what is over its grace, and what a killed process has left of others."""
    for one in all_forgotten(home):
        until = _until(one, environ)
        if until is not None and until <= now:
            drop(one, home)
    with Translated("emptying the trash"):
        clear(home)
