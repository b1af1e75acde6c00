"""Writes a snapshot's tree anew with some paths changed; what did not change is not read."""

from __future__ import annotations

from takeback.git.objects import TREE, encode_tree
from takeback.model.path_text import parents
from takeback.model.snapshot import DIRECTORY, Entry
from takeback.store.held import Held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.ports import ObjectSink
    from takeback.store.store import Store


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
