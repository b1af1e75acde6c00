"""Events as they wait on disk: what goes in comes out, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeback.model import json_text
from takeback.model.event import (
    EVENTS,
    TOOL_KINDS,
    AgentEvent,
    ToolCall,
    cleaned,
    decode,
    encode,
)

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
"""Any text that JSON can hold, halves of characters too."""
MAYBE = st.none() | TEXT
TOOLS = st.builds(
    ToolCall,
    TEXT,
    st.sampled_from(TOOL_KINDS),
    st.lists(TEXT, max_size=3).map(tuple),
    st.none() | TEXT,
    st.none() | st.integers(0, 255),
)

ANY_EVENT = st.builds(
    AgentEvent,
    kind=st.sampled_from(EVENTS),
    agent=TEXT,
    session=TEXT,
    directory=TEXT,
    transcript=MAYBE,
    messages=st.none() | st.binary(max_size=50),
    turn=MAYBE,
    prompt=MAYBE,
    human=st.booleans(),
    steer=st.booleans(),
    leaf=MAYBE,
    tools=st.lists(TOOLS, max_size=3).map(tuple),
    subagent=MAYBE,
    background=st.booleans(),
    continues=st.booleans(),
    reason=MAYBE,
    parent=MAYBE,
    entry=MAYBE,
    process=st.none() | st.integers(min_value=1, max_value=1 << 22),
    resume=st.lists(TEXT, max_size=3).map(tuple),
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)


def through_json(event: AgentEvent) -> dict[str, Any]:
    """Returns the record of an event as it reads back from a file."""
    record = json_text.loads(json_text.dumps(encode(event)))
    assert isinstance(record, dict)
    return record


PROMPT = through_json(AgentEvent("prompt", "mine", "s1", "/w", tools=(ToolCall("x"),)))


@given(ANY_EVENT)
def test_every_event_comes_back_as_it_was(event: AgentEvent) -> None:
    assert decode(through_json(event)) == event


def test_bytes_of_a_conversation_come_back_whatever_they_are() -> None:
    event = AgentEvent("prompt", "mine", "s1", "/w", messages=bytes(range(256)))
    assert decode(through_json(event)).messages == bytes(range(256))


@given(JSON)
def test_anything_else_is_no_event(garbage: Any) -> None:
    with pytest.raises(ValueError, match="not an event"):
        decode(garbage)


@pytest.mark.parametrize("field", sorted(PROMPT))
def test_an_event_without_one_of_its_fields_is_none(field: str) -> None:
    record = {name: value for name, value in PROMPT.items() if name != field}
    with pytest.raises(ValueError, match=field):
        decode(record)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "of a newer takeback"},
        {"kind": None},
        {"kind": []},
        {"tools": None},
        {"tools": 3},
        {"tools": [3]},
        {"tools": [["name alone"]]},
        {"messages": 3},
        {"messages": "☃"},
        {"resume": None},
    ],
    ids=repr,
)
def test_a_field_of_the_wrong_kind_makes_it_none(wrong: dict[str, Any]) -> None:
    decode(PROMPT)
    with pytest.raises(ValueError, match=r"not an event|not enough values|can't encode"):
        decode({**PROMPT, **wrong})


# -- half a character, as a host sends it that cuts a string in the middle of an emoji


@given(ANY_EVENT)
def test_every_text_of_a_cleaned_event_can_be_written(event: AgentEvent) -> None:
    clean = cleaned(event)
    texts = [*clean.resume]
    for tool in clean.tools:
        texts += [tool.name, *tool.paths]
    texts += [value for name in PROMPT if isinstance(value := getattr(clean, name), str)]
    for text in texts:
        text.encode("utf-8", "surrogateescape")
    assert cleaned(clean) == clean


def test_half_a_character_becomes_a_question_mark_and_an_escaped_byte_stays() -> None:
    half, byte = "half \ud83d", "caf\udce9"
    event = AgentEvent(
        kind="prompt",
        agent="mine",
        session=half,
        directory=byte,
        prompt=f"{half} {byte} ☃",
        tools=(ToolCall(half, "edit", (byte, half), half, 3),),
        resume=("mine", half),
        messages=b"\xff",
    )
    clean = cleaned(event)
    assert clean.session.startswith("half ?+")
    assert clean == event.replace(
        session=clean.session,
        prompt=f"half ? {byte} ☃",
        tools=(ToolCall("half ?", "edit", (byte, "half ?"), "half ?", 3),),
        resume=("mine", "half ?"),
    )
    plain = AgentEvent("prompt", "mine", "s1", byte, prompt="☃")
    assert cleaned(plain) is plain


def test_two_sessions_that_differ_in_half_a_character_stay_two() -> None:
    natives = ["half \ud83d", "half \ud83e", "half ?"]
    events = [AgentEvent(kind="prompt", agent="mine", session=n, directory="/") for n in natives]
    assert len({cleaned(event).session for event in events}) == 3
