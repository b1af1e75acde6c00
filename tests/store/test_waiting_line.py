"""The line of those who wait for a lock: in the order in which they came."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.store.lock import WaitingLine
from tests.support.processes import Started, reap

pytestmark = pytest.mark.skipif(
    not hasattr(fcntl, "F_OFD_SETLK"), reason="the system has no locks of that kind"
)


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    yield fd
    os.close(fd)


def test_who_came_first_is_first_and_then_the_next(lock: int, tmp_path: Path) -> None:
    """Without it all draw lots, and one of eight may lose for as long as it has patience."""
    line = [WaitingLine(lock, str(tmp_path)) for _ in range(8)]
    for at in range(8):
        assert [one.is_first for one in line] == [True] + [False] * (len(line) - 1)
        if at < 3:  # who comes meanwhile stands behind all others
            line.append(WaitingLine(lock, str(tmp_path)))
        line.pop(0).leave()
    line[1].leave()  # in the middle
    assert [line[0].is_first, line[2].is_first] == [True, False]
    line[0].leave()
    assert line[2].is_first
    line[2].leave()


def test_each_lock_has_its_own_line(lock: int, tmp_path: Path) -> None:
    with (tmp_path / "other").open("w") as other:
        here, there = (WaitingLine(fd, str(tmp_path)) for fd in (lock, other.fileno()))
        assert (here.is_first, there.is_first) == (True, True)
        here.leave()
        there.leave()


def test_who_dies_leaves_the_line_and_its_children_keep_no_place(lock: int, tmp_path: Path) -> None:
    words = [sys.executable, "-c", _WAIT, str(tmp_path)]
    with Started[bytes](words, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"waits\n"
        mine = WaitingLine(lock, str(tmp_path))
        assert not mine.is_first
        other.kill()
    assert mine.is_first
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    mine.leave()
    last = WaitingLine(lock, str(tmp_path))
    assert last.is_first  # although the child has a copy
    last.leave()
    os.kill(child, signal.SIGKILL)
    reap(child)


_WAIT = """
import os, sys, time
from takeback.store.lock import WaitingLine
lock = os.open(os.path.join(sys.argv[1], "lock"), os.O_RDWR)
line = WaitingLine(lock, sys.argv[1])
print("waits", flush=True)
time.sleep(60)
"""


def test_where_there_can_be_no_line_everybody_is_first(lock: int, tmp_path: Path) -> None:
    for _ in range(2):
        line = WaitingLine(lock, str(tmp_path / "gone"))
        assert line.is_first
        line.leave()
