"""The tombstones of a store, in a file of their own that only its user may read."""

from __future__ import annotations

import os

from takeback import durable
from takeback.errors import StoreDamaged
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.model.secret import Tombstones
    from takeback.store.lock import Locked
    from takeback.store.store import Store

FILE = "purged"
STAGED = "purged.new"
"""Those of a purge that has not begun yet."""
_KEY_SIZE = 32


def load(store: Store) -> Tombstones | None:
    """Returns what was purged here; None if nothing ever was, which costs one failing call.

    Raises StoreDamaged if it cannot be read: a capture that goes on without would bring back what
    was purged.
    """
    try:
        with open(store.path(FILE), encoding="ascii", opener=ordinary) as file:
            text = file.read()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(store) from error
    from takeback.model import json_text, secret

    try:
        record: Any = json_text.loads(text)
        if record.pop("check") != _check(record):
            raise ValueError("a bit has flipped")
        return secret.decode(record)
    except (ValueError, TypeError, LookupError, AttributeError):
        raise _unreadable(store) from None


def _unreadable(store: Store) -> StoreDamaged:
    return StoreDamaged(
        f"{store.path(FILE)}, which says what was purged, is not readable",
        hint="if it cannot be had back, remove it: then captures hold again what was purged",
    )


def loaded_or_none_yet(store: Store) -> Tombstones:
    """Returns what was purged here, or nothing, with a new key."""
    from takeback.model.secret import Tombstones

    return load(store) or Tombstones(os.urandom(_KEY_SIZE))


def stage(locked: Locked, found: Tombstones) -> None:
    """Keeps the tombstones of a purge, flushed, before it begins."""
    from takeback.model import json_text

    record = {"v": 1, **found.encode()}
    text = json_text.dumps({**record, "check": _check(record)}) + "\n"
    durable.replace_file(locked.store.path(STAGED), text.encode())


def _check(record: dict[str, Any]) -> str:
    """Returns what shows a flipped bit: without it a secret would be captured again, unseen."""
    from zlib import crc32

    from takeback.model import json_text

    return f"{crc32(json_text.dumps(record).encode()):08x}"


def set_up(locked: Locked) -> None:
    """Makes those that were kept the ones that count; once more changes nothing."""
    store = locked.store
    try:
        durable.rename(store.path(STAGED), store.path(FILE))
    except FileNotFoundError:
        return
    durable.sync_directory(store.directory)
