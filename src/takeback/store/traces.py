"""Traces: where a secret is among all that the refs of a store lead to."""

from __future__ import annotations

from takeback.git.objects import is_tree
from takeback.store.checkpoints import FILES, OUTSIDE
from takeback.store.namespace import EVERYTHING
from takeback.store.records import read_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from takeback.store.records import Record
    from takeback.store.store import Store

    Wanted = Callable[[bytes, bytes], bool]
    """Tells of a path and the id of what is there whether it is looked for."""

SNAPSHOTS = ("after", "was", "saved", "snapshot")
"""The fields of a record that name a tree of files by its id, in hex."""


def all_records(store: Store) -> list[Record]:
    """Returns every record that any ref leads to, each after its parents.

    Raises StoreDamaged if one does not read: what cannot be read cannot be written anew.
    """
    found: dict[bytes, Record] = {}
    ordered: dict[bytes, Record] = {}
    waiting = [*store.refs.list(EVERYTHING).values()]
    while waiting:
        oid = waiting[-1]
        if oid not in found:
            found[oid] = read_record(store, oid)
        before = [parent for parent in found[oid].commit.parents if parent not in ordered]
        if before and oid not in ordered:
            waiting += before
            continue
        ordered.setdefault(oid, found[oid])
        waiting.pop()
    return [*ordered.values()]


def named_trees(store: Store, record: Record) -> Iterator[bytes]:
    """Yields the trees of files that a record names by their id, as far as they are there."""
    for field in SNAPSHOTS:
        value = record.meta.get(field)
        if isinstance(value, str) and value:
            oid = bytes.fromhex(value)
            if store.packs.has(oid):
                yield oid


class Traces:
    """Every file of every snapshot: which paths have what is wanted, in how many checkpoints.

    ``versions`` are the ids at each path of the workspace that is wanted, ``outside`` those of
    files outside of it, ``others`` the paths of each other content. ``checkpoints`` counts the
    checkpoints that have any of it.
    """

    def __init__(self, store: Store, records: Iterable[Record], wanted: Wanted) -> None:
        self._store = store
        self._wanted = wanted
        self._seen: dict[tuple[bytes, bytes], bool] = {}
        self.versions: dict[bytes, set[bytes]] = {}
        self.outside: dict[bytes, set[bytes]] = {}
        self.others: dict[bytes, list[bytes]] = {}
        self.checkpoints = 0
        for record in records:
            entries = record.entries
            roots = [entries[FILES][1]] if FILES in entries else []
            roots += named_trees(store, record)
            has_it = [self._walk(root) for root in roots]
            if OUTSIDE in entries:
                self._walk_outside(entries[OUTSIDE][1])
            self.checkpoints += any(has_it) and "session" in record.meta and "id" in record.meta

    def _walk(self, root: bytes) -> bool:
        """Looks at a tree of the workspace; tells whether anything wanted is in it."""
        first = (b"", root)
        stack = [first]
        while stack:
            prefix, oid = stack[-1]
            entries = self._store.tree(oid)
            below = [(prefix + n + b"/", o) for mode, n, o in entries if is_tree(mode)]
            unseen = [one for one in below if one not in self._seen]
            if unseen:
                stack += unseen
                continue
            stack.pop()
            found = any(self._seen[one] for one in below)
            for mode, name, child in entries:
                if not is_tree(mode):
                    found |= self._look(self.versions, prefix + name, child)
            self._seen[prefix, oid] = found
        return self._seen[first]

    def _look(self, into: dict[bytes, set[bytes]], path: bytes, oid: bytes) -> bool:
        if self._wanted(path, oid):
            into.setdefault(path, set()).add(oid)
            return True
        paths = self.others.setdefault(oid, [])
        if path not in paths:
            paths.append(path)
        return False

    def _walk_outside(self, root: bytes) -> None:
        from takeback.store.trees import walk

        for path, entry in walk(self._store, root):
            if not entry.is_directory:
                self._look(self.outside, b"/" + path, entry.oid)
