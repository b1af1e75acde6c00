"""A prune and the emptying of the trash killed at every durable step, and beside four captures."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.errors import Expired
from takeback.model.retention import DAY
from takeback.retention.sweep import empty_trash, sweep
from tests.crash.world import World
from tests.support.engine import TestClock
from tests.support.faults import Faults, start
from tests.support.lanes import shares

TURNS = 4
WRITERS = 4


def prepared(base: Path) -> World:
    """A workspace in which an agent had four turns, each with a file of its own, and a fork."""
    world = World(base)
    with Engine.open(world.root, environ=world.environ, clock=TestClock()) as tb:
        session = tb.session(agent="mine", native="s")
        for number in range(1, TURNS + 1):
            with session.turn(f"turn {number}", conversation=b"said\n"):
                (world.root / f"f{number}").write_bytes(b"%d" % number * 500)
        tb.label("turn:2.end", "kept")
        tb.fork("turn:3.end")
        tb.checkpoint()
    return world


def opened(world: World, *, later: float = 0.0) -> Engine:
    clock = TestClock()
    clock.time += later
    return Engine.open(world.root, environ=world.environ, clock=clock)


def prune(world: World) -> None:
    with opened(world) as tb:
        tb.prune(tb.plan_prune(("mine-s/turn:1", "mine-s/turn:3")))


def prune_all(world: World) -> None:
    """Drops all that is old, and what was dropped before leaves the trash."""
    with opened(world, later=40 * DAY) as tb:
        keeping = tb._upkeep()
        sweep(keeping.replace(bounds=keeping.bounds.replace(keep_newest=0)))


def empty(world: World) -> None:
    with opened(world, later=8 * DAY) as tb:
        empty_trash(tb._upkeep())


def restore(world: World) -> None:
    with opened(world) as tb:
        tb.restore()


def check(world: World) -> set[int]:
    """Everything reads, what is kept can be had; returns the turns whose files are there."""
    there = set()
    with opened(world) as tb:
        assert tb.verify(read_data=True).problems == ()
        turns = [e.turn for e in tb.checkpoints(session="mine-s") if e.turn is not None]
        assert {turn.number for turn in turns} == {1, 2, 3, 4}
        for number in range(1, TURNS + 1):
            try:
                data = tb.cat(f"mine-s/turn:{number}.end", str(world.root / f"f{number}"))
            except Expired:
                continue
            assert data == b"%d" % number * 500
            there.add(number)
        assert tb.find("kept").label == "kept"
        tb.checkpoint()
    return there


@pytest.mark.parametrize("fault", [0, errno.ENOSPC])
@shares(16, long=4)
def test_a_prune_disturbed_at_each_step(tmp_path: Path, share: int, fault: int) -> None:
    for at in range(1 + share, 10_000, 16):
        world = prepared(tmp_path / str(at))
        ran = world.run(partial(prune, world), Faults(at, errno=fault, sticky=True))
        assert ran.killed or ran.done or ran.clean, ran.text
        assert check(world) in ({1, 2, 3, 4}, {2, 4})
        if 1 in check(world):
            prune(world)
        assert check(world) == {2, 4}
        restore(world)
        assert check(world) == {1, 2, 3, 4}
        world.remove()
        if len(ran.steps) < at and not ran.killed:
            return


@pytest.mark.parametrize("act", [empty, prune_all, restore])
@shares(20, long=4)
def test_what_follows_killed_at_each_step(
    tmp_path: Path, share: int, act: Callable[[World], None]
) -> None:
    for at in range(1 + share, 10_000, 20):
        world = prepared(tmp_path / str(at))
        prune(world)
        ran = world.run(partial(act, world), Faults(at, sticky=True))
        assert ran.killed or ran.done, ran.text
        there = check(world)
        assert 2 in there, "a label keeps its files"
        if act is not prune_all:
            assert 4 in there
        if act is empty:
            assert there == {2, 4}
        if act is not restore or 1 not in there:
            act(world)
        assert 2 in check(world)
        world.remove()
        if len(ran.steps) < at and not ran.killed:
            return


def shed(world: World) -> None:
    """Sweeps for a bound that nothing fits into: what has expired goes altogether."""
    with opened(world) as tb:
        keeping = tb._upkeep()
        sweep(keeping.replace(bounds=keeping.bounds.replace(max_bytes=1, keep_newest=1)))


def turns_there(world: World) -> list[int | None]:
    """Everything reads, also into a ledger that is made anew; returns the turns that are listed."""
    with opened(world) as tb:
        assert tb.verify(read_data=True).problems == ()
        listed = [e.turn.number for e in tb.checkpoints(session="mine-s") if e.turn is not None]
        tb.doctor(rebuild=True)
        anew = [e.turn.number for e in tb.checkpoints(session="mine-s") if e.turn is not None]
        assert listed == anew
        assert tb.cat("mine-s/turn:4.end", str(world.root / "f4")) == b"4" * 500
    return listed[::-1]


@shares(20, long=5)
def test_what_goes_altogether_killed_at_each_step(tmp_path: Path, share: int) -> None:
    for at in range(1 + share, 10_000, 20):
        world = World(tmp_path / str(at))
        with opened(world) as tb:
            session = tb.session(agent="mine", native="s")
            for number in range(1, TURNS + 1):
                with session.turn(f"turn {number}", conversation=b"said\n"):
                    (world.root / f"f{number}").write_bytes(b"%d" % number * 500)
            tb.prune(tb.plan_prune(("turn:2",)))
        ran = world.run(partial(shed, world), Faults(at, sticky=True))
        assert ran.killed or ran.done, ran.text
        assert turns_there(world) in ([1, 2, 3, 4], [1, 3, 4], [1, 4])
        shed(world)
        assert turns_there(world) == [1, 4]
        world.remove()
        if len(ran.steps) < at and not ran.killed:
            return


def capture_often(world: World, number: int) -> list[str]:
    made: list[str] = []
    with Engine.open(world.root, environ=world.environ) as tb:
        for count in range(12):
            (world.root / f"w{number}").write_text(f"{number} {count}")
            made.append(tb.checkpoint().checkpoint.id)
    return made


def sweep_often(world: World) -> int:
    """Drops and forgets what the writers have left behind, again and again."""
    dropped = 0
    for _ in range(8):
        with opened(world, later=400 * DAY) as tb:
            keeping = tb._upkeep().replace(wait=20.0)
            bounds = keeping.bounds.replace(keep_newest=3, grace=0.0, undo_grace=0.0)
            made = sweep(keeping.replace(bounds=bounds))
            dropped += 0 if made is None else len(made.dropped)
    return dropped


def test_four_who_capture_while_another_sweeps_lose_nothing(tmp_path: Path) -> None:
    world = prepared(tmp_path)
    writers = [start(partial(capture_often, world, number)) for number in range(WRITERS)]
    sweeper = start(partial(sweep_often, world))
    made = [ran.answer for ran in (one.outcome() for one in writers)]
    swept = sweeper.outcome()
    assert swept.done, swept.text
    assert swept.answer > 0
    with opened(world) as tb:
        assert tb.verify(read_data=True).problems == ()
        known = {entry.checkpoint.id for entry in tb.checkpoints(everything=True)}
        assert {id for ids in made for id in ids} <= known
        newest = tb.find("workspace/@")
        assert newest.expired is None
        assert tb.find("kept").expired is None
