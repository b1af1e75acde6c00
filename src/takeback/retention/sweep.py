"""Sweep: keeps a store within its bounds, and empties the trash, so that space comes free."""

from __future__ import annotations

import os
import time

from takeback import config
from takeback.context import SilentReporter, SystemClock, Translated
from takeback.errors import InUse, SettingsUnknown, TakebackError, WriteFailed
from takeback.ledger.follow import Index
from takeback.model.value import Value
from takeback.retention.due import (
    exceeds,
    is_outgrown,
    maintenance_shortage,
)
from takeback.retention.prune import Inventory, Prune, Stock
from takeback.retention.shed import Additions
from takeback.retention.trash import HandedOut, Leftovers
from takeback.store import notes
from takeback.store import store as detached
from takeback.store.history import all_trash, remove_trash, trashed_records
from takeback.store.lock import Lock
from takeback.store.repack import (
    Collected,
    collect,
    has_garbage,
    is_sweep_due,
    note_beginning,
    note_failure,
    note_floor,
    note_garbage,
    note_sweep,
    size_on_disk,
)
from takeback.store.weight import weigh_if_changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from takeback.context import Context
    from takeback.retention.prune import Pruning, Upkeep
    from takeback.store.forgotten import Forgotten
    from takeback.store.history import Trash
    from takeback.store.location import StoreLocation
    from takeback.store.records import Record
    from takeback.store.store import Store


# -- sweep
#
# leftovers           of processes that were killed are removed
# too large?          packed anew first, with deltas: often that is enough. Also when as much came
#                     since as there was then: some of it nothing leads to (files of plans)
# prune               by the settings (prune.py): into the trash; files first, and where those are
#                     not enough for max_bytes the oldest sessions (shed.py)
# trash               what is older than its grace goes, and as much more as it takes to be within
#                     the bound, which counts more than the grace: first what single turns had added
#                     beyond their part, then the oldest; but nothing goes for what such turns added
#                     and is never dropped
# packed anew         what nothing leads to any more is gone
# still too large?    once more: what a session takes is known only when it is gone. If nothing is
#                     left that may go, its size is noted for `status` to name
# weighed             which files take most of it, for `status` to name
#
# Where the disk has no room to pack anew, everything else is done all the same; `status` says how
# much room it takes.


_ATTEMPTS = 3
_COMBINED = 30.0
"""So long, in seconds, packing anew waits for packs to be combined: that may begin with a sweep."""


class Emptied(Value):
    """What left the trash for good, and how many bytes that freed; None if it has to wait."""

    trash: tuple[str, ...]
    collected: Collected | None


def sweep(upkeep: Upkeep) -> Pruning | None:
    """Brings a store within its bounds; raises InUse if another process is at work in it.

    One that has only so much time leaves what is too large to the next, and does nothing, which is
    None, if the time is over before it knows what to do.
    """
    stock = Stock(upkeep.store)
    if upkeep.until is not None:
        upkeep = upkeep.replace(bounds=upkeep.bounds.replace(max_bytes=0))
    else:
        with upkeep.locked() as locked, Translated("removing what is left over"):
            Leftovers(locked).remove()
        if is_too_large(upkeep) or is_outgrown(upkeep.store):
            index_anew(upkeep)
            _pack_anew_if_there_is_room(upkeep, stock)
    made = last = _prune(upkeep, stock)
    if upkeep.until is None:
        for _ in range(_ATTEMPTS):
            if last is None or last.operation is None or not is_too_large(upkeep):
                break
            last = _prune(upkeep, stock)
        size, is_left = size_on_disk(upkeep.store), last is not None and last.operation is not None
        note_floor(upkeep.store, 0 if is_left or not is_too_large(upkeep) else size.all)
        weigh_if_changed(upkeep.store, size.snapshots)
    return made


def _prune(upkeep: Upkeep, stock: Stock) -> Pruning | None:
    """Prunes by the settings and empties the trash; None if the time was over before."""
    planned = Prune(upkeep, stock=stock)
    if not upkeep.is_in_time:
        return None
    made = planned.carry_out(swept=True)
    if made.operation is not None:
        index_anew(upkeep, slim=bool(made.sessions or made.forgotten))
    if upkeep.is_in_time:
        try:
            empty_trash(upkeep, stock)
        except WriteFailed as error:
            _leave_for_later(upkeep, error)
    return made


def _pack_anew_if_there_is_room(upkeep: Upkeep, stock: Stock) -> None:
    try:
        pack_anew(upkeep, stock)
    except WriteFailed as error:
        _leave_for_later(upkeep, error)


def _leave_for_later(upkeep: Upkeep, error: WriteFailed) -> None:
    """Goes on without the space, if that is what was missing; else raises the error again."""
    if maintenance_shortage(upkeep.store, upkeep.bounds.max_bytes, upkeep.disk_floor) is None:
        raise error


def index_anew(upkeep: Upkeep, *, slim: bool = False) -> bool:
    """Brings the ledger up to date: what is gone is in the trash, and so it is not missing.

    A person who looks next does not wait for it either. With ``slim`` it is written anew without
    the room of rows that are gone. False if another process is writing it all the time.
    """
    index = Index(upkeep.store, SilentReporter())
    try:
        index.ask(lambda ledger: ledger.slim(anew=slim))
        return not index.ask(lambda ledger: ledger.is_stopgap)
    finally:
        index.close()


def is_too_large(upkeep: Upkeep) -> bool:
    """Tells whether a store takes more of its disk than it may."""
    return exceeds(upkeep.store, upkeep.bounds.max_bytes)


def empty_trash(upkeep: Upkeep, stock: Stock | None = None) -> Emptied:
    """Gives up what was in the trash long enough, or has no room, and packs anew what is left.

    ``stock`` is what was read of the store before, if anything was.
    """
    stock = stock or Stock(upkeep.store)
    there = all_trash(upkeep.store)
    oldest = upkeep.clock.now() - upkeep.bounds.grace
    going = [trash for trash in there if trash.time <= oldest]
    if is_too_large(upkeep):
        left = [trash for trash in there if trash not in going]
        going += _without_room(upkeep, stock, left)
    if going and not index_anew(upkeep):
        going = []  # the ledger would miss it: whoever swept may have been killed before it knew
    if going:
        with upkeep.locked() as locked, Translated("emptying the trash"):
            note_garbage(locked)
            for trash in going:
                remove_trash(locked, trash)
    is_due = bool(going) or has_garbage(upkeep.store)
    emptied = tuple(trash.id for trash in going)
    return Emptied(emptied, pack_anew(upkeep, stock) if is_due else None)


def pack_anew(upkeep: Upkeep, stock: Stock | None = None) -> Collected | None:
    """Packs all that something leads to and drops the rest; None if that has to wait."""
    handed_out = HandedOut(upkeep.store, (stock or Stock(upkeep.store)).chains())
    with Translated("packing anew"):
        return collect(upkeep.store, handed_out, disk_floor=upkeep.disk_floor, wait=_COMBINED)


def _without_room(upkeep: Upkeep, stock: Stock, there: list[Trash]) -> list[Trash]:
    """Returns as much of the trash, the oldest first, as it takes for the rest to have room.

    What is in the trash keeps records too, of whole sessions as they were. What single turns have
    added beyond their part goes before all else; what is left of that here is no reason for
    anything else to go.
    """
    store, scales, chains = upkeep.store, stock.scales(), stock.chains()
    there = sorted(there, key=lambda trash: not trash.excess)
    live = [*chains.all_records()]
    trashed = [trashed_records(store, trash, chains) for trash in there]

    def weigh(records: list[Record]) -> int:
        return scales.records(records) + scales.weigh(_trees(records))

    known = Inventory(store, upkeep.clock.now(), chains)
    records = [*live, *(record for found in trashed for record in found)]
    additions = Additions(records, known.doings, scales, upkeep.bounds.part)
    beyond = sum(additions.beyond(_trees(live)).values())
    fixed, beside = weigh(live), stock.beside()
    strict, fair = (upkeep.room_beside(beside + fixed - more) for more in (0, beyond))
    few, many = 0, len(there)
    while few < many:
        middle = (few + many) // 2
        kept = [*live, *(record for found in trashed[middle:] for record in found)]
        if weigh(kept) - fixed <= (strict if there[middle].excess else fair):
            many = middle
        else:
            few = middle + 1
    return there[:many]


def _trees(records: Iterable[Record]) -> set[bytes]:
    return {tree for record in records for tree in record.trees()}


# -- sweeping: sweeps that nobody asks for, in a process of their own, after an agent was answered
#
#     a session starts      within startup_budget_ms; what is too large is left to the others
#     a session ends        all of it
#     50 checkpoints later  all of it, and sooner when the packs have grown by 256 MB
#     too large             all of it: the first checkpoint with which a store is an eighth larger
#                           than max_bytes (store/repack.py)
#
# It is the humblest of all processes: niced, one at a time in a store, and where somebody is at
# work for longer than a moment it is left to the next event.


_NICENESS = 10
_PATIENCE = 2.0
"""How many seconds it waits for those at work: captures of several agents, one after the other."""
_AGAIN = 5
"""So often it begins again at once where captures go on as fast."""
_MODULE = "takeback.retention.sweep"


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
            notes.append(store, f"a sweep failed: {error}")
        if put_off:
            note_failure(store)
    finally:
        store.close()


def sweep_store(location: StoreLocation, *, most: int = 0, until: float | None = None) -> int:
    """Sweeps one store by its settings, or to at most ``most`` bytes; returns its size then.

    What came meanwhile may make it due again. Raises InUse if somebody is at work there, or is
    sweeping it.
    """
    from takeback.store.repack import size_on_disk
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
    from takeback.retention.prune import Upkeep

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
    from takeback.retention import earlier

    earlier.empty(here.home, os.environ, time.time())
    found = together(here.home, os.environ)
    excess = found.too_many
    for one in found.stores:
        if excess <= 0:
            return
        if one.forgotten is not None:
            excess -= one.bytes if earlier.drop(one.forgotten, here.home) else 0
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
    from takeback.store.forgotten import all_forgotten, every_location
    from takeback.store.repack import size_on_disk
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
