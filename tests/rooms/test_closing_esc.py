"""A turn that the person stopped with Esc is over, though its agent never says so."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from takeback.app.engine import Engine
from takeback.model.event import AgentEvent

NATIVE = "0f1e2d3c-4b5a-4678-9abc-def012345678"


class Claude:
    """A session of Claude Code in the middle of a turn."""

    def __init__(self, tb: Engine, transcript: Path) -> None:
        self._tb = tb
        self._transcript = transcript
        self._number = 0
        self._write("user", "hello")

    def tell(self, kind: Any, **more: object) -> None:
        event = AgentEvent(kind, "claude", NATIVE, os.fsdecode(self._tb.root), process=os.getpid())
        told = {"transcript": str(self._transcript), "turn": "p1", **more}
        self._tb.receive(event.replace(**told))

    def prompt(self) -> None:
        self.tell("prompt", prompt="work")
        self._write("user", "work")
        self._write("assistant", "I will")

    def escape(self) -> None:
        """Esc: a mark in the transcript, and no event."""
        self._write("user", "[Request interrupted by user]")

    def answer(self, words: str) -> None:
        self._write("assistant", words)

    def _write(self, role: str, words: str) -> None:
        self._number += 1
        parent = f"u{self._number - 1}" if self._number > 1 else None
        message = {"role": role, "content": [{"type": "text", "text": words}]}
        entry = {"type": role, "uuid": f"u{self._number}", "parentUuid": parent, "promptId": "p1"}
        with self._transcript.open("a") as file:
            file.write(json.dumps({**entry, "sessionId": NATIVE, "message": message}) + "\n")


@pytest.fixture
def tb(workspace: Path) -> Iterator[Engine]:
    (workspace / "a.txt").write_text("0\n")
    with Engine.open(workspace) as opened:
        yield opened


@pytest.fixture
def claude(tb: Engine, tmp_path: Path) -> Claude:
    return Claude(tb, tmp_path / f"{NATIVE}.jsonl")


def state(tb: Engine) -> tuple[str, list[bytes]]:
    [entry] = [one for one in tb.checkpoints() if one.turn is not None]
    assert entry.turn is not None
    return entry.turn.state, [change.path for change in entry.done]


def test_after_esc_it_is_not_running_and_its_files_are_its_own(
    tb: Engine, claude: Claude, workspace: Path
) -> None:
    claude.prompt()
    (workspace / "a.txt").write_text("1\n")
    assert state(tb) == ("running", [])
    claude.escape()
    plan = tb.plan("turn:1", scope="files")
    assert plan.outside == ()
    assert plan.refused == ()
    assert state(tb) == ("unfinished", [b"a.txt"])
    (workspace / "b.txt").write_text("by hand\n")
    assert tb.plan("turn:1", scope="files").outside == (b"b.txt",)
    claude.tell("prompt", prompt="again", turn="p2")
    assert [turn.prompt for turn in tb.status().running] == ["again"]


def test_the_mark_of_the_turn_before_does_not_end_a_new_one(tb: Engine, claude: Claude) -> None:
    """Its prompt is not written yet when it is told, so the newest line is the mark."""
    claude.prompt()
    claude.escape()
    assert state(tb)[0] == "unfinished"
    claude.tell("prompt", prompt="again", turn=None)
    assert [turn.prompt for turn in tb.status().running] == ["again"]


def test_what_cannot_be_closed_now_is_left(tb: Engine, claude: Claude, workspace: Path) -> None:
    claude.prompt()
    (workspace / "a.txt").write_text("1\n")
    claude.escape()
    with (Path(tb.store_directory) / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert state(tb) == (
            "unfinished",
            [],
        )  # it does not run, and its changes are yet to be seen
    assert state(tb) == ("unfinished", [b"a.txt"])


def test_an_end_that_was_waiting_to_be_recorded_is_the_end(
    tb: Engine, claude: Claude, workspace: Path
) -> None:
    claude.prompt()
    (workspace / "a.txt").write_text("1\n")
    event = AgentEvent("interrupted", "claude", NATIVE, str(workspace), turn="p1")
    tb.leave(event, came=tb.now)
    claude.escape()
    assert state(tb) == ("ended", [b"a.txt"])
    assert [one.checkpoint.kind for one in tb.checkpoints(everything=True)].count("turn end") == 1


def test_a_turn_that_goes_on_after_all_is_open_again(
    tb: Engine, claude: Claude, workspace: Path
) -> None:
    """Whoever wrote that mark: the agent itself says that it works."""
    claude.prompt()
    claude.escape()
    assert state(tb)[0] == "unfinished"
    (workspace / "a.txt").write_text("1\n")
    claude.answer("I go on")
    claude.tell("round_end")
    assert state(tb) == ("running", [b"a.txt"])
    assert [refusal.code for refusal in tb.plan("turn:1", scope="files").refused] == ["during_turn"]
    (workspace / "b.txt").write_text("1\n")
    claude.tell("turn_end")
    assert state(tb) == ("ended", [b"a.txt", b"b.txt"])


def test_an_end_that_is_told_after_all_is_no_command(tb: Engine, claude: Claude) -> None:
    claude.prompt()
    claude.escape()
    assert state(tb)[0] == "unfinished"
    claude.tell("turn_end")
    assert state(tb)[0] == "ended"
