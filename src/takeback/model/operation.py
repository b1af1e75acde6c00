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
FORK = "fork"
FILES = "files"
CONVERSATION = "conversation"
BOTH = "both"
SCOPES = (FILES, CONVERSATION, BOTH)
UNDOABLE = frozenset((REWIND, "revert", FORK))


class Operation(Value):
    """One line of the operation log.

    ``before`` is the undo snapshot: the checkpoint that holds all the operation replaced.
    ``target`` is the checkpoint it went to. ``paths`` is its scope (empty: the whole
    workspace), ``saved`` the ignored paths it replaced or removed, ``of`` the operation
    that an undo or redo was about. ``scope`` says what it moved. ``child`` is the session that
    a conversation was cut into; ``about`` says in words where it went ("before turn 3").
    ``directory`` is where a fork put its files instead of the workspace.
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
    scope: str = FILES
    child: SessionId | None = None
    about: str | None = None
    target_sequence: int = 0
    directory: str | None = None
    sequence: int = 0

    @property
    def moves_files(self) -> bool:
        """True when the files of the workspace were part of it."""
        return self.scope in (FILES, BOTH) and self.directory is None

    @property
    def can_be_undone(self) -> bool:
        """A fork that left the files alone took nothing away that could be brought back."""
        return self.kind != FORK or self.moves_files

    @property
    def moves_conversation(self) -> bool:
        return self.scope in (CONVERSATION, BOTH)


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
    stood in the workspace when an operation ran comes back, edits in between included. Where the
    beginning of the log is lost, a move whose operation was in it is passed over.
    """
    undo: list[Step] = []
    redo: list[Step] = []
    for operation in log:
        if operation.kind in UNDOABLE and operation.can_be_undone:
            undo.append(Step(operation, operation.before, operation.saved))
            redo.clear()
        elif operation.kind == UNDO and _is_of(operation, undo):
            redo.append(Step(undo.pop().operation, operation.before, operation.saved))
        elif operation.kind == REDO and _is_of(operation, redo):
            undo.append(Step(redo.pop().operation, operation.before, operation.saved))
    return History(tuple(undo), tuple(redo))


def _is_of(operation: Operation, stack: list[Step]) -> bool:
    return bool(stack) and operation.of in (None, stack[-1].operation.id)
