"""Sweeping: sweeps that nobody asks for, in a process of their own, after an agent was answered.

    a session starts      within startup_budget_ms; what is too large is left to the others
    a session ends        all of it
    50 checkpoints later  all of it, and sooner when the packs have grown by 256 MB

It is the humblest of all processes: niced, it takes no lock that another one has, and if somebody
is at work here it is left to the next sweep.
"""

from __future__ import annotations

import os
import time

from takeback import config
from takeback.errors import InUse, TakebackError
from takeback.model.value import Value
from takeback.ports import SystemClock
from takeback.store import detached, log
from takeback.store.swept import note_sweep, put_off_sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.ops.context import Context
    from takeback.ops.upkeep import Upkeep
    from takeback.store.location import StoreLocation
    from takeback.store.store import Store

_NICENESS = 10
_MODULE = "takeback.ops.sweeping"


def start(context: Context, *, at_start: bool) -> None:
    """Starts a sweep, ``at_start`` of a session one within its budget; returns at once."""
    if not at_start:
        note_sweep(context.store)
        detached.start(context.store, _MODULE)
    elif context.policy.startup_budget > 0:
        detached.start(context.store, _MODULE, "main_at_start")


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
    except InUse:
        if not at_start:
            _tell(location, put_off_sweep)  # somebody is at work here
    except (TakebackError, OSError) as error:
        said = f"a sweep failed: {error}"
        _tell(location, lambda store: log.append(store, said))


def _tell(location: StoreLocation, what: Callable[[Store], None]) -> None:
    from takeback.store.store import Store

    store = Store.open(location, os.environ)
    try:
        what(store)
    finally:
        store.close()


def sweep_store(location: StoreLocation, *, most: int = 0, until: float | None = None) -> int:
    """Sweeps one store by its settings, or to at most ``most`` bytes; returns its size then."""
    from takeback.ops.sweep import sweep
    from takeback.store.disk import size_on_disk
    from takeback.store.store import Store

    store = Store.open(location, os.environ)
    try:
        settings = config.for_workspace(os.environ, store.directory)
        sweep(_upkeep(store, settings, most=most, until=until))
        if until is None:
            note_sweep(store)
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
        wait=0.0,
        disk_floor=settings.policy().disk_floor,
        until=until,
    )


class _Used(Value):
    """A store, when it was last used, and its size."""

    last: float
    bytes: int
    location: StoreLocation


def sweep_others(here: StoreLocation) -> None:
    """Brings all stores of the user together within their bound, the least recently used first."""
    settings = config.for_all(os.environ)
    settings.require_known()
    most = config.bytes_of(settings["max_total_bytes"])
    if not most:
        return
    found = sorted(_used(here.home), key=lambda one: one.last)
    total = sum(one.bytes for one in found)
    for one in found:
        if total <= most:
            return
        try:
            left = sweep_store(one.location, most=max(1, one.bytes - (total - most)))
        except InUse:
            continue
        total -= one.bytes - left


def _used(home: str) -> list[_Used]:
    from takeback.store.disk import size_on_disk
    from takeback.store.location import all_locations
    from takeback.store.store import Store

    found = []
    for location in all_locations(home):
        try:
            store = Store.open(location, os.environ)
        except TakebackError:
            continue
        try:
            last = os.stat(store.path("sequence")).st_mtime
        except OSError:
            last = 0.0
        found.append(_Used(last, size_on_disk(store).all, location))
        store.close()
    return found
