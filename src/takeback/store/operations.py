"""The operation log: one commit per line, and one chain per machine.

        a1 -- a2 -- a3                 operations/A: what was done on A
               \\
                b3 -- b4               operations/B: a copy of the store, made when A was at a2

What was done to the files *here* is the chain of this machine: undo and redo walk it. A copied
store continues from the log that it came with. What the others did is shown beside it, in one
order.
"""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.store import location
from takeback.store.namespace import OPERATIONS, log_ref
from takeback.store.records import chain, read_record, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.model.operation import Operation
    from takeback.store.records import Record
    from takeback.store.sink import PackSink
    from takeback.store.store import Store


def write_operation(sink: PackSink, operation: Operation) -> None:
    """Appends a line to this machine's log; durable when it returns."""
    from takeback.model.codec import encode

    locked = sink.locked
    store, ref = locked.store, log_ref(locked.machine)
    tip = store.refs.read(ref)
    parent = tip or newest_here(store)
    numbered = operation.replace(
        sequence=locked.next_sequence(above=operation.sequence), machine=locked.machine
    )
    commit = write_record(
        sink,
        {"type": "operation", **encode(numbered)},
        parents=() if parent is None else (parent,),
        time=operation.time,
        message=f"{operation.kind} {operation.id}",
    )
    after = sink.publish_for_ref()
    store.refs.write(ref, commit, expect=tip, after=after)
    sink.settle()


def newest_here(store: Store) -> bytes | None:
    """Returns the commit of the newest line of what was done here; None if nothing was.

    Raises StoreDamaged if the ref cannot be read.
    """
    logs = store.refs.names(OPERATIONS)
    if not logs:
        return None
    if store.machine not in logs:  # a copy, in which nothing has been done yet
        known = location.read_location(store.directory)
        return None if known is None else store.refs.read(log_ref(known.machine))
    return store.refs.read(log_ref(store.machine))


def operation_of(record: Record) -> Operation:
    """Returns the operation that a record describes; raises StoreDamaged."""
    from takeback.model.operation import decode  # a hook only asks for an id

    try:
        return decode(record.meta)
    except ValueError as error:
        raise StoreDamaged(f"record {record.oid.hex()} is no operation: {error}") from None


def operations_back(store: Store) -> Iterator[Operation]:
    """Yields what was done here, newest first, as far back as it can be read."""
    try:
        for record in chain(store, newest_here(store)):
            yield operation_of(record)
    except StoreDamaged:
        return


def newest_id(store: Store) -> str | None:
    """Returns the id of what was done here last; None if nothing was, or it cannot be read."""
    try:
        tip = newest_here(store)
        found = None if tip is None else read_record(store, tip).meta.get("id")
    except StoreDamaged:
        return None
    return found if isinstance(found, str) else None


def read_operations(store: Store, damaged: list[str] | None = None) -> list[Operation]:
    """Returns what was done here, oldest first, as far back as it can be read without a gap.

    For undo and redo: a lost line must not keep later ones from being undone, but across a gap they
    could go to the wrong place. Why it goes no further is added to ``damaged``.
    """
    found: list[Operation] = []
    try:
        for record in chain(store, newest_here(store)):
            found.append(operation_of(record))
    except StoreDamaged as error:
        if damaged is not None:
            damaged.append(error.message)
    return found[::-1]


def known_here(store: Store) -> list[Operation]:
    """Returns the readable lines of what was done here, oldest first; only for display."""
    try:
        tip = newest_here(store)
    except StoreDamaged:
        return []
    return [operation for _, operation in _readable(store, tip)][::-1]


def known_operations(store: Store) -> list[Operation]:
    """Returns the readable lines of all machines' logs, oldest first; only for display."""
    found: dict[bytes, Operation] = {}
    for tip in store.refs.list(OPERATIONS, damaged={}).values():
        for commit, operation in _readable(store, tip):
            if commit in found:  # a log that continues another one
                break
            found[commit] = operation
    return sorted(found.values(), key=lambda operation: operation.order)


def _readable(store: Store, tip: bytes | None) -> Iterator[tuple[bytes, Operation]]:
    for record in chain(store, tip, over_damage=True):
        try:
            yield record.oid, operation_of(record)
        except StoreDamaged:
            continue
