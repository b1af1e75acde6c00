"""Real agents behind ``takeback acp``, driven by the real client library of the protocol."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from takeback.app.engine import Engine
from takeback.turns.processes import is_alive, seen
from tests.agents import copilot, gemini
from tests.agents.behind_proxy import COMMANDS, Editor
from tests.agents.copilot import Copilot
from tests.agents.flow import AGAIN, ONE, THREE, TWO, changed
from tests.agents.gemini import Gemini
from tests.agents.kilo import Kilo
from tests.agents.opencode import OpenCode
from tests.agents.qwen import Qwen
from tests.agents.script import Step, Tool
from tests.agents.world import World
from tests.support.lanes import later
from tests.support.processes import wait_for
from tests.support.trees import differences, tree_state


@dataclass(frozen=True)
class Behind:
    """One agent that can be put behind the proxy."""

    driver: Any
    packages: Path
    log: Path

    @property
    def world(self) -> World:
        world: World = self.driver.world
        return world

    def editor(self) -> Editor:
        """Starts an editor that has the agent behind the proxy."""
        takeback = [sys.executable, "-m", "takeback", "acp", "--"]
        env = {**os.environ, **self.world.environment(self.driver.env)}
        if hasattr(self.driver, "forget_locks"):
            self.driver.forget_locks()
        return Editor([*takeback, *COMMANDS[self.driver.name]], env, self.packages, self.log)


Get = Callable[[str], Behind]


@pytest.fixture
def behind(
    world: World,
    installed: Callable[[str], Path],
    from_pypi: Callable[[str], Path],
    tmp_path: Path,
) -> Get:
    def found(name: str) -> Behind:
        drivers = {"copilot": Copilot, "gemini": Gemini, "kilo": Kilo, "opencode": OpenCode}
        program, packages = installed(name), from_pypi("acp")
        if name == "qwen":
            driver: Any = Qwen(world, program, installed("node"))
        else:
            driver = drivers[name](world, program)
        world.model.script = driver.script()
        return Behind(driver, packages, tmp_path / "stderr.txt")

    return found


RESUMES = ("copilot", "kilo", "opencode", "qwen")
"""Agents that load a session of theirs in an editor."""
EACH = pytest.mark.parametrize(
    "name",
    [
        "copilot",
        *map(later, ("gemini", "qwen")),
        *(pytest.param(name, marks=pytest.mark.soak) for name in ("kilo", "opencode")),
    ],
)
"""The last two start slowly, and install the types of plugins at each start, in vain."""


@EACH
def test_prompts_become_turns_and_are_taken_back_in_the_editor(name: str, behind: Get) -> None:
    one = behind(name)
    world, cli = one.world, one.world.cli
    before = tree_state(world.repo)
    with one.editor() as editor:
        session = editor.ask(new=str(world.repo))["session"]
        assert editor.prompt(session, ONE)["stop"] == "end_turn"
        after_one = tree_state(world.repo)
        said = editor.prompt(session, TWO)
        assert "Edited one, deleted two" in said["said"]
        assert "takeback" in said["commands"]
        first, second = world.log()
        assert [turn["agent"] for turn in (first, second)] == [f"acp-{name}"] * 2
        assert [turn["prompt"] for turn in (first, second)] == [ONE, TWO]
        assert changed(first) == {"a.txt": "added", "b.txt": "added"}
        assert set(changed(second)) == {"a.txt", "b.txt", "c.txt", "doomed.bin"}
        asked = len(world.model.requests)
        listed = editor.prompt(session, "/takeback")["said"]
        assert TWO in listed
        assert "To do it: /takeback 2 yes" in editor.prompt(session, "/takeback 2")["said"]
        done = editor.prompt(session, "/takeback 2 yes")
        assert (done["stop"], "Take it back: /takeback undo yes" in done["said"]) == (
            "end_turn",
            True,
        )
        assert len(world.model.requests) == asked, "no model was asked"
        assert differences(after_one, tree_state(world.repo)) == []
        editor.prompt(session, THREE)
        [told] = [r for r in world.model.played() if r.label == "TURN-THREE.0"]
        assert told.body.count("Note from takeback: ") == 1
    cli.ok("rewind", "turn:1", "--files", "--yes")
    assert differences(before, tree_state(world.repo)) == []
    assert cli.ok("--json", "status").json["failures"] == []
    cli.ok("verify")


@EACH
def test_an_agent_with_hooks_of_its_own_is_not_recorded_twice(name: str, behind: Get) -> None:
    one = behind(name)
    world, cli = one.world, one.world.cli
    cli.ok("init", name, "--yes")
    with one.editor() as editor:
        session = editor.ask(new=str(world.repo))["session"]
        editor.prompt(session, ONE)
        after_one = tree_state(world.repo)
        editor.prompt(session, TWO)
        assert [(turn["agent"], turn["prompt"]) for turn in world.log()] == [
            (name, ONE),
            (name, TWO),
        ]
        asked = len(world.model.requests)
        done = editor.prompt(session, "/takeback 2 yes")["said"]
        assert "Take it back: /takeback undo yes" in done
        assert len(world.model.requests) == asked
        assert differences(after_one, tree_state(world.repo)) == []
        [new] = re.findall(rf"{name} --\w+[= ]([\w-]+)", done)
        if name in RESUMES:
            assert "error" not in editor.ask(load=[new, str(world.repo)])
            editor.prompt(new, AGAIN)
    if name not in RESUMES:
        one.driver.go_on(one.driver.resume_line(new), AGAIN)
    assert world.model.first_of(AGAIN).humans == (ONE, AGAIN), "it goes on with the new session"
    assert cli.ok("--json", "status").json["failures"] == []


@pytest.mark.parametrize(
    ("name", "shell", "count"),
    [
        ("copilot", copilot.shell, 8),
        pytest.param("copilot", copilot.shell, 200, marks=pytest.mark.long),
        pytest.param("gemini", gemini.shell, 200, marks=pytest.mark.soak),
    ],
)
def test_nothing_is_lost_when_either_side_is_killed(
    name: str, shell: Callable[[str], Tool], count: int, behind: Get
) -> None:
    one = behind(name)
    world, cli = one.world, one.world.cli
    kills = {count // 4: "agent", count // 2: "proxy", count * 3 // 4: "editor"}
    # Gemini reads the end of its stdin only when its model has answered.
    delays = {"agent": 600.0, "proxy": 5.0 if name == "gemini" else 600.0, "editor": 600.0}
    prompts = [f"MARK-{number:03}" for number in range(1, count + 1)]
    world.model.script = {
        prompt: [
            Step("", [shell(f"echo {number} > f{number % 5}.txt")]),
            Step("Done.", delay=delays[kills[number]] if number in kills else 0.0),
        ]
        for number, prompt in enumerate(prompts, 1)
    }
    states, session, number = {}, "", 0
    while number < count:
        with one.editor() as editor:
            if session and name in RESUMES:
                session = editor.ask(load=[session, str(world.repo)])["session"]
            else:
                session = editor.ask(new=str(world.repo))["session"]
            while number < count:
                number += 1
                if number not in kills:
                    assert editor.prompt(session, prompts[number - 1])["stop"] == "end_turn"
                    states[number] = tree_state(world.repo)
                    continue
                editor.begin(session, prompts[number - 1])
                wait_for(partial(_holds, world.repo / f"f{number % 5}.txt", f"{number}\n"))
                _kill(editor, kills[number])
                states[number] = tree_state(world.repo)
                break
    turns = world.log()
    assert [turn["prompt"] for turn in turns] == prompts
    for number, turn in enumerate(turns, 1):
        assert set(changed(turn)) == {f"f{number % 5}.txt"}, turn
    assert {turns[number - 1]["state"] for number in kills} == {"unfinished"}
    with Engine.open(world.repo, create=False) as tb:
        for number, turn in enumerate(turns[1:], 1):
            assert tb.cat(turn["id"], f"f{number % 5}.txt") == b"%d\n" % number
    for number in (*kills, count - 1):
        cli.ok("rewind", turns[number]["id"], "--files", "--overwrite-others", "--yes")
        assert differences(states[number], tree_state(world.repo)) == []
    cli.ok("verify")
    assert cli.ok("--json", "status").json["failures"] == []


def _holds(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


def _kill(editor: Editor, what: str) -> None:
    """Kills one of the three, waits until the agent has gone, and ends the editor."""
    agent, proxy = seen(editor.agent), seen(editor.proxy)
    if what == "agent":
        os.kill(agent.pid, signal.SIGKILL)
        assert "was killed by signal 9" in editor.heard()["error"]
    elif what == "proxy":
        os.kill(proxy.pid, signal.SIGKILL)
    wait_for(lambda: what == "editor" or not is_alive(agent))
    editor.kill()
    wait_for(lambda: not is_alive(agent) and not is_alive(proxy))
