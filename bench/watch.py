"""Measures the end of a round with one edit, relying on the watch and looking at every file.

Computing time (user and system, children too), beside ``git add -A`` into an index that is kept, in
turns, in repositories of several sizes. Each round is done as a spare of the standby does it: the
workspace is opened, one event recorded, the workspace closed; only Python itself and the modules
are there already. What counts are the ratios inside one run.
"""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.contestants import ShadowIndex
from bench.repositories import repository, tracked_files
from takeback import standby
from takeback.app.recording import Recording
from takeback.model.event import EDIT, AgentEvent, ToolCall
from takeback.store.namespace import session_id
from takeback.store.records import newest_checkpoint
from takeback.worktree.watch import Watches

_SETTLED = 0.1
_WATCH, _EVERYTHING, _SHADOW = "relying on the watch", "looking at every file", "shadow index"

Figures = dict[str, dict[int, list[float]]]


def measure_watch(rounds: int, sizes: Sequence[int]) -> dict[str, Any]:
    """Prints medians and minima of all sizes, and the ratios that are bounded; returns them."""
    print(f"\n## A round of one edit, {rounds} rounds, computing time, ms\n", flush=True)
    standby.load()
    spent: Figures = {
        title: {size: [] for size in sizes} for title in (_WATCH, _EVERYTHING, _SHADOW)
    }
    armed: dict[int, float] = {}
    with tempfile.TemporaryDirectory(dir=repository(sizes[0]).parent, prefix="run-") as name:
        projects = [_Project(Path(name), size) for size in sizes]
        for project in projects:
            armed[project.size] = project.begin()
        for number in range(rounds + 1):
            for project in projects:
                for title, took in project.play(number).items() if number else ():
                    spent[title][project.size].append(took)
                if not number:  # the first is not measured
                    project.play(number)
    return _shown(spent, armed)


def _shown(spent: Figures, armed: dict[int, float]) -> dict[str, Any]:
    sizes = list(armed)
    print(f"| ms, median (minimum) | {' | '.join(f'{size:,} files' for size in sizes)} |")
    print(f"|---|{'---|' * len(sizes)}")
    for title, each in spent.items():
        shown = [f"{median(each[size]):.1f} ({min(each[size]):.1f})" for size in sizes]
        print(f"| {title} | {' | '.join(shown)} |")
    print(f"| watching anew, once | {' | '.join(f'{armed[size]:.0f}' for size in sizes)} |")
    few, many = min(sizes), max(sizes)
    watch = spent[_WATCH]
    ratios = {
        f"watch, {many:,} : {few:,} files": (watch[many], watch[few]),
        f"watch : shadow index, {many:,} files": (watch[many], spent[_SHADOW][many]),
        f"watch : every file, {many:,} files": (watch[many], spent[_EVERYTHING][many]),
    }
    print("\n| ratio | of medians | of minima |\n|---|---|---|")
    found = {}
    for name, (one, other) in ratios.items():
        found[name] = (median(one) / median(other), min(one) / min(other))
        print(f"| {name} | {found[name][0]:.3f} | {found[name][1]:.3f} |", flush=True)
    return {"spent": spent, "armed": armed, "ratios": found}


class _Project:
    """A repository with two stores, one of which is told of by a watch, and a shadow index."""

    def __init__(self, scratch: Path, size: int) -> None:
        self.size = size
        self._place = scratch / f"project-{size}"
        shutil.copytree(repository(size), self._place, symlinks=True)
        self._files = tracked_files(self._place)
        self._homes = {title: scratch / f"{size}-{title}" for title in (_WATCH, _EVERYTHING)}
        (scratch / f"git-{size}").mkdir()
        self._shadow = ShadowIndex(self._place, scratch / f"git-{size}")
        self._held: list[tuple[int, int]] = []

    def begin(self) -> float:
        """Captures everything, and has it watched; returns how many ms the latter took."""
        self._shadow.prepare()
        prompt = self._event("prompt").replace(prompt="begin")
        for title in self._homes:
            with self._opened(title) as tb:
                tb.record(prompt, delivery=tb.delivery(wait=60, let_go=None, watches=None))
        time.sleep(_SETTLED)
        with self._opened(_WATCH) as tb:
            start = _computed()
            tb.keep_watched(Watches([], self._keep))
            took = _computed() - start
        for title in self._homes:
            self._round(title)
        return took

    def _keep(self, workspace: bytes, watch: tuple[int, int]) -> None:
        self._held = [watch]

    def _event(self, kind: Any) -> AgentEvent:
        return AgentEvent(
            kind=kind, agent="bench", session="s", directory=str(self._place), turn="t1"
        )

    def _opened(self, title: str) -> Recording:
        environ = {**os.environ, "TAKEBACK_HOME": str(self._homes[title])}
        return Recording.open(self._place, environ=environ)

    def play(self, number: int) -> dict[str, float]:
        """Edits one file, and has everybody take note of that."""
        edited = self._files[(number * 7919) % len(self._files)]
        with edited.open("ab") as file:
            file.write(b"# edit %d\n" % number)
        time.sleep(_SETTLED)
        jobs: list[tuple[str, Callable[[], object]]] = [
            (_WATCH, lambda: self._round(_WATCH)),
            (_EVERYTHING, lambda: self._round(_EVERYTHING)),
            (_SHADOW, self._shadow.run),
        ]
        took = {}
        for title, job in jobs[number % 3 :] + jobs[: number % 3]:
            start = _computed()
            job()
            took[title] = _computed() - start
        if number:
            self._check()
        return took

    def _round(self, title: str) -> None:
        event = self._event("round_end").replace(tools=(ToolCall("Edit", EDIT, ()),))
        watches = Watches(self._held, self._keep) if title == _WATCH else None
        with self._opened(title) as tb:
            tb.record(event, delivery=tb.delivery(wait=60, let_go=None, watches=watches))

    def _check(self) -> None:
        """Both have the same snapshot, and one of them was made by watch."""
        made = []
        for title in self._homes:
            with self._opened(title) as tb:
                found = newest_checkpoint(tb._context.store, session_id("bench", "s"))
                assert found is not None
                made.append(found)
        assert made[0].snapshot == made[1].snapshot
        assert (made[0].watched, made[1].watched) == (True, False)


def _computed() -> float:
    """Returns the milliseconds that this process and its children have computed."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return 1000 * sum(one.ru_utime + one.ru_stime for one in used)
