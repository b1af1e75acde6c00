"""The journal: the operation, and what is yet to be done of it."""

from __future__ import annotations

from typing import Any

import pytest

from takeback.context import Context
from takeback.errors import StoreDamaged, StoreTooNew
from takeback.fork.fork import Child
from takeback.model import codec
from takeback.model.checkpoint import DIRECTORY, FILE, Entry
from takeback.model.coverage import Coverage, NotHeld
from takeback.model.ids import SessionId, SnapshotId
from takeback.model.operation import Goal, LeftAlone, Move
from takeback.rewind import rewind
from takeback.rewind.rewind import JournalEntry
from takeback.store import journal
from takeback.store.records import read_operations, write_operation
from takeback.store.sink import PackSink
from takeback.worktree.apply import Unit
from tests.store.test_operations import FIRST
from tests.support.engine import under_lock

CHILD = Child(
    id=SessionId("mine-7"),
    agent="mine",
    native="7",
    path="/p",
    tree="a" * 40,
    directory="/d",
    worktree="/w",
    filling="/w.takeback-x",
    place="1-2",
    root="/root",
)
UNIT = Unit(
    3,
    b"caf\xe9",
    Entry(FILE | 0o644, b"\1" * 20),
    Entry(DIRECTORY | 0o700, b""),
    inside_new=((b"in", Entry(FILE | 0o600, b"\2" * 20)),),
)
GOAL = Goal(
    SnapshotId("01" * 20),
    Coverage([NotHeld(b"node\xffmodules", "ignored"), NotHeld(b"a\nb", "oversized")]),
    "02" * 20,
    FIRST.about,
)
ENTRY = JournalEntry(
    FIRST, (UNIT,), (LeftAlone(b"\xff", "it is busy", by_rule=True),), CHILD, GOAL, back=True
)


@pytest.mark.parametrize("value", [FIRST, CHILD, ENTRY], ids=lambda value: type(value).__name__)
def test_the_examples_have_no_field_at_its_default(value: Move | Child | JournalEntry) -> None:
    """So that whoever adds a field sees it go through the log and the journal below."""
    missed = {
        name for name, usual in type(value)._defaults.items() if getattr(value, name) == usual
    }
    assert missed == set()


def test_every_field_reads_back_from_the_log_and_from_the_journal(context: Context) -> None:
    under_lock(context, lambda it: write_operation(PackSink(it.lock), FIRST))
    [line] = read_operations(context.store)
    assert line == FIRST.replace(sequence=line.sequence, machine=context.store.machine)
    under_lock(context, lambda it: rewind.write(it.lock, ENTRY))
    assert rewind.read(context.store) == ENTRY
    assert journal.interrupted(context.store) == FIRST.id


def test_without_a_journal_there_is_no_entry(context: Context) -> None:
    assert rewind.read(context.store) is None


WHOLE: dict[str, Any] = {
    "operation": codec.encode(FIRST),
    "units": [],
    "left_alone": [],
    "child": None,
    "goal": None,
    "back": False,
}


@pytest.mark.parametrize(
    "record",
    [
        {},
        {**WHOLE, "operation": 1},
        {**WHOLE, "operation": {"id": "x"}},
        {**WHOLE, "operation": {**codec.encode(FIRST), "target": 1}},
        {**WHOLE, "units": 7},
        {**WHOLE, "units": [{"path": None}]},
        {**WHOLE, "left_alone": [[]]},
        {**WHOLE, "child": {"id": "x"}},
        {**WHOLE, "goal": {"tree": "01"}},
        {**WHOLE, "goal": {"tree": "01", "saved": None, "coverage": "no reason"}},
    ],
)
def test_an_entry_that_makes_no_sense_is_damage(
    context: Context, record: dict[str, object]
) -> None:
    under_lock(context, lambda it: journal.write(it.lock, record))
    with pytest.raises(StoreDamaged, match="not readable") as raised:
        rewind.read(context.store)
    assert raised.value.hint == "run: takeback doctor --fix"
    assert journal.exists(context.store)


def test_what_a_newer_takeback_began_waits_for_it(context: Context) -> None:
    newer = {"operation": {**codec.encode(FIRST), "kind": "polish"}}
    under_lock(context, lambda it: journal.write(it.lock, newer))
    with pytest.raises(StoreTooNew, match="an interrupted polish was found") as raised:
        rewind.read(context.store)
    assert raised.value.hint == "upgrade takeback; nothing was changed"
    assert journal.exists(context.store)
