"""The bytes of a store's blobs, hash-checked, for the code that writes files."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.store.store import Store

_LONGEST_LINK = 1 << 16
"""Only the target of a link is read whole; no system has longer paths."""


class StoreBlobs:
    """Reads blobs one by one; long ones in pieces."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def blob(self, oid: bytes) -> bytes:
        return self._store.blob(oid, _LONGEST_LINK)

    def size_of(self, oid: bytes) -> int:
        return self._store.packs.size_of(oid)

    def stream(self, oid: bytes, write: Callable[[bytes], None]) -> None:
        self._store.packs.open_stream(oid, write)
