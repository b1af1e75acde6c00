"""What was read lately is remembered, within a bound."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.app.threads import PolledReporter
from takeback.model.coverage import Overrides
from takeback.remembered import Remembered

TURNS = 15


def test_the_oldest_goes_and_what_was_used_last_stays() -> None:
    room: Remembered[str, int] = Remembered(3)
    for number, name in enumerate("abc"):
        room.add(name, number)
    assert room.get("a") == 0
    room.add("d", 3)
    assert [room.get(name) for name in "abcd"] == [0, None, 2, 3]


def test_what_all_of_them_weigh_is_never_more_than_the_room() -> None:
    room: Remembered[int, bytes] = Remembered(100)
    for number in range(1_000):
        room.add(number % 37, b"", number % 60)
        assert room.weight <= 100
    room.add(1, b"", 101)
    assert room.weight <= 100
    room.add(2, b"heavy", 100)
    assert (len(room), room.get(2)) == (1, b"heavy")
    room.clear()
    assert (len(room), room.weight) == (0, 0)


def test_what_is_said_again_does_not_weigh_twice() -> None:
    room: Remembered[str, bytes] = Remembered(10)
    for weight in (4, 8, 2):
        room.add("a", b"%d" % weight, weight)
        assert (room.weight, room.get("a")) == (weight, b"%d" % weight)


def test_the_newest_stay_whatever_they_weigh() -> None:
    room: Remembered[str, bytes] = Remembered(10, at_least=2)
    for name in "abc":
        room.add(name, b"", 50)
    assert [name for name in "abc" if room.get(name) is not None] == ["b", "c"]


def test_who_never_asks_what_was_noted_is_told_the_newest() -> None:
    reporter = PolledReporter()
    for number in range(250):
        reporter.note(str(number))
    assert reporter.take_notes() == [str(number) for number in range(150, 250)]
    assert reporter.take_notes() == []


@pytest.fixture
def small_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes hundreds of turns to fill is full after a few."""
    monkeypatch.setattr("takeback.store.store._ENTRIES_KEPT", 300)
    monkeypatch.setattr("takeback.git.packfile._REMEMBERED", 10_000)
    monkeypatch.setattr("takeback.git.refs._NAMES_KEPT", 5)


@pytest.mark.usefixtures("small_rooms")
def test_a_program_that_stays_open_remembers_no_more_after_many_turns_than_after_some(
    workspace: Path,
) -> None:
    """Counts what Python has allocated: nothing of a turn may stay for good, however small."""
    for number in range(20):
        (workspace / f"{number}.txt").write_text(f"{number}\n")
    with Takeback.open(str(workspace)) as tb:
        _work(tb, workspace, 2 * TURNS)
        before = _blocks()
        _work(tb, workspace, 2 * TURNS)
        after = _blocks()
    # without a bound each turn leaves a hundred: its trees, with a row for each entry
    assert after - before < 2 * TURNS * 50


def _work(tb: Takeback, workspace: Path, turns: int) -> None:
    """A program's own checkpoints, each looked at, and a rewind now and then."""
    for turn in range(turns):
        (workspace / f"{turn % 20}.txt").write_text(f"{turn} {os.urandom(8).hex()}\n")
        made = tb.checkpoint()
        entry = tb.checkpoints(limit=5)[0]
        assert entry.checkpoint.id == made.checkpoint.id
        tb.diff(tb.checkpoints(limit=5)[-1].checkpoint.id, made.checkpoint.id)
        if turn % 10 == 9:
            tb.rewind(tb.checkpoints(limit=5)[-1].checkpoint.id, overrides=Overrides.all())
            tb.undo(overrides=Overrides.all())


def _blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()
