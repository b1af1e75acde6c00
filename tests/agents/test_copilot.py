"""The real Copilot CLI against a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.copilot import Copilot, shell
from tests.agents.elsewhere import go_on_elsewhere
from tests.agents.flow import (
    ONE,
    connect_one_project,
    go_back_to_green,
    take_back_the_second_turn,
    tell_the_model,
)
from tests.agents.summaries import summarise_some_turns
from tests.agents.world import World


@pytest.fixture
def copilot(world: World, installed: Callable[[str], Path]) -> Copilot:
    return Copilot(world, installed("copilot"))


def test_a_turn_is_taken_back_with_its_files_and_its_conversation(copilot: Copilot) -> None:
    take_back_the_second_turn(copilot)
    assert [path.name for path in copilot.settings.parent.iterdir()] == ["mine.json"]


@pytest.mark.long
def test_turns_become_a_summary_in_a_new_session(copilot: Copilot) -> None:
    summarise_some_turns(copilot)


@pytest.mark.long
def test_the_model_is_told_that_files_were_taken_back(copilot: Copilot) -> None:
    tell_the_model(copilot)


@pytest.mark.long
def test_green_is_where_the_tests_of_its_shell_passed(copilot: Copilot) -> None:
    go_back_to_green(copilot, shell)


@pytest.mark.long
def test_one_project_alone_is_connected(copilot: Copilot) -> None:
    connect_one_project(copilot)


@pytest.mark.long
def test_the_line_of_a_fork_goes_on_in_its_directory(copilot: Copilot) -> None:
    go_on_elsewhere(copilot, shell)


@pytest.mark.long
def test_a_prompt_to_takeback_is_answered_without_a_model(copilot: Copilot) -> None:
    world = copilot.world
    world.model.script = copilot.script()
    world.cli.ok("init", "copilot", "--yes")
    session = copilot.begin(ONE)
    asked = len(world.model.requests)
    said = copilot.refused(copilot.resume_line(session), "takeback 1 files yes")
    assert "Take it back: takeback undo yes" in said
    assert not (world.repo / "a.txt").exists()
    assert len(world.model.requests) == asked
    assert [turn["prompt"] for turn in world.log()] == [ONE]
