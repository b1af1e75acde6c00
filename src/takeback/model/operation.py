"""Operations: what takeback did to the workspace, and the stacks that undo and redo walk."""

from __future__ import annotations

from takeback.errors import UsageError
from takeback.model import codec
from takeback.model.change import Change
from takeback.model.ids import CheckpointId, MachineId, OperationId, SessionId, SnapshotId
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Final, Literal

    from takeback.model.ids import Order

    OperationKind = Literal[
        "rewind", "undo", "redo", "fork", "summarise", "revert", "apply", "prune", "purge"
    ]
    StepKind = Literal["undo", "redo"]
    ScopeKind = Literal["files", "conversation", "both"]

REWIND: Final = "rewind"
UNDO: Final = "undo"
REDO: Final = "redo"
REVERT: Final = "revert"
APPLY: Final = "apply"
FORK: Final = "fork"
SUMMARISE: Final = "summarise"
PRUNE: Final = "prune"
PURGE: Final = "purge"
"""Has no more than a head: what was purged is said nowhere, and it is not undone."""
FILES: Final = "files"
CONVERSATION: Final = "conversation"
BOTH: Final = "both"
STEPS: tuple[StepKind, ...] = (UNDO, REDO)
SCOPES: tuple[ScopeKind, ...] = (FILES, CONVERSATION, BOTH)
BEGINS = frozenset((FORK, SUMMARISE))
"""The kinds that begin a session beside the others, which goes nowhere by itself."""
UNDOABLE = frozenset((REWIND, REVERT, APPLY, *BEGINS))
GOES = frozenset((REWIND, REVERT, APPLY))
"""The kinds that do not count as an operation if there is nothing to do, and so to undo."""
MOVES = frozenset((*UNDOABLE, UNDO, REDO))
"""The kinds that have what a ``Move`` has."""


_WAYS: dict[OperationKind, str] = {
    FORK: "from",
    SUMMARISE: "at",
    REVERT: "of",
    APPLY: "of",
}


def way(kind: OperationKind) -> str:
    """Returns the word between an operation and where it went: a rewind *to*, a revert *of*."""
    return _WAYS.get(kind, "to")


def step_named(name: str) -> StepKind | None:
    """Returns undo or redo, if a word is one of them."""
    return next((step for step in STEPS if step == name), None)


def scope_named(name: str) -> ScopeKind:
    """Returns the scope of that name; raises UsageError."""
    found = next((scope for scope in SCOPES if scope == name), None)
    if found is None:
        raise UsageError(f"{name!r} is no scope; there are: {', '.join(SCOPES)}")
    return found


def changed_too(kind: OperationKind) -> str:
    """Says what is wrong with paths that are in conflict: what is brought in is not earlier."""
    return "changed here, too" if kind == APPLY else "changed again since"


class Operation(Value):
    """One line of the operation log: the part that every kind has.

    Of a kind that only a newer takeback knows, there is nothing else: it is shown, but neither
    undone nor changed.
    """

    id: OperationId
    kind: OperationKind
    time: float
    sequence: int
    machine: MachineId

    @property
    def order(self) -> Order:
        """Where it stands among all checkpoints and operations of a workspace."""
        return (self.sequence, self.machine, self.time, self.id)


class Move(Operation):
    """An operation that took the files or a conversation to another state.

    ``before`` is the undo snapshot: the checkpoint that holds everything the operation replaced,
    and ``was`` the files in it. ``target`` is the checkpoint it went to, None if it went to a state
    that no checkpoint has. ``paths`` is its scope (empty: the whole workspace), ``of`` the
    operation that an undo or redo was about. ``scope`` says what it moved. ``child`` is the session
    that a conversation was cut into; ``about`` says in words where it went ("before turn 3").
    ``directory`` is where a fork put its files instead of the workspace. ``touched`` is what it did
    to the files that the snapshots before and after it do not show within ``paths``: a file that
    was not named but displaced, directories that had to be made, ignored files. ``keeps`` if it
    left what the person had changed by hand since the target.
    """

    session: SessionId
    target: CheckpointId | None
    before: CheckpointId
    after: SnapshotId
    paths: tuple[bytes, ...] = ()
    of: OperationId | None = None
    written: int = 0
    deleted: int = 0
    left_alone: int = 0
    recovered: bool = False
    scope: ScopeKind = FILES
    child: SessionId | None = None
    about: str | None = None
    target_sequence: int = 0
    directory: str | None = None
    touched: tuple[Change, ...] = ()
    was: SnapshotId | None = None
    keeps: bool = False

    @property
    def moves_files(self) -> bool:
        """True if the files of the workspace were part of it."""
        return self.scope in (FILES, BOTH) and self.directory is None

    @property
    def can_be_undone(self) -> bool:
        """A fork that left the files alone removed nothing that could be brought back."""
        return self.kind not in BEGINS or self.moves_files

    @property
    def where(self) -> str:
        """Returns where it went, in words if there are any."""
        return self.about or self.target or "a state of its own"

    @property
    def moves_conversation(self) -> bool:
        return self.scope in (CONVERSATION, BOTH)


class Pruned(Operation):
    """An operation that took the files off checkpoints, or brought them back from the trash.

    What was dropped is in the trash under the operation's own id, until its grace is over; it is
    not undone but restored. ``dropped`` and ``restored`` are checkpoints, ``sessions`` those that
    went or came back whole. ``swept`` says that nobody asked for it: the settings did. ``gone`` are
    the numbers of the agents' checkpoints that went altogether: what they changed is nobody's own
    edit, and nothing else is left to tell. ``forgotten`` counts those of sessions that stayed.
    """

    dropped: int = 0
    restored: tuple[CheckpointId, ...] = ()
    sessions: tuple[SessionId, ...] = ()
    swept: bool = False
    gone: tuple[int, ...] = ()
    forgotten: int = 0


def decode(record: Mapping[str, Any]) -> Operation:
    """Returns the operation that a record describes; raises ValueError naming what is wrong."""
    head = codec.decode(Operation, record)
    if head.kind == PRUNE:
        return codec.decode(Pruned, record)
    return codec.decode(Move, record) if head.kind in MOVES else head


def moves(log: Iterable[Operation]) -> list[Move]:
    """Returns the operations that went somewhere, in the order of the log."""
    return [one for one in log if isinstance(one, Move)]


class Step(Value):
    """One move that undo or redo can make: go to ``goes_to``, in the scope of ``operation``.

    ``last`` is the operation that it takes back: ``operation`` itself, or its latest undo or redo.
    """

    operation: Move
    last: Move

    @property
    def goes_to(self) -> CheckpointId:
        return self.last.before


class History(Value):
    """What can be undone and redone now, newest last.

    ``took`` maps each undo and redo in the log to the operation it took back.
    """

    undo: tuple[Step, ...]
    redo: tuple[Step, ...]
    took: Mapping[OperationId, Move] = {}


def history(log: Iterable[Operation]) -> History:
    """Folds the operation log, oldest first, into the two stacks.

        rewind A        undo: A           redo:
        rewind B        undo: A B         redo:
        undo (of B)     undo: A           redo: B'      B' goes to what the undo replaced
        undo (of A)     undo:             redo: B' A'
        redo (of A)     undo: A"          redo: B'      A" goes to what the redo replaced
        rewind C        undo: A" C        redo:

    Each move goes to the undo snapshot of the operation that it takes back, so whatever was in the
    workspace when an operation ran comes back, edits in between included. If the beginning of the
    log is lost, a move whose operation was in it is skipped.
    """
    undo: list[Step] = []
    redo: list[Step] = []
    took: dict[OperationId, Move] = {}
    for operation in moves(log):
        if operation.kind in UNDOABLE and operation.can_be_undone:
            undo.append(Step(operation, operation))
            redo.clear()
        elif operation.kind == UNDO and _is_of(operation, undo):
            took[operation.id] = undo[-1].last
            redo.append(Step(undo.pop().operation, operation))
        elif operation.kind == REDO and _is_of(operation, redo):
            took[operation.id] = redo[-1].last
            undo.append(Step(redo.pop().operation, operation))
    return History(tuple(undo), tuple(redo), took)


def _is_of(operation: Move, stack: list[Step]) -> bool:
    return bool(stack) and operation.of in (None, stack[-1].operation.id)
