"""Weight: how many bytes of a store some checkpoints' files take, each object counted once."""

from __future__ import annotations

import os

from takeback.errors import StoreDamaged
from takeback.git.objects import is_tree
from takeback.git.packsizes import stored_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.store.records import Record
    from takeback.store.store import Store


class Scales:
    """Weighs snapshots by what their objects take in the packs; asked many times about the same.

    An object that is missing weighs nothing. What a delta takes is counted for the one that is
    stored as such, so that sums are right for the whole and nearly right for a part.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sizes = stored_sizes(os.path.join(store.git_dir, "objects", "pack"))

    def records(self, records: Iterable[Record]) -> int:
        """Returns the bytes that records take without the trees that they keep."""
        found = set[bytes]()
        for record in records:
            found.update((record.oid, record.commit.tree))
            found.update(oid for mode, oid in record.entries.values() if not is_tree(mode))
        return sum(self._sizes.get(oid, 0) for oid in found)

    def weigh(self, roots: Iterable[bytes]) -> int:
        """Returns the bytes of all objects that some trees lead to."""
        waiting, seen, total = list(roots), set[bytes](), 0
        files = set[bytes]()
        while waiting:
            tree = waiting.pop()
            if tree in seen:
                continue
            seen.add(tree)
            total += self._sizes.get(tree, 0)
            try:
                entries = self._store.tree(tree)
            except StoreDamaged:
                continue
            for mode, _, oid in entries:
                if is_tree(mode):
                    waiting.append(oid)
                else:
                    files.add(oid)
        return total + sum(self._sizes.get(oid, 0) for oid in files)
