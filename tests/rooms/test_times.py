"""A time means the files of that time, operations counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.errors import NoSuchCheckpoint
from takeback.words import outcomes
from tests.support.engine import NOON, TestClock
from tests.support.journey import write_files
from tests.tui.stage import files_of


class Day:
    """An agent works from half past eleven on, a turn a minute; the clock can be set."""

    def __init__(self, tb: Takeback, root: Path, clock: TestClock) -> None:
        self.tb = tb
        self.root = root
        self.clock = clock
        self.session = tb.session(agent="mine", native="s1")
        for number in range(1, 7):
            self.at(number)
            self.turn(number)

    def at(self, minute: float) -> None:
        self.clock.time = NOON - 1800 + 60 * minute

    def turn(self, number: int) -> None:
        with self.session.turn(f"do {number}", conversation=[{"role": "user", "text": "x"}]):
            write_files(self.root, {"a.txt": b"%d\n" % number, f"f{number}.txt": b"new\n"})

    def held_at(self, minute: float) -> bytes:
        """Returns what a file was at a minute, by the checkpoint that the time means."""
        name = f"11:{30 + int(minute):02d}:{int(minute % 1 * 60):02d}"
        return self.tb.cat(name, str(self.root / "a.txt"))


@pytest.fixture
def day(workspace: Path) -> Iterator[Day]:
    write_files(workspace, {"a.txt": b"0\n"})
    clock = TestClock()
    with Takeback.open(workspace, clock=clock) as tb:
        yield Day(tb, workspace, clock)


def test_a_time_after_a_rewind_is_the_state_that_the_rewind_left(day: Day) -> None:
    tb, root = day.tb, day.root
    day.at(10)
    tb.rewind("turn:3", scope="files")
    left = files_of(root)
    assert left["a.txt"] == b"2\n"
    day.at(12)
    write_files(root, {"a.txt": b"broken\n"})
    plan = tb.plan("30s")
    assert (plan.goal.about, plan.scope) == ("before turn 3: do 3", "files")
    assert tb.rewind("30s").goal.about == "before turn 3: do 3"
    assert files_of(root) == left
    day.at(13)
    tb.undo()
    assert files_of(root)["a.txt"] == b"broken\n"
    day.at(14)
    tb.undo()
    assert files_of(root)["a.txt"] == b"6\n"
    day.at(20)
    assert {minute: day.held_at(minute) for minute in (4.5, 9, 10.5, 12.5, 13.5, 14.5)} == {
        4.5: b"4\n",
        9: b"6\n",
        10.5: b"2\n",
        12.5: b"2\n",
        13.5: b"broken\n",
        14.5: b"6\n",
    }


def test_what_moved_no_file_is_no_other_state(day: Day) -> None:
    day.at(10)
    day.tb.rewind("turn:3", scope="conversation")
    day.at(11)
    day.tb.fork("turn:2")
    day.at(15)
    assert day.held_at(10.5) == b"6\n"
    assert day.held_at(11.5) == b"6\n"


def test_a_state_that_no_checkpoint_holds_is_said_and_not_guessed(day: Day) -> None:
    tb = day.tb
    day.at(10)
    tb.rewind("turn:3", [str(day.root / "a.txt")])
    day.at(12)
    with pytest.raises(NoSuchCheckpoint, match="is in no checkpoint") as raised:
        tb.find("1m")
    assert ".before" in raised.value.hint
    made = tb.checkpoint().checkpoint
    assert tb.find("1m").id == made.id  # it holds just that
    day.at(14)
    assert tb.find("1m").id == made.id
    assert tb.find("mine/1m").turn == 6


def test_every_target_has_words_in_the_plan(day: Day) -> None:
    tb = day.tb
    day.at(40)
    made = tb.checkpoint().checkpoint
    day.at(50)
    write_files(day.root, {"a.txt": b"mine\n"})
    said = {
        name: outcomes.question("rewind", tb.plan(name, scope="files"), None)
        for name in ("@", "turn:6.end", "11:36:30", "turn:2", made.id, "workspace/@")
    }
    end = tb.find("turn:6.end").id
    assert said == {
        "@": f"Rewind 1 file to {end} (after turn 6, 11:36)?",
        "turn:6.end": f"Rewind 1 file to {end} (after turn 6, 11:36)?",
        "11:36:30": f"Rewind 1 file to {end} (after turn 6, 11:36)?",
        "turn:2": f"Rewind 6 files to {tb.find('turn:2').id} (before turn 2: do 2)?",
        made.id: f"Rewind 1 file to {made.id} (made by hand, 12:10)?",
        "workspace/@": f"Rewind 1 file to {made.id} (made by hand, 12:10)?",
    }
    assert outcomes.nothing_to_do(tb.plan("@", scope="files").replace(writes=())) == (
        f"Nothing to do: the files are already at {end} (after turn 6, 11:36)."
    )
