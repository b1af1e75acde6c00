"""The predecessor: what the newest snapshot held, if the stat cache that knew it is gone.

What was held stays held (``worktree/sorting.py``), so a scan must know it. The stat cache is
disposable; the snapshot is not. No bytes are trusted: every file is read again.
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.git.objects import is_tree
from takeback.model.coverage import IGNORED, Coverage
from takeback.store.checkpoints import checkpoints_back, read_coverage
from takeback.store.namespace import SESSIONS
from takeback.worktree.directory import NEVER_TRUSTED, Directory, FileTable
from takeback.worktree.statcache import StatCache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.store.store import Store


def remembered(store: Store, place: str) -> StatCache:
    """Returns a stat cache that knows the paths of the newest snapshot; empty without one."""
    cache = StatCache(place)
    newest = newest_kept(store)
    if newest is None:
        return cache
    try:
        coverage = read_coverage(store, newest.commit)
    except StoreDamaged:
        coverage = Coverage()
    pending = [(b"", newest.tree)]
    while pending:
        path, tree = pending.pop()
        entries = _entries(store, tree)
        if path and coverage.reason_for(path) == IGNORED:  # tracked files are below it
            for mode, name, oid in entries:
                full = path + b"/" + name
                if is_tree(mode):
                    pending.append((full, oid))
                else:
                    cache.header.inside.append((full, NEVER_TRUSTED, mode, oid))
            continue
        directory = cache.known[path] = Directory(path)
        directory.tree = tree
        prefix = path + b"/" if path else b""
        directory.files = FileTable.of(
            (name, NEVER_TRUSTED, oid) for mode, name, oid in entries if not is_tree(mode)
        )
        for mode, name, oid in entries:
            if is_tree(mode):
                pending.append((prefix + name, oid))
                if coverage.reason_for(prefix + name) != IGNORED:
                    directory.subs[name] = (mode, oid)
    return cache


def newest_kept(store: Store) -> Checkpoint | None:
    """Returns the newest checkpoint of all sessions that can be read and has its files."""
    tips = store.refs.list(SESSIONS, damaged={}).values()
    lines = (checkpoints_back(store, tip) for tip in tips)
    found = [next((one for one in line if one.expired is None), None) for line in lines]
    return max(
        (checkpoint for checkpoint in found if checkpoint is not None),
        key=lambda checkpoint: checkpoint.sequence,
        default=None,
    )


def _entries(store: Store, tree: bytes) -> list[tuple[int, bytes, bytes]]:
    try:
        return store.tree(tree)
    except StoreDamaged:
        return []
