"""Sensitive files: which of those in the newest snapshot usually hold a secret."""

from __future__ import annotations

from takeback.model.coverage import SENSITIVE
from takeback.model.sensitive import is_sensitive, may_be_sensitive
from takeback.model.value import Value
from takeback.worktree.directory import GAPS, NAMES, PATH, SAVED_NAMES, gap_reason
from takeback.worktree.record import CacheDamaged
from takeback.worktree.statcache import StatCache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.store import Store


class SensitiveFiles(Value):
    """What is captured although it usually holds a secret, and what is left out because it does."""

    held: tuple[bytes, ...] = ()
    left_out: tuple[bytes, ...] = ()


def sensitive_files(store: Store) -> SensitiveFiles:
    """Returns them as of the last capture: its stat cache knows every name, no tree is read."""
    try:
        cache = StatCache.load(store.path("stat"))
        if b"" in cache.known:
            return _of(cache)
    except CacheDamaged:
        pass
    from takeback.ops.predecessor import remembered  # the cache is lost, or of another version

    return _of(remembered(store, store.path("stat")))


def _of(cache: StatCache) -> SensitiveFiles:
    held = {row[0] for row in cache.header.inside if row[1] and is_sensitive(row[0])}
    left_out: set[bytes] = set()
    for row in cache.known.rows():
        prefix = row[PATH] + b"/" if row[PATH] else b""
        for names in (row[NAMES], row[SAVED_NAMES]):
            if names and may_be_sensitive(prefix + names):
                held.update(filter(is_sensitive, (prefix + name for name in names.split(b"/"))))
        gaps = row[GAPS].items()
        left_out.update(prefix + name for name, gap in gaps if gap_reason(gap) == SENSITIVE)
    held.difference_update(cache.header.unsaved)
    return SensitiveFiles(tuple(sorted(held)), tuple(sorted(left_out)))
