"""Events that wait: kept until they are taken, in the order in which they came."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import durable
from takeback.context import Context, LockedContext
from takeback.model.checkpoint import TranscriptPart
from takeback.model.event import AgentEvent, ToolCall
from takeback.store import pending
from tests.support.engine import NOON, KillAt, Killed

TRANSCRIPT = (TranscriptPart("/old.jsonl", 100), TranscriptPart("/caf\udce9.jsonl", 2))


@pytest.fixture
def context(context: Context) -> Iterator[LockedContext]:
    """The workspace, opened, and locked for as long as a test lasts."""
    with context.locked() as locked:
        yield locked


def event(prompt: str) -> AgentEvent:
    return AgentEvent(
        kind="prompt",
        agent="mine",
        session="s1",
        directory="/w",
        prompt=prompt,
        messages=b"\xff\0",
        tools=(ToolCall("Edit", "edit", ("a",)),),
    )


def prompts(context: LockedContext) -> list[str | None]:
    return [waiting.event.prompt for waiting in pending.read(context.store)]


def folder_of(context: LockedContext) -> Path:
    return Path(context.store.path("pending"))


def test_where_none_ever_waited_there_is_not_even_a_directory(context: LockedContext) -> None:
    assert pending.read(context.store) == []
    assert not pending.any_left(context.store)
    assert not folder_of(context).exists()


def test_an_event_waits_with_its_time_and_the_length_of_its_transcript(
    context: LockedContext,
) -> None:
    pending.leave(context.store, event("fix\nit \udcff"), NOON + 0.25, TRANSCRIPT)
    (waiting,) = pending.read(context.store)
    assert waiting.event == event("fix\nit \udcff")
    assert (waiting.time, waiting.transcript) == (NOON + 0.25, TRANSCRIPT)
    (file,) = folder_of(context).iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert folder_of(context).stat().st_mode & 0o077 == 0


def test_events_are_taken_in_the_order_in_which_they_were_left(context: LockedContext) -> None:
    for seconds in (5, 1, 3, 2, 4):
        pending.leave(context.store, event(f"at {seconds}"), NOON + seconds, ())
    assert prompts(context) == [f"at {seconds}" for seconds in (1, 2, 3, 4, 5)]


def test_events_of_one_moment_all_wait_and_each_once(context: LockedContext) -> None:
    for _ in range(2):
        for number in range(20):
            pending.leave(context.store, event(f"event {number}"), NOON, ())
    assert sorted(map(str, prompts(context))) == sorted(f"event {n}" for n in range(20))


def test_a_removed_event_is_gone_and_the_others_stay(context: LockedContext) -> None:
    for seconds in (1, 2, 3):
        pending.leave(context.store, event(f"at {seconds}"), NOON + seconds, ())
    pending.remove(context.lock, pending.read(context.store)[1].name)
    assert prompts(context) == ["at 1", "at 3"]
    for waiting in pending.read(context.store):
        assert pending.any_left(context.store)
        pending.remove(context.lock, waiting.name)
    assert not pending.any_left(context.store)


@pytest.mark.parametrize(
    "torn",
    [
        b"",
        b"not JSON",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"v": 1, "event": {}, "time": 1, "transcript": []}',
        b'{"v": 1, "event": null, "time": null, "transcript": 3}',
        None,
    ],
    ids=repr,
)
def test_an_event_that_does_not_read_back_is_passed_over(
    context: LockedContext, torn: bytes | None
) -> None:
    pending.leave(context.store, event("first"), NOON, ())
    pending.leave(context.store, event("second"), NOON + 2, ())
    first, _ = sorted(folder_of(context).iterdir())
    whole = first.read_bytes()
    between = folder_of(context) / f"{int((NOON + 1) * 1e6):020d}-00000000"
    between.write_bytes(whole[: len(whole) // 2] if torn is None else torn)
    assert prompts(context) == ["first", "second"]


def test_a_file_of_another_name_is_no_event(context: LockedContext) -> None:
    pending.leave(context.store, event("first"), NOON, ())
    (file,) = folder_of(context).iterdir()
    (folder_of(context) / f".{file.name}.4711.tmp").write_bytes(file.read_bytes())
    assert prompts(context) == ["first"]
    pending.remove(context.lock, pending.read(context.store)[0].name)
    assert not pending.any_left(context.store)


@pytest.mark.parametrize("step", ["create", "write", "sync", "rename"])
def test_a_kill_while_an_event_is_left_leaves_none_or_all_of_it(
    context: LockedContext, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(durable, "faults", KillAt(step))
        with pytest.raises(Killed):
            pending.leave(context.store, event("killed"), NOON, ())
    assert prompts(context) == []
    pending.leave(context.store, event("next"), NOON + 1, ())
    assert prompts(context) == ["next"]


def test_an_acknowledged_event_is_flushed_with_its_name(
    context: LockedContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []

    class Watching:
        def step(self, name: str) -> None:
            steps.append(name)

    os.makedirs(folder_of(context))
    with monkeypatch.context() as patch:
        patch.setattr(durable, "faults", Watching())
        pending.leave(context.store, event("x"), NOON, ())
    assert steps == ["create", "write", "sync", "rename", "sync"]
