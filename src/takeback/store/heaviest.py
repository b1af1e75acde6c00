"""Heaviest: the files whose versions take most of a store.

Found by walking all that is kept, which is too much for each look: it is remembered, and found
again by the sweeps, or when the store has become twice as large since.
"""

from __future__ import annotations

from takeback import durable
from takeback.errors import StoreDamaged
from takeback.git.objects import is_tree
from takeback.git.packsizes import stored_sizes
from takeback.model import json_text
from takeback.model.path_text import to_bytes, to_text
from takeback.model.value import Value
from takeback.ordinary import ordinary
from takeback.store.chains import Chains
from takeback.store.checkpoints import FILES
from takeback.store.packdir import pack_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from takeback.store.store import Store

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
