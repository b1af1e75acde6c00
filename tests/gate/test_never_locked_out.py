"""Whatever is told of whatever process: a person outside every agent is never taken for a model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.app.engine import Engine
from takeback.events import Speaker, hear
from takeback.gate import asker
from takeback.model.checkpoint import Asker
from takeback.model.event import EVENTS
from takeback.model.operation import INSIDE_TURN
from tests.support.processes import Started

_PARENT = """
import subprocess, sys
below = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
print(below.pid, flush=True)
sys.stdin.read()
below.kill(), below.wait()
"""
_SHELL = """
import os, pty, sys
child, terminal = pty.fork()
if not child:
    os.execvp("sh", ["sh", "-c", "sleep 3600 & echo begun $!; wait"])
said = b""
while b"begun" not in said or not said.endswith(b"\\n"):
    said += os.read(terminal, 100)
print(int(said.split()[-1]), flush=True)
sys.stdin.read()
os.kill(int(said.split()[-1]), 9)
"""
"""A person's shell: it began a session at a terminal."""
_WAIT = ["sleep", "3600"]
_SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@dataclass(frozen=True)
class Scene:
    """Processes: agents and what they call, a tool of one of them, what a person has started."""

    agents: tuple[int, ...]
    hooks: tuple[int, ...]
    tool: int
    person: int

    @property
    def tellers(self) -> tuple[int, ...]:
        return (*self.hooks, self.tool, self.person)

    @property
    def pids(self) -> tuple[int, ...]:
        above = (1, os.getpid(), os.getppid())
        return (*above, *self.agents, *self.tellers, 999_999)


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with ExitStack() as all_of_them:

        def begin(program: str, *words: str) -> tuple[int, int]:
            started = Started(
                [sys.executable, "-c", program, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            all_of_them.enter_context(started)
            assert started.stdout is not None
            return started.pid, int(started.stdout.readline())

        agents = [begin(_PARENT, *_WAIT) for _ in range(2)]
        tool = begin(_PARENT, "sh", "-c", "sleep 3600; true")
        pids = (*(pid for pid, _ in agents), tool[0])
        yield Scene(pids, tuple(one for _, one in agents), tool[1], begin(_SHELL)[1])


def told(pids: tuple[int, ...], count: int) -> st.SearchStrategy[dict[str, object]]:
    """Returns events as anybody can make them up, each through one of so many processes."""
    return st.fixed_dictionaries(
        {
            "event": st.sampled_from(sorted(EVENTS)),
            "agent": st.sampled_from(("mine", "claude", "codex")),
            "session": st.sampled_from(("a", "b", "c")),
            "prompt": st.sampled_from(("x", "/takeback 1 yes")),
            "pid": st.sampled_from((None, *pids)),
            "elsewhere": st.booleans(),
            "through": st.integers(0, count - 1),
        }
    )


def tell(scene: Scene, where: Path, event: dict[str, object], through: int) -> None:
    told = {**event, "cwd": str(where)}
    hear(Speaker("generic", "a test", process=scene.tellers[through]), lambda: told)


def check(tb: Engine) -> None:
    """Fails unless whoever asks may take back, switch off and forget."""
    plan = tb.plan(tb.checkpoint().checkpoint, scope="files")
    assert INSIDE_TURN not in [one.code for one in plan.refused]
    for what in ("off", "forget", "a prune"):
        tb.refuse_inside(what)


def holds(scene: Scene, workspace: Path, data: st.DataObject, *, most: int) -> None:
    other = workspace.parent / "other"
    other.mkdir(exist_ok=True)
    one = told(scene.pids, len(scene.tellers))
    for event in data.draw(st.lists(one, min_size=1, max_size=most)):
        where = other if event.pop("elsewhere") else workspace
        tell(scene, where, event, int(str(event.pop("through"))))
    person = Asker(processes=(scene.person,))
    assert asker.who(os.environ, person).is_person
    for place in (workspace, other):
        with Engine.open(place) as tb:
            tb.for_asker(person, check)


@settings(max_examples=40, deadline=None, suppress_health_check=_SLOW)
@given(data=st.data())
def test_a_person_outside_every_agent_is_taken_for_one(
    scene: Scene, workspace: Path, data: st.DataObject
) -> None:
    holds(scene, workspace, data, most=4)


@pytest.mark.long
@pytest.mark.bound(600)
@settings(max_examples=400, deadline=None, suppress_health_check=_SLOW)
@given(data=st.data())
def test_a_person_is_never_taken_for_a_model(
    scene: Scene, workspace: Path, data: st.DataObject
) -> None:
    holds(scene, workspace, data, most=8)


@pytest.mark.soak
@pytest.mark.bound(1800)
@settings(max_examples=2_000, deadline=None, suppress_health_check=_SLOW)
@given(data=st.data())
def test_a_person_is_never_taken_for_a_model_in_longer_histories(
    scene: Scene, workspace: Path, data: st.DataObject
) -> None:
    holds(scene, workspace, data, most=12)
