"""Weight: how many bytes of a store files take, each object counted once; and the heaviest."""

from __future__ import annotations

import os
from array import array
from itertools import pairwise

from takeback import durable, errors
from takeback.errors import StoreDamaged
from takeback.git.objects import is_tree
from takeback.git.packfile import PackIndex
from takeback.model import json_text
from takeback.model.path_text import to_bytes, to_text
from takeback.model.value import Value
from takeback.ordinary import all_names, ordinary
from takeback.store.history import Chains
from takeback.store.records import FILES
from takeback.store.repack import pack_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, TypeVar

    from takeback.git.objects import ObjectId
    from takeback.store.records import Record
    from takeback.store.store import Store

    Owner = TypeVar("Owner")

# -- how many bytes each object takes in the packs: up to where the next one stands


_CHECKSUM = 20


def stored_sizes(pack_dir: str) -> dict[ObjectId, int]:
    """Returns the bytes of each object, the fewest where there are several copies.

    A pack that cannot be read, or goes meanwhile, is passed over.
    """
    found: dict[ObjectId, int] = {}
    for name in all_names(pack_dir):
        if not name.endswith(".idx"):
            continue
        path = os.path.join(pack_dir, name.removesuffix(".idx"))
        try:
            _add(found, path)
        except (OSError, errors.StoreDamaged):
            continue
    return found


def _add(found: dict[ObjectId, int], path: str) -> None:
    index = PackIndex(f"{path}.idx")
    try:
        offsets = index.offsets()
        order = sorted(range(len(offsets)), key=offsets.__getitem__)
        sizes = [0] * len(offsets)
        for position, follower in pairwise(order):
            sizes[position] = offsets[follower] - offsets[position]
        if order:
            sizes[order[-1]] = os.stat(f"{path}.pack").st_size - _CHECKSUM - offsets[order[-1]]
        for oid, size in zip(index, sizes, strict=True):
            found[oid] = min(size, found.get(oid, size))
    finally:
        index.close()


# -- weight


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


# -- heaviest: the files whose versions take most of a store
#
# Found by walking all that is kept, which is too much for each look: it is remembered, and found
# again by the sweeps, or when the store has become twice as large since.


NOTABLE = 50 << 20
"""Fewer bytes than these are not worth a line ..."""
SHARE = 4
"""... nor is less than this part of the store."""
_NAMED = 3
_FILE = "heaviest"


class Consumer(Value):
    """A path, how many versions of it are kept, and the bytes that they take in the packs."""

    path: bytes
    versions: int
    bytes: int


class Weighed(Value):
    """The heaviest paths, the heaviest first, and how many bytes all packs had."""

    of: int
    paths: tuple[Consumer, ...]

    @property
    def notable(self) -> tuple[Consumer, ...]:
        """Returns those that take a notable part."""
        least = max(NOTABLE, self.of // SHARE)
        return tuple(one for one in self.paths if one.bytes >= least)


def heaviest(store: Store, size: int) -> tuple[Consumer, ...]:
    """Returns the paths that take a notable part of a store whose packs have ``size`` bytes."""
    if size < NOTABLE:
        return ()
    known = _remembered(store)
    if known is None or size >= 2 * known.of:
        known = weigh_paths(store, size)
    return known.notable


def weigh_if_changed(store: Store, size: int) -> None:
    """Finds the heaviest paths again where that is worth it: the store is not as large as it was.

    A sweep comes every 50 checkpoints, and would walk all that is kept each time.
    """
    known = _remembered(store)
    if size >= NOTABLE and (known is None or 10 * abs(size - known.of) >= known.of):
        weigh_paths(store, size)


def weigh_paths(store: Store, size: int) -> Weighed:
    """Finds the heaviest paths, and remembers them if the disk lets it.

    None are found while a ref does not read: nobody knows what it leads to.
    """
    sizes = stored_sizes(pack_dir(store))
    weights: dict[bytes, int] = {}
    versions: dict[bytes, int] = {}
    try:
        chains = Chains(store)
    except StoreDamaged:
        return Weighed(size, ())
    for path, oid in _versions(store, chains):
        weights[path] = weights.get(path, 0) + sizes.pop(oid, 0)  # the same bytes count once
        versions[path] = versions.get(path, 0) + 1
    first = sorted(weights, key=lambda path: (-weights[path], path))[:_NAMED]
    found = Weighed(size, tuple(Consumer(path, versions[path], weights[path]) for path in first))
    try:
        _remember(store, found)
    except OSError:
        return found
    return found


def _versions(store: Store, chains: Chains) -> Iterator[tuple[bytes, bytes]]:
    """Yields each version of each path that is kept, once."""
    seen: set[tuple[bytes, bytes]] = set()
    for record in chains.all_records():
        if FILES not in record.entries:
            continue
        waiting = [(b"", record.entries[FILES][1])]
        while waiting:
            folder, tree = waiting.pop()
            if (folder, tree) in seen:
                continue
            seen.add((folder, tree))
            try:
                entries = store.tree(tree)
            except StoreDamaged:
                continue
            for mode, name, oid in entries:
                path = folder + b"/" + name if folder else name
                if is_tree(mode):
                    waiting.append((path, oid))
                elif (path, oid) not in seen:
                    seen.add((path, oid))
                    yield path, oid


def _remember(store: Store, found: Weighed) -> None:
    paths = [[to_text(one.path), one.versions, one.bytes] for one in found.paths]
    text = json_text.dumps({"v": 1, "of": found.of, "paths": paths}) + "\n"
    durable.replace_file(store.path(_FILE), text.encode(), flush=False)


def _remembered(store: Store) -> Weighed | None:
    try:
        with open(store.path(_FILE), encoding="utf-8", opener=ordinary) as file:
            record: Any = json_text.loads(file.read())
        paths = [(to_bytes(path), int(many), int(size)) for path, many, size in record["paths"]]
        return Weighed(int(record["of"]), tuple(Consumer(*one) for one in paths))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
