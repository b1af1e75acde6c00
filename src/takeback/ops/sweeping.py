"""Sweeping: sweeps that nobody asks for, in a process of their own, after an agent was answered.

    a session starts      within startup_budget_ms; what is too large is left to the others
    a session ends        all of it
    50 checkpoints later  all of it, and sooner when the packs have grown by 256 MB
    too large             all of it: the first checkpoint with which a store is an eighth larger
                          than max_bytes (store/swept.py)

It is the humblest of all processes: niced, one at a time in a store, and where somebody is at work
for longer than a moment it is left to the next event.
"""

from __future__ import annotations

import os
import time

from takeback import config
from takeback.errors import InUse, SettingsUnknown, TakebackError
from takeback.model.value import Value
from takeback.ops.context import SystemClock
from takeback.store import detached, log
from takeback.store.lock import Lock
from takeback.store.swept import is_sweep_due, note_beginning, note_failure, note_sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.ops.context import Context
    from takeback.ops.upkeep import Upkeep
    from takeback.store.forgotten import Forgotten
    from takeback.store.location import StoreLocation
    from takeback.store.store import Store

_NICENESS = 10
_PATIENCE = 2.0
"""How many seconds it waits for those at work: captures of several agents, one after the other."""
_AGAIN = 5
"""So often it begins again at once where captures go on as fast."""
_MODULE = "takeback.ops.sweeping"


def start(context: Context, *, at_start: bool) -> None:
    """Starts a sweep, ``at_start`` of a session one within its budget; returns at once."""
    if at_start and context.policy.startup_budget <= 0:
        return
    if _lock_of(context.store.directory).is_free:  # who is sweeping looks again at the end
        detached.start(context.store, _MODULE, "main_at_start" if at_start else "main")


def _lock_of(directory: str) -> Lock:
    """Returns the lock that whoever sweeps a store holds."""
    return Lock(os.path.join(directory, "sweep.lock"))


def main(directory: str) -> None:
    """What the detached process runs."""
    os.nice(_NICENESS)
    run(directory, at_start=False)


def main_at_start(directory: str) -> None:
    """What it runs where a session starts."""
    os.nice(_NICENESS)
    run(directory, at_start=True)


def run(directory: str, *, at_start: bool) -> None:
    """Sweeps a store, and unless a session has just started, all that are too large together."""
    from takeback.store.location import read_location

    began = time.monotonic()
    location = read_location(directory)
    if location is None:
        return
    try:
        budget = config.for_workspace(os.environ, directory).policy().startup_budget
        until = began + budget if at_start else None
        sweep_store(location, until=until)
        if not at_start:
            sweep_others(location)
    except InUse:  # somebody is at work here
        return
    except (TakebackError, OSError) as error:
        _note(location, error, put_off=not at_start)


def _note(location: StoreLocation, error: Exception, *, put_off: bool) -> None:
    """Says in a store's log that a sweep failed; ``put_off``: the next one takes its time."""
    from takeback.store.store import Store

    store = Store.open(location, os.environ)
    try:
        if not isinstance(error, SettingsUnknown):  # every command says that
            log.append(store, f"a sweep failed: {error}")
        if put_off:
            note_failure(store)
    finally:
        store.close()


def sweep_store(location: StoreLocation, *, most: int = 0, until: float | None = None) -> int:
    """Sweeps one store by its settings, or to at most ``most`` bytes; returns its size then.

    What came meanwhile may make it due again. Raises InUse if somebody is at work there, or is
    sweeping it.
    """
    from takeback.ops.sweep import sweep
    from takeback.store.disk import size_on_disk
    from takeback.store.store import Store

    lock = _lock_of(location.directory)
    lock.acquire("a sweep", wait=0)
    with lock:
        store = Store.open(location, os.environ)
        try:
            settings = config.for_workspace(os.environ, store.directory)
            upkeep = _upkeep(store, settings, most=most, until=until)
            for _ in range(_AGAIN if until is None else 1):
                if until is None:
                    note_beginning(store)
                sweep(upkeep)
                if until is None:
                    note_sweep(store)
                if not is_sweep_due(store, store.sequence, upkeep.bounds.max_bytes):
                    break
            return size_on_disk(store).all
        finally:
            store.close()


def _upkeep(store: Store, settings: config.Settings, *, most: int, until: float | None) -> Upkeep:
    from takeback.ops.upkeep import Upkeep

    bounds = settings.bounds()
    if most:
        tighter = min(most, bounds.max_bytes) if bounds.max_bytes else most
        bounds = bounds.replace(max_bytes=tighter)
    return Upkeep(
        store=store,
        clock=SystemClock(),
        bounds=bounds,
        holder="a sweep",
        wait=0.0 if until is not None else _PATIENCE,
        disk_floor=settings.policy().disk_floor,
        until=until,
    )


class Used(Value):
    """A store, when it was last used, its size, and what it is in the trash, if it is there."""

    last: float
    bytes: int
    location: StoreLocation
    forgotten: Forgotten | None = None


class Together(Value):
    """All stores of the user, those in the trash first, then the least recently used, and how large
    they may be, 0 for any size.
    """

    stores: tuple[Used, ...]
    most: int

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.stores)

    @property
    def too_many(self) -> int:
        """So many bytes have to go."""
        return max(0, self.bytes - self.most) if self.most else 0


def together(home: str, environ: Mapping[str, str]) -> Together:
    """Looks at all stores; those in the trash give way first, then the least recently used."""
    settings = config.for_all(environ)
    settings.require_whole()
    found = sorted(_used(home, environ), key=lambda one: (one.forgotten is None, one.last))
    return Together(tuple(found), config.bytes_of(settings["max_total_bytes"]))


def sweep_others(here: StoreLocation) -> None:
    """Brings all stores of the user together within their bound, the least recently used first.

    Before that the trash of whole stores is emptied of what was there long enough. One in which
    somebody is at work, or that cannot be swept, is left to another time.
    """
    from takeback.ops import forget

    forget.empty(here.home, os.environ, time.time())
    found = together(here.home, os.environ)
    excess = found.too_many
    for one in found.stores:
        if excess <= 0:
            return
        if one.forgotten is not None:
            excess -= one.bytes if forget.drop(one.forgotten, here.home) else 0
            continue
        try:
            left = sweep_store(one.location, most=max(1, one.bytes - excess))
        except InUse:
            continue
        except (TakebackError, OSError) as error:
            _note(one.location, error, put_off=True)
            continue
        excess -= one.bytes - left


def _used(home: str, environ: Mapping[str, str]) -> list[Used]:
    from takeback.store.disk import size_on_disk
    from takeback.store.forgotten import all_forgotten, every_location
    from takeback.store.store import Store

    found = []
    in_trash = {one.location.directory: one for one in all_forgotten(home)}
    for location in every_location(home):
        trashed = in_trash.get(location.directory)
        try:
            store = Store.open(location, environ)
        except TakebackError:
            continue
        try:
            last = os.stat(store.path("sequence")).st_mtime if trashed is None else trashed.time
        except OSError:
            last = 0.0
        found.append(Used(last, size_on_disk(store).all, location, trashed))
        store.close()
    return found
