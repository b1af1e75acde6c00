"""A checkpoint's record: what goes in comes out, and what is no checkpoint is said to be none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeback.model import json_text
from takeback.model.checkpoint import (
    MANUAL,
    UNDO,
    Checkpoint,
    Origin,
    Process,
    TranscriptPart,
    decode,
)
from takeback.model.event import TOOL_KINDS, RanTests, ToolCall
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.model.turn import BACKGROUND, IDLE, PROMPT, RUNNING, Moment

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
"""Any text that JSON can hold, halves of characters too."""
MAYBE = st.none() | TEXT
SAID = st.none() | st.text(st.characters(exclude_categories=()), min_size=1, max_size=20)
"""What an agent says: something, or nothing at all."""

ANY_CHECKPOINT = st.builds(
    Checkpoint,
    id=TEXT.map(CheckpointId),
    session=TEXT.map(SessionId),
    kind=TEXT,
    time=st.floats(min_value=-6e10, max_value=2.5e11),
    snapshot=st.just(SnapshotId("a" * 40)),
    commit=st.just(b"c" * 20),
    complete=st.booleans(),
    files=st.integers(min_value=0),
    saved=MAYBE,
    prompt=MAYBE,
    turn=st.none() | st.integers(min_value=0, max_value=(1 << 63) - 1),
    label=st.none(),
    branch=MAYBE,
    head=MAYBE,
    operation=MAYBE,
    agent=SAID,
    native=SAID,
    directory=SAID,
    turn_id=SAID,
    phase=st.sampled_from([None, IDLE, RUNNING, BACKGROUND]),
    unfinished=st.booleans(),
    leaf=SAID,
    entry=SAID,
    transcript=st.lists(st.builds(TranscriptPart, TEXT, st.integers(min_value=0)), max_size=3).map(
        tuple
    ),
    tools=st.lists(
        st.builds(
            ToolCall, TEXT, st.sampled_from(TOOL_KINDS), st.lists(TEXT, max_size=3).map(tuple)
        ),
        max_size=3,
    ).map(tuple),
    subagent=SAID,
    origin=st.none()
    | st.builds(Origin, TEXT.map(SessionId), TEXT.map(CheckpointId), st.none() | TEXT),
    process=st.none() | st.builds(Process, st.integers(min_value=1), st.none() | TEXT),
    resume=st.lists(TEXT, max_size=3).map(tuple),
    noted=SAID,
    late=st.booleans(),
    amid=SAID,
    sequence=st.integers(min_value=0, max_value=(1 << 63) - 1),
    root_mode=st.none() | st.integers(0, 0o777),
)


def through_json(checkpoint: Checkpoint) -> dict[str, Any]:
    """Returns the record of a checkpoint as it reads back from the store."""
    record = json_text.loads(json_text.dumps(checkpoint.encode()))
    assert isinstance(record, dict)
    return record


def read(record: dict[str, Any]) -> Checkpoint:
    return decode(record, snapshot=SnapshotId("a" * 40), commit=b"c" * 20)


BARE = Checkpoint(
    id=CheckpointId("bare"),
    session=SessionId("workspace"),
    kind=MANUAL,
    time=12.5,
    snapshot=SnapshotId("a" * 40),
    commit=b"c" * 20,
    complete=True,
    files=3,
)

FULL = BARE.replace(
    id=CheckpointId("full"),
    session=SessionId("mine-1"),
    kind=PROMPT,
    saved="b" * 40,
    prompt="fix it",
    turn=3,
    label="good",
    branch="main",
    head="d" * 40,
    operation="op",
    agent="mine",
    native="1",
    directory="/w",
    turn_id="t3",
    phase=RUNNING,
    unfinished=True,
    leaf="l",
    entry="e",
    transcript=(TranscriptPart("/t.jsonl", 17),),
    tools=(ToolCall("Edit", "edit", ("a", "b")),),
    subagent="sub",
    origin=Origin(SessionId("mine-0"), CheckpointId("there"), "/elsewhere"),
    process=Process(4711, "99"),
    resume=("mine", "--resume", "{session}"),
    noted="op0",
    late=True,
    amid="0p3r4t10n000",
    sequence=12,
    tested=RanTests("make test", 2),
)


@given(ANY_CHECKPOINT)
def test_every_checkpoint_comes_back_as_it_was(checkpoint: Checkpoint) -> None:
    assert read(through_json(checkpoint)) == checkpoint


def test_every_field_but_the_label_is_in_the_record() -> None:
    """The label can be changed later, so it is a ref of its own."""
    assert read(through_json(FULL)) == FULL.replace(label=None)


def test_what_no_agent_said_takes_no_room() -> None:
    assert (
        set(BARE.encode()) & {"agent", "tools", "transcript", "origin", "process", "late"} == set()
    )
    assert read(through_json(BARE)) == BARE


def test_a_record_of_an_older_takeback_reads_back() -> None:
    old = {"id": "x", "session": "s", "kind": MANUAL, "time": 1, "files": 2, "complete": True}
    found = read({**old, "v": 1, "type": "checkpoint", "not_held": 0, "something": "new"})
    assert (found.id, found.time, found.files, found.complete) == ("x", 1.0, 2, True)
    assert (found.agent, found.turn, found.moment) == (None, None, Moment(MANUAL))


@pytest.mark.parametrize("field", ["id", "session", "kind", "time", "files"])
def test_a_record_without_what_it_must_have_names_it(field: str) -> None:
    record = through_json(FULL)
    del record[field]
    with pytest.raises(ValueError, match=f"it has no {field}"):
        read(record)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("id", 3),
        ("session", None),
        ("kind", ["prompt"]),
        ("time", None),
        ("time", "noon"),
        ("files", {}),
        ("files", float("inf")),
        ("transcript", 3),
        ("transcript", [["/t.jsonl"]]),
        ("transcript", [[3, 4]]),
        ("transcript", [["/t.jsonl", "long"]]),
        ("tools", 3),
        ("tools", [["name alone"]]),
        ("tools", [["name", "edit", 3]]),
        ("tools", [[1, 2]]),
        ("origin", 3),
        ("origin", ["session alone"]),
        ("origin", ["s", 3, None]),
        ("origin", ["s", "c", 3]),
        ("process", 3),
        ("process", [4711]),
        ("process", ["many", None]),
        ("process", [4711, 99]),
        ("resume", 3),
        ("resume", [3]),
    ],
)
def test_a_field_of_the_wrong_kind_is_no_checkpoint(field: str, wrong: object) -> None:
    with pytest.raises(ValueError, match=r"wrong kind|to unpack|could not convert|invalid literal"):
        read({**through_json(FULL), field: wrong})


def test_where_a_checkpoint_stands_in_its_session() -> None:
    assert FULL.moment == Moment(PROMPT, 3, "t3", RUNNING, unfinished=True)
    assert BARE.moment == Moment(MANUAL, 0, None, IDLE, unfinished=False)


def test_the_next_one_stands_at_the_same_place_and_tells_nothing_of_the_moment_before() -> None:
    following = FULL.followed_by(id=CheckpointId("next"), kind=UNDO, time=99.0)
    assert (following.id, following.kind, following.time) == ("next", UNDO, 99.0)
    goes_on = ("session", "agent", "native", "directory", "turn", "turn_id", "phase", "process")
    for name in (*goes_on, "resume", "noted"):
        assert getattr(following, name) == getattr(FULL, name), name
    of_the_moment = ("saved", "prompt", "label", "operation", "leaf", "entry", "subagent", "origin")
    for name in of_the_moment:
        assert getattr(following, name) is None, name
    assert (following.transcript, following.tools) == ((), ())
    assert (following.unfinished, following.late, following.commit) == (False, False, b"")
    assert following.amid is None


@pytest.mark.parametrize("time", [float("nan"), float("inf"), 1e300, -1e11])
def test_a_time_that_no_calendar_has_is_no_checkpoints(time: float) -> None:
    with pytest.raises(ValueError, match="calendar"):
        read({**through_json(FULL), "time": time})


def test_a_number_that_no_database_keeps_is_none() -> None:
    found = read({**through_json(FULL), "turn": 1 << 63, "sequence": -1})
    assert (found.turn, found.sequence) == (None, 0)
