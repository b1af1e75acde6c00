"""When a store was last swept: how far its numbers were then, and how large it was.

    size of the store = its size after that sweep + what its packs have grown by since

The packs are looked at, nothing is added up: so what several processes add at once counts, and what
one adds that is killed, and what is combined meanwhile counts as it is.
"""

from __future__ import annotations

from takeback import durable
from takeback.model.value import Value
from takeback.ordinary import ordinary
from takeback.store.disk import size_on_disk
from takeback.store.floor import floor
from takeback.store.packdir import pack_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.store import Store

EVERY = 50
"""So many checkpoints, operations and labels after a sweep there is another one ..."""
GROWTH = 256 << 20
"""... or when the packs have become so much larger: fifty turns of a large file are too many."""
SHARE = 8
"""... or when the store is larger than its bound by one part in so many: as much again is left for
what comes while the sweep goes on."""
_TRIES = 3
"""So often one that does not come to its end is begun again at the next event ..."""
_SOON = 5
"""... and then so many checkpoints later."""
_MARK = "swept"


class Mark(Value):
    """The number that was last given, and the bytes of the packs and of all the store, when a sweep
    had come to its end; how many have begun since, and the number before which none begins.
    """

    sequence: int = 0
    packs: int = 0
    all: int = 0
    begun: int = 0
    not_before: int = 0


def last_sweep(store: Store) -> Mark:
    """Returns the mark of the last sweep; all 0 if there was none, or it does not read."""
    try:
        with open(store.path(_MARK), encoding="ascii", opener=ordinary) as file:
            sequence, packs, whole, begun, not_before = map(int, file.read().split())
    except (OSError, ValueError):
        return Mark()
    return Mark(sequence, packs, whole, begun, not_before)


def is_sweep_due(store: Store, sequence: int, most: int = 0) -> bool:
    """Tells whether enough came since the last sweep; ``sequence`` is the newest number.

    It is a distance and no multiple: whoever takes a number, and whichever are left out, it comes.
    ``most`` is how large the store may be, 0 for any size.
    """
    last = last_sweep(store)
    if _is_put_off(last, sequence):
        return False
    if not 0 <= sequence - last.sequence < EVERY:
        return True
    grown = _pack_bytes(store) - last.packs
    return grown >= GROWTH or _is_over(store, last.all + grown, most)


def is_due_by_size(store: Store, sequence: int, most: int) -> bool:
    """Tells whether one is due because the store is too large."""
    last = last_sweep(store)
    size = last.all + _pack_bytes(store) - last.packs
    return not _is_put_off(last, sequence) and _is_over(store, size, most)


def _is_put_off(last: Mark, sequence: int) -> bool:
    return 0 < last.not_before - sequence <= EVERY  # more was never written: numbers began anew


def _is_over(store: Store, size: int, most: int) -> bool:
    """Tells whether a size is above a bound by a notable part, and a sweep may change that.

    Where the last one could not, there is no other until as much came as a part of what it left: or
    each capture would begin one in vain.
    """
    if not most or size <= most:
        return False
    most = max(most, floor(store))
    return size > most + most // SHARE


def note_beginning(store: Store) -> None:
    """Writes down that a sweep begins: one that is killed is begun again at the next event.

    So is one that found somebody at work; but not for ever at each.
    """
    last = last_sweep(store)
    later = store.sequence + _SOON if last.begun >= _TRIES else last.not_before
    _write(store, last.replace(begun=last.begun + 1, not_before=later))


def note_failure(store: Store) -> None:
    """Writes down that one failed: whatever the reason, it is there a while.

    Where not even that can be written, as on a full disk, the next event begins one again.
    """
    last = last_sweep(store)
    try:
        _write(store, last.replace(not_before=store.sequence + EVERY))
    except OSError:
        return


def note_sweep(store: Store) -> None:
    """Writes down that one has come to its end."""
    _write(store, Mark(store.sequence, _pack_bytes(store), size_on_disk(store).all))


def _write(store: Store, mark: Mark) -> None:
    numbers = (mark.sequence, mark.packs, mark.all, mark.begun, mark.not_before)
    text = " ".join(map(str, numbers)) + "\n"
    durable.replace_file(store.path(_MARK), text.encode(), flush=False)


def _pack_bytes(store: Store) -> int:
    return sum(pack_sizes(store, store.pack_names()).values())
