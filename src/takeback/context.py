"""What every operation needs, and how an error of the system becomes one of ours at its border."""

from __future__ import annotations

from takeback.errors import TakebackError, WriteFailed
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import Policy
    from takeback.ports import Clock, Reporter
    from takeback.store.lock import Locked
    from takeback.store.store import Store
    from takeback.worktree.workspace import Workspace


# -- turns an error of the system into one of ours, once, at the border of an operation


class Translated:
    """``with Translated("the capture")``: an OSError inside becomes a WriteFailed.

    ``undo`` runs first, so that the interrupted work leaves nothing behind.
    """

    def __init__(self, what: str, undo: Callable[[], None] | None = None) -> None:
        self._what = what
        self._undo = undo

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and self._undo is not None:
            self._undo()
        if isinstance(error, OSError) and not isinstance(error, TakebackError):
            raise WriteFailed.of(self._what, error) from error


# -- what every operation needs: one workspace, its store, the rules, the surroundings


class Context(Value):
    """Passed to every operation. ``holder`` is the name that others see when the lock is taken."""

    workspace: Workspace
    store: Store
    policy: Policy
    clock: Clock
    reporter: Reporter
    environ: Mapping[str, str]
    holder: str

    def wrote(self, checkpoint: Checkpoint) -> bool:
        """Tells whether this machine did: another's record says nothing of files here."""
        return checkpoint.machine == self.store.machine

    def locked(self, *, wait: float | None = None) -> ContextLocking:
        """Returns a context manager that holds the workspace's lock and yields a LockedContext.

        Raises InUse after ``wait`` seconds, by default as many as the settings say.
        """
        return ContextLocking(self, self.policy.lock_wait if wait is None else wait)


class LockedContext(Context):
    """The same while this process holds the lock; whatever needs the lock takes this.

    Code that only reads can use it as a context. ``lock`` is what the functions of the store take.
    """

    lock: Locked


class ContextLocking:
    """Holds the lock for the length of a ``with``. Never nested: the LockedContext is handed on."""

    def __init__(self, context: Context, wait: float) -> None:
        self._context = context
        self._lock = context.store.locked(context.holder, wait=wait)

    def __enter__(self) -> LockedContext:
        it = self._context
        lock = self._lock.__enter__()
        return LockedContext(
            it.workspace, it.store, it.policy, it.clock, it.reporter, it.environ, it.holder, lock
        )

    def __exit__(self, *exc: object) -> None:
        self._lock.__exit__(*exc)


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        import time

        return time.time()


class SilentReporter:
    """Hears and says nothing."""

    def progress(self, what: str, done: int, total: int) -> None:
        pass

    def note(self, text: str) -> None:
        pass
