"""Measures what grows: with the turns of a timeline, and with the length of a transcript.

Everything is computing time (user and system, children too), because that hardly depends on what
else the machine does; each figure is a median and a minimum of rounds that alternate, and what
counts are the ratios inside one run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.repositories import cache_directory
from bench.timelines import timeline
from takeback.adapters import launcher
from takeback.app.engine import Engine
from takeback.model.event import EDIT, AgentEvent, ToolCall

_SIZES = (1_000, 10_000)
_COMMANDS = ("--version", "log -n 30", "status", "sessions", "tree")
_TRANSCRIPTS = (0.1, 1.0, 20.0, 50.0)
_LINE = json.dumps({"type": "assistant", "text": "words that an agent said " * 40}) + "\n"

Figures = dict[str, list[float]]


def measure_growth(rounds: int, *, real_turns: int = 1_000) -> dict[str, Any]:
    """Returns all figures, in milliseconds of computing time, and the ratios that are bounded."""
    print(f"\n## Growth, {rounds} rounds, computing time, median (minimum) ms\n", flush=True)
    commands = {str(size): _commands(size, rounds) for size in _SIZES}
    for size, spent in commands.items():
        _show(f"{size} turns", spent)
    caught = _catching_up(max(2, rounds // 3))
    _show("a whole catch-up, per turn", caught)
    logs = _first_log(real_turns)
    _show(f"a real store of {real_turns} turns", logs)
    events = transcript_rounds(rounds * 3, _TRANSCRIPTS)
    _show("an event, in process", events)
    few, many = (str(size) for size in _SIZES)
    ratios = {
        "status : --version at 10,000 turns": _ratio(commands[many], "status", "--version"),
        "tree, 10,000 : 1,000 turns": _ratio(
            {"few": commands[few]["tree"], "many": commands[many]["tree"]}, "many", "few"
        ),
        "catch-up of a turn, 10,000 : 1,000": _ratio(caught, many, few),
        "first log : second": _ratio(logs, "first log", "second log"),
        "round, 20 : 0.1 MB": _ratio(events, "round 20.0 MB", "round 0.1 MB"),
        "round, 50 : 0.1 MB": _ratio(events, "round 50.0 MB", "round 0.1 MB"),
    }
    print("\n| ratio | of medians | of minima |\n|---|---|---|")
    for name, (middle, least) in ratios.items():
        print(f"| {name} | {middle:.2f} | {least:.2f} |", flush=True)
    return {
        "commands": commands,
        "catch-up": caught,
        "logs": logs,
        "events": events,
        "ratios": ratios,
    }


def _show(title: str, spent: Figures) -> None:
    shown = [f"{name} {median(each):.2f} ({min(each):.2f})" for name, each in spent.items()]
    print(f"* {title}: {', '.join(shown)}", flush=True)


def _ratio(spent: Figures, one: str, other: str) -> tuple[float, float]:
    return (
        median(spent[one]) / median(spent[other]),
        min(spent[one]) / min(spent[other]),
    )


def _commands(size: int, rounds: int) -> Figures:
    project, environ = timeline(size)
    spent: Figures = {name: [] for name in _COMMANDS}
    for number in range(rounds + 1):
        for name in _COMMANDS:
            took = _computing(
                [sys.executable, "-I", "-m", "takeback", *name.split()], project, environ
            )
            if number:  # the first fills caches
                spent[name].append(took)
    return spent


def _computing(words: list[str], place: Path, environ: dict[str, str]) -> float:
    """Runs a command to its end; returns milliseconds of computing time."""
    child = subprocess.Popen(words, cwd=place, env=environ, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{words} ended with {child.returncode}")
    return (used.ru_utime + used.ru_stime) * 1000


def _catching_up(rounds: int) -> Figures:
    """Has the ledger of each timeline made anew."""
    spent: Figures = {str(size): [] for size in _SIZES}
    with tempfile.TemporaryDirectory(dir=cache_directory(), prefix="run-") as name:
        for size in _SIZES:
            project, environ = timeline(size)
            home = Path(name) / str(size)
            shutil.copytree(environ["TAKEBACK_HOME"], home, symlinks=True)
            own = {**environ, "TAKEBACK_HOME": str(home)}
            for _ in range(rounds if size < max(_SIZES) else max(2, rounds // 2)):
                for file in home.rglob("ledger*"):
                    file.unlink()
                words = [sys.executable, "-I", "-m", "takeback", "log", "-n", "1"]
                spent[str(size)].append(_computing(words, project, own) / size)
    return spent


def _first_log(turns: int) -> Figures:
    """Plays a session through hooks that hand over to the standby, then asks twice for the log."""
    with tempfile.TemporaryDirectory(prefix="takeback-bench-") as name:
        place, home = Path(name) / "project", Path(name) / "home"
        place.mkdir()
        for number in range(200):
            (place / f"file{number}.py").write_text(f"value = {number}\n" * 40)
        subprocess.run(["git", "init", "-q", str(place)], check=True)
        environ = {**os.environ, "TAKEBACK_HOME": str(home)}
        hook = [launcher.write_launcher(str(home)), "generic"]
        for number in range(turns):
            said = {"session": "s", "turn": str(number), "cwd": str(place)}
            _tell(hook, {**said, "event": "prompt", "prompt": f"turn {number}"}, environ)
            (place / f"file{number % 200}.py").write_text(f"value = {number}\n" * 41)
            _tell(hook, {**said, "event": "turn_end"}, environ)
        time.sleep(2)  # a person needs longer than that to type the command
        words = [sys.executable, "-I", "-m", "takeback", "log", "-n", "30"]
        first = _computing(words, place, environ)
        later = [_computing(words, place, environ) for _ in range(5)]
        for socket in launcher.standby_sockets(str(home)):
            os.unlink(socket)  # the standby sees that, and ends
    return {"first log": [first], "second log": later}


def _tell(hook: list[str], event: dict[str, str], environ: dict[str, str]) -> None:
    told = json.dumps(event).encode()
    subprocess.run(hook, cwd=event["cwd"], env=environ, input=told, check=True)


def transcript_rounds(rounds: int, megabytes: Sequence[float]) -> Figures:
    """Tells rounds and ends of turns of sessions whose transcripts have different lengths."""
    spent: Figures = {}
    with tempfile.TemporaryDirectory(prefix="takeback-bench-") as name:
        sessions = [_Session(Path(name), size) for size in megabytes]
        for number in range(rounds):
            for session in sessions:
                session.play(number, lambda title, took: spent.setdefault(title, []).append(took))
        for session in sessions:
            session.end()
    return dict(sorted(spent.items()))


class _Session:
    """An agent at work in a project of its own, with a transcript that has some length already."""

    def __init__(self, scratch: Path, megabytes: float) -> None:
        self._size = megabytes
        self._place = scratch / f"project-{megabytes}"
        self._place.mkdir()
        for number in range(50):
            (self._place / f"file{number}.py").write_text(f"value = {number}\n" * 40)
        self._transcript = scratch / f"{megabytes}.jsonl"
        self._transcript.write_text(_LINE * int(megabytes * (1 << 20) / len(_LINE)))
        self._tb = Engine.open(
            self._place, environ={**os.environ, "TAKEBACK_HOME": f"{scratch}/home"}
        )
        self._event = AgentEvent(
            kind="prompt",
            agent="bench",
            session=f"s{megabytes}",
            directory=str(self._place),
            transcript=str(self._transcript),
            turn="t0",
            prompt="change something",
        )

    def play(self, number: int, note: Callable[[str, float], None]) -> None:
        """Plays a turn of one prompt, two rounds and its end; the first is not noted."""
        event = self._event.replace(turn=f"t{number}")
        for kind in ("prompt", "round_end", "round_end", "turn_end"):
            edited = self._place / f"file{number % 50}.py"
            edited.write_text(f"value = {number} {kind} {time.monotonic_ns()}\n" * 41)
            with self._transcript.open("a") as file:
                file.write(_LINE * 2)
            told = event.replace(kind=kind)
            if kind != "prompt":
                told = told.replace(prompt=None, tools=(ToolCall("Edit", EDIT, (str(edited),)),))
            start = time.process_time()
            self._tb.receive(told)
            if number:
                title = "round" if kind == "round_end" else kind.replace("_", " ")
                note(f"{title} {self._size} MB", (time.process_time() - start) * 1000)

    def end(self) -> None:
        self._tb.close()
