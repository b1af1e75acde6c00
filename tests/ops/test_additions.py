"""A model's doings buy no room: what one turn added pushes out nothing of before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.app.session import AgentTurn
from takeback.model.retention import DAY
from takeback.ops.prune import Prune
from takeback.ops.sweep import sweep
from takeback.ops.upkeep import Upkeep
from takeback.store.disk import size_on_disk
from takeback.words import pruning
from takeback.words.paint import Paint
from takeback.words.status import status_lines
from tests.support.engine import TestClock

KB, MB = 1 << 10, 1 << 20
MOST = 6 * MB


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
def tb(workspace: Path, clock: TestClock) -> Iterator[Engine]:
    (workspace / "mine").write_text("0\n")
    with Engine.open(workspace, clock=clock) as opened:
        yield opened


def upkeep(tb: Engine, **bounds: object) -> Upkeep:
    keeping = tb._upkeep().replace(wait=0.0)
    return keeping.replace(bounds=keeping.bounds.replace(max_bytes=MOST, **bounds))


def size(tb: Engine) -> int:
    return size_on_disk(tb._context.store).all


def work(tb: Engine, workspace: Path, clock: TestClock, turns: int, *, of: int = 200 * KB) -> None:
    """Plays turns that each leave a file of their own."""
    session = tb.session(agent="mine", native="s")
    for number in range(turns):
        clock.time += 60
        with session.turn(f"turn {number + 1}"):
            (workspace / "mine").write_bytes(os.urandom(of))


def flood(
    tb: Engine, workspace: Path, clock: TestClock, times: int = 12, *, label: bool = False
) -> AgentTurn:
    """Plays a turn whose model makes checkpoints of junk; returns it, still running."""
    turn = tb.session(agent="mine", native="s").turn("flood").__enter__()
    for number in range(times):
        clock.time += 1
        (workspace / "junk").write_bytes(os.urandom(MB))
        tb.checkpoint(f"x{number}" if label else None)
    return turn


def files_of(tb: Engine) -> set[str]:
    """The checkpoints of ``s`` that have their files, by turn and kind."""
    points = [entry.checkpoint for entry in tb.checkpoints(everything=True)]
    return {
        f"{one.turn} {one.kind}"
        for one in points
        if one.expired is None and one.session == "mine-s"
    }


def ends(*turns: int) -> set[str]:
    return {f"{turn} {end}" for turn in turns for end in ("prompt", "turn end")}


def test_checkpoints_of_junk_in_one_turn_push_out_no_turn_of_before(
    tb: Engine, workspace: Path, clock: TestClock
) -> None:
    work(tb, workspace, clock, 4)
    turn = flood(tb, workspace, clock)
    sweep(upkeep(tb, keep_newest=3))
    assert size(tb) <= MOST
    turn.end()
    sweep(upkeep(tb, keep_newest=3))
    assert ends(1, 2, 3, 4, 5) <= files_of(tb)
    assert size(tb) <= MOST
    assert tb.verify(read_data=True).problems == ()


def test_checkpoints_made_in_a_turn_are_not_counted_among_the_newest(
    tb: Engine, workspace: Path, clock: TestClock
) -> None:
    work(tb, workspace, clock, 4)
    flood(tb, workspace, clock).end()
    clock.time += 31 * DAY
    tb.checkpoint()
    sweep(upkeep(tb, keep_newest=6))
    assert ends(1, 2, 3, 4, 5) <= files_of(tb)


@pytest.mark.parametrize("how", ["left", "labelled", "invented", "said"])
def test_what_a_turn_added_and_no_sweep_drops_pushes_out_nothing_and_is_said(
    tb: Engine, workspace: Path, clock: TestClock, how: str
) -> None:
    """Nor does it empty the trash within its grace."""
    work(tb, workspace, clock, 6)
    tb.prune(tb.plan_prune(("turn:2",)))
    turn = flood(tb, workspace, clock, 12, label=True) if how == "labelled" else None
    turn = turn or flood(tb, workspace, clock, 0)
    if how == "left":
        (workspace / "junk").write_bytes(os.urandom(12 * MB))
    elif how == "invented":
        for number in range(12):
            with tb.session(agent="helper", native=f"h{number}").turn("x"):
                (workspace / "junk").write_bytes(os.urandom(MB))
    said = os.urandom(12 * MB) if how == "said" else b"done"
    turn.end(conversation=said)
    for _ in range(3):
        clock.time += 60
        sweep(upkeep(tb, keep_newest=2))
    assert ends(1, 3, 4, 5, 6, 7) <= files_of(tb)
    assert size(tb) > MOST
    planned = Prune(upkeep(tb, keep_newest=2)).outlook()
    assert planned.is_idle
    assert planned.beside > 5 * MB
    assert any("beyond their part" in line for line in pruning.outlook_lines(planned))
    tb._context = tb._context.replace(policy=tb._context.policy.replace(max_bytes=MOST))
    lines = [*status_lines(tb.status(), Paint(on=False), clock.time)]
    assert any("What no sweep drops takes" in line for line in lines)
    tb.restore()
    assert ends(1, 2, 3, 4, 5, 6, 7) <= files_of(tb)
    assert tb.verify(read_data=True).problems == ()


def test_what_a_sweep_took_beside_a_flood_comes_back_and_the_flood_leaves_the_trash(
    tb: Engine, workspace: Path, clock: TestClock
) -> None:
    work(tb, workspace, clock, 3)
    clock.time += 40 * DAY
    work(tb, workspace, clock, 3)
    turn = flood(tb, workspace, clock)
    sweep(upkeep(tb, keep_newest=3))
    assert size(tb) <= MOST
    assert not ends(1) & files_of(tb), "it is too old"
    assert [trash.excess for trash in tb.trash()] == [False]
    turn.end()
    tb.restore()
    assert ends(1, 2, 3, 4, 5, 6, 7) <= files_of(tb)
    assert tb.verify(read_data=True).problems == ()


def test_turns_after_a_flood_go_only_where_that_ends_it(
    tb: Engine, workspace: Path, clock: TestClock
) -> None:
    """What lay in the workspace for some turns goes with them, and nothing of before."""
    work(tb, workspace, clock, 3)
    turn = flood(tb, workspace, clock, 0)
    (workspace / "junk").write_bytes(os.urandom(7 * MB))
    turn.end()
    work(tb, workspace, clock, 2)
    sweep(upkeep(tb, keep_newest=1))
    assert ends(1, 2, 3, 4, 5, 6) <= files_of(tb), "the newest still has it"
    (workspace / "junk").unlink()
    work(tb, workspace, clock, 3)
    sweep(upkeep(tb, keep_newest=2))
    assert files_of(tb) == ends(1, 2, 3, 7, 8, 9)
    assert size(tb) <= MOST


def test_two_agents_at_once_have_their_newest_turns_each(
    tb: Engine, workspace: Path, clock: TestClock
) -> None:
    """A turn within another one's pushes none out of the newest, and stays among its like."""
    work(tb, workspace, clock, 2)
    turn = flood(tb, workspace, clock, 0)
    for number in range(4):
        with tb.session(agent="other", native="o").turn(f"beside {number}"):
            (workspace / "mine").write_text(f"o{number}\n")
    turn.end()
    clock.time += 31 * DAY
    tb.checkpoint()
    sweep(upkeep(tb, keep_newest=3))
    kept = {
        f"{one.checkpoint.turn} {one.checkpoint.kind}"
        for one in tb.checkpoints(everything=True)
        if one.checkpoint.expired is None and one.checkpoint.session == "other-o"
    }
    assert (files_of(tb), kept) == (ends(2, 3), ends(2, 3, 4))
