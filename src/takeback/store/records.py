"""Reads and writes the commits that carry a record: a tree with ``meta.json`` and more.

The commit's message is for people who run ``git log`` in the store; meta.json is the record.
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.git.objects import BLOB, COMMIT, TREE, Commit, encode_commit, encode_tree, is_tree
from takeback.model import json_text
from takeback.model.checkpoint import time_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from takeback.ports import ObjectSink
    from takeback.store.store import Store

_FILE = 0o100644
_LARGEST = 1 << 62
_LONGEST = 1 << 29
"""No record is longer: a hook takes 64 MB, and each character becomes at most six."""
META = b"meta.json"


def write_record(
    sink: ObjectSink,
    meta: dict[str, Any],
    *,
    parents: tuple[bytes, ...],
    time: float,
    message: str,
    entries: tuple[tuple[int, bytes, bytes], ...] = (),
) -> bytes:
    """Adds the objects of one record to ``sink`` and returns its commit; moves no ref."""
    text = json_text.dumps({"v": 1, **meta}) + "\n"
    blob = sink.add(BLOB, text.encode())
    tree = sink.add(TREE, encode_tree([*entries, (_FILE, META, blob)]))
    return sink.add(COMMIT, encode_commit(Commit(tree, parents, int(time), message)))


class Record:
    """One record as it is in the store: its commit, its meta.json, its other entries."""

    __slots__ = ("commit", "entries", "meta", "oid")

    def __init__(
        self,
        oid: bytes,
        commit: Commit,
        meta: dict[str, Any],
        entries: dict[bytes, tuple[int, bytes]],
    ) -> None:
        self.oid = oid
        self.commit = commit
        self.meta = meta
        self.entries = entries

    def trees(self) -> list[bytes]:
        """Returns the trees that it keeps: files, a conversation."""
        return [oid for mode, oid in self.entries.values() if is_tree(mode)]

    def text(self, key: str) -> str:
        """Returns a field that must be a string."""
        value = self.meta.get(key)
        if not isinstance(value, str):
            raise StoreDamaged(f"record {self.oid.hex()} has no {key}")
        return value

    def optional_text(self, key: str) -> str | None:
        value = self.meta.get(key)
        return value if isinstance(value, str) else None

    def number(self, key: str) -> float:
        value = self.meta.get(key)
        if not isinstance(value, (int, float)) or not abs(value) < _LARGEST:
            raise StoreDamaged(f"record {self.oid.hex()} has no {key}")
        return float(value)

    def time(self) -> float:
        """Returns when it was made; raises StoreDamaged if no calendar has that time."""
        try:
            return time_of(self.number("time"))
        except ValueError as error:
            raise StoreDamaged(f"record {self.oid.hex()}: {error}") from None

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.meta.get(key)
        return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def read_record(store: Store, oid: bytes) -> Record:
    """Reads one record; raises StoreDamaged if it is not one."""
    commit = store.commit(oid)
    entries = {name: (mode, child) for mode, name, child in store.tree(commit.tree)}
    if META not in entries:
        raise StoreDamaged(f"commit {oid.hex()} has no meta.json")
    try:
        meta = json_text.loads(store.blob(entries[META][1], _LONGEST).decode())
    except ValueError:
        raise StoreDamaged(f"meta.json of commit {oid.hex()} is not JSON") from None
    if not isinstance(meta, dict):
        raise StoreDamaged(f"meta.json of commit {oid.hex()} is not an object")
    return Record(oid, commit, meta, entries)


def chain(
    store: Store,
    tip: bytes | None,
    until: bytes | None = None,
    *,
    over_damage: bool = False,
    read: Callable[[bytes], Record] | None = None,
) -> Iterator[Record]:
    """Yields the records from ``tip`` back along first parents, up to but not including ``until``.

    Raises StoreDamaged at an unreadable one. With ``over_damage`` that is skipped, and only an
    unreadable commit ends the chain: nothing says what came before it. ``read`` is for one who
    has read many of them before.
    """
    oid = tip
    while oid is not None and oid != until:
        try:
            record = read_record(store, oid) if read is None else read(oid)
            yield record
            parents = record.commit.parents
        except StoreDamaged:
            if not over_damage:
                raise
            parents = parents_of(store, oid)
        oid = parents[0] if parents else None


def leads_to(store: Store, tip: bytes, wanted: bytes) -> bool:
    """Tells whether first parents lead from ``tip`` to a commit; damage on the way ends it."""
    oid: bytes | None = tip
    while oid is not None and oid != wanted:
        parents = parents_of(store, oid)
        oid = parents[0] if parents else None
    return oid is not None


def parents_of(store: Store, oid: bytes) -> tuple[bytes, ...]:
    """Returns the parents of a commit; none if it cannot be read."""
    try:
        return store.commit(oid).parents
    except StoreDamaged:
        return ()
