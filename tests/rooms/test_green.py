"""Green: the newest checkpoint at which tests passed, and the marks of those."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.app.engine import Engine
from takeback.errors import NoSuchCheckpoint, UsageError
from takeback.model.event import EDIT, SHELL, ToolCall
from tests.support.called import called, done


class Agent:
    """An agent that says what its shell ran, and how that ended."""

    def __init__(self, workspace: Path, session: str = "s1") -> None:
        self.workspace = workspace
        self.session = session

    def turn(self, text: str, command: str | None = None, status: int | None = None) -> None:
        with (
            Takeback.open(self.workspace) as tb,
            tb.session(agent="mine", native=self.session).turn(text) as turn,
        ):
            (self.workspace / "file").write_text(text)
            turn.round([ToolCall("edit", EDIT, ("file",))])
            if command is not None:
                turn.round([ToolCall("bash", SHELL, (), command, status)])


@pytest.fixture
def agent(workspace: Path) -> Agent:
    return Agent(workspace)


@pytest.fixture
def tb(agent: Agent) -> Iterator[Engine]:
    """Four turns: nothing known, passed, failed, nothing known."""
    agent.turn("one")
    agent.turn("two", "pytest -q", 0)
    agent.turn("three", "pytest -q", 1)
    agent.turn("four", "ls", 0)
    with Engine.open(agent.workspace) as engine:
        yield engine


def test_green_is_the_newest_state_at_which_tests_passed(tb: Engine, agent: Agent) -> None:
    found = tb.find("green")
    assert found.id == tb.find("turn:2.end").id  # not the beginning of the next
    assert tb.find("mine-s1/green").id == found.id
    done(agent.workspace, "rewind", "green", "--yes", "--files")
    assert (agent.workspace / "file").read_text() == "two"


def test_every_face_marks_it_and_a_ledger_made_anew_knows_it(tb: Engine, agent: Agent) -> None:
    for _ in range(2):
        log = [
            json.loads(line) for line in done(agent.workspace, "--json", "log").stdout.splitlines()
        ]
        known = {entry["prompt"]: entry["tests"] for entry in log if entry["turn"]}
        assert known == {
            "one": None,
            "two": {"passed": True, "command": "pytest -q"},
            "three": {"passed": False, "command": "pytest -q"},
            "four": None,
        }
        tb.doctor(rebuild=True)
    lines = done(agent.workspace, "log").stdout.splitlines()
    assert [line for line in lines if "tests passed" in line] == [
        line for line in lines if '"two"' in line
    ]
    shown = done(agent.workspace, "show", "turn:2").stdout
    assert "  tests     passed at its end: pytest -q\n" in shown
    assert (
        "  tests     failed here: pytest -q\n" in done(agent.workspace, "show", "turn:3.end").stdout
    )


def test_a_bisection_makes_green_too(tb: Engine, agent: Agent) -> None:
    tb.bisection("turn:2", "@", ["grep", "-qE", "two|three|one", "file"]).run(lambda run: None)
    assert tb.find("green").snapshot == tb.find("turn:3.end").snapshot


def test_another_sessions_tests_are_not_meant(tb: Engine, agent: Agent) -> None:
    other = Agent(agent.workspace, "s2")
    other.turn("five", "make test", 0)
    assert tb.find("green", session="mine-s1").snapshot == tb.find("mine-s1/turn:2.end").snapshot
    assert tb.find("mine-s2/green").snapshot == tb.find("mine-s2/turn:1.end").snapshot


def test_where_nothing_passed_the_hint_says_how_to_find_out(workspace: Path) -> None:
    (workspace / "file").write_text("x")
    with Takeback.open(workspace) as tb:
        tb.checkpoint()
        with pytest.raises(NoSuchCheckpoint, match="no checkpoint is known"):
            tb.engine.find("green")
        with pytest.raises(UsageError, match="tests passed"):
            tb.checkpoint("green")
    assert "takeback bisect" in called(workspace, "rewind", "green", "--yes").stderr


def test_which_commands_count_besides_the_usual_ones_is_a_setting(agent: Agent) -> None:
    agent.turn("one", "pytest", 0)
    agent.turn("two", "just check", 0)
    with Engine.open(agent.workspace) as tb:
        assert tb.find("green").snapshot == tb.find("turn:1.end").snapshot
    done(agent.workspace, "config", "test_commands", "just check")
    agent.turn("three", "just check --all", 0)
    with Engine.open(agent.workspace) as tb:
        assert tb.find("green").snapshot == tb.find("turn:3.end").snapshot
