"""Tests whose end the agent writes into its transcript, a moment after it says that they ran."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from takeback.adapters.claude import adapter
from takeback.app.engine import Engine
from takeback.errors import NoSuchCheckpoint
from takeback.model.checkpoint import Checkpoint
from takeback.model.coverage import Overrides
from takeback.model.event import EDIT, SHELL, AgentEvent, AwaitedTests, RanTests, ToolCall
from takeback.turns.receive import Delivery

EDITED = ToolCall("Write", EDIT, ("file",))


def ran(call: str, command: str = "pytest -q") -> ToolCall:
    return ToolCall("Bash", SHELL, (), command, None, call)


class Claude:
    """An agent that says which command ran, and later writes how it ended."""

    def __init__(self, workspace: Path, transcript: Path) -> None:
        self.workspace = workspace
        self.transcript = transcript
        self.turns = 0

    def says(self, kind: str, *tools: ToolCall, prompt: str | None = None) -> Checkpoint:
        self.turns += prompt is not None
        event = AgentEvent(
            kind=kind,  # type: ignore[arg-type]
            agent="claude",
            session="s1",
            directory=str(self.workspace),
            transcript=str(self.transcript),
            turn=f"turn {self.turns}",
            prompt=prompt,
            tools=tools,
        )
        with Engine.open(self.workspace) as tb:
            made = tb.record(event, adapter, delivery=Delivery(tb.now, 5)).checkpoint
        assert made is not None
        return made

    def changes(self, text: str) -> Checkpoint:
        (self.workspace / "file").write_text(text)
        return self.says("round_end", EDITED)

    def writes(self, call: str, status: int) -> None:
        words = f"Exit code {status}\n1 failed" if status else "1 passed"
        result = {"tool_use_id": call, "content": words, "is_error": status != 0}
        details = "Error" if status else {"stdout": words, "interrupted": False}
        with self.transcript.open("a") as file:
            line = {"type": "user", "message": {"content": [result]}, "toolUseResult": details}
            file.write(json.dumps(line) + "\n")


@pytest.fixture
def claude(workspace: Path) -> Claude:
    folder = Path(os.environ["HOME"], ".claude", "projects", "x")
    folder.mkdir(parents=True)
    agent = Claude(workspace, folder / "claude.jsonl")
    agent.transcript.write_text("")
    agent.says("prompt", prompt="go")
    return agent


def green(claude: Claude) -> str | None:
    with Engine.open(claude.workspace) as tb:
        try:
            return tb.find("green").id
        except NoSuchCheckpoint:
            return None


def test_the_mark_is_of_the_files_that_the_tests_ran_on(claude: Claude) -> None:
    claude.changes("good")
    tested = claude.says("round_end", ran("c1"))
    assert tested.awaited == (AwaitedTests("pytest -q", "c1"),)
    assert green(claude) is None
    claude.writes("c1", 0)
    broken = claude.changes("broken")
    assert broken.tested is None
    assert broken.tested_earlier == (RanTests("pytest -q", 0, tested.id),)
    assert broken.awaited == ()
    assert green(claude) == tested.id
    claude.says("round_end", ran("c2"))
    claude.writes("c2", 1)
    assert claude.says("turn_end").tested_earlier[0].status == 1
    assert green(claude) == tested.id
    with Engine.open(claude.workspace) as tb:
        tb.doctor(rebuild=True)
    assert green(claude) == tested.id


def test_what_is_not_written_yet_is_looked_for_until_the_next_prompt(claude: Claude) -> None:
    tested = claude.says("round_end", ran("c1"), ran("c2", "make test"))
    waits = tuple(one.replace(checkpoint=tested.id) for one in tested.awaited)
    claude.writes("c1", 0)
    assert claude.changes("more").awaited == waits, "one of two is no verdict"
    assert claude.says("turn_end").awaited == waits
    claude.writes("c2", 0)
    prompted = claude.says("prompt", prompt="again")
    assert prompted.tested_earlier == (RanTests("make test", 0, tested.id),)
    claude.says("round_end", ran("c3"))
    claude.says("turn_end")
    assert claude.says("prompt", prompt="once more").awaited == (), "given up"
    claude.writes("c3", 0)
    assert claude.says("turn_end").tested_earlier == ()


def test_an_operation_in_between_loses_nothing_of_it(claude: Claude) -> None:
    """How the last tests of a turn ended may be written after its end, and a rewind come first."""
    there = claude.changes("good")
    claude.says("round_end", ran("call-1"))
    claude.says("turn_end")
    with Engine.open(claude.workspace) as tb:
        tb.rewind("turn:1", scope="files", overrides=Overrides.all())
        tb.undo()
    claude.writes("call-1", 0)
    claude.says("prompt", prompt="more")
    with Engine.open(claude.workspace) as tb:
        assert tb.find(green(claude) or "").snapshot == there.snapshot


def test_of_several_tests_the_one_that_failed_counts(claude: Claude) -> None:
    tested = claude.says("round_end", ran("c1"), ran("c2", "make test"))
    claude.writes("c1", 1)
    claude.writes("c2", 0)
    ended = claude.says("turn_end")
    assert ended.tested_earlier == (RanTests("pytest -q", 1, tested.id),)
    assert green(claude) is None


def test_only_tests_are_awaited_and_only_if_nothing_changed_after_them(claude: Claude) -> None:
    for tools in (
        (ran("c1", "ls"),),
        (ran("c1"), EDITED),
        (ran("c1", "pytest | tail"),),
        (ran("c" * 300),),
        (ran(""),),
    ):
        assert claude.says("round_end", *tools).awaited == (), tools


def test_if_the_transcript_has_it_already_nothing_is_awaited(claude: Claude) -> None:
    claude.writes("c1", 0)
    tested = claude.says("round_end", ran("c1"))
    assert tested.tested == RanTests("pytest -q", 0)
    assert (tested.awaited, tested.tested_earlier) == ((), ())
    assert green(claude) == tested.id


def test_no_more_than_sixteen_are_awaited(claude: Claude) -> None:
    many = [ran(f"c{number}") for number in range(17)]
    assert claude.says("round_end", *many).awaited == (), "some of them are no verdict"
    assert len(claude.says("round_end", *many[1:]).awaited) == 16


def test_a_transcript_that_is_no_file_harms_nothing(claude: Claude) -> None:
    claude.says("round_end", ran("c1"))
    claude.transcript.unlink()
    os.mkfifo(claude.transcript)
    assert claude.changes("fifo").tested_earlier == ()
    claude.transcript.unlink()
    assert claude.changes("gone").tested_earlier == ()
    claude.transcript.write_bytes(b'{"a": "c1"}\n' * 100_000 + b'"c1"' * 1_000_000)
    assert claude.changes("huge").tested_earlier == ()
    claude.transcript.write_bytes(b"")
    claude.writes("c1", 0)
    assert claude.says("turn_end").tested_earlier[0].passed


def test_without_conversations_no_transcript_is_read(claude: Claude) -> None:
    with Engine.open(claude.workspace) as tb:
        Path(tb.store_directory, "config.toml").write_text('conversation = "off"\n')
    claude.writes("c1", 0)
    claude.says("round_end", ran("c1"))
    assert claude.says("turn_end").tested_earlier == ()
