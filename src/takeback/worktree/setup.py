"""What a scan is given: the values that its parts share."""

from __future__ import annotations

from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from takeback.model.policy import Policy
    from takeback.ports import Brought, Purged, Reporter
    from takeback.worktree.rules import Rules
    from takeback.worktree.watching import WatchedLook
    from takeback.worktree.workspace import Workspace


class ScanSetup(Value):
    """What is looked at, by which rules, and who is told of the progress.

    ``epoch`` is that of the store's trust: a stat cache of another one is not trusted. ``in_child``
    runs first in every process that the scan forks. ``brought`` is what an operation has just
    brought back, ``purged`` what must not be held again, ``operation`` the one that was interrupted
    or is under way: its temporary files are ours. With ``rehash`` every file is read, with
    ``allow_large`` the limits of one capture do not apply. ``within`` are the only directories that
    are looked at, if the stat cache is as good as a look at all others (``Scan.again``).
    ``watching`` may know where alone to look, and is told of every directory that is listed.
    """

    workspace: Workspace
    rules: Rules
    policy: Policy
    reporter: Reporter
    in_child: Callable[[], None]
    epoch: int
    brought: Brought | None = None
    purged: Purged | None = None
    operation: str | None = None
    rehash: bool = False
    allow_large: bool = False
    within: Collection[bytes] | None = None
    watching: WatchedLook | None = None
