"""Sweep: keeps a store within its bounds, and empties the trash, so that space comes free.

too large?          packed anew first, with deltas: often that is enough
prune               by the settings (ops/prune.py): into the trash
trash               what is older than its grace goes, and as much more, the oldest first, as
                    it takes to be within the bound: the bound counts more than the grace
packed anew         what nothing leads to any more is gone
"""

from __future__ import annotations

from takeback.model.value import Value
from takeback.ops.catch_up import Index
from takeback.ops.handed_out import HandedOut
from takeback.ops.prune import Prune
from takeback.ports import SilentReporter
from takeback.store.chains import Chains
from takeback.store.disk import size_on_disk
from takeback.store.expiry import all_trash, remove_trash, trashed_trees
from takeback.store.garbage import Collected, collect, has_garbage, note_garbage
from takeback.store.weight import Scales

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ops.prune import Pruning
    from takeback.ops.upkeep import Upkeep
    from takeback.store.expiry import Trash


class Emptied(Value):
    """What left the trash for good, and how many bytes that freed; None if it has to wait."""

    trash: tuple[str, ...]
    collected: Collected | None


def sweep(upkeep: Upkeep) -> Pruning | None:
    """Brings a store within its bounds; raises InUse if another process is at work in it.

    One that has only so much time leaves what is too large to the next, and does nothing, which is
    None, if the time is over before it knows what to do.
    """
    if upkeep.until is not None:
        upkeep = upkeep.replace(bounds=upkeep.bounds.replace(max_bytes=0))
    elif is_too_large(upkeep):
        pack_anew(upkeep)
    planned = Prune(upkeep)
    if not upkeep.is_in_time:
        return None
    made = planned.carry_out(swept=True)
    if made.operation is not None:
        index_anew(upkeep)
    if upkeep.is_in_time:
        empty_trash(upkeep)
    return made


def index_anew(upkeep: Upkeep) -> None:
    """Brings the ledger up to date: what is gone is in the trash, and so it is not missing.

    A person who looks next does not wait for it either.
    """
    index = Index(upkeep.store, SilentReporter())
    index.ask(lambda ledger: None)
    index.close()


def is_too_large(upkeep: Upkeep) -> bool:
    """Tells whether a store takes more of its disk than it may."""
    most = upkeep.bounds.max_bytes
    return bool(most) and size_on_disk(upkeep.store).all > most


def empty_trash(upkeep: Upkeep) -> Emptied:
    """Gives up what was in the trash long enough, or has no room, and packs anew what is left."""
    there = all_trash(upkeep.store)
    oldest = upkeep.clock.now() - upkeep.bounds.grace
    going = [trash for trash in there if trash.time <= oldest]
    if is_too_large(upkeep):
        going += _without_room(upkeep, [trash for trash in there if trash not in going])
    if going:
        with upkeep.locked() as locked:
            note_garbage(locked)
            for trash in going:
                remove_trash(locked, trash)
    is_due = bool(going) or has_garbage(upkeep.store)
    return Emptied(tuple(trash.id for trash in going), pack_anew(upkeep) if is_due else None)


def pack_anew(upkeep: Upkeep) -> Collected | None:
    """Packs all that something leads to and drops the rest; None if that has to wait."""
    handed_out = HandedOut(upkeep.store)
    return collect(upkeep.store, handed_out, disk_floor=upkeep.disk_floor)


def _without_room(upkeep: Upkeep, there: list[Trash]) -> list[Trash]:
    """Returns the oldest of the trash, as many as it takes for the rest to be within the bound."""
    store, scales, chains = upkeep.store, Scales(upkeep.store), Chains(upkeep.store)
    disk = size_on_disk(store)
    rest = disk.all - disk.snapshots + scales.records(chains.all_records())
    live = [tree for record in chains.all_records() for tree in record.trees()]
    trees = [trashed_trees(store, trash) for trash in there]
    for number in range(len(there)):
        kept = [tree for found in trees[number:] for tree in found]
        if rest + scales.weigh([*live, *kept]) <= upkeep.bounds.max_bytes:
            return there[:number]
    return there
