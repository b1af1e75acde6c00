"""When a store was last swept: how far its numbers were then, and how large its packs."""

from __future__ import annotations

from takeback import durable
from takeback.model.value import Value
from takeback.ordinary import ordinary
from takeback.store.packdir import pack_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.store import Store

EVERY = 50
"""So many checkpoints, operations and labels after a sweep there is another one ..."""
GROWTH = 256 << 20
"""... or when the packs have become so much larger: fifty turns of a large file are too many."""
_SOON = 5
_MARK = "swept"


class Mark(Value):
    """The number that was last given, and the bytes of the packs."""

    sequence: int = 0
    bytes: int = 0


def last_sweep(store: Store) -> Mark:
    """Returns the mark of the last sweep; all 0 if there was none, or it does not read."""
    try:
        with open(store.path(_MARK), encoding="ascii", opener=ordinary) as file:
            sequence, size = map(int, file.read().split())
    except (OSError, ValueError):
        return Mark()
    return Mark(sequence, size)


def is_sweep_due(store: Store, sequence: int) -> bool:
    """Tells whether enough came since the last sweep; ``sequence`` is the newest number.

    It is a distance and no multiple: whoever takes a number, and whichever are left out, it comes.
    """
    last = last_sweep(store)
    if not 0 <= sequence - last.sequence < EVERY:
        return True
    return _pack_bytes(store) - last.bytes >= GROWTH


def note_sweep(store: Store) -> None:
    """Writes down that one begins or has ended, so that the next ones do not begin too."""
    _write(store, Mark(store.sequence, _pack_bytes(store)))


def put_off_sweep(store: Store) -> None:
    """Writes down that one could not be made now, and is to be tried again before long."""
    _write(store, Mark(max(0, store.sequence - EVERY + _SOON), _pack_bytes(store)))


def _write(store: Store, mark: Mark) -> None:
    text = f"{mark.sequence} {mark.bytes}\n"
    durable.replace_file(store.path(_MARK), text.encode(), flush=False)


def _pack_bytes(store: Store) -> int:
    return sum(pack_sizes(store, store.pack_names()).values())
