"""Stock: what is in a store, read once for all that a sweep does with it.

Reading every record takes longer than anything else in a sweep. A record never changes, so that
only what came since is read when the stock is looked at again.
"""

from __future__ import annotations

from takeback.store.chains import Chains
from takeback.store.disk import size_on_disk
from takeback.store.expiry import all_trash, trashed_records
from takeback.store.weight import Scales

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.store import Store


class Stock:
    """The chains and the weights of one store, up to date whenever they are asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._chains: Chains | None = None
        self._scales: Scales | None = None

    def chains(self) -> Chains:
        """Returns all chains; raises StoreDamaged if a ref does not read."""
        if self._chains is None:
            self._chains = Chains(self._store)
        else:
            self._chains.refresh()
        return self._chains

    def beside(self) -> int:
        """Returns what a store takes of its disk beside its checkpoints and its trash.

        The ledger, refs and caches, the operation log, and what nothing leads to any more.
        """
        chains, scales = self.chains(), self.scales()
        records = [*chains.all_records()]
        for trash in all_trash(self._store):
            records += trashed_records(self._store, trash, chains)
        trees = {tree for record in records for tree in record.trees()}
        known = scales.records(records) + scales.weigh(trees)
        return max(0, size_on_disk(self._store).all - known)

    def scales(self) -> Scales:
        """Returns scales that know the packs as they are now."""
        if self._scales is None:
            self._scales = Scales(self._store)
        else:
            self._scales.look_again()
        return self._scales
