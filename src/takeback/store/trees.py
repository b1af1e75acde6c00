"""Snapshot trees: looking up a path, walking, comparing two and building small ones."""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.git.objects import TREE, encode_tree, is_tree
from takeback.model.change import Change
from takeback.model.snapshot import DIRECTORY, Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Protocol

    from takeback.ports import ObjectSink
    from takeback.store.store import Store

    class Trees(Protocol):
        """Where trees can be read."""

        def tree(self, oid: bytes) -> list[tuple[int, bytes, bytes]]:
            """Returns the entries of a tree."""

    OnDamage = Callable[[bytes, StoreDamaged], None]
    Difference = tuple[bytes, Entry | None, Entry | None]


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
