"""The real Claude against a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.claude import Claude
from tests.agents.flow import (
    connect_one_project,
    go_on_elsewhere,
    take_back_the_second_turn,
    tell_the_model,
)
from tests.agents.world import World


@pytest.fixture
def claude(world: World, installed: Callable[[str], Path]) -> Claude:
    return Claude(world, installed("claude"))


def test_the_model_is_told_that_files_were_taken_back(claude: Claude) -> None:
    tell_the_model(claude)


def test_a_turn_is_taken_back_with_its_files_and_its_conversation(claude: Claude) -> None:
    take_back_the_second_turn(claude)


def test_one_project_alone_is_connected(claude: Claude) -> None:
    connect_one_project(claude)


def test_the_line_of_a_fork_goes_on_in_its_directory(claude: Claude) -> None:
    go_on_elsewhere(claude)
