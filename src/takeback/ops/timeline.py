"""The timeline: checkpoints with what changed in each, and the operations between them."""

from __future__ import annotations

from takeback.model.value import Value
from takeback.store.checkpoints import read_coverage
from takeback.store.operations import newest_operation, read_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ledger.ledger import Ledger
    from takeback.model.change import CountedChange
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.coverage import NotHeld
    from takeback.model.ids import SnapshotId
    from takeback.model.operation import Operation
    from takeback.store.store import Store


class TimelineEntry(Value):
    """One checkpoint and what changed since the one before it in its session."""

    checkpoint: Checkpoint
    changes: tuple[CountedChange, ...]

    @property
    def added(self) -> int:
        return sum(change.added or 0 for change in self.changes)

    @property
    def deleted(self) -> int:
        return sum(change.deleted or 0 for change in self.changes)


def timeline(
    ledger: Ledger, *, session: str | None = None, undo: bool = False, limit: int = -1
) -> list[TimelineEntry]:
    """Returns checkpoints, newest first; undo snapshots only if asked."""
    return [
        TimelineEntry(checkpoint, tuple(ledger.changes(checkpoint.id)))
        for checkpoint in ledger.checkpoints(session=session, undo=undo, limit=limit)
    ]


def operations(store: Store) -> list[Operation]:
    """Returns the operation log, oldest first."""
    return read_operations(store)


def last_seen(store: Store, ledger: Ledger) -> SnapshotId | None:
    """Returns the newest state that takeback knows: a checkpoint's, or after an operation."""
    newest = ledger.checkpoints(undo=False, limit=1)
    last = newest_operation(store)
    if last is not None and (not newest or last.time > newest[0].time):
        return last.after
    return newest[0].snapshot if newest else None


class Shown(Value):
    """One checkpoint in full."""

    entry: TimelineEntry
    not_held: tuple[NotHeld, ...]


def show(store: Store, ledger: Ledger, checkpoint: Checkpoint) -> Shown:
    """Returns a checkpoint with its changes and with all that it does not hold."""
    entry = TimelineEntry(checkpoint, tuple(ledger.changes(checkpoint.id)))
    return Shown(entry, read_coverage(store, checkpoint.commit).not_held)
