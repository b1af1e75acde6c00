"""Turn after turn through the standby, with bursts: no round differs from a look at every file."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.churn import Churn
from tests.support.engine import settle
from tests.support.git import git
from tests.support.second_look import Rounds

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="there is a standby on Linux only"
)
TURNS = [pytest.param(60, 300, id="60 turns")]
TURNS += [pytest.param(1000, 20_000, id="1000 turns", marks=pytest.mark.soak)]
BURST_EVERY = 12
MEMORY = 24 << 20
"""What the standby and its spare may need more, each, than after the first turns."""


class Project:
    """A small project with two branches that differ in many files, and a way to overwhelm it."""

    def __init__(self, root: Path, outside: Path, seed: int, crowd: int) -> None:
        self._root = root
        self._crowd = crowd
        self._chance = random.Random(seed)
        (root / ".gitignore").write_text("node_modules/\n*.o\n")
        self._fill("src", crowd // 20)
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "-m", "one")
        git(root, "checkout", "--quiet", "-b", "other")
        self._fill("src", crowd // 10)
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "-m", "two")
        (root / "work" / "deep").mkdir(parents=True)
        (root / "work" / "deep" / "f").write_text("f")
        self.churn = Churn(root / "work", outside, seed)
        self.bursts: list[Callable[[], object]] = [
            self._many_new_files,
            self._switch,
            self._install,
            self._overflow,
        ]

    def _fill(self, place: str, files: int) -> None:
        for number in range(files):
            path = self._root / place / f"d{number % 40}" / f"f{number}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{self._chance.random()}")

    def burst(self, number: int) -> None:
        self.bursts[number % len(self.bursts)]()

    def _many_new_files(self) -> None:
        shutil.rmtree(self._root / "crowd", ignore_errors=True)
        self._fill("crowd", self._crowd)

    def _switch(self) -> None:
        branch = self._chance.choice(["main", "other"])
        git(self._root, "checkout", "--quiet", "--force", branch)

    def _install(self) -> None:
        shutil.rmtree(self._root / "node_modules", ignore_errors=True)
        self._fill("node_modules", self._crowd)
        self._fill("vendor", self._crowd // 20)

    def _overflow(self) -> None:
        """More happens than the queue takes, and something else in between."""
        most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
        one, other = self._root / ".gitignore", self._root / "work"
        for number in range(most + 100):
            os.utime(one if number % 2 else other, (number, number))
        self._fill("late", 30)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    return tmp_path / "outside"


@pytest.fixture
def agent(tmp_path: Path, workspace: Path) -> Iterator[Rounds]:
    agent = Rounds(tmp_path, workspace)
    yield agent
    agent.end()


@pytest.mark.parametrize(("turns", "crowd"), TURNS)
def test_no_round_differs_from_a_look_at_every_file(
    agent: Rounds,
    outside: Path,
    turns: int,
    crowd: int,
    record_property: Callable[[str, object], None],
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    record_property("seed", seed)
    chance = random.Random(seed)
    project = Project(agent.workspace, outside, seed, crowd)
    settle()
    agent.ask()
    agent.standby()
    agent.until_watched()
    before = memory(agent)
    for turn in range(turns):
        agent.ask()
        for _ in range(chance.randrange(1, 4)):
            project.churn.play()
            if turn % BURST_EVERY == BURST_EVERY - 1:
                project.burst(turn // BURST_EVERY)
            agent.round()
        agent.stop()
    record_property("rounds, watched", (agent.compared, agent.watched))
    record_property("memory before, after", (before, memory(agent)))
    assert agent.watched > agent.compared // 2, seed
    assert agent.misses()[2] == b"0", (seed, agent.misses())
    assert agent.failures() == [], seed
    assert memory(agent) <= before + MEMORY, seed


def memory(agent: Rounds) -> int:
    """Returns how many bytes the standby has in memory."""
    pages = int(Path(f"/proc/{agent.standby()}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
