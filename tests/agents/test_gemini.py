"""The real Gemini against a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.elsewhere import go_on_elsewhere
from tests.agents.flow import (
    connect_one_project,
    go_back_to_green,
    take_back_the_second_turn,
    tell_the_model,
)
from tests.agents.gemini import Gemini, shell
from tests.agents.summaries import summarise_some_turns
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
