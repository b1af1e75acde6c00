"""Upkeep: what it takes to look after one store, whether its workspace is there or not."""

from __future__ import annotations

import time

from takeback.model.retention import Bounds
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ports import Clock
    from takeback.store.locked import Locking
    from takeback.store.store import Store


class Upkeep(Value):
    """A store and the rules it is kept by. ``wait`` is how long its lock may take, in seconds."""

    store: Store
    clock: Clock
    bounds: Bounds
    holder: str
    wait: float
    disk_floor: int = 0
    until: float | None = None
    """When a sweep has to end that has only so much time, by the clock that never goes back."""

    @property
    def is_in_time(self) -> bool:
        return self.until is None or time.monotonic() < self.until

    def room_beside(self, fixed: int) -> int:
        """Returns how many bytes there are for what can go, where so many others cannot.

        A little less than the bound leaves: or the next capture would be above it again, and each
        sweep would have to drop something.
        """
        return max(0, self.bounds.max_bytes - fixed) * 9 // 10

    def locked(self) -> Locking:
        """Returns a context manager that holds the lock; raises InUse."""
        return self.store.locked(self.holder, wait=self.wait)
