"""Compares two snapshots: which paths, and what happened to each."""

from __future__ import annotations

from takeback.git.diff import BINARY
from takeback.model.change import ADDED, DELETED, CountedChange
from takeback.model.coverage import LET_GO
from takeback.ops.counting import lines_between
from takeback.store import trees
from takeback.store.checkpoints import read_coverage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from takeback.model.change import Change
    from takeback.model.checkpoint import Checkpoint
    from takeback.store.store import Store


def changed(store: Store, old: bytes, new: bytes) -> list[CountedChange]:
    """Returns what changed from one tree to another, without counting lines or asking git.

    The list is ours, because git sees neither permission bits nor empty directories.
    """
    return counted(list(trees.diff(store, old, new)), {})


def found_at(store: Store, old: str, checkpoint: Checkpoint) -> list[CountedChange]:
    """Returns what changed from a snapshot to a checkpoint, without counting lines.

    What the settings began to leave out was not deleted: it is there and not looked at any more.
    """
    found = changed(store, bytes.fromhex(old), bytes.fromhex(checkpoint.snapshot))
    if not any(change.kind == DELETED for change in found):
        return found
    coverage = read_coverage(store, checkpoint.commit)
    if not coverage.names(LET_GO):
        return found
    return [
        change
        for change in found
        if change.kind != DELETED or coverage.reason_for(change.path) not in LET_GO
    ]


def counted_changes(store: Store, old: bytes, new: bytes) -> list[CountedChange]:
    """Returns what changed from one tree to another, with the lines as far as git counts them."""
    changes = list(trees.diff(store, old, new))
    return counted(changes, lines_between(store, old, new) if changes else {})


def counted(
    changes: Sequence[Change], lines: Mapping[bytes, tuple[int, int]]
) -> list[CountedChange]:
    """Returns changes with their lines, without the directories that came or went with a file."""
    implied = _parents(change.path for change in changes if not _is_directory(change))
    return [
        _counted(change, *lines.get(change.path, BINARY))
        for change in changes
        if change.kind not in (ADDED, DELETED) or change.path not in implied
    ]


def _counted(change: Change, added: int, deleted: int) -> CountedChange:
    if (added, deleted) == BINARY:
        return CountedChange(change.path, change.kind, None, None)
    return CountedChange(change.path, change.kind, added, deleted)


def _is_directory(change: Change) -> bool:
    """Tells whether both sides are a directory or nothing."""
    return all(entry is None or entry.is_directory for entry in (change.old, change.new))


def _parents(paths: Iterable[bytes]) -> set[bytes]:
    """Returns the directories above some paths: one that came or went with them needs no line."""
    found: set[bytes] = set()
    for path in paths:
        parent = path.rpartition(b"/")[0]
        while parent and parent not in found:
            found.add(parent)
            parent = parent.rpartition(b"/")[0]
    return found
