"""Work that outlives the command leaves nothing behind in the process that started it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.store import store
from tests.support.processes import wait_for


def ended_children() -> int:
    """Returns how many children have ended and were not waited for."""
    count = 0
    for about in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = about.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        count += state == "Z" and int(parent) == os.getpid()
    return count


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="counts the entries of /proc")
def test_what_has_ended_is_waited_for_when_the_next_is_started(tmp_path: Path) -> None:
    """A program that stays, such as the one that extensions talk to, starts thousands."""
    before = ended_children()
    for _ in range(4):
        store.spawn("os", str(tmp_path), "listdir")
        wait_for(ended_children)
    assert ended_children() <= before + 1  # or fewer: what ended before may be waited for, too
