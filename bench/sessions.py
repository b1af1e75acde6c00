"""Measures a long session: what its transcript costs on disk, and how long a person waits."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from bench.contestants import BarePython, source_directory
from takeback.app.engine import Engine
from takeback.model.event import EDIT, AgentEvent, ToolCall

_FILES = 200
_TRANSCRIPT = 20 << 20
_WORDS = [f"{word}{number}" for word in ("read", "write", "call", "value") for number in range(250)]


def measure_session(turns: int) -> dict[str, Any]:
    """Plays a session of this many turns whose transcript grows to 20 MB."""
    print(f"\n## A session of {turns:,} turns, its transcript growing to 20 MB\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="takeback-bench-") as name:
        scratch = Path(name)
        environ = {**os.environ, "TAKEBACK_HOME": str(scratch / "home")}
        place = scratch / "project"
        place.mkdir()
        for number in range(_FILES):
            (place / f"file{number}.py").write_text(f"value = {number}\n" * 40)
        spent = _play(place, scratch / "s1.jsonl", environ, turns)
        row: dict[str, Any] = {
            "event_ms": median(spent),
            "last_events_ms": median(spent[-40:]),
            "store_bytes": _size(scratch / "home"),
            "transcript_bytes": (scratch / "s1.jsonl").stat().st_size,
        }
        print(
            f"transcript {row['transcript_bytes'] >> 20} MB, store {row['store_bytes'] >> 20} MB "
            f"({row['store_bytes'] / turns / 1024:.0f} KB a turn); an event in process "
            f"{row['event_ms']:.0f} ms, at the end {row['last_events_ms']:.0f} ms\n"
        )
        print("| command | ms |\n|---|---|")
        for title, words in (
            ("first log (the ledger catches up with all)", ["log", "-n", "20"]),
            ("log", ["log", "-n", "20"]),
            ("log, all of it", ["log"]),
            ("tree", ["tree"]),
            ("search", ["search", "turn 77"]),
            ("rewind turn:500 --both", ["rewind", f"turn:{turns // 2}", "--both", "--yes"]),
            ("undo", ["undo", "--yes"]),
        ):
            row[title] = _command(words, place, environ)
            print(f"| {title} | {row[title]:.0f} |", flush=True)
    return row


def _play(place: Path, transcript: Path, environ: dict[str, str], turns: int) -> list[float]:
    chance = random.Random(7)
    spent = []
    each = _TRANSCRIPT // turns // 2
    with Engine.open(place, environ=environ) as tb:
        for number in range(turns):
            event = AgentEvent(
                kind="prompt",
                agent="bench",
                session="s1",
                directory=str(place),
                transcript=str(transcript),
                turn=f"t{number}",
                prompt=f"turn {number + 1}: change something",
            )
            edited = place / f"file{number % _FILES}.py"
            tools = (ToolCall("Edit", EDIT, (str(edited),)),)
            for told in (event, event.replace(kind="turn_end", prompt=None, tools=tools)):
                start = time.perf_counter()
                tb.receive(told)
                spent.append((time.perf_counter() - start) * 1000)
                edited.write_text(f"value = {number}\n" * 41)
                with transcript.open("a") as file:
                    text = " ".join(chance.choices(_WORDS, k=each // 8))
                    file.write(json.dumps({"turn": number, "text": text}) + "\n")
    return spent


def _command(words: list[str], place: Path, environ: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-I", "-m", "takeback", *words],
        cwd=place,
        env=environ,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return (time.perf_counter() - start) * 1000


def measure_hook(rounds: int) -> dict[str, Any]:
    """Runs the prompt hook as a fresh process in a small repository, beside bare python."""
    print("\n## A prompt hook in a small repository, whole process\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="takeback-bench-") as name:
        place = Path(name) / "project"
        place.mkdir()
        for number in range(_FILES):
            (place / f"file{number}.py").write_text(f"value = {number}\n" * 40)
        environ = {**os.environ, "TAKEBACK_HOME": f"{name}/home"}
        code = (
            f"import sys; sys.path.insert(0, {str(source_directory())!r}); "
            "from takeback.hook import main; main(['generic'])"
        )
        hook = [sys.executable, "-I", "-S", "-c", code]
        bare = BarePython(place)
        spent: dict[str, list[float]] = {"bare python": [], "prompt hook": []}
        for number in range(rounds + 2):
            event = {"event": "prompt", "session": "s", "turn": str(number), "prompt": "p"}
            (place / "file1.py").write_text(f"value = {number}\n")
            start = time.perf_counter()
            subprocess.run(
                hook, cwd=place, env=environ, input=json.dumps(event).encode(), check=True
            )
            took = (time.perf_counter() - start) * 1000
            if number > 1:  # the first two make the store
                spent["prompt hook"].append(took)
                spent["bare python"].append(bare.run())
    print("| | median ms | min ms | of bare python |\n|---|---|---|---|")
    base = median(spent["bare python"])
    for title, values in spent.items():
        print(
            f"| {title} | {median(values):.1f} | {min(values):.1f} | {median(values) / base:.1f} |"
        )
    return {title: {"median": median(v), "min": min(v)} for title, v in spent.items()}


def _size(place: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in place.rglob("*"))
