"""What one snapshot holds, path by path: each of its directories is read once."""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.model.snapshot import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.store.store import Store


class Held:
    """Looks paths up in a snapshot, where ``trees.lookup`` would read each directory again.

    Without a root it is empty. A directory that cannot be read counts as empty: damage is reported
    when trees are compared.
    """

    def __init__(self, store: Store, root: bytes) -> None:
        self._store = store
        self._directories: dict[bytes, dict[bytes, Entry]] = {b"": self._read(root)}

    @classmethod
    def of(cls, store: Store, checkpoint: Checkpoint) -> Held:
        """Returns what a checkpoint holds: nothing, if its files have expired."""
        return cls(store, b"" if checkpoint.expired is not None else checkpoint.tree)

    def __getitem__(self, path: bytes) -> Entry | None:
        """Returns the entry at a path; None if there is none, and for the root, which has none."""
        parent, _, name = path.rpartition(b"/")
        return self._directory(parent).get(name)

    def __contains__(self, path: bytes) -> bool:
        return self[path] is not None

    def below(self, path: bytes) -> dict[bytes, Entry]:
        """Returns what is in a directory, by name; nothing if it is none."""
        return dict(self._directory(path))

    def _directory(self, path: bytes) -> dict[bytes, Entry]:
        """Reads the directories from the deepest known one down to ``path``."""
        known = path
        missing = []
        while known not in self._directories:
            missing.append(known)
            known = known.rpartition(b"/")[0]
        found = self._directories[known]
        for below in reversed(missing):
            entry = found.get(below.rpartition(b"/")[2])
            is_directory = entry is not None and entry.is_directory
            found = self._read(entry.oid) if entry is not None and is_directory else {}
            self._directories[below] = found
        return found

    def _read(self, oid: bytes) -> dict[bytes, Entry]:
        if not oid:
            return {}
        try:
            return {name: Entry(mode, child) for mode, name, child in self._store.tree(oid)}
        except StoreDamaged:
            return {}
