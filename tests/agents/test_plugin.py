"""The plugin for Claude Code, loaded by the real program, in place of hooks in its settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import takeback
from tests.agents.claude import Claude
from tests.agents.flow import ONE, TWO, changed
from tests.agents.world import World

PLUGIN = Path(takeback.__file__).parent / "integrations" / "claude"


@pytest.fixture
def claude(world: World, installed: Callable[[str], Path]) -> Claude:
    return Claude(world, installed("claude"))


def test_the_plugin_alone_records_every_turn(claude: Claude) -> None:
    world = claude.world
    world.model.script = claude.script()
    claude.env["TAKEBACK_HOME"] = os.environ["TAKEBACK_HOME"]  # no launcher says where that is
    (world.bin / "takeback").symlink_to(Path(sys.executable).parent / "takeback")
    loaded = ["claude", "--plugin-dir", str(PLUGIN)]
    session = claude.go_on(loaded, ONE)
    claude.go_on([*loaded, "--resume", session], TWO)
    first, second = world.log()
    assert [turn["prompt"] for turn in (first, second)] == [ONE, TWO]
    assert "doomed.bin" in changed(second)
    assert {turn["agent"] for turn in (first, second)} == {"claude"}
