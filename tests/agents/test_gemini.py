"""The real Gemini against a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.flow import (
    connect_one_project,
    go_on_elsewhere,
    take_back_the_second_turn,
    tell_the_model,
)
from tests.agents.gemini import Gemini
from tests.agents.world import World


@pytest.fixture
def gemini(world: World, installed: Callable[[str], Path]) -> Gemini:
    return Gemini(world, installed("gemini"))


def test_the_model_is_told_that_files_were_taken_back(gemini: Gemini) -> None:
    tell_the_model(gemini)


def test_a_turn_is_taken_back_with_its_files_and_its_conversation(gemini: Gemini) -> None:
    take_back_the_second_turn(gemini)


def test_one_project_alone_is_connected(gemini: Gemini) -> None:
    connect_one_project(gemini)


def test_the_line_of_a_fork_goes_on_in_its_directory(gemini: Gemini) -> None:
    go_on_elsewhere(gemini)
