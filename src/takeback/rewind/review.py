"""Review: what differs between two states, each path with what it is on both sides."""

from __future__ import annotations

from takeback.errors import Command, NoSuchCheckpoint, Refused
from takeback.ledger.attribute import counted, lines_between
from takeback.model.entries import ReviewedChange
from takeback.model.operation import (
    Between,
)
from takeback.model.path_text import to_text
from takeback.store import trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.model.checkpoint import Change, CountedChange, Entry
    from takeback.store.store import Store

LARGEST_REVIEWED = 64 << 20
"""The largest file, in bytes, that is handed out as a whole."""


def reviewed(store: Store, between: Between) -> tuple[ReviewedChange, ...]:
    """Returns the changes from one state to another, by path, with their lines counted.

    What a turn did to a file that others changed meanwhile is several, one after the other.
    """
    if between.parts is None:
        return _reviewed(store, between.old, between.new)
    found = [
        one
        for part in between.parts
        for one in _reviewed(store, part.old, part.new)
        if one.change.path in part.paths
    ]
    return tuple(sorted(found, key=lambda one: one.change.path))


def _reviewed(store: Store, before: str, after: str) -> tuple[ReviewedChange, ...]:
    old, new = bytes.fromhex(before), bytes.fromhex(after)
    changes = list(trees.diff(store, old, new))
    lines = lines_between(store, old, new) if changes else {}
    return joined(changes, counted(changes, lines))


def joined(
    changes: Iterable[Change], numbers: Iterable[CountedChange]
) -> tuple[ReviewedChange, ...]:
    """Returns changes that were counted, by path."""
    by_path = {one.path: one for one in changes}
    found = (ReviewedChange(by_path[one.path], one) for one in numbers)
    return tuple(sorted(found, key=lambda one: one.change.path))


def content(store: Store, path: bytes, entry: Entry | None) -> bytes:
    """Returns the bytes of one side of a change; of a link, where it leads.

    Raises NoSuchCheckpoint if there is nothing on that side, and Refused if it is too large.
    """
    if entry is None or entry.is_directory:
        raise NoSuchCheckpoint(f"{to_text(path)} is no file on that side")
    if store.packs.size_of(entry.oid) > LARGEST_REVIEWED:
        raise Refused(
            f"{to_text(path)} is larger than {LARGEST_REVIEWED >> 20} MB",
            hint=("write it to a file: ", Command("cat")),
        )
    return store.blob(entry.oid)
