"""The real Kilo CLI against a scripted model; what is tried of its plugin too: test_opencode.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.elsewhere import go_on_elsewhere
from tests.agents.flow import connect_one_project, take_back_the_second_turn
from tests.agents.kilo import Kilo
from tests.agents.opencode import shell
from tests.agents.world import World


@pytest.fixture
def kilo(world: World, installed: Callable[[str], Path]) -> Kilo:
    return Kilo(world, installed("kilo"))


@pytest.mark.long
def test_a_turn_is_taken_back_with_its_files_and_its_conversation(kilo: Kilo) -> None:
    take_back_the_second_turn(kilo, kilo.own_refs)
    assert [path.name for path in kilo.settings.parent.iterdir()] == ["mine.js"]


@pytest.mark.long
def test_one_project_alone_is_connected(kilo: Kilo) -> None:
    connect_one_project(kilo)


@pytest.mark.long
def test_the_line_of_a_fork_goes_on_in_its_directory(kilo: Kilo) -> None:
    go_on_elsewhere(kilo, shell, kilo.forget_locks)
