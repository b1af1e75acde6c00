"""A look at the files that stores nothing: ids are computed, trees stay in memory."""

from __future__ import annotations

from takeback.git.objects import TREE, decode_tree, object_id, stream_id
from takeback.store.trust import Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.store import Store


class Looking:
    """The ObjectSink for only looking: no lock is needed, and a read-only disk is enough."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._trust = Trust(store)
        store.packs.catch_up()
        self._trees: dict[bytes, list[tuple[int, bytes, bytes]]] = {}

    def tree(self, oid: bytes) -> list[tuple[int, bytes, bytes]]:
        """Returns the entries of a tree, of this look or of the store."""
        found = self._trees.get(oid)
        return self._store.tree(oid) if found is None else found

    def has(self, oid: bytes) -> bool:
        return oid in self._trees or self._store.packs.has_among(oid, self._trust.believes)

    def holds(self, oid: bytes, data: bytes) -> bool:
        return True  # only the id of a file is needed

    def add(self, kind: int, data: bytes, oid: bytes | None = None) -> bytes:
        oid = oid or object_id(kind, data)
        if kind == TREE:
            self._trees[oid] = decode_tree(data)
        return oid

    def add_stream(self, kind: int, fd: int, size: int) -> bytes | None:
        return stream_id(kind, fd, size)

    def fork(self) -> Looking:
        return self

    def publish(self) -> list[str]:
        return []

    def adopt(self, names: list[str]) -> None:
        return None

    def discard(self) -> None:
        return None
