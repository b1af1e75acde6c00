"""Mends what is wrong with a store and can be mended without losing anything.

Each cure takes the lock that its fault was found under and returns what it did, in a sentence.
"""

from __future__ import annotations

import os

from takeback.git.repository import index_pack, write_own_files
from takeback.store import journal, pending
from takeback.store.location import identity_of, read_location, write_location
from takeback.store.machine import give_name
from takeback.store.trust import Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.model.ids import MachineId
    from takeback.ops.context import LockedContext

    Cure = Callable[[LockedContext], str]


def read_packs(context: LockedContext) -> str:
    """Rebuilds the table of the packs, by reading them."""
    Trust(context.store).check(context.lock)
    return "the table of its packs was made anew; every pack was read"


def index(context: LockedContext, pack: str) -> str:
    """Rebuilds the index of a whole pack; ``pack`` is its path without the suffix."""
    index_pack(context.store.git, pack)
    context.store.reopen_packs()
    Trust(context.store).check(context.lock)
    return "its index was made anew from the pack"


def restore_ref(context: LockedContext, ref: str, tip: str) -> str:
    """Points a ref again to where it led when it was last read."""
    refs = context.store.refs
    refs.drop_damaged(ref)
    refs.write(ref, bytes.fromhex(tip), expect=refs.read(ref))
    return f"it leads to commit {tip} again, as when it was last read"


def packed_refs(context: LockedContext) -> str:
    """Removes the lines that are not refs from git's list of packed refs."""
    context.store.refs.drop_garbled()
    return "the lines that are no refs were taken out and kept in packed-refs.garbled"


def drop_misnamed(context: LockedContext, ref: str) -> str:
    """Removes a ref under a wrong name; the right one leads to the same."""
    refs = context.store.refs
    found = refs.read(ref)
    if found is not None:
        refs.delete(ref, expect=found)
    return "removed: the ref of the right name holds the same"


def git_files(context: LockedContext) -> str:
    """Writes git's own files of the store again; they are the same in every store."""
    write_own_files(context.store.git_dir)
    return "written again"


def numbers(context: LockedContext) -> str:
    """Finds the highest number in the store and continues from there."""
    return f"the next checkpoint gets the number {context.lock.find_sequence() + 1}"


def location(context: LockedContext) -> str:
    """Records again which directory the store belongs to: the one it was found from."""
    store = context.store
    known = read_location(store.directory)
    at = store.location.replace(identity=identity_of(store.location.root))
    write_location(at.replace(also=known.also) if known is not None else at)
    return "written again for the directory that is here"


def event(context: LockedContext, name: str) -> str:
    """Puts a damaged event aside, so that it is not recorded as if it were whole."""
    return f"kept as {pending.set_aside(context.lock, name)}; it is not recorded"


def machine_name(context: LockedContext, machine: MachineId) -> str:
    """Gives this machine back the name under which it made the store."""
    give_name(context.store.location.home, machine)
    return f"it is {machine} again, which made this store"


def journal_aside(context: LockedContext) -> str:
    """Puts an unreadable journal aside, so that work can go on."""
    aside = journal.set_aside(context.lock)
    return f"kept as {os.path.basename(aside)}; compare the files with: takeback diff @"
