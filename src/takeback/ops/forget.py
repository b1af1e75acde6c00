"""Forget: deletes the store of one workspace, for good."""

from __future__ import annotations

import os

from takeback import durable
from takeback.ops.failures import Translated
from takeback.store.location import has_refs, links_to, read_location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.store import Store


def forget(store: Store, home: str) -> None:
    """Deletes every checkpoint of a workspace; the files of the workspace are not touched.

    ``format`` is deleted first, then the refs in one step: without both it is not a store, and one
    that still has its refs has lost nothing yet.
    """
    with store.locked("forget", wait=10), Translated("deleting the store"):
        known = read_location(store.directory)
        links = [] if known is None else links_to(home, known)
        durable.unlink(store.path("format"))
        durable.sync_directory(store.directory)
        if has_refs(store.directory):
            refs = os.path.join(store.git_dir, "refs")
            durable.rename(os.path.join(refs, "takeback"), os.path.join(refs, "forgotten"))
            durable.sync_directory(refs)
        delete_below(store.directory)
        durable.rmdir(store.directory)
        for path in (*links, store.directory):
            if path != store.directory:
                durable.unlink(path)
            if not os.listdir(os.path.dirname(path)):
                durable.rmdir(os.path.dirname(path))


def delete_below(directory: str) -> None:
    """Deletes everything in a directory of takeback's own; follows no link."""
    for entry in list(os.scandir(directory)):
        if entry.is_dir(follow_symlinks=False):
            delete_below(entry.path)
            durable.rmdir(entry.path)
        else:
            durable.unlink(entry.path)
