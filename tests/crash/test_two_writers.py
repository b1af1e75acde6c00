"""Two processes at one workspace: both are served, one after the other, and no lock goes stale."""

from __future__ import annotations

import os
import random
import signal
from functools import partial
from pathlib import Path

import pytest

from takeback.model.coverage import Overrides
from takeback.store.location import StoreLocation, read_location
from takeback.store.repack import combine_packs
from takeback.store.store import Store
from tests.crash import world as worlds
from tests.crash.world import World, prepare
from tests.support.faults import Faults, Running, start
from tests.support.processes import wait_for

ROUNDS = 20
MANY_PACKS = 20
FOR_EVER = 24 * 3600
"""Seconds. Who waits for a lock that a dead process seems to hold is ended by the alarm."""


class Holding(Faults):
    """Stops before the Nth step of a name for ever, and tells so: it holds what it holds."""

    def __init__(self, name: str, count: int, tell: int) -> None:
        super().__init__()
        self.stop_at = name
        self.count = count
        self.tell = tell

    def step(self, name: str) -> None:
        super().step(name)
        if name == self.stop_at and self.names.count(name) == self.count:
            os.write(self.tell, b"stopped")
            signal.pause()


def start_and_hold(world: World, name: str, count: int = 1) -> Running:
    """Starts the operation and returns when it stands still in the middle."""
    read, write = os.pipe()
    running = start(world.operate, Holding(name, count, write))
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read(7) == b"stopped"
    return running


def wait_only(world: World, seconds: float) -> None:
    """Sets how long a command waits for the lock."""
    place = world.base / "home" / ".config" / "takeback" / "config.toml"
    place.parent.mkdir(parents=True)
    place.write_text(f"lock_wait_seconds = {seconds}\n")


@pytest.mark.parametrize(
    ("name", "count"),
    [("overwrite", 1), ("symlink", 1), ("exchange", 1), ("exchange", 9), ("overwrite", 2)],
    ids=["it has the lock", "staging", "first file", "last files", "it gives it back"],
)
def test_the_next_one_gets_the_lock_of_a_killed_holder_at_once(
    tmp_path: Path, name: str, count: int
) -> None:
    world = prepare(tmp_path / "world", "rewind")
    wait_only(world, FOR_EVER)
    holder = start_and_hold(world, name, count)
    waiting = start(world.recover)
    holder.kill()
    assert holder.outcome().killed
    ran = waiting.outcome()
    assert ran.done, ran.text
    world.check_operation(by="recover")


@pytest.mark.parametrize("operation", ["rewind", "checkpoint"])
def test_a_held_lock_is_an_error_that_names_the_holder(tmp_path: Path, operation: str) -> None:
    world = prepare(tmp_path / "world", "rewind")
    holder = start_and_hold(world, "symlink")
    wait_only(world, 0.2)
    ran = start(getattr(world, operation)).outcome()
    assert ran.error == "InUse"
    assert f"process {holder.pid} " in ran.text
    holder.kill()
    holder.outcome()
    world.check_operation(by="recover")


def test_a_reader_is_not_kept_waiting(tmp_path: Path) -> None:
    world = prepare(tmp_path / "world", "rewind")
    wait_only(world, FOR_EVER)
    holder = start_and_hold(world, "exchange", 5)

    def look() -> list[object]:
        with world.open() as takeback:
            shown = [entry.checkpoint.id for entry in takeback.checkpoints()]
            return [takeback.interrupted, shown, takeback.verify().problems]

    ran = start(look).outcome()
    assert ran.done, ran.text
    assert ran.answer == [True, world.checkpoints[::-1], ()]
    holder.kill()
    holder.outcome()


def test_two_processes_rewind_and_capture(tmp_path: Path, soak: bool) -> None:
    """Every checkpoint and every operation of both is there; the files are one of the two trees."""
    world = World(tmp_path / "world")
    worlds.make_target_tree(world)
    one = world.state()
    with world.open() as takeback:
        targets = [takeback.checkpoint().checkpoint.id]
        worlds.edit_tree(world)
        (world.root / ".gitignore").unlink()
        other = world.state()
        targets.append(takeback.checkpoint().checkpoint.id)
    rounds = ROUNDS * 20 if soak else ROUNDS

    def work(seed: int) -> tuple[list[str], list[str]]:
        chance = random.Random(seed)
        made, done = [], []
        for _ in range(rounds):
            with world.open() as takeback:
                if chance.random() < 0.4:
                    made.append(str(takeback.checkpoint().checkpoint.id))
                    continue
                outcome = takeback.rewind(chance.choice(targets), overrides=Overrides.all())
                assert outcome.whole
                if outcome.operation is not None:
                    done.append(outcome.operation)
        return made, done

    both = [start(partial(work, seed), limit=600) for seed in (1, 2)]
    checkpoints, operations = set(targets), set()
    for running in both:
        ran = running.outcome()
        assert ran.done, ran.text
        checkpoints |= set(ran.answer[0])
        operations |= set(ran.answer[1])
    with world.open() as takeback:
        world.checkpoints = sorted(checkpoints)
        world.check_store(takeback)
        assert {operation.id for operation in takeback.operations()} == operations
        assert not takeback.interrupted
    at_one = world.state()[b"edited"].content == one[b"edited"].content
    world.check_is(one if at_one else other)


def test_two_first_captures_make_one_store(tmp_path: Path) -> None:
    """Both find no store and make it, at the same moment."""
    for number in range(ROUNDS):
        world = World(tmp_path / str(number))
        worlds.make_target_tree(world)

        def capture(world: World = world) -> str:
            with world.open() as takeback:
                return str(takeback.checkpoint().checkpoint.id)

        both = [start(capture) for _ in range(2)]
        answers = [running.outcome() for running in both]
        assert all(ran.done for ran in answers), [ran.text for ran in answers]
        world.checkpoints = [ran.answer for ran in answers]
        with world.open() as takeback:
            world.check_store(takeback)


def test_packs_are_combined_under_a_reader(tmp_path: Path) -> None:
    """Another process makes one pack of many: what is read meanwhile is there and sound."""
    for number in range(4):
        world = World(tmp_path / str(number))
        with world.open() as takeback:
            checkpoints = []
            for text in map(str, range(MANY_PACKS)):
                worlds.write(world.root / "file", text.encode())
                checkpoints.append((takeback.checkpoint().checkpoint.id, text.encode()))
            place = read_location(takeback.store_directory)
            assert place is not None
            combining = start(partial(combine, world, place))
            for id, content in checkpoints:
                assert takeback.cat(id, bytes(world.root / "file")) == content
                assert takeback.verify(read_data=True).problems == ()
            ran = combining.outcome()
            assert ran.answer is True, ran.text
            assert takeback.verify(read_data=True).problems == ()


def combine(world: World, place: StoreLocation) -> bool:
    store = Store.open(place, world.environ)
    wait_for(
        lambda: combine_packs(store, disk_floor=0)
    )  # the reader's verify waits for it, and it for verify
    return True
