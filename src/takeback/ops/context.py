"""What every operation needs: one workspace, its store, the rules, the surroundings."""

from __future__ import annotations

from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.model.policy import Policy
    from takeback.ports import Clock, Reporter
    from takeback.store.store import Store
    from takeback.worktree.workspace import Workspace


class Context(Value):
    """Passed to every operation. ``holder`` is what others read who find the lock taken."""

    workspace: Workspace
    store: Store
    policy: Policy
    clock: Clock
    reporter: Reporter
    environ: Mapping[str, str]
    holder: str

    def locked(self) -> Locking:
        """Returns a context manager that holds the workspace's lock."""
        return Locking(self)


class Locking:
    """Holds the lock for the length of a ``with``; may be nested in one process."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __enter__(self) -> None:
        self._context.store.lock.acquire(self._context.holder, wait=self._context.policy.lock_wait)

    def __exit__(self, *exc: object) -> None:
        self._context.store.lock.release()
