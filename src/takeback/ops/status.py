"""Status: what is kept, where, how large, and what went wrong."""

from __future__ import annotations

import os

from takeback.model.checkpoint import UNDO
from takeback.model.operation import history
from takeback.model.value import Value
from takeback.ops.running import RunningTurn, running_turns
from takeback.ops.sessions import SessionEntry
from takeback.ops.sessions import sessions as sessions_of
from takeback.store import journal, log, pending
from takeback.store.operations import read_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.ops.context import Context

_DAY = 86400


class Status(Value):
    """``growth`` is what the store's packs gained in the last day, in bytes."""

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
    failures: tuple[str, ...]
    waiting: int = 0
    running: tuple[RunningTurn, ...] = ()
    disagree: tuple[SessionEntry, ...] = ()
    """Sessions whose conversation holds turns that an operation took back."""

    @property
    def over_budget(self) -> bool:
        return self.bytes > self.budget


def status(
    context: Context, ledger: Ledger, *, home: str, is_over: Callable[[Checkpoint], bool]
) -> Status:
    """Reads; changes nothing. ``home`` is where the log of all hooks is."""
    store = context.store
    checkpoints, snapshots, sessions = ledger.counts()
    size, growth = _size(store.directory, context.clock.now() - _DAY)
    lines = [*log.read(store), *log.read_from(os.path.join(home, "log"))]
    failures = sorted(lines, key=lambda line: line[:20])  # by their time
    damaged: list[str] = []
    stacks = history(read_operations(store, damaged))
    failures += [f"the operation log cannot be read further back: {why}" for why in damaged]
    newest = ledger.checkpoints(without=(UNDO,), limit=1)
    return Status(
        root=context.workspace.root,
        store=store.directory,
        checkpoints=checkpoints,
        snapshots=snapshots,
        sessions=sessions,
        bytes=size,
        growth=growth,
        budget=context.policy.store_budget,
        newest=newest[0] if newest else None,
        can_undo=len(stacks.undo),
        can_redo=len(stacks.redo),
        interrupted=journal.exists(store),
        failures=tuple(failures),
        waiting=len(pending.read(store)),
        running=running_turns(context, ledger, is_over),
        disagree=tuple(e for e in sessions_of(context, ledger) if e.disagrees is not None),
    )


def _size(directory: str, since: float) -> tuple[int, int]:
    """Returns the bytes on disk, and those of packs younger than ``since``."""
    total = young = 0
    for base, _, names in os.walk(directory):
        for name in names:
            try:
                found = os.lstat(os.path.join(base, name))
            except OSError:
                continue
            used = found.st_blocks * 512
            total += used
            if name.endswith((".pack", ".idx")) and found.st_mtime > since:
                young += used
    return total, young
