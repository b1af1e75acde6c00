"""Measures the server under load: many clients read a long session, some listen, an agent works."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from bench.timelines import new_timeline

_TURNS = 10_000
_CLIENTS, _LISTENERS = 50, 5
_PLAYED = 30
"""How many turns the agent plays meanwhile."""
_SESSION = "bench"


@dataclass
class _Load:
    """What the clients share, and what they found out."""

    port: int
    secret: str
    workspace: str
    ids: list[str]
    over: threading.Event = field(default_factory=threading.Event)
    spent: dict[str, list[float]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    heard: list[int] = field(default_factory=lambda: [0] * _LISTENERS)

    def ask(self, connection: HTTPConnection, target: str) -> Any:
        connection.request("GET", f"/api/v1{target}", headers=self.headers)
        answer = connection.getresponse()
        data = answer.read()
        if answer.status != 200:
            self.failed.append(f"{answer.status} {target}")
            return {}
        return json.loads(data)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"}

    def connection(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=60)


def measure_server() -> dict[str, Any]:
    """Returns how long answers took, how much memory it needed, and what was lost: nothing."""
    with tempfile.TemporaryDirectory(prefix="takeback-bench-") as name:
        project, environ = new_timeline(Path(name), _TURNS)
        _keep_all(project, environ)
        process = subprocess.Popen(
            [sys.executable, "-m", "takeback", "serve", "--json"],
            cwd=project,
            env=environ,
            stdout=subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            load = _begin(said)
            _play(load, project, environ)
            return _report(load, process.pid)
        finally:
            process.terminate()
            process.communicate()


def _keep_all(project: Path, environ: dict[str, str]) -> None:
    """Turns retention off: the turns are old, and the agent's events would drop them all."""
    for key, value in (("max_age_days", "0"), ("thin", "no"), ("max_bytes", "0")):
        subprocess.run(
            [sys.executable, "-m", "takeback", "config", "--workspace", key, value],
            cwd=project,
            env=environ,
            stdout=subprocess.DEVNULL,
            check=True,
        )


def _begin(said: dict[str, Any]) -> _Load:
    port = urlsplit(said["url"]).port
    assert port is not None
    load = _Load(port, Path(said["secret_file"]).read_text().strip(), "", [])
    connection = load.connection()
    [one] = load.ask(connection, "/workspaces")["workspaces"]
    load.workspace = f"/workspaces/{one['id']}"
    before = ""
    while True:
        page = load.ask(connection, f"{load.workspace}/turns?limit=500{before}")
        load.ids += [turn["id"] for turn in page["turns"]]
        if page["next"] is None:
            return load
        before = f"&before={page['next']}"


def _play(load: _Load, project: Path, environ: dict[str, str]) -> None:
    """Lets all of them work at the same time, until the agent has played its turns."""
    ready = threading.Barrier(_LISTENERS + 1)
    listeners = [
        threading.Thread(target=_listen, args=(load, number, ready), daemon=True)
        for number in range(_LISTENERS)
    ]
    for one in listeners:
        one.start()
    ready.wait()
    clients = [threading.Thread(target=_read, args=(load, n)) for n in range(_CLIENTS)]
    for one in clients:
        one.start()
    for number in range(_PLAYED):
        _turn(project, environ, number)
    load.over.set()
    for one in clients:
        one.join()
    end = time.monotonic() + 30
    while min(load.heard) < 2 * _PLAYED and time.monotonic() < end:
        time.sleep(0.05)


def _read(load: _Load, seed: int) -> None:
    """Reads as a page does: a page of turns, a turn, what it changed; on one connection."""
    chance, connection = random.Random(seed), load.connection()
    while not load.over.is_set():
        id = chance.choice(load.ids)
        kind, target = chance.choice(
            (
                ("turns", f"/turns?limit=50&before={id}"),
                ("checkpoint", f"/checkpoints/{id}"),
                ("diff", f"/checkpoints/{id}/diff"),
            )
        )
        began = time.perf_counter()
        try:
            load.ask(connection, f"{load.workspace}{target}")
        except OSError as error:
            load.failed.append(f"{type(error).__name__} {target}")
            connection.close()
            connection = load.connection()
        load.spent.setdefault(kind, []).append(time.perf_counter() - began)
        time.sleep(chance.uniform(0.5, 1.5))  # a person looks at it
    connection.close()


def _listen(load: _Load, number: int, ready: threading.Barrier) -> None:
    """Counts the turns that began and ended."""
    connection = load.connection()
    id = load.workspace.rpartition("/")[2]
    connection.request("GET", f"/api/v1/events?workspace={id}", headers=load.headers)
    answer = connection.getresponse()
    ready.wait()
    while True:
        line = answer.readline()
        if not line:
            return
        if line.startswith(b"event: turn"):
            load.heard[number] += 1


def _turn(project: Path, environ: dict[str, str], number: int) -> None:
    """An agent begins a turn, writes a file and ends it."""
    for event in ("prompt", "turn_end"):
        told = {"event": event, "session": _SESSION, "agent": "bench", "turn": str(number)}
        if event == "prompt":
            told["prompt"] = f"turn {number} under load"
        subprocess.run(
            [sys.executable, "-m", "takeback", "hook", "generic"],
            cwd=project,
            env=environ,
            input=json.dumps(told).encode(),
            check=True,
        )
        (project / "bench.txt").write_text(f"{number}\n")


def _report(load: _Load, pid: int) -> dict[str, Any]:
    every = sorted(one for some in load.spent.values() for one in some)
    rows = {"all": every, **{kind: sorted(some) for kind, some in sorted(load.spent.items())}}
    print("\n| answer | requests | p50 ms | p95 ms | worst ms |\n|---|---|---|---|---|")
    found: dict[str, Any] = {}
    for kind, some in rows.items():
        p50, p95 = median(some) * 1000, some[int(len(some) * 0.95)] * 1000
        found[kind] = {"requests": len(some), "p50": p50, "p95": p95, "worst": some[-1] * 1000}
        print(f"| {kind} | {len(some)} | {p50:.0f} | {p95:.0f} | {some[-1] * 1000:.0f} |")
    peak = _peak(pid)
    lost = [2 * _PLAYED - heard for heard in load.heard]
    print(f"\nmemory at most {peak} MB; failed: {len(load.failed)}; events lost: {sum(lost)}")
    return {**found, "peak_mb": peak, "failed": load.failed[:10], "lost": lost}


def _peak(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) >> 10
    return 0
