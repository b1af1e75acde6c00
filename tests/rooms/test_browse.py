"""Browse: light rows of everything, what an operation took back, what is new."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from takeback.app.engine import Engine
from takeback.model.coverage import Overrides
from takeback.model.entries import Session
from takeback.model.ids import CheckpointId, MachineId, OperationId, SessionId, SnapshotId
from takeback.model.operation import Move
from takeback.model.row import Spot, TimelineRow
from takeback.timeline.timeline import gone
from tests.support.engine import TestClock
from tests.support.journey import write_files
from tests.tui.world import HOUR, Agent, tell_story


@pytest.fixture
def clock(workspace: Path) -> TestClock:
    return tell_story(workspace)


def test_the_rows_are_those_of_the_log(workspace: Path, clock: TestClock) -> None:
    with Engine.open(workspace, clock=clock) as tb:
        browsed, log = tb.browse(), tb.checkpoints()
        assert [row.id for row in browsed.rows] == [entry.checkpoint.id for entry in log]
        for row, entry in zip(browsed.rows, log, strict=True):
            found = entry.checkpoint
            assert (row.session, row.kind, row.time) == (found.session, found.kind, found.time)
            assert row.label == found.label
            assert row.is_turn == (entry.turn is not None)
            if entry.turn is not None:
                turn = entry.turn
                told = (turn.number, turn.state, turn.prompt, turn.before, turn.after)
                assert told == (row.number, row.state, row.prompt, row.before, row.after)
                assert row.outside == len(entry.outside)
        assert tb.entries([row.id for row in browsed.rows]) == {e.checkpoint.id: e for e in log}
        assert tb.entries(["nothing"]) == {}


def test_the_newest_rows_first(workspace: Path, clock: TestClock) -> None:
    with Engine.open(workspace, clock=clock) as tb:
        everything, some = tb.browse(), tb.browse(limit=4)
        assert some.rows == everything.rows[:4]
        assert (some.whole, everything.whole) == (False, True)
        assert tb.browse(limit=11).whole
        assert not tb.browse(limit=10).whole


def test_a_label_makes_a_row_of_any_checkpoint(workspace: Path, clock: TestClock) -> None:
    with Engine.open(workspace, clock=clock) as tb:
        end = tb.find("codex/turn:1.end")
        assert end.id not in [row.id for row in tb.browse().rows]
        tb.label(end, "buttons")
        [row] = [row for row in tb.browse().rows if row.id == end.id]
        assert (row.kind, row.label) == ("turn end", "buttons")


def test_where_forks_come_from(workspace: Path, clock: TestClock) -> None:
    with Engine.open(workspace, clock=clock) as tb:
        origins = tb.browse().origins
    assert {name: (spot.session, spot.kind, spot.turn) for name, spot in origins.items()} == {
        "claude-9c41d07e": ("claude-2a8f61c0", "prompt", 3)
    }


def test_the_mark_changes_with_everything_that_is_new(workspace: Path, clock: TestClock) -> None:
    with (
        Engine.open(workspace, clock=clock) as tb,
        Engine.open(workspace, clock=clock) as other,
    ):
        marks = [tb.timeline_mark()]
        assert tb.timeline_mark() == marks[0] == tb.browse().mark
        codex = Agent(other, workspace, clock, "codex", "0197b3d2")
        codex.tell("turn_end", 0, turn="0197b3d2-1")
        marks.append(tb.timeline_mark())
        other.label("codex/turn:2", "dark")
        marks.append(tb.timeline_mark())
        other.rewind("codex/turn:1", scope="files", overrides=Overrides.all())
        marks.append(tb.timeline_mark())
        assert len(set(marks)) == 4
        assert tb.browse().mark == marks[-1]


SOUGHT: dict[str, list[str]] = {
    "dark theme": ["add a dark theme"],
    "DARK": ["add a dark theme"],
    "aliases": ["steer"],
    "style.css": ["make the buttons"],
    "ss": ["try it with", "make the buttons"],
    '"': [],
    "%": [],
    "nothing like it": [],
}


def test_a_search_finds_rows(workspace: Path, clock: TestClock) -> None:
    with Engine.open(workspace, clock=clock) as tb:
        rows = tb.browse().rows
        for text, prompts in SOUGHT.items():
            found = tb.matching(text)
            names = [row.prompt or row.kind for row in rows if row.id in found]
            assert len(names) == len(found) == len(prompts), text
            assert all(any(name.startswith(one) for name in names) for one in prompts), text


def test_a_path_is_found_in_its_turn_and_not_in_prompts(workspace: Path, clock: TestClock) -> None:
    with Engine.open(workspace, clock=clock) as tb:
        rows = {row.id: row for row in tb.browse().rows}
        found = [rows[id].number for id in tb.matching("cart", only_paths=True)]
        assert sorted(str(number) for number in found) == ["2", "4", "5", "6"]
        assert len(tb.matching("cart")) > len(found)


def test_what_a_rewind_took_back(workspace: Path) -> None:
    clock = TestClock()
    write_files(workspace, {"a.txt": b"0\n"})
    with Engine.open(workspace, clock=clock) as tb:
        agent = Agent(tb, workspace, clock, "mine", "1")

        def turn(number: int) -> None:
            agent.turn(f"turn {number}", HOUR - number, {"a.txt": b"%d\n" % number})

        def taken() -> dict[int | None, str]:
            browsed = tb.browse()
            return {
                row.number: browsed.gone[row.id]
                for row in browsed.rows[::-1]
                if row.id in browsed.gone
            }

        for number in (1, 2, 3):
            turn(number)
        assert taken() == {}
        tb.rewind("turn:2", scope="files")
        assert taken() == {2: "taken back", 3: "taken back"}
        turn(4)
        assert taken() == {2: "taken back", 3: "taken back"}
        tb.rewind("turn:4", scope="files")
        assert taken() == {2: "taken back", 3: "taken back", 4: "taken back"}
        tb.rewind("turn:3.end", scope="files")
        assert taken() == {4: "taken back"}
        tb.undo()
        assert taken() == {2: "taken back", 3: "taken back", 4: "taken back"}
        tb.undo()
        assert taken() == {2: "taken back", 3: "taken back"}
        tb.redo()
        assert taken() == {2: "taken back", 3: "taken back", 4: "taken back"}
        tb.rewind("turn:3.end", [str(workspace / "a.txt")], scope="files")
        assert taken() == {2: "taken back", 3: "taken back", 4: "taken back"}


def session(id: str, parent: str | None = None) -> Session:
    return Session(
        SessionId(id),
        "mine",
        id,
        None,
        None,
        SessionId(parent) if parent else None,
        None,
        None,
        0.0,
        0.0,
        0.0,
        CheckpointId("x"),
    )


def turn(id: str, place: int, owner: str) -> TimelineRow:
    return TimelineRow(id, place, owner, "prompt", 0.0, 1, state="ended")


def moved(target: str, **more: Any) -> Move:
    return Move(
        OperationId("op"),
        "rewind",
        0.0,
        0,
        MachineId("m"),
        SessionId("a"),
        CheckpointId(target),
        CheckpointId("u"),
        SnapshotId("after"),
        **more,
    )


ROWS = [turn("b2", 8, "b"), turn("c1", 6, "c"), turn("a2", 4, "a"), turn("a1", 2, "a")]
FAMILY = [session("a"), session("b", "a"), session("c")]


@pytest.mark.parametrize(
    ("operation", "target", "found"),
    [
        (moved("a2"), Spot(4, "a", "prompt", 2), {"a2": "taken back", "b2": "taken back"}),
        (moved("a2"), Spot(5, "a", "turn end", 2), {"b2": "taken back"}),
        (
            moved("a2"),
            Spot(4, "a", "prompt", 2, "after"),
            {"a2": "taken back", "b2": "taken back", "c1": "taken back"},
        ),
        (moved("a2", scope="conversation"), Spot(4, "a", "prompt", 2), {"a2": "left"}),
        (moved("a2", paths=(b"x",)), Spot(4, "a", "prompt", 2), {}),
        (moved("a2").replace(kind="fork", scope="conversation"), Spot(4, "a", "prompt", 2), {}),
        (moved("nowhere"), Spot(4, "a", "prompt", 2), {}),
        (
            moved("a2"),
            Spot(5, "workspace", "manual", None),
            {"b2": "taken back", "c1": "taken back"},
        ),
    ],
)
def test_whose_turns_are_gone(operation: Move, target: Spot, found: dict[str, str]) -> None:
    assert gone(ROWS, FAMILY, [operation], {"a2": target}, {"op": 9}) == found
