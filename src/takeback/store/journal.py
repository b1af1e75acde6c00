"""The journal: what an operation is doing to the files, kept until it is done."""

from __future__ import annotations

import os
from stat import S_ISDIR
from zlib import crc32

from takeback import durable
from takeback.errors import Command, StoreDamaged
from takeback.model import json_text
from takeback.ordinary import all_names, ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.store.lock import Locked
    from takeback.store.store import Store


# -- clears directories of takeback's own


_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def delete_below(directory: str) -> None:
    """Deletes everything in a directory.

    Follows no link, that of the directory itself included: then it raises OSError.
    """
    _empty(os.open(directory, _FLAGS))


def _empty(fd: int) -> None:
    """Deletes what is in an open directory, and closes it."""
    try:
        for name in all_names(fd):
            if S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                _empty(os.open(name, _FLAGS, dir_fd=fd))
                durable.rmdir(name, dir_fd=fd)
            else:
                durable.unlink(name, dir_fd=fd)
    finally:
        os.close(fd)


# -- the journal
#
# It is one JSON file, flushed before the first file is touched and removed after the operation is
# in the log. While it exists, every command says so.


UNKNOWN = "unknown"


def exists(store: Store) -> bool:
    """Tells whether an operation was interrupted, or is under way in another process."""
    return os.path.exists(store.path("journal"))


def write(locked: Locked, record: dict[str, Any]) -> None:
    """Keeps the journal, flushed."""
    body = {"v": 1, **record}
    data = json_text.dumps({**body, "check": _check(body)}).encode()
    durable.replace_file(locked.store.path("journal"), data)


def _check(body: dict[str, Any]) -> str:
    """Returns what shows a flipped bit: a journal says which files to replace by what."""
    return f"{crc32(json_text.dumps(body).encode(errors='surrogateescape')):08x}"


def read(store: Store) -> dict[str, Any] | None:
    """Returns the journal, None if there is none; raises StoreDamaged if it cannot be read."""
    path = store.path("journal")
    try:
        with open(path, encoding="utf-8", opener=ordinary) as file:
            record = json_text.loads(file.read())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        record = None
    whole = isinstance(record, dict) and record.pop("check", "") == _check(record)
    if not whole or not isinstance(record, dict) or record.get("v") != 1:
        raise StoreDamaged(
            f"the journal {path} of an interrupted operation is not readable",
            hint=("run: ", Command("doctor", "--fix")),
        )
    return record


def interrupted(store: Store) -> str | None:
    """Returns the id of the operation that was interrupted; None if there is none.

    Without the lock, it may be one that is under way in another process. One whose journal cannot
    be read is ``unknown``.
    """
    if not exists(store):
        return None
    try:
        record = read(store)
    except StoreDamaged:
        return UNKNOWN
    operation = None if record is None else record.get("operation")
    id = operation.get("id") if isinstance(operation, dict) else None
    return id if isinstance(id, str) and id else UNKNOWN


def remove(locked: Locked) -> None:
    """Ends the operation."""
    store = locked.store
    durable.unlink(store.path("journal"))
    durable.sync_directory(store.directory)


def set_aside(locked: Locked) -> str:
    """Renames an unreadable journal, so that work can go on; returns the new name."""
    store = locked.store
    path = store.path("journal")
    aside = f"{path}.unreadable"
    durable.rename(path, aside)
    durable.sync_directory(store.directory)
    return aside
