"""Snapshot trees: looking up a path, walking, comparing two, building and editing them."""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.git.objects import TREE, encode_tree, is_tree
from takeback.model.checkpoint import DIRECTORY, Change, Entry
from takeback.model.path_text import parents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Protocol

    from takeback.model.checkpoint import Checkpoint
    from takeback.ports import ObjectSink
    from takeback.store.store import Store

    class Trees(Protocol):
        """Where trees can be read."""

        def tree(self, oid: bytes) -> list[tuple[int, bytes, bytes]]:
            """Returns the entries of a tree."""

    OnDamage = Callable[[bytes, StoreDamaged], None]
    Difference = tuple[bytes, Entry | None, Entry | None]

# -- snapshot trees


_NO_TREE = b""


def lookup(store: Store, root: bytes, path: bytes) -> Entry | None:
    """Returns the entry at ``path`` in the snapshot ``root``, or None."""
    entry = Entry(DIRECTORY | 0o755, root)
    for component in path.split(b"/"):
        if not entry.is_directory:
            return None
        for mode, name, oid in store.tree(entry.oid):
            if name == component:
                entry = Entry(mode, oid)
                break
        else:
            return None
    return entry


def walk(store: Store, root: bytes, prefix: bytes = b"") -> Iterator[tuple[bytes, Entry]]:
    """Yields every path below ``root`` with its entry, parents before children."""
    # An explicit stack, not recursion: a directory may be deeper than the interpreter allows.
    open_trees = [(prefix, iter(store.tree(root)))]
    while open_trees:
        prefix, entries = open_trees[-1]
        for mode, name, oid in entries:
            path = prefix + name
            yield path, Entry(mode, oid)
            if is_tree(mode):
                open_trees.append((path + b"/", iter(store.tree(oid))))
                break
        else:
            open_trees.pop()


def count_files(store: Store, root: bytes) -> int:
    """Counts the files and links of a snapshot."""
    return sum(1 for _, entry in walk(store, root) if not entry.is_directory)


def diff(
    store: Trees,
    old: bytes,
    new: bytes,
    prefix: bytes = b"",
    *,
    on_damage: OnDamage | None = None,
) -> Iterator[Change]:
    """Yields every path that differs, descending only where the ids differ.

    Directories are yielded too: added, deleted, of another mode, or of another type. Order: by name
    within a directory, a directory before what is in it. With ``on_damage`` a directory that cannot
    be read is reported there, with all below it, and skipped.
    """
    open_pairs = _compare(store, old, new, prefix, on_damage)
    while open_pairs:
        prefix, differences = open_pairs[-1]
        for name, was, now in differences:
            path = prefix + name
            was_tree = was is not None and was.is_directory
            now_tree = now is not None and now.is_directory
            if not (was_tree and now_tree) or (was and now and was.mode != now.mode):
                yield Change(path, was, now)
            if was_tree or now_tree:
                below_old = was.oid if was is not None and was_tree else _NO_TREE
                below_new = now.oid if now is not None and now_tree else _NO_TREE
                open_pairs += _compare(store, below_old, below_new, path + b"/", on_damage)
                break
        else:
            open_pairs.pop()


def _compare(
    store: Trees, old: bytes, new: bytes, prefix: bytes, on_damage: OnDamage | None
) -> list[tuple[bytes, Iterator[Difference]]]:
    """Returns one directory's entries that differ, by name; empty if it cannot be read."""
    if old == new:
        return []
    try:
        before = {name: (mode, oid) for mode, name, oid in store.tree(old)} if old else {}
        after = {name: (mode, oid) for mode, name, oid in store.tree(new)} if new else {}
    except StoreDamaged as error:
        if on_damage is None:
            raise
        on_damage(prefix.rstrip(b"/"), error)
        return []
    differences = [
        (
            name,
            Entry(*before[name]) if name in before else None,
            Entry(*after[name]) if name in after else None,
        )
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
    return [(prefix, iter(differences))]


def build(sink: ObjectSink, entries: Mapping[bytes, Entry]) -> bytes:
    """Writes the trees that hold ``entries`` by path and returns the root.

    A directory may be given for its permission bits, or because it is empty; its object id
    is not looked at. Directories that are not given get 755.
    """
    inside: dict[bytes, list[tuple[int, bytes, bytes]]] = {b"": []}
    modes: dict[bytes, int] = {}
    for path, entry in entries.items():
        if path.startswith(b"/"):
            raise ValueError(f"not a path in a snapshot: {path!r}")
        if entry.is_directory:
            modes[path] = entry.mode
            _open_up(inside, path)
        else:
            parent, _, name = path.rpartition(b"/")
            _open_up(inside, parent)
            inside[parent].append((entry.mode, name, entry.oid))
    root = inside.pop(b"")
    # What is below a directory sorts after it, so going backwards each tree is complete in its
    # turn.
    for path in sorted(inside, reverse=True):
        parent, _, name = path.rpartition(b"/")
        tree = sink.add(TREE, encode_tree(inside[path]))
        above = inside[parent] if parent else root
        above.append((modes.get(path, DIRECTORY | 0o755), name, tree))
    return sink.add(TREE, encode_tree(root))


def _open_up(inside: dict[bytes, list[tuple[int, bytes, bytes]]], path: bytes) -> None:
    """Adds empty lists for a directory and all directories above it."""
    while path not in inside:
        inside[path] = []
        path = path.rpartition(b"/")[0]


def unsound_entries(
    store: Store, root: bytes, seen: set[bytes], *, snapshot: bool
) -> Iterator[tuple[bytes, bytes]]:
    """Yields (path, id) of each object below a tree that is missing or cannot be read back.

    For a ``snapshot`` also each ``.git``, which takeback never puts into one. Trees are read, blobs
    only looked up. Trees in ``seen`` are skipped, and new ones are added to it.
    """
    stack = [(b"", root)]
    while stack:
        prefix, oid = stack.pop()
        seen.add(oid)
        try:
            entries = store.tree(oid)
        except StoreDamaged:
            yield prefix, oid
            continue
        for mode, name, child in entries:
            path = prefix + b"/" + name if prefix else name
            if snapshot and name == b".git":
                yield path, child
            elif is_tree(mode):
                if child not in seen:
                    stack.append((path, child))
            elif not store.packs.has(child):
                yield path, child


# -- what one snapshot holds, path by path: each of its directories is read once


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


# -- writes a snapshot's tree anew with some paths changed; what did not change is not read


def edited(
    store: Store, sink: ObjectSink, root: bytes, changes: Mapping[bytes, Entry | None]
) -> bytes:
    """Writes a tree anew with other entries at some paths and returns its root; None removes.

    Only the directories above these paths are read and written. One that is given gets its
    permission bits and is made if need be, its object id is not looked at. What lay below a path
    that becomes a file is gone; a file above a path makes way for a directory.
    """
    if not changes:
        return root
    held = Held(store, root)
    inside: dict[bytes, dict[bytes, Entry | None]] = {b"": {}}
    for path, entry in changes.items():
        for above in (path, *parents(path)):
            parent, _, name = above.rpartition(b"/")
            there = inside.setdefault(parent, {})
            if above == path:
                there[name] = entry
        if entry is not None and entry.is_directory:
            inside.setdefault(path, {})
    for directory in sorted(inside, key=lambda path: path.count(b"/"), reverse=True):
        if directory == b"":
            continue
        parent, _, name = directory.rpartition(b"/")
        given = inside[parent]
        if name in given and not _is_directory(given[name]):
            continue  # it goes, with all that is in it
        known = given.get(name) or held[directory]
        mode = known.mode if known is not None and known.is_directory else DIRECTORY | 0o755
        given[name] = Entry(mode, _written(sink, held.below(directory), inside[directory]))
    return _written(sink, held.below(b""), inside[b""])


def _is_directory(entry: Entry | None) -> bool:
    return entry is not None and entry.is_directory


def _written(
    sink: ObjectSink, there: dict[bytes, Entry], changed: Mapping[bytes, Entry | None]
) -> bytes:
    entries = {**there, **changed}
    found = ((e.mode, name, e.oid) for name, e in entries.items() if e is not None)
    return sink.add(TREE, encode_tree(found))
