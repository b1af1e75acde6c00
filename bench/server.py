"""Measures the server under load: many clients read a long session, some listen, an agent works."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.claude_session import ClaudeSession
from bench.readers import Asking, Listener, Place, Readers
from bench.timelines import new_timeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Spent = dict[str, list[float]]

_TURNS = 10_000
_CLIENTS, _LISTENERS = 50, 5
_PLAYED = 30
"""How many turns the agent plays meanwhile."""
_KINDS = ("turns", "checkpoint", "diff", "messages", "search", "sessions", "status", "tree")
_DROPPED_AFTER = "20"
"""Days of the turns that the sweep leaves alone: of those that were made, about a third."""


def measure_server() -> dict[str, Any]:
    """Returns how long answers took, how much memory it needed, and what was lost: nothing."""
    with tempfile.TemporaryDirectory(prefix="takeback-bench-") as name:
        project, environ = new_timeline(Path(name), _TURNS, a_session=_TURNS)
        # The turns are old, and the agent's events would drop them all in the middle of it.
        _set(project, environ, max_age_days="0", thin="no", max_bytes="0")
        agent = ClaudeSession(project, environ)
        agent.play("warm", "the first turn of today")
        with _serving(project, environ) as (said, pid):
            place = Place.told(said)
            report: dict[str, Any] = {"idle": _alone(place)}
            report["load"] = _load(place, agent, report["idle"])
            report["sweep"] = _sweep(place, project, environ, report["idle"])
            report["peak_mb"], report["end_mb"] = _memory(pid)
            print(f"\nmemory at most {report['peak_mb']} MB, at the end {report['end_mb']} MB")
            return report


@contextmanager
def _serving(project: Path, environ: dict[str, str]) -> Iterator[tuple[dict[str, Any], int]]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "takeback", "serve", "--json"],
        cwd=project,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline()), process.pid
    finally:
        process.terminate()
        process.communicate()


def _takeback(project: Path, environ: dict[str, str], *words: str) -> None:
    subprocess.run(
        [sys.executable, "-I", "-m", "takeback", *words],
        cwd=project,
        env=environ,
        stdout=subprocess.DEVNULL,
        check=True,
    )


def _set(project: Path, environ: dict[str, str], **settings: str) -> None:
    for key, value in settings.items():
        _takeback(project, environ, "config", "--workspace", key, value)


def _alone(place: Place) -> dict[str, float]:
    """Returns the median of each answer for one client, while nobody else asks for anything."""
    chance, asking = random.Random(0), Asking(place)
    for kind in _KINDS:
        for _ in range(7):
            asking.timed(kind, chance)
    return {kind: median(some) * 1000 for kind, some in asking.spent.items()}


def _load(place: Place, agent: ClaudeSession, idle: dict[str, float]) -> dict[str, Any]:
    """Lets all of them work at the same time, until the agent has played its turns."""
    listeners = [Listener(place) for _ in range(_LISTENERS)]
    expected: list[tuple[str, str]] = []
    began = time.perf_counter()
    with Readers(place, _CLIENTS) as readers:
        for number in range(_PLAYED):
            prompt = f"turn {number} under load"
            agent.play(f"load-{number}", prompt)
            expected += [("began", prompt), ("ended", prompt)]
    took = time.perf_counter() - began
    end = time.monotonic() + 120
    while min(len(one.turns) for one in listeners) < len(expected) and time.monotonic() < end:
        time.sleep(0.05)
    title = f"{_CLIENTS} clients, {_LISTENERS} listeners, an agent that plays {_PLAYED} turns"
    found = _report(f"{title} in {took:.0f} s", readers, idle)
    found["wrong"] = [one.wrong(expected) for one in listeners]
    found["heard"] = [len(one.ids) for one in listeners]
    print(f"events lost, twice or out of order, by listener: {found['wrong']}")
    return found


def _sweep(
    place: Place, project: Path, environ: dict[str, str], idle: dict[str, float]
) -> dict[str, Any]:
    """Lets them read while thousands of turns lose their files, and the ledger learns of it."""
    _set(project, environ, max_age_days=_DROPPED_AFTER)
    asking, began = Asking(place), time.perf_counter()
    with Readers(place, _CLIENTS) as readers:
        _takeback(project, environ, "prune", "--yes")
        oldest, end = f"{place.workspace}/checkpoints/{place.ids[-1]}", time.monotonic() + 120
        while asking.ask(oldest).get("expired") is None and time.monotonic() < end:
            time.sleep(0.5)
    took = time.perf_counter() - began
    return _report(f"{_CLIENTS} clients during a sweep, {took:.0f} s", readers, idle)


def _report(title: str, readers: Readers, idle: dict[str, float]) -> dict[str, Any]:
    spent = {kind: sorted(some) for kind, some in readers.spent.items()}
    rows = {kind: spent[kind] for kind in _KINDS if kind in spent}
    rows["all"] = sorted(one for some in spent.values() for one in some)
    found: dict[str, Any] = {"failed": readers.failed[:10]}
    print(f"\n{title}; failed: {len(readers.failed)}\n")
    print("| answer | requests | alone ms | p50 ms | p95 ms | worst ms | p50 / alone |")
    print("|---|---|---|---|---|---|---|")
    for kind, some in rows.items():
        p50, p95, worst = (value * 1000 for value in (median(some), _p95(some), some[-1]))
        found[kind] = {"requests": len(some), "p50": p50, "p95": p95, "worst": worst}
        alone, ratio = "", ""
        if kind in idle:
            alone, ratio = f"{idle[kind]:.0f}", f"{p50 / idle[kind]:.1f}"
        figures = f"{p50:.0f} | {p95:.0f} | {worst:.0f}"
        print(f"| {kind} | {len(some)} | {alone} | {figures} | {ratio} |")
    return found


def _p95(some: list[float]) -> float:
    return some[int(len(some) * 0.95)]


def _memory(pid: int) -> tuple[int, int]:
    """Returns the most memory that a process had, and what it has now, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = {name: value for name, _, value in (line.partition(":") for line in lines)}
    peak, now = (int(found[name].split()[0]) >> 10 for name in ("VmHWM", "VmRSS"))
    return peak, now
