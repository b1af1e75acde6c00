"""Watching a workspace for long: what the kernel tells of it, and what in it may be a secret."""

from __future__ import annotations

import os
import time
from functools import partial

from takeback.capture.capture import After, scanned_into
from takeback.context import Translated
from takeback.errors import TakebackError
from takeback.model.coverage import SENSITIVE
from takeback.model.sensitive import is_sensitive, may_be_sensitive
from takeback.model.value import Value
from takeback.store import notes
from takeback.store.sink import Looking
from takeback.worktree.cache import StatCache
from takeback.worktree.directory import GAPS, NAMES, PATH, SAVED_NAMES, CacheDamaged, gap_reason
from takeback.worktree.glance import Mounts
from takeback.worktree.rules import IgnoreRaced
from takeback.worktree.watch import WatchedLook, arm, is_reliable, most_watches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.context import Context, LockedContext
    from takeback.store.store import Store
    from takeback.worktree.watch import Watch, Watches


# -- watch: an event of a process that stays relies on what the kernel tells of the workspace


def heard(context: LockedContext, watches: Watches, *, relies: bool) -> After | None:
    """Returns what is known to have happened to the files; None if they are not watched.

    Only one that ``relies`` on the watch looks at nothing else: inside a turn, where the next look
    at everything is near, and nothing is taken back by it.
    """
    watch = watches.of(context.workspace)
    if watch is None:
        return None
    count = partial(notes.add, context.lock)
    return After(watching=WatchedLook(watch, relies=relies, count=count))


def keep_watched(context: Context, watches: Watches) -> None:
    """Has the workspace watched from now on, unless it is.

    A process that nobody waits for calls this: it takes 0.1 s for 10,000 directories. The next
    capture looks at everything once more, and those after it may rely on the watch.
    """
    workspace = context.workspace
    watch = watches.of(workspace)
    if watch is not None and watch.table.note.token:
        return
    with Translated("watching the workspace"):
        cache = StatCache.load(context.store.path("stat"))
        mounts = Mounts(workspace.root, os.fstat(workspace.fd).st_dev)
        made = arm(workspace, cache, mounts, most=watches.room_besides(workspace))
    if made is not None:
        watches.take(workspace, made)


# -- listening: tells whether something may have happened to the files, cheaply and for a long time
#
# The kernel tells, where it hears of every change. Else, and in a workspace without any file yet,
# the files are looked at now and then, less often the longer such a look takes. Either is a hint:
# what it means, a capture finds out.


_OFTEN = 1.0
_SHARE = 20
"""A look takes at most one second in so many."""


class Listening:
    """Hears of changes in one workspace that was captured before; close it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._watch = _watch(context)
        self._renew = False
        self._seen: bytes | None = None
        self._looked = self._next = 0.0
        if self._watch is None:
            self._look()

    @property
    def queue(self) -> int | None:
        """What becomes readable when there is something to hear; None if one has to ask."""
        return None if self._watch is None else self._watch.queue

    @property
    def heard_until(self) -> float:
        """Up to when all that happened is heard, by the monotonic clock."""
        return self._looked if self._watch is None else time.monotonic()

    @property
    def pause(self) -> float | None:
        """In how many seconds one has to ask; None if ``queue`` tells."""
        return None if self._watch is not None else max(0.0, self._next - time.monotonic())

    def heard(self) -> bool:
        """Tells whether something may have happened since the last question."""
        if self._watch is None:
            return time.monotonic() >= self._next and self._look()
        happened = self._watch.drain()
        self._renew |= bool(happened.entries) or not happened.whole
        return bool(happened.paths) or not happened.whole

    def listen_anew(self) -> bool:
        """Listens where directories are now, after a capture; True if something may be unheard.

        What happened in a new one before it was listened to has to be looked for once more.
        """
        before = self._watch
        if before is not None and not self._renew:
            return False
        self._renew, self._watch = False, _watch(self._context)
        if before is not None:
            before.close()
        return before is not None or self._watch is not None

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()

    def _look(self) -> bool:
        begun = time.monotonic()
        found = _looked(self._context)
        took = time.monotonic() - begun
        self._looked, self._next = begun, begun + took + max(_OFTEN, _SHARE * took)
        before, self._seen = self._seen, found
        return before is not None and found != before


def _looked(context: Context) -> bytes:
    """Returns the tree of the files as they are; empty if they cannot be looked at now."""
    try:
        with Translated("a look at the files"):
            _, found = scanned_into(context, Looking(context.store), may_rehash=False)
    except (TakebackError, IgnoreRaced):
        return b""
    return found.tree


def _watch(context: Context) -> Watch | None:
    workspace = context.workspace
    if not is_reliable(workspace.fd):
        return None
    try:
        cache = StatCache.load(context.store.path("stat"))
        mounts = Mounts(workspace.root, os.fstat(workspace.fd).st_dev)
        return arm(workspace, cache, mounts, most=most_watches(), unlisted=True)
    except OSError:
        return None


# -- sensitive files: which of those in the newest snapshot usually hold a secret


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
    from takeback.capture.capture import remembered  # the cache is lost, or of another version

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
