"""When a file's times can be believed."""

from __future__ import annotations

import pytest

from takeback.worktree.glance import ScanTime

SECOND = 1_000_000_000
NOW = 1_794_744_000 * SECOND + 500_000_000
MS = 1_000_000


@pytest.mark.parametrize(
    ("mtime", "ctime", "settled"),
    [
        (NOW - SECOND, NOW - SECOND, True),
        (NOW - 51 * MS, NOW - 51 * MS, True),
        (NOW - 50 * MS, NOW - SECOND, False),
        (NOW - SECOND, NOW - 50 * MS, False),
        (NOW, NOW, False),
        (NOW + SECOND, NOW - SECOND, False),  # a time in the future
        (0, NOW - SECOND, True),
    ],
)
def test_a_time_is_believed_when_it_is_safely_older_than_the_scan(
    mtime: int, ctime: int, settled: bool
) -> None:
    assert ScanTime(NOW, distrusted=False).settled(mtime, ctime) is settled


@pytest.mark.parametrize(("age", "settled"), [(1, False), (2, False), (3, True)])
def test_times_in_whole_seconds_need_more_distance(age: int, settled: bool) -> None:
    whole = NOW // SECOND * SECOND - age * SECOND
    now = NOW // SECOND * SECOND
    assert ScanTime(now, distrusted=False).settled(whole, whole) is settled


def test_a_network_file_system_needs_the_most() -> None:
    moment = ScanTime(NOW, distrusted=True)
    assert not moment.settled(NOW - 9 * SECOND, NOW - 9 * SECOND)
    assert moment.settled(NOW - 11 * SECOND, NOW - 11 * SECOND)
