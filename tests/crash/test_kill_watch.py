"""kill -9 of the standby and its spares at any moment: a round is right, or is not there."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.churn import Churn
from tests.support.engine import settle
from tests.support.lanes import shares
from tests.support.second_look import Rounds
from tests.support.standby import children
from tests.support.warm import Child

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="there is a standby on Linux only"
)
SHARES = 4
ROUNDS, ROUNDS_IN_A_SOAK = 120, 2000
_PATIENCE = 120


@pytest.fixture
def agent(tmp_path: Path, workspace: Path) -> Iterator[Rounds]:
    for number in range(40):
        path = workspace / f"d{number % 8}" / f"f{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_text("1")
    settle()
    agent = Rounds(tmp_path, workspace)
    agent.ask()
    agent.standby()
    yield agent
    agent.end()


@shares(SHARES, long=1)
def test_whoever_is_killed_no_snapshot_is_wrong_and_nobody_hangs(
    agent: Rounds, tmp_path: Path, share: int, soak: bool
) -> None:
    chance = random.Random(share)
    (tmp_path / "outside").mkdir()
    churn = Churn(agent.workspace, tmp_path / "outside", share)
    agent.until_watched()
    for number in range((ROUNDS_IN_A_SOAK if soak else ROUNDS) // SHARES):
        churn.play()
        with started(agent) as hook:
            if chance.random() < 0.4:
                time.sleep(chance.choice([0, 0.005, 0.01, 0.02, 0.04]))
                kill_one(agent, chance)
            assert hook.wait(_PATIENCE) == 0
        made = agent.newest()
        assert made is not None
        if made.tools and made.tools[0].name == f"T{agent.number}":
            agent.compare(made)
        if number % 4 == 3:
            agent.ask()
    agent.until_watched()
    assert agent.watched > 5
    assert agent.misses()[2] == b"0"


def started(agent: Rounds) -> Child:
    """Calls the hook at the end of a round, and does not wait for it."""
    hook = agent.start()
    assert hook.stdin is not None
    hook.stdin.write(agent.payload())
    hook.stdin.close()
    return hook


def kill_one(agent: Rounds, chance: random.Random) -> None:
    """Kills the standby or one of its spares, whichever is there."""
    standbys = agent.standbys()
    try:
        found = [*standbys, *(child for standby in standbys for child in children(standby))]
        os.kill(chance.choice(found), signal.SIGKILL)
    except (OSError, IndexError):
        return
