"""Watch: an event of a process that stays relies on what the kernel tells of the workspace."""

from __future__ import annotations

import os
from functools import partial

from takeback.ops.capture import After
from takeback.ops.failures import Translated
from takeback.store import watch_tally
from takeback.worktree.mounts import Mounts
from takeback.worktree.statcache import StatCache
from takeback.worktree.watching import WatchedLook, arm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ops.context import Context, LockedContext
    from takeback.worktree.watches import Watches


def heard(context: LockedContext, watches: Watches, *, relies: bool) -> After | None:
    """Returns what is known to have happened to the files; None if they are not watched.

    Only one that ``relies`` on the watch looks at nothing else: inside a turn, where the next look
    at everything is near, and nothing is taken back by it.
    """
    watch = watches.of(context.workspace)
    if watch is None:
        return None
    count = partial(watch_tally.add, context.lock)
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
