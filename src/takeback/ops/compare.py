"""Compares two snapshots: which paths, what happened to each, how many lines."""

from __future__ import annotations

from takeback.git.diff import BINARY, numstat
from takeback.model.change import ADDED, DELETED, CountedChange
from takeback.store import trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from takeback.model.change import Change
    from takeback.store.store import Store


def counted_changes(
    store: Store, pairs: Sequence[tuple[bytes, bytes]]
) -> list[list[CountedChange]]:
    """Returns for each pair of trees what changed from the first to the second.

    git counts the lines, one process for all pairs; the list of paths is ours, because git
    sees neither permission bits nor empty directories.
    """
    wanted = [(old, new) for old, new in pairs if old != new]
    counts = dict(zip(wanted, numstat(store.git, wanted), strict=True)) if wanted else {}
    return [
        list(counted(trees.diff(store, old, new), counts.get((old, new), {}))) for old, new in pairs
    ]


def counted(
    changes: Iterable[Change], lines: Mapping[bytes, tuple[int, int]]
) -> Iterator[CountedChange]:
    """Yields changes with their line counts, without the directories that came or went with one."""
    implied = _parents(lines)
    for change in changes:
        if change.kind in (ADDED, DELETED) and change.path in implied:
            continue
        added, deleted = lines.get(change.path, BINARY)
        yield CountedChange(
            change.path,
            change.kind,
            added if added >= 0 else None,
            deleted if deleted >= 0 else None,
        )


def _parents(paths: Iterable[bytes]) -> set[bytes]:
    """Returns the directories above some paths: one that came or went with them needs no line."""
    found: set[bytes] = set()
    for path in paths:
        parent = path.rpartition(b"/")[0]
        while parent and parent not in found:
            found.add(parent)
            parent = parent.rpartition(b"/")[0]
    return found
