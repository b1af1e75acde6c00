"""``max_bytes`` in sessions of large turns: how large the store is when no sweep is under way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.model.value import Value
from takeback.paths import config_file
from takeback.store.lock import Lock
from takeback.store.repack import is_due_by_size
from takeback.store.store import Store
from tests.soak.surroundings import bytes_on_disk

MB = 1 << 20
REST = 120.0
_SESSION = """
import os, sys
from takeback.events import Speaker, hear
name, turns, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def told(event):
    said = {"event": event, "agent": "mine", "session": name, "cwd": os.getcwd()}
    heard = hear(Speaker("generic", "a test"), lambda: said)
    assert heard.failure is None, heard.failure
told("session_start")
for number in range(turns):
    told("prompt")
    with open(f"{name}{number % 2}", "wb") as file:
        file.write(os.urandom(size))
    told("turn_end")
    print(number, flush=True)
    sys.stdin.readline()
"""


class Load(Value):
    """So many sessions at once, each with so many turns of so many bytes, and the bound."""

    sessions: int
    turns: int
    size: int
    most: int


LOADS = {
    "one session": pytest.param(Load(1, 60, MB, 20 * MB), marks=pytest.mark.long),
    "three sessions": pytest.param(Load(3, 20, MB, 20 * MB), marks=pytest.mark.long),
    "a long session": pytest.param(Load(1, 600, MB, 100 * MB), marks=pytest.mark.soak),
}


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_the_store_is_over_its_bound_by_a_quarter_and_a_capture_at_most(
    workspace: Path, load: Load, record_property: Callable[[str, object], None]
) -> None:
    settings = Path(config_file(os.environ))
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f"max_bytes = {load.most}\nkeep_newest = 3\nundo_grace_days = 0\n")
    sizes, over = [], []
    with Engine.open(workspace) as tb:
        store = tb._context.store
        numbers = (str(load.turns), str(load.size))
        sessions = [
            subprocess.Popen(
                [sys.executable, "-c", _SESSION, f"s{at}", *numbers],
                cwd=workspace,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for at in range(load.sessions)
        ]
        try:
            for _ in range(load.turns):
                for one in sessions:  # each has had a turn, beside the others
                    assert one.stdout is not None
                    assert one.stdout.readline()
                _rest(store, load.most)
                sizes.append(bytes_on_disk(store.directory))
                # those at work at once may be one model: what they add beyond its part pushes
                # nothing out, and makes the store larger
                over.append(sizes[-1] - tb.plan_prune().outlook().beside)
                for one in sessions:
                    assert one.stdin is not None
                    one.stdin.write(b"\n")
                    one.stdin.flush()
        finally:
            for one in sessions:
                one.kill()
                one.communicate(timeout=30)
    record_property("at most", max(sizes) / load.most)
    assert max(over) <= load.most * 5 // 4 + load.size
    assert max(sizes) > load.most * 3 // 4


def _rest(store: Store, most: int) -> None:
    """Waits until nobody sweeps, combines or is about to."""
    end = time.monotonic() + REST
    while is_due_by_size(store, store.sequence, most) or not _is_idle(store):
        assert time.monotonic() < end, "no sweep has brought it within its bound"
        time.sleep(0.05)


def _is_idle(store: Store) -> bool:
    return all(Lock(store.path(name)).is_free for name in ("sweep.lock", "maintenance.lock"))
