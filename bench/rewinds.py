"""Times a rewind as a whole, and the part that writes the user's files."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

from takeback import Takeback
from takeback.model.checkpoint import Checkpoint
from takeback.model.policy import Overrides
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
