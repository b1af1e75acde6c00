"""Operations: what takeback did to the workspace, and the stacks that undo and redo walk."""

from __future__ import annotations

from takeback.model.ids import CheckpointId, OperationId, SessionId, SnapshotId
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

REWIND = "rewind"
UNDO = "undo"
REDO = "redo"
UNDOABLE = frozenset((REWIND, "revert", "fork"))


class Operation(Value):
    """One line of the operation log.

    ``before`` is the undo snapshot: the checkpoint that holds all the operation replaced.
    ``target`` is the checkpoint it went to. ``paths`` is its scope (empty: the whole
    workspace), ``saved`` the ignored paths it replaced or removed, ``of`` the operation
    that an undo or redo was about.
    """

    id: OperationId
    kind: str
    session: SessionId
    time: float
    target: CheckpointId
    before: CheckpointId
    after: SnapshotId
    paths: tuple[bytes, ...] = ()
    saved: tuple[bytes, ...] = ()
    of: OperationId | None = None
    written: int = 0
    deleted: int = 0
    left_alone: int = 0
    recovered: bool = False


class Step(Value):
    """One move that undo or redo can make: go to ``goes_to``, in the scope of ``operation``.

    ``saved`` are the ignored paths that were replaced or removed after ``goes_to``.
    """

    operation: Operation
    goes_to: CheckpointId
    saved: tuple[bytes, ...]


class History(Value):
    """What can be undone and redone now, newest last."""

    undo: tuple[Step, ...]
    redo: tuple[Step, ...]


def history(log: Iterable[Operation]) -> History:
    """Folds the operation log, oldest first, into the two stacks.

        rewind A        undo: A           redo:
        rewind B        undo: A B         redo:
        undo (of B)     undo: A           redo: B'      B' goes to what the undo replaced
        undo (of A)     undo:             redo: B' A'
        redo (of A)     undo: A"          redo: B'      A" goes to what the redo replaced
        rewind C        undo: A" C        redo:

    Each move goes to the undo snapshot of the operation that it takes back, so whatever
    stood in the workspace when an operation ran comes back, edits in between included.
    """
    undo: list[Step] = []
    redo: list[Step] = []
    for operation in log:
        if operation.kind in UNDOABLE:
            undo.append(Step(operation, operation.before, operation.saved))
            redo.clear()
        elif operation.kind == UNDO and undo:
            redo.append(Step(undo.pop().operation, operation.before, operation.saved))
        elif operation.kind == REDO and redo:
            undo.append(Step(redo.pop().operation, operation.before, operation.saved))
    return History(tuple(undo), tuple(redo))
