"""Sweep: keeps a store within its bounds, and empties the trash, so that space comes free.

leftovers           of processes that were killed are removed
too large?          packed anew first, with deltas: often that is enough. Also when as much came
                    since as there was then: some of it nothing leads to (files of plans)
prune               by the settings (ops/prune.py): into the trash; files first, and where those are
                    not enough for max_bytes the oldest sessions (ops/shedding.py)
trash               what is older than its grace goes, and as much more as it takes to be within
                    the bound, which counts more than the grace: first what single turns had added
                    beyond their part, then the oldest; but nothing goes for what such turns added
                    and is never dropped
packed anew         what nothing leads to any more is gone
still too large?    once more: what a session takes is known only when it is gone. If nothing is
                    left that may go, its size is noted for `status` to name
weighed             which files take most of it, for `status` to name

Where the disk has no room to pack anew, everything else is done all the same; `status` says how
much room it takes.
"""

from __future__ import annotations

from takeback.errors import WriteFailed
from takeback.model.value import Value
from takeback.ops.additions import Additions
from takeback.ops.context import SilentReporter
from takeback.ops.due import exceeds, is_outgrown, maintenance_shortage
from takeback.ops.failures import Translated
from takeback.ops.handed_out import HandedOut
from takeback.ops.index import Index
from takeback.ops.inventory import Inventory
from takeback.ops.leftovers import Leftovers
from takeback.ops.prune import Prune
from takeback.ops.stock import Stock
from takeback.store.disk import size_on_disk
from takeback.store.expiry import all_trash, remove_trash, trashed_records
from takeback.store.floor import note_floor
from takeback.store.garbage import Collected, collect
from takeback.store.given_up import has_garbage, note_garbage
from takeback.store.heaviest import weigh_if_changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.ops.prune import Pruning
    from takeback.ops.upkeep import Upkeep
    from takeback.store.expiry import Trash
    from takeback.store.records import Record


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
