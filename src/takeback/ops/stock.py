"""Stock: what is in a store, read once for all that a sweep does with it.

Reading every record takes longer than anything else in a sweep. A record never changes, so that
only what came since is read when the stock is looked at again.
"""

from __future__ import annotations

from takeback.store.chains import Chains
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

    def scales(self) -> Scales:
        """Returns scales that know the packs as they are now."""
        if self._scales is None:
            self._scales = Scales(self._store)
        else:
            self._scales.look_again()
        return self._scales
