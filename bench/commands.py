"""Measures the commands that people type most, as whole processes, beside ``git log -30``.

They read timelines of 10, 1,000 and 10,000 turns; git reads a history of as many commits.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from bench.contestants import timed
from bench.timelines import timeline

_BARE = "--version"
_COMMANDS: dict[str, list[str]] = {
    "--version": ["--version"],
    "log": ["log", "-n", "30"],
    "status": ["status"],
    "tree": ["tree"],
    "rewind --dry-run": ["rewind", "@", "--files", "--dry-run", "--session"],
}


def measure_commands(rounds: int, sizes: tuple[int, ...] = (10, 1_000, 10_000)) -> dict[str, Any]:
    """Runs each command in each timeline, alternating with git."""
    print(f"\n## Commands, whole processes, {rounds} rounds, median (minimum) ms\n", flush=True)
    rows: dict[str, Any] = {}
    print(f"| turns | git log -30 | {' | '.join(_COMMANDS)} |")
    print("|---" * (len(_COMMANDS) + 2) + "|")
    for size in sizes:
        project, environ = timeline(size)
        newest = _newest_session(project, environ)
        history = _history(project.parent / "history", size)
        spent: dict[str, list[float]] = {"git log -30": [], **{name: [] for name in _COMMANDS}}
        for _ in range(rounds + 1):  # the first fills caches, and is left out below
            spent["git log -30"].append(timed(["git", "log", "-30"], history, environ))
            for name, words in _COMMANDS.items():
                more = [newest] if words[-1] == "--session" else []
                command = [sys.executable, "-I", "-m", "takeback", *words, *more]
                spent[name].append(timed(command, project, environ))
        kept = {name: values[1:] for name, values in spent.items()}
        rows[str(size)] = {name: median(values) for name, values in kept.items()}
        shown = [f"{median(values):.0f} ({min(values):.0f})" for values in kept.values()]
        print(f"| {size:,} | {' | '.join(shown)} |", flush=True)
    print("\n| turns | log : git log | " + " | ".join(f"{name} : {_BARE}" for name in _COMMANDS))
    print("|---" * (len(_COMMANDS) + 2) + "|")
    for size_text, row in rows.items():
        ratios = [f"{row[name] / row[_BARE]:.1f}" for name in _COMMANDS]
        print(f"| {size_text} | {row['log'] / row['git log -30']:.1f} | {' | '.join(ratios)} |")
    return rows


def _newest_session(project: Path, environ: dict[str, str]) -> str:
    """Returns the session of the newest turn: without it, a script would be asked which."""
    command = [sys.executable, "-I", "-m", "takeback", "--json", "log", "-n", "1"]
    answer = subprocess.run(command, cwd=project, env=environ, check=True, stdout=subprocess.PIPE)
    return str(json.loads(answer.stdout)["session"])


def _history(place: Path, commits: int) -> Path:
    """Makes a git repository with this many commits, once."""
    if not (place / ".git").exists():
        subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
        lines = []
        for number in range(commits):
            message, data = f"commit {number}", f"value = {number}\n"
            lines.append(
                f"commit refs/heads/main\ncommitter A <a@example.com> {1_700_000_000 + number} "
                f"+0000\ndata {len(message)}\n{message}\nM 100644 inline file{number % 60}\n"
                f"data {len(data)}\n{data}\n"
            )
        subprocess.run(
            ["git", "-C", str(place), "fast-import", "--quiet"],
            input="".join(lines).encode(),
            check=True,
        )
    return place
