"""Weight: how many bytes of a store some checkpoints' files take, each object counted once."""

from __future__ import annotations

import os
from array import array

from takeback.errors import StoreDamaged
from takeback.git.objects import is_tree
from takeback.git.packsizes import stored_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeVar

    from takeback.store.records import Record
    from takeback.store.store import Store

    Owner = TypeVar("Owner")

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
        return sum(map(self._size, self._reach(roots)))

    def weigh_by(self, owners: Mapping[int, Owner], roots: Iterable[bytes]) -> dict[Owner, int]:
        """Returns the bytes of what some trees lead to, by ``owners``; what has none is left out.

        Those come from the same scales.
        """
        found: dict[Owner, int] = {}
        for number in self._reach(roots):
            owner = owners.get(number)
            if owner is not None:
                found[owner] = found.get(owner, 0) + self._size(number)
        return found

    def owners(
        self, claims: Iterable[tuple[Owner | None, Iterable[bytes]]], *, above: int
    ) -> dict[int, Owner]:
        """Returns whose each object is, by who is the first to have a tree that leads to it.

        Only of those who have more than so many bytes; what comes first with nobody is nobody's.
        """
        seen = set[int]()
        mine: dict[Owner, array[int]] = {}
        for owner, roots in claims:
            new = self._reach(roots, seen)
            if owner is not None and new:
                mine.setdefault(owner, array("I")).extend(new)
        large = {owner: new for owner, new in mine.items() if sum(map(self._size, new)) > above}
        return {number: owner for owner, new in large.items() for number in new}

    def _reach(self, roots: Iterable[bytes], seen: set[int] | None = None) -> set[int]:
        """Returns what some trees lead to, themselves too; what was ``seen`` is left out."""
        seen = set() if seen is None else seen
        waiting, found = [self._number(root) for root in roots], set[int]()
        while waiting:
            tree = waiting.pop()
            if tree in seen:
                continue
            seen.add(tree)
            found.add(tree)
            trees, others = self._look_inside(tree)
            waiting.extend(trees)
            found.update(number for number in others if number not in seen)
            seen.update(others)
        return found

    def _size(self, number: int) -> int:
        return self._sizes.get(self._ids[number], 0)

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
