"""Measures one call of a hook before a tool and after a round, beside bare Python, by turns.

Both clients (the native one, and the one in Python) call a standby of their own, each with and
without the word for an agent that goes on at the end of a round. Between two calls there is time
to think, as a model takes it; back to back, where the barrier has something to wait for, is a row
of its own. Then both find a standby that was killed, one whose spare was, and one that does not
answer: what an agent waits for at the worst, since the hook does everything itself.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from bench.repositories import repository
from takeback import handover
from tests.support.sealed import sealed_environment
from tests.support.standby import NATIVE, PYTHON, Agent, alive, children, spare_of

_FILES = 1_000
_THINKING = 0.1
_FALLBACKS = 8
_EDITED = "edited.txt"


def measure_hooks(rounds: int) -> dict[str, Any]:
    """Prints medians and minima, and both as parts of bare Python's; returns them."""
    print(f"\n## Hooks around an edit, {_FILES:,} files, {rounds} rounds\n", flush=True)
    spent: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="takeback-bench-") as name:
        before, sealed = dict(os.environ), sealed_environment(Path(name))
        original = repository(_FILES)
        os.environ.clear()
        os.environ.update(sealed)
        try:
            _measure(Path(name), original, rounds, spent)
        finally:
            os.environ.clear()
            os.environ.update(before)
    base = spent["bare python"]
    print("| call | median ms | min ms | median : bare python | min : bare python |")
    print("|---|---|---|---|---|")
    rows = {}
    for title, values in spent.items():
        rows[title] = {"median": median(values), "min": min(values)}
        print(
            f"| {title} | {median(values):.1f} | {min(values):.1f} "
            f"| {median(values) / median(base):.2f} | {min(values) / min(base):.2f} |"
        )
    return rows


def _measure(place: Path, original: Path, rounds: int, spent: dict[str, list[float]]) -> None:
    project = place / "project"
    shutil.copytree(original, project, symlinks=True)
    agents = []
    for client in (NATIVE, PYTHON):
        (place / client.split()[0]).mkdir()
        agent = Agent(place / client.split()[0], project, client)
        _call(agent, "UserPromptSubmit", prompt="begin")
        agent.standby()
        agents.append(agent)
    bare = [sys.executable, "-I", "-S", "-c", "pass"]
    for number in range(rounds + 1):
        took = {"bare python": _timed(bare, b"", project, dict(os.environ))}
        for agent in agents:
            for words in ((), (handover.BESIDE,)):
                _round(agent, words, number, took, pause=_THINKING)
            _round(agent, (handover.BESIDE,), number, took, pause=0)
            time.sleep(_THINKING)
        for title, one in took.items() if number else ():  # the first makes the stores
            spent.setdefault(title, []).append(one)
    for agent in agents:
        assert agent.failures() == [], agent.failures()
        for number in range(_FALLBACKS):
            for title, harm in _HARMS.items():
                row = spent.setdefault(f"{agent.client}, {title}", [])
                row.append(_fallback(agent, number, harm))
        agent.end()


def _kill_standby(agent: Agent) -> None:
    os.kill(agent.standby(), signal.SIGKILL)


def _kill_spare(agent: Agent) -> None:
    os.kill(spare_of(agent.standby()), signal.SIGKILL)


def _stop_both(agent: Agent) -> None:
    standby = agent.standby()
    for pid in (standby, *children(standby)):
        os.kill(pid, signal.SIGSTOP)


_HARMS = {
    "end of a round, the standby was killed": _kill_standby,
    "end of a round, its spare was killed": _kill_spare,
    "end of a round, it does not answer": _stop_both,
}


def _fallback(agent: Agent, number: int, harm: Callable[[Agent], None]) -> float:
    """Returns how long the end of a round takes without a standby; it is recorded all the same."""
    standby = agent.standby()
    before = [standby, *children(standby)]
    harm(agent)
    time.sleep(_THINKING)
    path = agent.workspace / _EDITED
    path.write_text(f"{number} {harm.__name__}\n")
    tool = {"tool_name": "Edit", "tool_input": {"file_path": str(path)}}
    took = _call(agent, "PostToolBatch", handover.BESIDE, tool_calls=[tool])
    for pid in filter(alive, before):  # they were only stopped
        os.kill(pid, signal.SIGKILL)
    return took


def _round(
    agent: Agent, words: tuple[str, ...], number: int, took: dict[str, float], *, pause: float
) -> None:
    """Plays one edit with its two hooks, twice if there is no pause: the second one has to wait."""
    path = agent.workspace / _EDITED
    tool = {"tool_name": "Edit", "tool_input": {"file_path": str(path)}}
    how = "nobody waits" if words else "waits"
    how += ", back to back" if not pause else ""
    for again in range(1 if pause else 2):
        time.sleep(pause)
        took[f"{agent.client}, before the tool, {how}"] = _call(agent, "PreToolUse", *words, **tool)
        path.write_text(f"{number} {agent.client} {how} {again}\n")
        time.sleep(pause)
        took[f"{agent.client}, end of the round, {how}"] = _call(
            agent, "PostToolBatch", *words, tool_calls=[tool]
        )


def _call(agent: Agent, name: str, *words: str, **fields: Any) -> float:
    event = {"hook_event_name": name, "session_id": "s", "cwd": str(agent.workspace), **fields}
    command = [agent.launcher, "claude", *words]
    return _timed(command, json.dumps(event).encode(), agent.workspace, agent.environ)


def _timed(command: list[str], said: bytes, place: Path, environ: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, input=said, cwd=place, env=environ, capture_output=True, check=True)
    return (time.perf_counter() - start) * 1000
