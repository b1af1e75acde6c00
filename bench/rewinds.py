"""Times a rewind as a whole, and the part that writes the user's files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from takeback import Takeback
from takeback.model.checkpoint import Checkpoint
from takeback.model.coverage import Overrides
from takeback.worktree import apply


class Took(NamedTuple):
    """Milliseconds."""

    whole: float
    apply: float


def timed_rewind(takeback: Takeback, target: Checkpoint) -> Took:
    """Rewinds and measures both; the apply part is what the study calls "the present known"."""
    spent = []
    original = apply.Apply.run

    def timed(self: apply.Apply, *, recovering: bool = False) -> apply.Applied:
        start = time.perf_counter()
        try:
            return original(self, recovering=recovering)
        finally:
            spent.append((time.perf_counter() - start) * 1000)

    apply.Apply.run = timed  # type: ignore[method-assign]
    try:
        start = time.perf_counter()
        takeback.rewind(target, overrides=Overrides.all())
        whole = (time.perf_counter() - start) * 1000
    finally:
        apply.Apply.run = original  # type: ignore[method-assign]
    return Took(whole, spent[0])


class Reverts(NamedTuple):
    """Milliseconds: a rewind of some files, and reverts of a turn that changed as many.

    ``merged`` are files that a later turn changed too, at their other end.
    """

    rewind: list[float]
    untouched: list[float]
    merged: list[float]


def reverts_beside_rewinds(takeback: Takeback, place: Path, files: int, rounds: int) -> Reverts:
    """Takes the same number of files back in all three ways, in turns; each is undone."""
    took = Reverts([], [], [])
    chosen = sorted(path for path in place.rglob("*.py") if "node_modules" not in path.parts)
    chosen = chosen[:: max(1, len(chosen) // files)][:files]
    session = takeback.session(agent="bench")
    for number in range(rounds):
        with session.turn("at the beginning") as turn:
            for path in chosen:
                path.write_text(f"# turn {number}\n{path.read_text()}")
        time.sleep(0.1)
        name = f"turn:{1 + 2 * number}"
        _timed(took.rewind, partial(takeback.rewind, turn.before, scope="files"))
        takeback.undo()
        _timed(took.untouched, partial(takeback.revert, [name]))
        takeback.undo()
        with session.turn("at the end"):
            for path in chosen:
                path.write_text(f"{path.read_text()}# turn {number}\n")
        time.sleep(0.1)
        _timed(took.merged, partial(takeback.revert, [name]))
        takeback.undo()
    return took


def _timed(into: list[float], action: Callable[[], object]) -> None:
    start = time.perf_counter()
    action()
    into.append((time.perf_counter() - start) * 1000)


class Crowd(NamedTuple):
    """One directory of many files, in milliseconds: captured, removed, brought back."""

    capture: float
    away: float
    back: float


def crowded_directory(scratch: Path, files: int) -> Crowd:
    """Captures a new directory of many files and rewinds to before it and to after it.

    What counts is how long each rewind takes relative to the capture.
    """
    root = scratch / "crowded"
    root.mkdir()
    environ = {
        "HOME": str(scratch),
        "TAKEBACK_HOME": str(scratch / "crowded-store"),
        "PATH": os.environ["PATH"],
    }
    (root / "kept").write_text("kept")
    with Takeback.open(root, environ=environ) as takeback:
        before = takeback.checkpoint().checkpoint
        (root / "crowd").mkdir()
        for number in range(files):
            (root / "crowd" / f"{number:06}").write_text(f"content {number}")
        start = time.perf_counter()
        after = takeback.checkpoint(allow_large=True).checkpoint
        capture = (time.perf_counter() - start) * 1000
        away = timed_rewind(takeback, before).whole
        back = timed_rewind(takeback, after).whole
    return Crowd(capture, away, back)
