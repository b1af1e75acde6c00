"""The floor of a store: how large it was after a sweep that found nothing more that may go."""

from __future__ import annotations

from takeback import durable
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.store import Store

_FILE = "floor"


def floor(store: Store) -> int:
    """Returns the bytes that the last sweep could not bring within the bound; 0 if it could."""
    try:
        with open(store.path(_FILE), encoding="ascii", opener=ordinary) as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def note_floor(store: Store, size: int) -> None:
    """Writes down what a sweep could not bring within the bound, 0 if it is within."""
    if size:
        durable.replace_file(store.path(_FILE), b"%d\n" % size, flush=False)
        return
    try:
        durable.unlink(store.path(_FILE))
    except FileNotFoundError:
        return
