"""kill -9 at every durable step: each file old or new, nothing lost, the next command goes on."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.crash import world as worlds
from tests.crash.world import World, prepare
from tests.support.faults import Faults
from tests.support.lanes import shares

SHARES = 37
"""Each scenario is cut into so many tests, which take every 37th step each. Files are written
in four steps and exchanged in two: with a prime number, each share meets all of them."""
MET_BY = ("recover", "checkpoint", "undo")

share = shares(SHARES, long=4)
operation = pytest.mark.parametrize("operation", ["rewind", "undo", "redo"])


def every(share: int) -> Iterator[int]:
    """Yields every step of a share; the caller stops when the operation ends before it."""
    yield from range(1 + share, 10_000, SHARES)


def is_thorough(at: int) -> bool:
    """Tells at which steps the way back is also gone forth again: each fourth of a share."""
    return (at - 1) // SHARES % 4 == 0


def count_steps(tmp_path: Path, operation: str) -> tuple[str, ...]:
    """Returns the names of the durable steps of an operation that nothing disturbs."""
    world = prepare(tmp_path / "counted", operation)
    ran = world.run(world.operate)
    assert ran.done, ran.text
    world.check_is(world.new)
    world.remove()
    return ran.steps


@share
@operation
def test_operation_killed(
    tmp_path: Path, operation: str, share: int, record_property: Callable[[str, object], None]
) -> None:
    for at in every(share):
        world = prepare(tmp_path / str(at), operation)
        ran = world.run(world.operate, Faults(at))
        world.check_paths()
        world.check_operation(by=MET_BY[at % len(MET_BY)], thorough=is_thorough(at))
        world.remove()
        if not ran.killed:
            assert ran.done, ran.text
            record_property("steps", len(ran.steps))
            return


@shares(SHARES, long=3)
@pytest.mark.parametrize("operation", ["revert", "keep_edits"])
def test_merge_killed(tmp_path: Path, operation: str, share: int) -> None:
    """What is gone to is in no checkpoint: a recovery finds it in the journal."""
    for at in every(share):
        world = prepare(tmp_path / str(at), operation)
        ran = world.run(world.operate, Faults(at))
        world.check_paths()
        world.check_operation(by=MET_BY[at % len(MET_BY)], thorough=is_thorough(at))
        world.remove()
        if not ran.killed:
            assert ran.done, ran.text
            return


@share
def test_capture_killed(
    tmp_path: Path, share: int, record_property: Callable[[str, object], None]
) -> None:
    for at in every(share):
        world = worlds.prepare_rewind(World(tmp_path / str(at)))
        ran = world.run(world.checkpoint, Faults(at))
        check_capture(world)
        world.remove()
        if not ran.killed:
            assert ran.done, ran.text
            record_property("steps", len(ran.steps))
            return


@share
def test_first_capture_killed(
    tmp_path: Path, share: int, record_property: Callable[[str, object], None]
) -> None:
    """The store itself is being made."""
    for at in every(share):
        world = World(tmp_path / str(at))
        worlds.make_target_tree(world)
        world.old = world.new = world.state()
        ran = world.run(world.checkpoint, Faults(at))
        check_capture(world)
        world.remove()
        if not ran.killed:
            assert ran.done, ran.text
            record_property("steps", len(ran.steps))
            return


def check_capture(world: World) -> None:
    """A capture that was killed touched nothing, and the next one holds everything."""
    assert world.state() == world.old, "a capture touched the files"
    with world.open() as takeback:
        assert not takeback.interrupted
        world.check_store(takeback)
        made = takeback.checkpoint()
        assert made.skipped == ()
        world.checkpoints.append(made.checkpoint.id)
        world.check_store(takeback)
    world.target = made.checkpoint.id
    for path in (world.root / "edited", world.root / "mode"):
        worlds.write(path, b"after the capture")
    world.rewind()
    world.check_is(world.old)
    world.check_outside()


@shares(4, long=2)
@pytest.mark.parametrize("operation", ["rewind", "undo"])
def test_operation_killed_in_the_middle_of_a_write(
    tmp_path: Path, operation: str, share: int
) -> None:
    """Half of the bytes are in the file: it is never one with a name of the user's."""
    names = count_steps(tmp_path, operation)
    writes = [number for number, name in enumerate(names, 1) if name == "write"]
    assert len(writes) >= 8
    for at in writes[share::4]:
        world = prepare(tmp_path / str(at), operation)
        world.run(world.operate, Faults(at, tear=True))
        world.check_paths()
        world.check_operation(by=MET_BY[at % len(MET_BY)], thorough=is_thorough(at))
        world.remove()


@share
@pytest.mark.parametrize("operation", ["rewind", "undo"])
def test_operation_killed_where_names_cannot_be_exchanged(
    tmp_path: Path, operation: str, share: int, soak: bool
) -> None:
    for at in islice(every(share), 0, None, 1 if soak else 4):
        world = prepare(tmp_path / str(at), operation, exchange=False)
        ran = world.run(world.operate, Faults(at))
        world.check_paths(gaps=True)
        recovered = world.run(world.recover)
        assert recovered.done, recovered.text
        world.check_operation(by="recover", thorough=is_thorough(at))
        world.remove()
        if not ran.killed:
            assert ran.done, ran.text
            return


def kill_twice(tmp_path: Path, operation: str, first: int, second: int) -> bool:
    """Kills the operation, then its recovery; False if the recovery ended before ``second``."""
    world = prepare(tmp_path / f"{first}-{second}", operation)
    world.run(world.operate, Faults(first))
    ran = world.run(world.recover, Faults(second))
    world.check_paths()
    world.check_operation(by=MET_BY[second % len(MET_BY)], thorough=is_thorough(second))
    world.remove()
    return ran.killed


def changing_steps(names: tuple[str, ...]) -> list[int]:
    """Returns the numbers of the steps from the first changed file to the last."""
    swaps = [number for number, name in enumerate(names, 1) if name in ("exchange", "rmdir")]
    return list(range(swaps[0], swaps[-1] + 2))


@share
@pytest.mark.parametrize("operation", ["rewind", "undo"])
def test_recovery_killed_at_every_step(
    tmp_path: Path, operation: str, share: int, soak: bool
) -> None:
    names = count_steps(tmp_path, operation)
    steps = changing_steps(names)
    sampled = {"rewind": steps[0] + 1, "undo": steps[len(steps) // 2]}
    for first in steps if soak else (sampled[operation],):
        for second in every(share):
            if not kill_twice(tmp_path, operation, first, second):
                break


@share
def test_killed_twice(tmp_path: Path, share: int, soak: bool) -> None:
    """Sampled pairs of (step of the operation, step of its recovery); all of them in a soak."""
    count = len(count_steps(tmp_path, "rewind"))
    if soak:
        for first in range(1 + share, count + 1, SHARES):
            for second in range(1, 10_000):
                if not kill_twice(tmp_path, "rewind", first, second):
                    break
        return
    chance = random.Random(share)
    for _ in range(15):
        kill_twice(tmp_path, "rewind", chance.randint(1, count), chance.randint(1, count * 2 // 3))
