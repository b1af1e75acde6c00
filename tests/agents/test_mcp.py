"""A real agent whose model has takeback's tools: it looks, and makes a checkpoint."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.claude import Claude
from tests.agents.flow import ONE
from tests.agents.script import Step, Tool
from tests.agents.world import World


@pytest.mark.long
def test_claude_looks_and_makes_a_checkpoint_in_its_turn(
    world: World, installed: Callable[[str], Path]
) -> None:
    claude = Claude(world, installed("claude"))
    world.cli.ok("init", "claude", "--yes")
    server = ["--", sys.executable, "-m", "takeback", "mcp"]
    home = f"TAKEBACK_HOME={os.environ['TAKEBACK_HOME']}"
    add = ["claude", "mcp", "add", "--scope", "user", "takeback", "-e", home, *server]
    world.run(add, claude.env)
    assert "Connected" in world.run(["claude", "mcp", "list"], claude.env).stdout
    world.model.script = {
        "TURN-ONE": [
            Step("", [claude.write("a.txt", "alpha\n")]),
            Step("", [Tool("mcp__takeback__log", {"limit": 1})]),
            Step("", [Tool("mcp__takeback__checkpoint", {"label": "before the worst"})]),
            Step("", [Tool("mcp__takeback__rewind", {"checkpoint": "turn:1"})]),
            Step("Done."),
        ]
    }
    claude.go_on(["claude", "--allowedTools", "mcp__takeback"], ONE)
    bodies = [request.body for request in world.model.played()]
    assert "before the worst" in bodies[3]
    assert "before the worst" not in bodies[1]
    assert "No such tool available" in bodies[4]
    [label] = [line["label"] for line in world.cli.log("--all") if line["label"]]
    assert label == "before the worst"
    assert world.cli.ok("cat", label, "a.txt").stdout == "alpha\n"
    assert (world.repo / "a.txt").read_text() == "alpha\n"
