"""The operation log as commits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from takeback.context import Context, LockedContext
from takeback.model.checkpoint import DIRECTORY, FILE, LINK, Change, Entry
from takeback.model.ids import CheckpointId, MachineId, OperationId, SessionId, SnapshotId
from takeback.model.operation import BOTH, REWIND, UNDO, Move
from takeback.store.namespace import log_ref
from takeback.store.records import newest_id, read_operations, write_operation
from takeback.store.sink import PackSink
from tests.support.engine import NOON

FIRST = Move(
    id=OperationId("first"),
    kind=REWIND,
    session=SessionId("s"),
    time=NOON + 0.5,
    sequence=0,
    machine=MachineId(""),
    target=CheckpointId("target"),
    before=CheckpointId("before"),
    after=SnapshotId("a" * 40),
    paths=(b"dir", b"caf\xe9\n"),
    written=3,
    deleted=2,
    left_alone=1,
    recovered=True,
    scope=BOTH,
    child=SessionId("child"),
    about="before turn 3: caf\udce9",
    target_sequence=7,
    directory="/elsewhere",
    of=OperationId("another"),
    keeps=True,
    was=SnapshotId("c" * 40),
    touched=(
        Change(b"a", Entry(LINK, b"\1" * 20), Entry(DIRECTORY | 0o750, b"")),
        Change(b"caf\xe9", None, Entry(FILE | 0o600, b"\2" * 20)),
        Change(b"gone", Entry(FILE | 0o644, b"\3" * 20), None),
    ),
)
SECOND = Move(
    id=OperationId("second"),
    kind=UNDO,
    session=SessionId("s"),
    time=NOON + 1,
    sequence=0,
    machine=MachineId(""),
    target=CheckpointId("before"),
    before=CheckpointId("before the undo"),
    after=SnapshotId(""),
    of=OperationId("first"),
)


@pytest.fixture
def context(context: Context) -> Iterator[LockedContext]:
    """The workspace, opened, and locked for as long as a test lasts."""
    with context.locked() as locked:
        yield locked


def test_a_store_without_operations_has_an_empty_log(context: LockedContext) -> None:
    assert read_operations(context.store) == []
    assert newest_id(context.store) is None


def test_operations_read_back_whole_and_oldest_first(context: LockedContext) -> None:
    for operation in (FIRST, SECOND):
        write_operation(PackSink(context.lock), operation)
    first, second = read_operations(context.store)
    assert 0 < first.sequence < second.sequence
    here = {"machine": context.store.machine}
    assert first == FIRST.replace(sequence=first.sequence, **here)
    assert second == SECOND.replace(sequence=second.sequence, **here)
    assert newest_id(context.store) == second.id


def test_the_log_reads_for_people_too(context: LockedContext) -> None:
    write_operation(PackSink(context.lock), FIRST)
    tip = context.store.refs.read(log_ref(context.store.machine or ""))
    assert tip is not None
    assert context.store.commit(tip).message == "rewind first"
