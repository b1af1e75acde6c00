"""Times a rewind as a whole, and the part that writes the user's files."""

from __future__ import annotations

import time
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
