"""The real Gemini against a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.flow import take_back_the_second_turn
from tests.agents.gemini import Gemini
from tests.agents.world import World


@pytest.fixture
def gemini(world: World, installed: Callable[[str], Path]) -> Gemini:
    return Gemini(world, installed("gemini"))


def test_a_turn_is_taken_back_with_its_files_and_its_conversation(gemini: Gemini) -> None:
    take_back_the_second_turn(gemini)
