"""Notes that something in a store was given up and is still there, until all is packed anew."""

from __future__ import annotations

import os

from takeback import durable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.locked import Locked
    from takeback.store.store import Store

_NOTE = "garbage"
"""A file that is there while packing anew is due."""


def note_garbage(locked: Locked) -> None:
    """Notes that something is about to be led to by nothing; ``collect`` ends that."""
    try:
        os.close(durable.create(locked.store.path(_NOTE)))
    except FileExistsError:
        return


def has_garbage(store: Store) -> bool:
    """Tells whether packing anew is due: something was given up, and is still there."""
    return os.path.exists(store.path(_NOTE))


def forget_garbage(locked: Locked) -> None:
    """Notes that packing anew is done."""
    try:
        durable.unlink(locked.store.path(_NOTE))
    except FileNotFoundError:
        return
