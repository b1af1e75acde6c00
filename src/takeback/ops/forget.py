"""Forget: delete the store of one workspace, for good."""

from __future__ import annotations

import os

from takeback import durable
from takeback.ops.failures import Translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.store import Store


def forget(store: Store) -> None:
    """Deletes every checkpoint of a workspace; the files of the workspace are not touched.

    ``format`` goes first: a half-deleted store is no store.
    """
    store.lock.acquire("forget", wait=10)
    try:
        with Translated("deleting the store"):
            durable.unlink(store.path("format"))
            durable.sync_directory(store.directory)
            _delete_below(store.directory)
            durable.rmdir(store.directory)
            parent = os.path.dirname(store.directory)
            if not os.listdir(parent):
                durable.rmdir(parent)
    finally:
        store.lock.release()


def _delete_below(directory: str) -> None:
    for entry in list(os.scandir(directory)):
        if entry.is_dir(follow_symlinks=False):
            _delete_below(entry.path)
            durable.rmdir(entry.path)
        else:
            durable.unlink(entry.path)
