"""Status: what is kept, where, how large, and what went wrong."""

from __future__ import annotations

from takeback.model.checkpoint import UNDO
from takeback.model.operation import history
from takeback.model.value import Value
from takeback.ops.receive import is_first_left
from takeback.ops.running import RunningTurn, running_turns
from takeback.ops.sensitive import SensitiveFiles, sensitive_files
from takeback.ops.sessions import SessionEntry, disagreeing
from takeback.ops.standing import Dirty, Standing, standing
from takeback.ops.warnings import warnings
from takeback.store import failures, journal, pending
from takeback.store.disk import size_on_disk
from takeback.store.failures import Failure
from takeback.store.floor import floor
from takeback.store.heaviest import Consumer, heaviest
from takeback.store.operations import read_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from takeback.errors import NotAWorkspace
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.context import Context
    from takeback.ops.finding import Finding
    from takeback.ops.left_running import LeftRunning

_DAY = 86400


class Status(Value):
    """``snapshot_bytes`` are those of ``bytes`` that hold files and conversations, ``growth`` those
    of them added in the last day.

    ``recording_off_by`` names what keeps agents' events from being recorded, None if nothing does.
    ``dirty`` is None if that was not checked.
    """

    root: bytes
    store: str
    checkpoints: int
    snapshots: int
    sessions: int
    bytes: int
    growth: int
    budget: int
    newest: Checkpoint | None
    can_undo: int
    can_redo: int
    interrupted: bool
    failures: tuple[Failure, ...]
    waiting: int = 0
    is_first_left: bool = False
    """Whether agents have gone on before the first capture was done, and it is not yet."""
    running: tuple[RunningTurn, ...] = ()
    disagree: tuple[SessionEntry, ...] = ()
    """Sessions whose conversation holds turns that an operation took back."""
    snapshot_bytes: int = 0
    standing: Standing | None = None
    dirty: Dirty | None = None
    recording_off_by: str | None = None
    warnings: tuple[Finding, ...] = ()
    """What is wrong with the store, its disk or the hooks, one line each."""
    expired: int = 0
    """Checkpoints whose files were dropped."""
    heaviest: tuple[Consumer, ...] = ()
    """The files that take a notable part of the store, the heaviest first."""
    sensitive: SensitiveFiles = SensitiveFiles()
    floor: int = 0
    """How large the last sweep left it that could not bring it within its bound; else 0."""
    never: NotAWorkspace | None = None
    """Why the directory can be no workspace, so that nothing is kept there."""

    @property
    def over_budget(self) -> bool:
        return 0 < self.budget < self.bytes

    @property
    def is_at_floor(self) -> bool:
        """True if what is never dropped alone is larger than it may be."""
        return self.over_budget and self.floor > self.budget


def status(
    context: Context,
    ledger: Ledger,
    *,
    home: str,
    is_over: Callable[[Checkpoint], bool],
    left: Iterable[LeftRunning] = (),
) -> Status:
    """Only reads. ``home`` is where the log of all hooks is, ``left`` what turns left running."""
    store = context.store
    checkpoints, snapshots, sessions = ledger.counts()
    size = size_on_disk(store, since=context.clock.now() - _DAY)
    failed = failures.unseen(store, home, context.workspace.root)
    damaged: list[str] = []
    stacks = history(read_operations(store, damaged))
    lost = "the operation log cannot be read further back"
    failed += [Failure("", f"{lost}: {why}") for why in damaged]
    newest = ledger.checkpoints(without=(UNDO,), limit=1)
    return Status(
        root=context.workspace.root,
        store=store.directory,
        checkpoints=checkpoints,
        snapshots=snapshots,
        sessions=sessions,
        bytes=size.all,
        growth=size.young,
        budget=context.policy.max_bytes,
        newest=newest[0] if newest else None,
        can_undo=len(stacks.undo),
        can_redo=len(stacks.redo),
        interrupted=journal.exists(store),
        failures=tuple(failed),
        waiting=len(pending.read(store)),
        is_first_left=is_first_left(context),
        running=running_turns(context, ledger, is_over, left),
        disagree=tuple(disagreeing(context, ledger, is_over=is_over)),
        snapshot_bytes=size.snapshots,
        expired=len(ledger.expired()),
        standing=standing(context, ledger),
        warnings=tuple(warnings(context, ledger)),
        heaviest=heaviest(store, size.snapshots),
        sensitive=sensitive_files(store),
        floor=floor(store),
    )


def nothing_yet(
    root: bytes, store: str, *, home: str, budget: int, recording_off_by: str | None
) -> Status:
    """Returns the status of a workspace before its first checkpoint: there is no store."""
    return Status(
        root=root,
        store=store,
        checkpoints=0,
        snapshots=0,
        sessions=0,
        bytes=0,
        growth=0,
        budget=budget,
        newest=None,
        can_undo=0,
        can_redo=0,
        interrupted=False,
        failures=tuple(failures.unseen(None, home, root)),
        recording_off_by=recording_off_by,
    )
