"""The room on a disk: when captures stop, and when somebody is warned before that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.retention.due import Room, room_at

MB = 1 << 20
CASES = [
    # free bytes, free names, what is said, whether it is nearly full
    (5000 * MB, 1_000_000, None, False),
    (5000 * MB, None, None, False),
    (399 * MB, 1_000_000, None, True),
    (99 * MB, 1_000_000, "captures stop at 100 MB", True),
    (5000 * MB, 799, None, True),
    (5000 * MB, 199, "only 199 more files", True),
    (5000 * MB, 0, "only 0 more files", True),
]


@pytest.mark.parametrize(("free", "names", "said", "nearly"), CASES)
def test_a_disk_is_short_of_bytes_or_of_names(
    free: int, names: int | None, said: str | None, nearly: bool
) -> None:
    room = Room(free, names, 100 * MB)
    assert room.is_nearly_full is nearly
    assert (room.lacks is None) is (said is None)
    assert said is None or said in str(room.lacks)


def test_it_is_what_the_file_system_says(tmp_path: Path) -> None:
    status = os.statvfs(tmp_path)
    room = room_at(str(tmp_path), 0)
    assert room.names is None or room.names <= status.f_files
    assert not room.is_nearly_full or room.names is not None
