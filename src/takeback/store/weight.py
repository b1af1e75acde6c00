"""Weight: how many bytes of a store some checkpoints' files take, each object counted once."""

from __future__ import annotations

import os
from array import array

from takeback.errors import StoreDamaged
from takeback.git.objects import is_tree
from takeback.git.packsizes import stored_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.store.records import Record
    from takeback.store.store import Store


_INDEXED = 28
"""What an object takes beside its bytes: its id, checksum and place in the index of its pack."""


class Scales:
    """Weighs snapshots by what their objects take in the packs; asked many times about the same.

    An object that is missing weighs nothing. What a delta takes is counted for the one that is
    stored as such, so that sums are right for the whole and nearly right for a part. A tree is read
    once: what is in it is remembered as numbers, four bytes for each entry.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sizes: dict[bytes, int] = {}
        self.look_again()
        self._numbers: dict[bytes, int] = {}
        self._ids: list[bytes] = []
        self._inside: dict[int, tuple[array[int], array[int]]] = {}

    def look_again(self) -> None:
        """Looks at what objects take in the packs that are there now."""
        found = stored_sizes(os.path.join(self._store.git_dir, "objects", "pack"))
        self._sizes = {oid: size + _INDEXED for oid, size in found.items()}

    def records(self, records: Iterable[Record]) -> int:
        """Returns the bytes that records take without the trees that they keep."""
        found = set[bytes]()
        for record in records:
            found.update((record.oid, record.commit.tree))
            found.update(oid for mode, oid in record.entries.values() if not is_tree(mode))
        return sum(self._sizes.get(oid, 0) for oid in found)

    def weigh(self, roots: Iterable[bytes]) -> int:
        """Returns the bytes of all objects that some trees lead to."""
        waiting, seen = [self._number(root) for root in roots], set[int]()
        files = set[int]()
        while waiting:
            tree = waiting.pop()
            if tree in seen:
                continue
            seen.add(tree)
            trees, others = self._look_inside(tree)
            waiting.extend(trees)
            files.update(others)
        return sum(self._sizes.get(self._ids[number], 0) for number in seen | files)

    def _number(self, oid: bytes) -> int:
        number = self._numbers.setdefault(oid, len(self._ids))
        if number == len(self._ids):
            self._ids.append(oid)
        return number

    def _look_inside(self, tree: int) -> tuple[array[int], array[int]]:
        """Returns the trees and the files in a tree."""
        known = self._inside.get(tree)
        if known is None:
            known = self._inside[tree] = array("I"), array("I")
            try:
                entries = self._store.tree(self._ids[tree])
            except StoreDamaged:
                return known
            for mode, _, oid in entries:
                known[0 if is_tree(mode) else 1].append(self._number(oid))
        return known
