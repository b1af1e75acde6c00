"""The watches that a process has: those of the standby, and the way to hand it a new one."""

from __future__ import annotations

from takeback.worktree.watch import Watch, most_watches
from takeback.worktree.watch_table import WatchTable
from takeback.worktree.watching import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from takeback.worktree.workspace import Workspace

    Keep = Callable[[bytes, tuple[int, int]], None]
    """Hands the descriptors of a watch, with the root of its workspace, to whoever stays."""


class Watches:
    """The watches of some workspaces, one each; no more than half of what the system allows."""

    def __init__(self, held: Iterable[tuple[int, int]], keep: Keep) -> None:
        self._most = most_watches()
        self._found = [Watch(queue, WatchTable(table), self._most) for queue, table in held]
        self._keep = keep

    def of(self, workspace: Workspace) -> Watch | None:
        """Returns the watch of a workspace, to be used while its lock is held."""
        root = identity(workspace)
        return next((watch for watch in self._found if _root_of(watch) == root), None)

    def room_besides(self, workspace: Workspace) -> int:
        """Returns how many directories of a workspace may be watched, beside all others."""
        root = identity(workspace)
        return self._most - sum(
            watch.table.watches for watch in self._found if _root_of(watch) != root
        )

    def take(self, workspace: Workspace, watch: Watch) -> None:
        """Hands a new watch over, in place of an earlier one of the workspace."""
        self._keep(workspace.root, (watch.queue, watch.table.fd))


def _root_of(watch: Watch) -> tuple[int, int] | None:
    try:
        return watch.table.note.root
    except (OSError, ValueError, EOFError, TypeError):
        return None
