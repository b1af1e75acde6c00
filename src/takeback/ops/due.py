"""Due: whether a store is to be packed anew or swept, and whether there is room for that.

Apart from the sweep itself, so that ``status`` need not import all of it to warn, nor a hook to
find that nothing is due.
"""

from __future__ import annotations

from takeback.store.disk import size_on_disk
from takeback.store.given_up import has_garbage
from takeback.store.packdir import pack_sizes, shortage
from takeback.store.swept import is_due_by_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ops.context import Context
    from takeback.store.store import Store

_WORTH_IT = 16 << 20


def keep_house(context: Context) -> None:
    """Starts combining packs if there are too many, and a sweep if the store is too large.

    In processes of their own. Sweeps for other reasons are left to agents' sessions.
    """
    store = context.store
    try:
        store.keep_house()
        is_due = is_due_by_size(store, store.sequence, context.policy.max_bytes)
    except FileNotFoundError:  # it was forgotten since
        return
    if is_due:
        from takeback.ops import sweeping

        sweeping.start(context, at_start=False)


def exceeds(store: Store, most: int) -> bool:
    """Tells whether a store takes more of its disk than it may."""
    return bool(most) and size_on_disk(store).all > most


def is_outgrown(store: Store) -> bool:
    """Tells whether as much came as there was when all was last packed anew, in one pack."""
    sizes = pack_sizes(store, store.pack_names()).values()
    rest = sum(sizes) - max(sizes, default=0)
    return rest >= max(_WORTH_IT, *sizes) if rest else False


def maintenance_shortage(store: Store, max_bytes: int, disk_floor: int) -> str | None:
    """Says what is short if packing anew is due and the disk has no room for it; else None.

    The figure is that of all packs: two stats each, and nothing is read.
    """
    if not (has_garbage(store) or exceeds(store, max_bytes) or is_outgrown(store)):
        return None
    return shortage(store, sum(pack_sizes(store, store.pack_names()).values()), disk_floor)
