"""Nobody waits at the end of a round, and no round has what the next tool changes."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from takeback import Takeback, handover
from takeback.model.checkpoint import Checkpoint
from tests.support.lanes import shares
from tests.support.processes import wait_for
from tests.support.standby import Agent, alive, children, clients, spare_of
from tests.support.warm import Child

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="there is a standby on Linux only"
)
SHARES = 4
ROUNDS, ROUNDS_IN_A_SOAK = 40, 1000
KILLS, KILLS_IN_A_SOAK = 24, 500


class Working(Agent):
    """An agent that goes on at the end of a round, and waits before its next tool."""

    def __init__(self, place: Path, workspace: Path, client: str) -> None:
        super().__init__(place, workspace, client)
        self.held = place / "held"
        self.number = 0
        self._hold_git(place / "git")
        config = Path(os.environ["HOME"], ".config", "takeback", "config.toml")
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text("hook_seconds = 60\n")
        self.config = config

    def _hold_git(self, path: Path) -> None:
        """Has captures that ask git about new names wait while a file is there."""
        real = shutil.which("git")
        hold = f"while [ -e '{self.held}' ]; do sleep 0.02; done"
        path.write_text(f'#!/bin/sh\n{hold}\nexec {real} "$@"\n')
        path.chmod(0o755)
        (self.home / "bin" / "git.path").write_text(f"{path}\n")
        (self.workspace / ".gitignore").write_text("*.o\n")

    def hold_captures(self) -> None:
        self.held.touch()

    def release(self) -> None:
        self.held.unlink(missing_ok=True)

    def payload(self, kind: str, tool: str = "shell") -> bytes:
        tools = [{"name": f"T{self.number}", "kind": tool, "paths": ["a"]}]
        return self.event(event=kind, tools=tools, turn="1", prompt=None)

    def round_ends(self) -> bytes:
        return self.call(self.payload("round_end"), word=handover.BESIDE)

    def before_tool(self, tool: str = "shell") -> None:
        self.call(self.payload("tool_before", tool), word=handover.BESIDE)

    def starts(self, kind: str, tool: str = "shell") -> Child:
        """Calls the hook and does not wait for it."""
        hook = self.start(handover.BESIDE)
        assert hook.stdin is not None
        try:
            hook.stdin.write(self.payload(kind, tool))
            hook.stdin.close()
        except BrokenPipeError:  # it was killed
            pass
        return hook

    def works(self, number: int) -> None:
        """What a tool does: an edit, and a new file that a rule of git's might match."""
        self.number = number
        (self.workspace / "a").write_text(str(number))
        (self.workspace / f"new{number}.o").touch()

    def waiting(self) -> list[Path]:
        return sorted((self.home / "workspaces").glob("**/pending/[0-9]*"))

    def rounds(self) -> list[tuple[Checkpoint, bytes]]:
        """Returns the rounds that were recorded, oldest first, each with what the tool wrote."""
        environ = {**os.environ, "TAKEBACK_HOME": str(self.home)}
        with Takeback.open(self.workspace, environ=environ) as tb:
            entries = tb.checkpoints(everything=True)
            found = [entry.checkpoint for entry in entries if entry.checkpoint.kind == "round"]
            return [(one, tb.cat(one, "a")) for one in sorted(found, key=lambda one: one.sequence)]

    def all_is_recorded(self) -> None:
        wait_for(lambda: not self.waiting())


@pytest.fixture(params=clients())
def agent(tmp_path: Path, workspace: Path, request: pytest.FixtureRequest) -> Iterator[Working]:
    agent = Working(tmp_path, workspace, request.param)
    (workspace / "a").write_text("0")
    agent.prompt()
    agent.standby()
    yield agent
    agent.release()
    agent.end()


def test_the_agent_goes_on_while_the_files_are_captured(agent: Working) -> None:
    agent.hold_captures()
    agent.works(1)
    agent.round_ends()
    assert len(agent.waiting()) == 1  # whatever happens now, it is not lost
    agent.release()
    agent.all_is_recorded()
    [(checkpoint, held)] = agent.rounds()
    assert (held, checkpoint.late) == (b"1", False)
    assert agent.failures() == []


@pytest.mark.parametrize("tool", ["shell", "edit", "other"])
def test_before_its_next_tool_it_waits_for_what_is_left(agent: Working, tool: str) -> None:
    agent.hold_captures()
    agent.works(1)
    agent.round_ends()
    with agent.starts("tool_before", tool) as barrier:
        with pytest.raises(subprocess.TimeoutExpired):
            barrier.wait(1)
        agent.release()
        assert barrier.wait(60) == 0
    assert agent.waiting() == []
    agent.works(2)
    agent.round_ends()
    agent.all_is_recorded()
    assert [(held, one.late) for one, held in agent.rounds()] == [(b"1", False), (b"2", False)]


def test_all_that_follows_comes_after_it(agent: Working) -> None:
    agent.hold_captures()
    agent.works(1)
    agent.round_ends()
    with agent.starts("turn_end") as end:
        with pytest.raises(subprocess.TimeoutExpired):
            end.wait(1)
        agent.release()
        assert end.wait(60) == 0
    environ = {**os.environ, "TAKEBACK_HOME": str(agent.home)}
    with Takeback.open(agent.workspace, environ=environ) as tb:
        entries = [entry.checkpoint for entry in tb.checkpoints(everything=True)]
        kinds = [one.kind for one in sorted(entries, key=lambda one: one.sequence)]
    assert kinds == ["prompt", "round", "turn end"]
    assert agent.failures() == []


def test_where_no_word_says_so_the_agent_waits(agent: Working) -> None:
    agent.works(1)
    agent.call(agent.payload("round_end"))
    assert agent.waiting() == []
    assert [held for _, held in agent.rounds()] == [b"1"]


def test_without_a_standby_it_waits_and_nothing_is_left(agent: Working) -> None:
    agent.end()
    for door in agent.doors:
        door.unlink()
    agent.works(1)
    agent.round_ends()
    assert agent.waiting() == []
    assert [held for _, held in agent.rounds()] == [b"1"]


@pytest.mark.parametrize("both", [False, True], ids=["its process", "the standby too"])
def test_a_round_whose_capture_is_killed_is_recorded_before_the_next_tool(
    agent: Working, both: bool
) -> None:
    standby = agent.standby()
    agent.hold_captures()
    spare = spare_of(standby)
    agent.works(1)
    agent.round_ends()
    if both:
        os.kill(standby, signal.SIGKILL)
    os.kill(spare, signal.SIGKILL)
    wait_for(lambda: not alive(spare))
    agent.release()
    agent.before_tool()
    agent.works(2)
    agent.round_ends()
    agent.all_is_recorded()
    assert [(held, one.late) for one, held in agent.rounds()] == [(b"1", True), (b"2", False)]
    said = [line for line in agent.failures() if "that captured a round was killed" in line]
    assert len(said) == (0 if both else 1)


def test_a_tool_that_waits_no_longer_is_told_and_the_round_is_marked(agent: Working) -> None:
    agent.config.write_text("hook_seconds = 2\n")
    agent.hold_captures()
    agent.works(1)
    agent.round_ends()
    agent.before_tool()
    agent.works(2)
    agent.release()
    agent.all_is_recorded()
    assert all(one.late for one, _ in agent.rounds())
    assert any("a tool began while the round before it" in line for line in agent.failures())


@shares(SHARES, long=1)
def test_round_after_round_without_a_pause_none_holds_the_next_change(
    agent: Working, share: int, soak: bool
) -> None:
    count = (ROUNDS_IN_A_SOAK if soak else ROUNDS) // SHARES
    for number in range(1, count + 1):
        agent.before_tool()
        agent.works(number)
        agent.round_ends()
    agent.all_is_recorded()
    assert [held for _, held in agent.rounds()] == [b"%d" % n for n in range(1, count + 1)]
    assert agent.failures() == []


@shares(SHARES, long=1)
def test_whoever_is_killed_no_snapshot_is_wrong_and_nobody_hangs(
    agent: Working, share: int, soak: bool
) -> None:
    chance = random.Random(share)
    count = (KILLS_IN_A_SOAK if soak else KILLS) // SHARES
    for number in range(1, count + 1):
        with agent.starts("tool_before") as barrier:
            barrier.wait(120)
        agent.works(number)
        with agent.starts("round_end") as hook:
            there = victims(agent, hook.pid)  # sometimes nobody but the hook
            for victim in chance.sample(there, min(len(there), chance.randint(0, 2))):
                subprocess.run(["sleep", str(chance.choice([0, 0.005, 0.02, 0.05]))], check=True)
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            hook.wait(120)
    agent.before_tool()
    agent.all_is_recorded()
    rounds = agent.rounds()
    assert [f"T{held.decode()}" for _, held in rounds] == [one.tools[0].name for one, _ in rounds]
    assert len({held for _, held in rounds}) == len(rounds), "one was recorded twice"
    assert verified(agent)


def victims(agent: Working, hook: int) -> list[int]:
    standbys = agent.standbys()
    return [hook, *standbys, *(child for pid in standbys for child in spawned(pid))]


def spawned(pid: int) -> list[int]:
    try:
        return children(pid)
    except OSError:
        return []


def verified(agent: Working) -> bool:
    command = [sys.executable, "-m", "takeback", "--json", "verify"]
    done = subprocess.run(
        command,
        cwd=agent.workspace,
        env={**os.environ, "TAKEBACK_HOME": str(agent.home)},
        capture_output=True,
        check=False,
    )
    found: Any = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, found
    return True
