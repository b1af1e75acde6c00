"""The real Claude against a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.claude import Claude
from tests.agents.flow import take_back_the_second_turn
from tests.agents.world import World


@pytest.fixture
def claude(world: World, installed: Callable[[str], Path]) -> Claude:
    return Claude(world, installed("claude"))


def test_a_turn_is_taken_back_with_its_files_and_its_conversation(claude: Claude) -> None:
    take_back_the_second_turn(claude)
