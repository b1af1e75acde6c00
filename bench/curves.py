"""Draws how times grow: with files, changes, the size of a file, turns, a transcript.

A curve is measured point by point, all lines of it in turn at each point. Beside each picture
stand the machine, the versions, the rounds, and for each point the median, the least and the most.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.chart import Chart, draw
from bench.contestants import Contestant, InProcess, ShadowIndex, WholeProcess, timed
from bench.growth import transcript_rounds
from bench.repositories import Turns, repository
from bench.timelines import timeline

Spent = dict[str, list[float]]
Curve = dict[float, Spent]
"""For each point, the milliseconds of each line."""

_MANY_FILES = 10_000
_TRANSCRIPTS = (0.1, 1.0, 5.0, 20.0, 50.0)
_COMMANDS = ("log -n 30", "status", "tree")


def measure_curves(rounds: int, most_files: int, place: Path) -> dict[str, Any]:
    """Measures all curves and leaves their pictures in ``place``."""
    place.mkdir(parents=True, exist_ok=True)
    machine = _machine()
    print(f"\n## Growth, {rounds} rounds a point, wall time in ms; {machine}\n", flush=True)
    sizes = [10**power for power in range(3, 7) if 10**power <= most_files]
    curves = {
        "files": ("a capture of 14 changes", "files", _files(sizes, rounds)),
        "changes": (
            f"a capture, {_MANY_FILES:,} files",
            "changed files",
            _changes([1, 10, 100, 1_000, _MANY_FILES], rounds),
        ),
        "size": (
            "a capture of one changed file",
            "MB",
            _large([0.001, 0.1, 1, 10, 100, 1_000], rounds),
        ),
        "turns": ("a command", "turns", _turns([10, 100, 1_000, 10_000], rounds)),
        "transcript": ("a round, in process", "MB of transcript", _transcripts(rounds)),
    }
    for name, (title, across, curve) in curves.items():
        _show(title, across, curve)
        lines = {
            line: [(at, median(spent[line])) for at, spent in curve.items()]
            for line in next(iter(curve.values()))
        }
        words = f"{title}, ms, median of {rounds}: {machine}"
        chart = Chart(words, across, "ms", lines, logarithmic=True)
        (place / f"growth-{name}.svg").write_text(draw(chart))
    return {
        "machine": machine,
        "rounds": rounds,
        "curves": {name: curve for name, (_, _, curve) in curves.items()},
    }


def _machine() -> str:
    git = subprocess.run(["git", "version"], capture_output=True, text=True, check=True).stdout
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.release().split('-')[0]}, "
        f"Python {platform.python_version()}, git {git.split()[2]}"
    )


def _show(title: str, across: str, curve: Mapping[float, Spent]) -> None:
    names = list(next(iter(curve.values())))
    print(f"\n| {across} | {' | '.join(f'{title}: {name}' for name in names)} |")
    print("|---" * (len(names) + 1) + "|")
    for at, spent in curve.items():
        shown = [
            f"{median(each):.1f} ({min(each):.1f} to {max(each):.1f})" for each in spent.values()
        ]
        print(f"| {at:,g} | {' | '.join(shown)} |", flush=True)


@contextmanager
def _project(files: int) -> Iterator[tuple[Path, Path]]:
    """Yields a copy of a repository, and a place beside it."""
    original = repository(files)
    with tempfile.TemporaryDirectory(dir=original.parent, prefix="run-") as name:
        place, scratch = Path(name) / "project", Path(name) / "scratch"
        scratch.mkdir()
        shutil.copytree(original, place, symlinks=True)
        yield place, scratch


def _captures(
    place: Path, scratch: Path, rounds: int, change: Callable[[], None], *, process: bool
) -> Spent:
    """Has takeback and git's shadow index capture each change, in turn."""
    contestants: list[Contestant] = [
        ShadowIndex(place, scratch),
        InProcess(place, scratch / "inside"),
    ]
    if process:
        contestants.append(WholeProcess(place, scratch / "whole"))
    for contestant in contestants:
        contestant.prepare()
    time.sleep(0.2)
    for contestant in contestants:  # the first look after the first capture is a racy one
        contestant.run()
    spent: Spent = {contestant.name: [] for contestant in contestants}
    for number in range(rounds):
        change()
        time.sleep(0.1)
        shift = number % len(contestants)
        for contestant in contestants[shift:] + contestants[:shift]:
            spent[contestant.name].append(contestant.run())
    return spent


def _files(sizes: list[int], rounds: int) -> Curve:
    curve: Curve = {}
    for size in sizes:
        with _project(size) as (place, scratch):
            turns = Turns(place)
            curve[size] = _captures(place, scratch, rounds, turns.play, process=True)
    return curve


def _changes(counts: list[int], rounds: int) -> Curve:
    curve: Curve = {}
    for count in counts:
        with _project(_MANY_FILES) as (place, scratch):
            turns = Turns(place)

            def change(turns: Turns = turns, count: int = count) -> None:
                turns.edit(count)

            curve[count] = _captures(place, scratch, rounds, change, process=False)
    return curve


def _large(megabytes: list[float], rounds: int) -> Curve:
    curve: Curve = {}
    for size in megabytes:
        with _project(1_000) as (place, scratch):
            piece = os.urandom(1 << 10)

            def change(place: Path = place, size: float = size, piece: bytes = piece) -> None:
                with (place / "large.bin").open("wb") as file:
                    file.write(time.monotonic_ns().to_bytes(8, "big"))
                    for _ in range(max(1, int(size * 1024))):
                        file.write(piece)

            change()
            with _limit_of_a_file(size):
                curve[size] = _captures(place, scratch, min(rounds, 3), change, process=False)
    return curve


@contextmanager
def _limit_of_a_file(megabytes: float) -> Iterator[None]:
    """Lets files of this size be captured meanwhile."""
    with tempfile.TemporaryDirectory(prefix="takeback-bench-") as name:
        settings = Path(name) / "takeback/config.toml"
        settings.parent.mkdir()
        settings.write_text(f"size_limit_mb = {max(100, int(megabytes * 2))}\n")
        before = os.environ.get("XDG_CONFIG_HOME")
        os.environ["XDG_CONFIG_HOME"] = name
        try:
            yield
        finally:
            if before is None:
                del os.environ["XDG_CONFIG_HOME"]
            else:
                os.environ["XDG_CONFIG_HOME"] = before


def _turns(counts: list[int], rounds: int) -> Curve:
    curve: Curve = {}
    for count in counts:
        project, environ = timeline(count)
        spent: Spent = {name: [] for name in _COMMANDS}
        for number in range(rounds + 1):  # the first fills caches
            for name in _COMMANDS:
                words = [sys.executable, "-I", "-m", "takeback", *name.split()]
                took = timed(words, project, environ)
                if number:
                    spent[name].append(took)
        curve[count] = spent
    return curve


def _transcripts(rounds: int) -> Curve:
    spent = transcript_rounds(rounds, _TRANSCRIPTS)
    return {
        size: {name: spent[f"{name} {size} MB"] for name in ("round", "prompt", "turn end")}
        for size in _TRANSCRIPTS
    }
