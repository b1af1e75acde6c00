"""The real Qwen Code against a scripted model."""

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
from tests.agents.qwen import Qwen, shell
from tests.agents.summaries import summarise_some_turns
from tests.agents.world import World


@pytest.fixture
def qwen(world: World, installed: Callable[[str], Path]) -> Qwen:
    return Qwen(world, installed("qwen"), installed("node"))


def test_a_turn_is_taken_back_with_its_files_and_its_conversation(qwen: Qwen) -> None:
    take_back_the_second_turn(qwen)


@pytest.mark.long
def test_turns_become_a_summary_in_a_new_session(qwen: Qwen) -> None:
    summarise_some_turns(qwen)


@pytest.mark.long
def test_the_model_is_told_that_files_were_taken_back(qwen: Qwen) -> None:
    tell_the_model(qwen)


@pytest.mark.long
def test_green_is_where_the_tests_of_its_shell_passed(qwen: Qwen) -> None:
    go_back_to_green(qwen, shell)


@pytest.mark.long
def test_one_project_alone_is_connected(qwen: Qwen) -> None:
    connect_one_project(qwen)


@pytest.mark.long
def test_the_line_of_a_fork_goes_on_in_its_directory(qwen: Qwen) -> None:
    go_on_elsewhere(qwen, shell)
