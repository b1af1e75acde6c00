"""The operation log: one commit a line on ``refs/takeback/operations``."""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.model.ids import CheckpointId, OperationId, SessionId, SnapshotId
from takeback.model.operation import FILES, Operation
from takeback.model.path_text import to_bytes, to_text
from takeback.store.records import chain, read_record, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ports import ObjectSink
    from takeback.store.records import Record
    from takeback.store.store import Store

OPERATIONS = "refs/takeback/operations"


def write_operation(store: Store, sink: ObjectSink, operation: Operation) -> None:
    """Appends a line; durable when it returns. The caller holds the lock."""
    tip = store.refs.read(OPERATIONS)
    commit = write_record(
        sink,
        {
            "type": "operation",
            "id": operation.id,
            "kind": operation.kind,
            "session": operation.session,
            "time": operation.time,
            "target": operation.target,
            "before": operation.before,
            "after": operation.after,
            "paths": [to_text(path) for path in operation.paths],
            "saved": [to_text(path) for path in operation.saved],
            "of": operation.of,
            "written": operation.written,
            "deleted": operation.deleted,
            "left_alone": operation.left_alone,
            "recovered": operation.recovered,
            "scope": operation.scope,
            "child": operation.child,
            "about": operation.about,
            "target_sequence": operation.target_sequence,
            "directory": operation.directory,
            "sequence": store.next_sequence(above=operation.sequence),
        },
        parents=() if tip is None else (tip,),
        time=operation.time,
        message=f"{operation.kind} to {operation.target}",
    )
    sink.publish()
    store.refs.write(OPERATIONS, commit, expect=tip)


def operation_of(record: Record) -> Operation:
    """Returns the operation that a record describes; raises StoreDamaged."""
    of, child = record.optional_text("of"), record.optional_text("child")
    return Operation(
        id=OperationId(record.text("id")),
        kind=record.text("kind"),
        session=SessionId(record.text("session")),
        time=record.time(),
        target=CheckpointId(record.text("target")),
        before=CheckpointId(record.text("before")),
        after=SnapshotId(record.text("after")),
        paths=tuple(to_bytes(path) for path in record.texts("paths")),
        saved=tuple(to_bytes(path) for path in record.texts("saved")),
        of=OperationId(of) if of else None,
        written=int(record.number("written")),
        deleted=int(record.number("deleted")),
        left_alone=int(record.number("left_alone")),
        recovered=record.meta.get("recovered") is True,
        scope=record.optional_text("scope") or FILES,
        child=SessionId(child) if child else None,
        about=record.optional_text("about"),
        target_sequence=int(record.number("target_sequence"))
        if "target_sequence" in record.meta
        else 0,
        directory=record.optional_text("directory"),
        sequence=int(record.number("sequence")) if "sequence" in record.meta else 0,
    )


def newest_operation(store: Store) -> Operation | None:
    """Returns the last line of the log; None if there is none, or it does not read back."""
    try:
        tip = store.refs.read(OPERATIONS)
        return operation_of(read_record(store, tip)) if tip is not None else None
    except StoreDamaged:
        return None


def read_operations(store: Store, damaged: list[str] | None = None) -> list[Operation]:
    """Returns the log, oldest first, as far back as it reads back without a gap.

    For undo and redo: a lost line must not stop the later ones from being undone, and with a gap
    they could go where nobody means. Why not further is added to ``damaged``.
    """
    found: list[Operation] = []
    try:
        for record in chain(store, store.refs.read(OPERATIONS)):
            found.append(operation_of(record))
    except StoreDamaged as error:
        if damaged is not None:
            damaged.append(error.message)
    return found[::-1]


def known_operations(store: Store) -> list[Operation]:
    """Returns the lines of the log that read, oldest first; to look at."""
    found = []
    for record in chain(store, store.refs.read(OPERATIONS), over_damage=True):
        try:
            found.append(operation_of(record))
        except StoreDamaged:
            continue
    return found[::-1]
