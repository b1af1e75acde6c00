"""The real aider, which has no hooks, at a terminal under ``takeback run``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.script import Script, Step
from tests.agents.terminal import Terminal, need_tmux
from tests.agents.world import World
from tests.support.pypi import with_packages
from tests.support.trees import differences, tree_state

ONE = "TURN-ONE write a poem"
TWO = "TURN-TWO make it shorter"
_OPTIONS = (
    "--no-check-update --no-analytics --no-show-model-warnings --no-show-release-notes --no-pretty"
    " --no-auto-commits --no-gitignore --no-stream --map-tokens 0 --yes-always"
)


def written(name: str, text: str) -> Step:
    """Returns an answer in which aider finds the whole of a file."""
    return Step(f"Here it is.\n\n{name}\n```\n{text}```\n")


SCRIPT: Script = {
    "TURN-ONE": [written("poem.txt", "a rose\nis a rose\n")],
    "TURN-TWO": [written("poem.txt", "a rose\n")],
}


@pytest.mark.long
def test_prompts_typed_to_aider_are_turns_that_can_be_taken_back(
    world: World, from_pypi: Callable[[str], Path]
) -> None:
    need_tmux("aider")
    packages = from_pypi("aider")
    world.model.script, world.model.needs_tools = SCRIPT, False
    env = world.environment(
        {
            "TAKEBACK_HOME": os.environ["TAKEBACK_HOME"],
            "OPENAI_API_KEY": "none",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OPENAI_API_BASE": f"{world.model.url}/v1",
        }
    )
    aider = [
        *("env", f"PYTHONPATH={with_packages({}, packages)['PYTHONPATH']}"),
        *(sys.executable, "-m", "aider", "--model", "openai/scripted", *_OPTIONS.split()),
    ]
    run = [sys.executable, "-m", "takeback", "run", "--", *aider]
    with Terminal(run, cwd=world.repo, env=env) as terminal:
        terminal.shows("Aider v0.86.2")
        states = []
        for prompt in (ONE, TWO):
            states.append(tree_state(world.repo))
            terminal.say(prompt)
            terminal.until(lambda: ended(world, prompt), f"see {prompt!r} ended")  # noqa: B023
        terminal.say("/exit")
        terminal.closes()

    assert [turn["prompt"] for turn in world.log()] == [ONE, TWO]
    assert {turn["agent"] for turn in world.log()} == {"aider"}
    assert (world.repo / "poem.txt").read_text() == "a rose\n"
    after = tree_state(world.repo)
    said = world.cli.ok("cat", "turn:2.end", "--conversation", "--messages").stdout
    assert [said.count(words) for words in (ONE, TWO, "Here it is.")] == [1, 1, 2]
    before = world.cli.ok("cat", "turn:2", "--conversation", "--messages").stdout
    assert [before.count(words) for words in (ONE, TWO, "Here it is.")] == [1, 0, 1]
    world.cli.ok("rewind", "--yes")
    assert differences(states[1], tree_state(world.repo)) == []
    world.cli.ok("undo", "--yes")
    assert differences(after, tree_state(world.repo)) == []


def ended(world: World, prompt: str) -> bool:
    turns = world.log()
    return bool(turns) and (turns[-1]["prompt"], turns[-1]["state"]) == (prompt, "ended")
