"""Listening: tells whether something may have happened to the files, cheaply and for a long time.

The kernel tells, where it hears of every change. Else, and in a workspace without any file yet, the
files are looked at now and then, less often the longer such a look takes. Either is a hint: what it
means, a capture finds out.
"""

from __future__ import annotations

import os
import time

from takeback.errors import TakebackError
from takeback.ops.capture import scanned_into
from takeback.ops.failures import Translated
from takeback.store.looking import Looking
from takeback.worktree.ignore import IgnoreRaced
from takeback.worktree.mounts import Mounts
from takeback.worktree.statcache import StatCache
from takeback.worktree.watch import is_reliable, most_watches
from takeback.worktree.watching import arm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ops.context import Context
    from takeback.worktree.watch import Watch

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
