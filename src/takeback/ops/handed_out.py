"""Handed out: objects that are used although no ref leads to them.

The stat cache hands out ids without asking the store. The state that an operation left is what the
next checkpoint is compared with; it is kept as long as the operation's undo snapshot is.
"""

from __future__ import annotations

from takeback.model.operation import Move
from takeback.store.operations import known_operations, operations_back
from takeback.worktree.record import CacheDamaged
from takeback.worktree.statcache import StatCache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.store.chains import Chains
    from takeback.store.store import Store


class HandedOut:
    """Asked under the lock; what takes long to read is read before."""

    def __init__(self, store: Store, chains: Chains) -> None:
        self._store = store
        records = (record for chain in chains.checkpoints.values() for record in chain.records)
        kept = {record.meta.get("id") for record in records if "expired" not in record.meta}
        known = [one for one in known_operations(store) if isinstance(one, Move)][::-1]
        self._newest = known[0].sequence if known else -1
        self._after = [one.after for one in known[:1]]
        self._after += [one.after for one in known[1:] if one.before in kept]

    def __call__(self) -> list[bytes]:
        found = [*self._of_the_cache(), *map(bytes.fromhex, self._after)]
        for one in operations_back(self._store):
            if one.sequence <= self._newest:
                break
            if isinstance(one, Move):
                found.append(bytes.fromhex(one.after))
        return [oid for oid in found if self._store.packs.has(oid)]

    def _of_the_cache(self) -> Iterator[bytes]:
        cache = StatCache.load(self._store.path("stat"))
        try:
            special = cache.known.special()
        except CacheDamaged:  # a capture asks the same, and hands out nothing of it either
            return
        if cache.header.tree:
            yield cache.header.tree
        for *_, oid in cache.header.inside:
            yield oid
        for directory in special:
            for _, _, oid in directory.saved:
                yield oid
