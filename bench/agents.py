"""Measures what takeback adds to the real agents: to each call of a tool, and to each turn.

Each agent plays the same turns against a scripted model twice, connected and not connected,
by turns. The model answers at once, so the time between two of its requests is what the agent
needs for one call of a tool, and its hooks. A turn without calls, from the start of the agent to
its end, has the hooks of a session's start and end and those around the turn.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count, pairwise
from pathlib import Path
from statistics import median
from typing import Any

from bench.repositories import repository
from tests.agents import claude, codex, copilot, gemini, kilo, opencode, pi, qwen
from tests.agents.flow import Driver
from tests.agents.installed import PACKAGES, Package, program_of
from tests.agents.script import Step, Tool
from tests.agents.scripted_model import ScriptedModel
from tests.agents.world import World
from tests.support.cache import NotInstalled
from tests.support.sealed import end_standby, sealed_environment

_FILES = 1_000
_CALLS = 15
_GOAL = 60
_NO_CALL = "a turn"

Maker = Callable[[str, str], Tool]
"""Makes a tool call from a unique path and text."""

_DRIVERS: Mapping[str, Callable[..., Driver]] = {
    "claude": claude.Claude,
    "codex": codex.Codex,
    "copilot": copilot.Copilot,
    "gemini": gemini.Gemini,
    "kilo": kilo.Kilo,
    "opencode": opencode.OpenCode,
    "pi": pi.Pi,
    "qwen": qwen.Qwen,
}
_SHELLS: Mapping[str, Callable[[str], Tool]] = {
    "claude": claude.shell,
    "codex": codex.shell,
    "copilot": copilot.shell,
    "gemini": gemini.shell,
    "kilo": opencode.shell,
    "opencode": opencode.shell,
    "pi": pi.shell,
    "qwen": qwen.shell,
}
_WRITES: Mapping[str, Maker] = {
    "claude": lambda path, text: Tool("Write", {"file_path": path, "content": text}),
    "codex": lambda path, text: Tool(
        "apply_patch", text=f"*** Begin Patch\n*** Add File: {path}\n+{text}\n*** End Patch\n"
    ),
    "copilot": lambda path, text: Tool("create", {"path": path, "file_text": text}),
    "gemini": lambda path, text: Tool("write_file", {"file_path": path, "content": text}),
    "kilo": lambda path, text: Tool("write", {"filePath": path, "content": text}),
    "opencode": lambda path, text: Tool("write", {"filePath": path, "content": text}),
    "pi": lambda path, text: Tool("write", {"path": path, "content": text}),
    "qwen": lambda path, text: Tool("write_file", {"file_path": path, "content": text}),
}
# Some take a call that is made again and again for a loop, and end: theirs differ.
_READS: Mapping[str, Maker] = {
    "claude": lambda path, text: Tool("Read", {"file_path": path}),
    "copilot": lambda path, text: Tool("view", {"path": path}),
    "gemini": lambda path, text: Tool(
        "list_directory", {"dir_path": os.path.dirname(path), "ignore": [text]}
    ),
    "kilo": lambda path, text: Tool("read", {"filePath": path}),
    "opencode": lambda path, text: Tool("read", {"filePath": path}),
    "pi": lambda path, text: Tool("read", {"path": path}),
    "qwen": lambda path, text: Tool(
        "list_directory", {"path": os.path.dirname(path), "ignore": [text]}
    ),
}
_NEW, _EDIT, _SHELL, _READ = "new file", "edit", "shell", "read"


def _tools(agent: str, what: str, repo: Path, number: Iterator[int]) -> list[Tool]:
    """Returns the calls of one turn: to the shell, to a tool that writes, or to one that reads."""
    names = [f"new{next(number)}.txt" for _ in range(_CALLS)]
    if what == _SHELL:
        return [_SHELLS[agent](f"echo {name} > {name}") for name in names]
    if what == _READ:
        return [_READS[agent](f"{repo}/keep.txt", name) for name in names]
    # Agents overwrite only what they know: a file that the turn's first call has made.
    paths = [names[0]] * _CALLS if what == _EDIT else names
    return [_WRITES[agent](f"{repo}/{p}", t) for p, t in zip(paths, names, strict=True)]


def _whats(agent: str) -> list[str]:
    edits = [] if agent == "copilot" else [_EDIT]  # its tool that writes makes new files only
    return [_NO_CALL, _SHELL, _NEW, *edits, *([_READ] if agent in _READS else [])]


def measure_agents(rounds: int, only: Sequence[str] = ()) -> dict[str, Any]:
    """Measures every agent that is available, or ``only`` some, and prints one table.

    Raises ValueError for a name that none has.
    """
    for name in only:
        if name not in _DRIVERS:
            raise ValueError(f"there is no agent {name!r}; there are: {', '.join(_DRIVERS)}")
    print(f"\n## Real agents in a project of {_FILES:,} files, {rounds} rounds\n", flush=True)
    environ = dict(os.environ)
    original = repository(_FILES)
    print("| agent | what | without, ms | with takeback, ms | added, ms | goal |")
    print("|---|---|---|---|---|---|", flush=True)
    results = {}
    for agent in only or _DRIVERS:
        package = PACKAGES[agent]
        try:
            programs = [program_of(one, environ) for one in _programs(agent)]
        except NotInstalled as error:
            print(f"| {agent} {package.version} | NOT MEASURED: {error} | | | | |", flush=True)
            continue
        results[agent] = _measure(agent, programs, original, rounds)
        for what, (without, with_it) in results[agent].items():
            goal = "" if what == _NO_CALL else f"<= {_GOAL}"
            title = what if what == _NO_CALL else f"a call: {what}"
            added = f"{without:.0f} | {with_it:.0f} | {with_it - without:.0f}"
            print(f"| {agent} {package.version} | {title} | {added} | {goal} |", flush=True)
    return results


def _programs(agent: str) -> list[Package]:
    return [PACKAGES[agent], *([PACKAGES["node"]] if agent in ("pi", "qwen") else [])]


def _measure(
    agent: str, programs: Sequence[Path], original: Path, rounds: int
) -> dict[str, tuple[float, float]]:
    """Returns the medians without and with takeback, for each kind of call and for a turn."""
    spent: dict[tuple[str, bool], list[float]] = {}
    number = count()
    with ExitStack() as stack:
        drivers = {
            joined: stack.enter_context(machine(agent, programs, original, joined=joined))
            for joined in (False, True)
        }
        for one in range(rounds + 1):
            for what in _whats(agent):
                order = (False, True) if one % 2 else (True, False)
                for joined in order:
                    took = list(_play(drivers[joined], agent, what, number))
                    if one:  # the first is warm-up: the stores are made
                        spent.setdefault((what, joined), []).extend(took)
    return {what: (median(spent[what, False]), median(spent[what, True])) for what in _whats(agent)}


@contextmanager
def machine(
    agent: str, programs: Sequence[Path], original: Path, *, joined: bool
) -> Iterator[Driver]:
    """Makes a machine with one agent, connected or not, in an environment of its own."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="takeback-bench-") as name, ScriptedModel({}) as model:
        place = Path(name)
        shutil.copytree(original, place / "project", symlinks=True)
        (place / "project" / "keep.txt").write_text("original\n")
        (place / "bin").mkdir()
        _replace_environment(sealed_environment(place))
        try:
            world = World(place / "home", place / "project", place / "bin", model)
            driver = _DRIVERS[agent](world, *programs)
            if joined:
                world.cli.ok("init", agent, "--yes")
                world.cli.ok("checkpoint", "--allow-large")
        finally:
            _replace_environment(before)
        yield driver
        end_standby(place / "takeback")


def _replace_environment(environ: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)


def _play(driver: Driver, agent: str, what: str, number: Iterator[int]) -> Sequence[float]:
    """Plays one turn in a new session and returns the milliseconds of each call, or of all."""
    world = driver.world
    calls = [] if what == _NO_CALL else _tools(agent, what, world.repo, number)
    steps = [Step("", [call]) for call in calls]
    world.model.script = {"GO": [*steps, Step("Done.")]}
    world.model.requests.clear()
    start = time.perf_counter()
    driver.begin("GO")
    if what == _NO_CALL:
        return [(time.perf_counter() - start) * 1000]
    at = [request.at for request in world.model.played()]
    assert len(at) == _CALLS + 1, f"{agent} {what}: {len(at)} requests"
    return [(later - earlier) * 1000 for earlier, later in pairwise(at)]
