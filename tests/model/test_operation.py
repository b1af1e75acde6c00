"""The stacks of undo and redo."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.model.codec import encode
from takeback.model.ids import CheckpointId, MachineId, OperationId, SessionId, SnapshotId
from takeback.model.operation import (
    REDO,
    REWIND,
    UNDO,
    History,
    Move,
    Operation,
    decode,
    history,
    moves,
)


def operation(kind: Any, name: str) -> Move:
    """Returns an operation whose undo snapshot is called after it."""
    return Move(
        id=OperationId(name),
        kind=kind,
        session=SessionId("workspace"),
        time=0.0,
        sequence=0,
        machine=MachineId("m"),
        target=CheckpointId("target"),
        before=CheckpointId(f"before {name}"),
        after=SnapshotId(""),
    )


def shown(stacks: History) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Returns both stacks as (operation, where it goes)."""
    return (
        [(step.operation.id, step.goes_to) for step in stacks.undo],
        [(step.operation.id, step.goes_to) for step in stacks.redo],
    )


def test_an_empty_log_has_nothing_to_undo_or_redo() -> None:
    assert history([]) == History((), ())


def test_the_stacks_are_those_of_the_drawing() -> None:
    log = [
        operation(REWIND, "A"),
        operation(REWIND, "B"),
        operation(UNDO, "u1"),
        operation(UNDO, "u2"),
        operation(REDO, "r1"),
        operation(REWIND, "C"),
    ]
    a, b = ("A", "before A"), ("B", "before B")
    drawing = [
        ([a], []),
        ([a, b], []),
        ([a], [("B", "before u1")]),
        ([], [("B", "before u1"), ("A", "before u2")]),
        ([("A", "before r1")], [("B", "before u1")]),
        ([("A", "before r1"), ("C", "before C")], []),
    ]
    assert [shown(history(log[: n + 1])) for n in range(len(log))] == drawing


def test_fork_and_revert_can_be_undone_and_other_lines_do_not_count() -> None:
    log = [operation("revert", "A"), operation("polish", "P"), operation("fork", "B")]
    assert [step.operation.id for step in history(log).undo] == ["A", "B"]


_MOVES = st.lists(st.sampled_from(["rewind", "edit", "undo", "redo"]), max_size=30)


@settings(max_examples=100)
@given(_MOVES)
def test_undo_and_redo_bring_back_every_state_that_they_replaced(moves: list[str]) -> None:
    """A model: the workspace is a number, each edit or rewind gives it a new one.

    ``undos`` and ``redos`` hold the states that a person would expect to come back.
    """
    log: list[Move] = []
    seen: dict[str, int] = {}
    undos: list[int] = []
    redos: list[int] = []
    state = fresh = 0
    for number, move in enumerate(moves):
        stacks = history(log)
        assert (len(stacks.undo), len(stacks.redo)) == (len(undos), len(redos))
        if move == "edit":
            fresh += 1
            state = fresh
            continue
        steps = {"undo": stacks.undo, "redo": stacks.redo}.get(move)
        if steps is not None and not steps:
            continue
        seen[f"before {number}"] = state
        before = state
        if steps is None:
            fresh += 1
            state = fresh
            undos.append(before)
            redos.clear()
        else:
            state = seen[steps[-1].goes_to]
            expected, other = (undos, redos) if move == "undo" else (redos, undos)
            assert state == expected.pop()
            other.append(before)
        log.append(operation(move, str(number)))


def test_a_record_of_an_older_or_a_newer_version_reads_back() -> None:
    meta = encode(operation(REWIND, "A"))
    for name in Move._defaults:
        del meta[name]
    assert decode({**meta, "of a newer one": 1}) == operation(REWIND, "A")


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", 3), ("time", "late"), ("paths", 7), ("touched", [["a"]]), ("touched", [["a", 1, 2]])],
)
def test_a_record_of_the_wrong_kind_is_a_value_error(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode({**encode(operation(REWIND, "A")), field: value})


def test_a_record_that_lacks_something_says_what() -> None:
    meta = encode(operation(REWIND, "A"))
    del meta["before"]
    with pytest.raises(ValueError, match="it has no before"):
        decode(meta)


def test_a_kind_that_a_newer_takeback_made_up_is_a_head_and_stands_in_nobodys_way() -> None:
    record = {
        "id": "P",
        "kind": "polish",
        "time": 1,
        "sequence": 7,
        "machine": "m",
        "target": 9,
        "dropped": ["x"],
    }
    newer = decode(record)
    assert newer == Operation(OperationId("P"), cast("Any", "polish"), 1.0, 7, MachineId("m"))
    log = [operation(REWIND, "A"), newer, operation(UNDO, "u")]
    assert [step.operation.id for step in history(log).redo] == ["A"]
    assert [move.id for move in moves(log)] == ["A", "u"]
