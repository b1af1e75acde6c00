"""What a person does with a fork in a directory of its own: paste the line that is printed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import replace

from scripts.tried import ELSEWHERE
from tests.agents.flow import AGAIN, ONE, TWO, Driver
from tests.agents.script import Step, Tool
from tests.agents.terminal import Terminal, need_tmux
from tests.agents.tried import Tried
from tests.agents.world import World

_LINE = re.compile(r"^Go on with it: (cd .*)$", re.MULTILINE)


def go_on_elsewhere(
    driver: Driver, shell: Callable[[str], Tool], tidy: Callable[[], None] | None = None
) -> None:
    """Forks into a new directory and pastes the printed line into a shell in the old one.

    The agent asks nothing, goes on with the conversation up to there, and works there. ``tidy``
    removes what it leaves behind that would keep the next one waiting.
    """
    need_tmux()
    world, model = driver.world, driver.world.model
    made = Step("Shell.", [shell("printf elsewhere > elsewhere.txt")])
    model.script = {**driver.script(), "TURN-FOUR": [made, Step("Made it elsewhere.")]}
    world.cli.ok("init", driver.name, "--yes")
    session = driver.begin(ONE)
    driver.go_on(driver.resume_line(session), TWO)
    there = replace(world, repo=world.repo.parent / f"{world.repo.name} 2")
    said = world.cli.ok("fork", "turn:2", "--worktree", str(there.repo)).stdout
    [line] = _LINE.findall(said)
    with Tried(world.note) as tried, tried.that(ELSEWHERE):
        if tidy is not None:
            tidy()
        with _shell_of(driver) as terminal:
            terminal.shows("shell>")
            terminal.say(line)
            terminal.shows("Created a.txt and b.txt.")
            terminal.settles()
            terminal.say(AGAIN)
            terminal.until(lambda: _has_ended(there), f"hear the end of {AGAIN!r}")
        assert "inside it" not in said, "where it would go on in the old directory"
        assert model.first_of(AGAIN).humans == (ONE, AGAIN)
        assert (there.repo / "elsewhere.txt").read_text() == "elsewhere"
        assert (there.repo / "a.txt").read_text() == "alpha\n"
        assert not (world.repo / "elsewhere.txt").exists()
        assert (world.repo / "a.txt").read_text() == "ALPHA\n"
        assert [turn["prompt"] for turn in there.log()] == [AGAIN]
        assert [turn["prompt"] for turn in world.log()] == [ONE, TWO]


def _shell_of(driver: Driver) -> Terminal:
    """Opens a shell in the project, in which a person's own options come with the agent's name."""
    world, options = driver.world, shlex.join(driver.options)
    own = f'{driver.name}() {{ command {driver.name} {options} "$@"; }}\nPS1="shell> "\n'
    rc = world.home / "bashrc"
    rc.write_text(own)
    env = world.environment(driver.env)
    return Terminal(["bash", "--noprofile", "--rcfile", str(rc)], cwd=world.repo, env=env)


def _has_ended(world: World) -> bool:
    turns = world.log()
    return bool(turns) and (turns[-1]["prompt"], turns[-1]["state"]) == (AGAIN, "ended")
