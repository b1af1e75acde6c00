"""Forget: deletes the store of one workspace, for good."""

from __future__ import annotations

import os

from takeback import durable
from takeback.ops.failures import Translated
from takeback.store.clearing import delete_below
from takeback.store.location import FORGOTTEN, links_to, read_location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.store import Store


def forget(store: Store, home: str) -> None:
    """Deletes every checkpoint of a workspace; the files of the workspace are not touched.

    ``format`` goes first, then the objects and refs in one step: a store without both is not a
    store, and one that still has its refs has lost nothing yet.
    """
    with store.locked("forget", wait=10), Translated("deleting the store"):
        known = read_location(store.directory)
        links = [] if known is None else links_to(home, known)
        durable.unlink(store.path("format"))
        durable.sync_directory(store.directory)
        durable.rename(store.git_dir, store.path(FORGOTTEN))
        durable.sync_directory(store.directory)
        delete_below(store.directory, besides=(FORGOTTEN,))  # it says what the rest is, until then
        delete_below(store.directory)
        durable.rmdir(store.directory)
        for path in (*links, store.directory):
            if path != store.directory:
                durable.unlink(path)
            if not os.listdir(os.path.dirname(path)):
                durable.rmdir(os.path.dirname(path))
