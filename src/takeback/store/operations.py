"""The operation log: one commit per line."""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.model.codec import encode
from takeback.model.operation import Operation, decode
from takeback.store.namespace import OPERATIONS
from takeback.store.records import chain, read_record, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.store.records import Record
    from takeback.store.sink import PackSink
    from takeback.store.store import Store


def write_operation(sink: PackSink, operation: Operation) -> None:
    """Appends a line; durable when it returns."""
    store = sink.locked.store
    tip = store.refs.read(OPERATIONS)
    numbered = operation.replace(sequence=sink.locked.next_sequence(above=operation.sequence))
    commit = write_record(
        sink,
        {"type": "operation", **encode(numbered)},
        parents=() if tip is None else (tip,),
        time=operation.time,
        message=f"{operation.kind} {operation.id}",
    )
    sink.publish()
    store.refs.write(OPERATIONS, commit, expect=tip)


def operation_of(record: Record) -> Operation:
    """Returns the operation that a record describes; raises StoreDamaged."""
    try:
        return decode(record.meta)
    except ValueError as error:
        raise StoreDamaged(f"record {record.oid.hex()} is no operation: {error}") from None


def operations_back(store: Store) -> Iterator[Operation]:
    """Yields the log, newest first, as far back as it can be read."""
    try:
        for record in chain(store, store.refs.read(OPERATIONS)):
            yield operation_of(record)
    except StoreDamaged:
        return


def newest_operation(store: Store) -> Operation | None:
    """Returns the last line of the log; None if there is none, or it cannot be read."""
    try:
        tip = store.refs.read(OPERATIONS)
        return operation_of(read_record(store, tip)) if tip is not None else None
    except StoreDamaged:
        return None


def read_operations(store: Store, damaged: list[str] | None = None) -> list[Operation]:
    """Returns the log, oldest first, as far back as it can be read without a gap.

    For undo and redo: a lost line must not keep later ones from being undone, but across a gap they
    could go to the wrong place. Why it goes no further is added to ``damaged``.
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
    """Returns the readable lines of the log, oldest first; only for display."""
    found = []
    for record in chain(store, store.refs.read(OPERATIONS), over_damage=True):
        try:
            found.append(operation_of(record))
        except StoreDamaged:
            continue
    return found[::-1]
