"""The log of failures that nobody saw."""

from __future__ import annotations

import os
from pathlib import Path

from takeback.context import Context
from takeback.store import notes


def test_each_failure_is_one_line_with_its_time_oldest_first(context: Context) -> None:
    assert notes.read_log(context.store) == []
    notes.append(context.store, "first\nover two\t lines")
    notes.append(context.store, "second \udcff")
    first, second = notes.read_log(context.store)
    assert first.endswith("Z first over two lines")
    assert second.endswith(r"Z second \xff")
    assert Path(context.store.path("log")).stat().st_mode & 0o777 == 0o600


def test_only_the_newest_lines_are_read(context: Context) -> None:
    for number in range(30):
        notes.append(context.store, f"number {number}")
    assert [line.split()[-1] for line in notes.read_log(context.store, last=3)] == [
        "27",
        "28",
        "29",
    ]


def test_the_log_does_not_grow_for_ever_and_keeps_its_end(context: Context) -> None:
    path = Path(context.store.path("log"))
    path.write_text("".join(f"old line {number}\n" for number in range(30_000)))
    before = path.stat().st_size
    notes.append(context.store, "the newest")
    assert path.stat().st_size < before // 2
    assert path.read_text().startswith("old line ")
    assert notes.read_log(context.store)[-1].endswith("the newest")


def test_a_log_that_cannot_be_written_does_not_stop_the_work(context: Context) -> None:
    Path(context.store.path("log")).mkdir()
    notes.append(context.store, "lost")
    assert notes.read_log(context.store) == []


def test_what_is_no_file_holds_no_lines_and_keeps_nobody_waiting(
    context: Context, tmp_path: Path
) -> None:
    place = tmp_path / "log"
    os.mkfifo(place)
    assert notes.read_from(str(place)) == []
    place.unlink()
    place.mkdir()
    assert notes.read_from(str(place)) == []
