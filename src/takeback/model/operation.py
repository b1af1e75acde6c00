"""Operations: what takeback did to the workspace, and the stacks that undo and redo walk."""

from __future__ import annotations

from takeback.model.change import Change
from takeback.model.ids import CheckpointId, OperationId, SessionId, SnapshotId
from takeback.model.path_text import to_bytes, to_text
from takeback.model.snapshot import decode_entry, encode_entry
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

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
    ``directory`` is where a fork put its files instead of the workspace. ``touched`` is what it
    did to the files that the snapshots before and after it do not show within ``paths``:
    a file that was not named and made way, directories that had to be made, ignored files.
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
    touched: tuple[Change, ...] = ()
    was: SnapshotId | None = None
    """The files that it found, of which ``before`` is the checkpoint; an older record lacks it."""

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

    def encode(self) -> dict[str, Any]:
        """Returns the record that the log and the journal keep; ``decode`` reads it back."""
        return {
            "type": "operation",
            "id": self.id,
            "kind": self.kind,
            "session": self.session,
            "time": self.time,
            "target": self.target,
            "before": self.before,
            "after": self.after,
            "paths": [to_text(path) for path in self.paths],
            "saved": [to_text(path) for path in self.saved],
            "of": self.of,
            "written": self.written,
            "deleted": self.deleted,
            "left_alone": self.left_alone,
            "recovered": self.recovered,
            "scope": self.scope,
            "child": self.child,
            "about": self.about,
            "target_sequence": self.target_sequence,
            "directory": self.directory,
            "sequence": self.sequence,
            "touched": [
                [to_text(change.path), encode_entry(change.old), encode_entry(change.new)]
                for change in self.touched
            ],
            "was": self.was,
        }


def decode(meta: Mapping[str, Any]) -> Operation:
    """Returns the operation that a record describes; raises ValueError naming what is wrong."""
    try:
        of, child, was = meta["of"], meta.get("child"), meta.get("was")
        return Operation(
            id=OperationId(_text(meta["id"])),
            kind=_text(meta["kind"]),
            session=SessionId(_text(meta["session"])),
            time=float(meta["time"]),
            target=CheckpointId(_text(meta["target"])),
            before=CheckpointId(_text(meta["before"])),
            after=SnapshotId(_text(meta["after"])),
            paths=tuple(to_bytes(path) for path in meta["paths"]),
            saved=tuple(to_bytes(path) for path in meta["saved"]),
            of=OperationId(_text(of)) if of else None,
            written=int(meta["written"]),
            deleted=int(meta["deleted"]),
            left_alone=int(meta["left_alone"]),
            recovered=meta.get("recovered") is True,
            scope=_text(meta.get("scope") or FILES),
            child=SessionId(_text(child)) if child else None,
            about=_maybe(meta, "about"),
            target_sequence=int(meta.get("target_sequence", 0)),
            directory=_maybe(meta, "directory"),
            sequence=int(meta.get("sequence", 0)),
            touched=tuple(
                Change(to_bytes(path), decode_entry(old), decode_entry(new))
                for path, old, new in meta.get("touched", ())
            ),
            was=SnapshotId(_text(was)) if was else None,
        )
    except KeyError as error:
        raise ValueError(f"it has no {error.args[0]}") from None
    except (TypeError, IndexError, AttributeError, OverflowError):
        raise ValueError("one of its fields is of the wrong kind") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _maybe(meta: Mapping[str, Any], name: str) -> str | None:
    value = meta.get(name)
    return value if isinstance(value, str) else None


class Step(Value):
    """One move that undo or redo can make: go to ``goes_to``, in the scope of ``operation``.

    ``last`` is the operation that it takes back: ``operation`` itself, or the undo or redo of
    it that came last.
    """

    operation: Operation
    last: Operation

    @property
    def goes_to(self) -> CheckpointId:
        return self.last.before


class History(Value):
    """What can be undone and redone now, newest last.

    ``took`` says of each undo and redo in the log which operation it took back.
    """

    undo: tuple[Step, ...]
    redo: tuple[Step, ...]
    took: Mapping[OperationId, Operation] = {}


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
    took: dict[OperationId, Operation] = {}
    for operation in log:
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


def _is_of(operation: Operation, stack: list[Step]) -> bool:
    return bool(stack) and operation.of in (None, stack[-1].operation.id)
