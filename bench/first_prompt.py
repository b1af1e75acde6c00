"""Measures how long the first prompt in a project waits, beside processes that are busy.

Each round has a project and a home of its own, as a newcomer has: nothing is captured, and no
standby is there. The hook is called as agents call it. Afterwards it waits until the turn has its
checkpoint, and looks whether that holds every file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from takeback.model.coverage import Policy
from tests.support.cli import Cli
from tests.support.sealed import sealed_environment
from tests.support.standby import Agent

_FILES = 30_000
_BYTES = 1_500
_PATIENCE = 300.0


def measure_first_prompt(rounds: int, busy: int) -> dict[str, Any]:
    """Prints what each round waited, as parts of ``hook_seconds``; returns that."""
    limit = Policy().hook_seconds
    print(f"\n## The first prompt of {_FILES:,} files, {busy} busy processes beside it\n")
    print("| round | s | s : hook_seconds | late | all recorded after s |\n|---|---|---|---|---|")
    rows = []
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="takeback-bench-") as name, _sealed(Path(name)):
            project = _project(Path(name) / "project")
            agent = Agent(Path(name), project)
            try:
                with _busy(busy):
                    row = _round(agent, project)
            finally:
                agent.end()
        row["ratio"] = row["waited"] / limit
        rows.append(row)
        print(
            f"| {number + 1} | {row['waited']:.2f} | {row['ratio']:.2f} | {row['late']} "
            f"| {row['recorded']:.2f} |",
            flush=True,
        )
    waited = [row["waited"] for row in rows]
    print(f"\nmedian {median(waited):.2f} s, at most {max(waited):.2f} s; allowed are {limit:g} s")
    return {"busy": busy, "load": os.getloadavg(), "rounds": rows}


def _round(agent: Agent, project: Path) -> dict[str, Any]:
    start = time.monotonic()
    agent.call(agent.event())
    waited = time.monotonic() - start
    cli = Cli(project, env={"TAKEBACK_HOME": str(agent.home)})
    while not (lines := cli.log()):
        if time.monotonic() > start + _PATIENCE:
            sys.exit("bench: the first prompt was never recorded")
        time.sleep(0.05)
    recorded = time.monotonic() - start
    kept = cli.ok("--json", "show", str(lines[0]["id"])).json
    if kept["late"] != lines[0]["late"] or not kept["complete"]:
        sys.exit("bench: the first checkpoint does not hold every file")
    return {"waited": waited, "recorded": recorded, "late": bool(lines[0]["late"])}


def _project(place: Path) -> Path:
    for number in range(_FILES):
        directory = place / f"d{number // 100}"
        if number % 100 == 0:
            directory.mkdir(parents=True)
        (directory / f"f{number}").write_bytes(os.urandom(_BYTES))
    return place


@contextmanager
def _sealed(place: Path) -> Iterator[None]:
    before = dict(os.environ)
    sealed = sealed_environment(place)
    os.environ.clear()
    os.environ.update(sealed)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Has so many processes compute beside the block."""
    program = [sys.executable, "-c", "while True: pass"]
    started = [subprocess.Popen(program) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait(10)
