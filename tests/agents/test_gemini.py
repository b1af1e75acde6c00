"""The real Gemini against a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.elsewhere import go_on_elsewhere
from tests.agents.flow import (
    ONE,
    TWO,
    connect_one_project,
    go_back_to_green,
    take_back_the_second_turn,
    tell_the_model,
)
from tests.agents.gemini import Gemini, shell, typed
from tests.agents.summaries import summarise_some_turns
from tests.agents.terminal import need_tmux
from tests.agents.world import World


@pytest.fixture
def gemini(world: World, installed: Callable[[str], Path]) -> Gemini:
    return Gemini(world, installed("gemini"))


@pytest.mark.long
def test_the_model_is_told_that_files_were_taken_back(gemini: Gemini) -> None:
    tell_the_model(gemini)


def test_a_turn_is_taken_back_with_its_files_and_its_conversation(gemini: Gemini) -> None:
    take_back_the_second_turn(gemini)


@pytest.mark.long
def test_turns_become_a_summary_in_a_new_session(gemini: Gemini) -> None:
    gemini.env["GEMINI_MODEL"] = "gemini-2.5-pro"  # else it first asks another which to ask
    summarise_some_turns(gemini)


@pytest.mark.long
def test_green_is_where_the_tests_of_its_shell_passed(gemini: Gemini) -> None:
    go_back_to_green(gemini, shell)


@pytest.mark.long
def test_one_project_alone_is_connected(gemini: Gemini) -> None:
    connect_one_project(gemini)


@pytest.mark.long
def test_the_line_of_a_fork_goes_on_in_its_directory(gemini: Gemini) -> None:
    go_on_elsewhere(gemini, shell)


@pytest.mark.long
def test_takeback_is_answered_without_a_model(gemini: Gemini) -> None:
    need_tmux()
    world = gemini.world
    world.model.script = gemini.script()
    world.cli.ok("init", "gemini", "--yes")
    session = gemini.begin(ONE)
    gemini.go_on(gemini.resume_line(session), TWO)
    asked = len(world.model.requests)
    with gemini.at_a_terminal(gemini.resume_line(session)) as terminal:
        terminal.shows("? for shortcuts")
        for words, answer in (
            ("/takeback", "Go back to before one: /takeback N"),
            ("/takeback 2 yes", "Take it back: /takeback undo yes"),
        ):
            terminal.send(words, typed)
            terminal.shows(answer)
        terminal.end("C-c")
    assert not (world.repo / "c.txt").exists()
    assert len(world.model.requests) == asked
    assert [turn["prompt"] for turn in world.log()] == [ONE, TWO]
