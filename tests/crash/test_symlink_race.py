"""A directory becomes a link to the outside and back, as fast as it goes, while rewinds run.

Nothing outside may be written, created or deleted. takeback may give up on a path, or on the
whole rewind, with an error of its own; what it writes is whole.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback.model.coverage import Overrides
from tests.crash.world import World, is_scratch
from tests.support.faults import Faults, start
from tests.support.lanes import shares
from tests.support.trees import tree_state

ROUNDS = 200
SHARES = 8
RENAME_EXCHANGE = 2
AT_FDCWD = -100
FILES = 12
VERSIONS = (b"one" * 2000, b"other" * 1500)

pytestmark = pytest.mark.skipif(os.uname().sysname != "Linux", reason="needs renameat2")


def swap_for_ever(one: Path, other: Path) -> None:
    renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    first, second = os.fsencode(one), os.fsencode(other)
    while True:
        renameat2(AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE)


class Swapper:
    """Another process that swaps two names as fast as it can; stands still when told to."""

    def __init__(self, one: Path, other: Path) -> None:
        self._process = start(lambda: swap_for_ever(one, other), limit=3600)

    def pause(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)
        os.waitpid(self._process.pid, os.WUNTRACED)

    def go_on(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def end(self) -> None:
        self._process.kill()
        self._process.outcome()


class Dawdling(Faults):
    """Waits a little before each step, so that many swaps fall between any two of them."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance

    def step(self, name: str) -> None:
        time.sleep(self._chance.uniform(0, 0.0005))


def fill(directory: Path, content: bytes) -> None:
    (directory / "deep").mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        (directory / f"file{number}").write_bytes(content)
        (directory / "deep" / f"file{number}").write_bytes(content)


def make_version(raced: Path, number: int) -> None:
    """Fills the raced directory; between the two versions every kind of change happens in it."""
    fill(raced, VERSIONS[number])
    (raced / f"only in {number}").write_bytes(VERSIONS[number])
    (raced / f"directory of {number}").mkdir()
    (raced / f"directory of {number}" / "file").write_bytes(VERSIONS[number])


def make_checkpoints(world: World, raced: Path) -> list[str]:
    targets = []
    with world.open() as takeback:
        for number in range(len(VERSIONS)):
            shutil.rmtree(raced, ignore_errors=True)
            make_version(raced, number)
            targets.append(str(takeback.checkpoint().checkpoint.id))
    return targets


def check_no_torn_file(world: World) -> None:
    for path, entry in tree_state(world.root).items():
        if entry.kind == "file" and not is_scratch(path):
            assert entry.content in VERSIONS, f"{path!r} is torn: {len(entry.content)} bytes"


def lay_out(world: World, raced: Path, parked: Path, version: int) -> None:
    """Puts both names back where the race begins: a directory, and a link to the outside."""
    for path in (raced, parked):
        if path.is_symlink():
            path.unlink()
        elif path.exists():
            shutil.rmtree(path)
    make_version(raced, version)
    parked.symlink_to(world.outside)


@pytest.mark.parametrize("below", [(), ("sub",)], ids=["at the root", "further down"])
@shares(SHARES, long=4)
def test_nothing_outside_is_touched(
    tmp_path: Path,
    share: int,
    below: tuple[str, ...],
    soak: bool,
    record_property: Callable[[str, object], None],
) -> None:
    world = World(tmp_path / "world")
    parent = world.root.joinpath(*below)
    raced, parked = parent / "raced", parent / "parked"
    targets = make_checkpoints(world, raced)
    # What a write or a deletion that goes astray would hit: the same names.
    fill(world.outside, b"outside")
    for name in ("only in 0", "only in 1"):
        (world.outside / name).write_bytes(b"outside")
    (world.outside / "directory of 0").mkdir()
    world.outside_before = tree_state(world.outside, identity=True)
    chance = random.Random(share)
    disturbed = 0
    swapper = Swapper(raced, parked)
    try:
        for number in range(ROUNDS // (2 * SHARES) * (20 if soak else 1)):
            swapper.pause()
            lay_out(world, raced, parked, number % 2)
            swapper.go_on()
            disturbed += not rewind(world, targets[1 - number % 2], chance)
            swapper.pause()
            world.check_outside()
            check_no_torn_file(world)
            swapper.go_on()
    finally:
        swapper.end()
    record_property("disturbed", disturbed)
    assert disturbed, "no rewind met a swap"
    # The race is over: nothing stands in the way of the next command.
    with world.open() as takeback:
        takeback.recover()
        assert takeback.rewind(targets[0], overrides=Overrides.all()).verified
        assert takeback.verify(read_data=True).problems == ()
    world.check_outside()
    check_no_torn_file(world)


def rewind(world: World, target: str, chance: random.Random) -> bool:
    """Returns whether the rewind did all that it was asked to; its errors are takeback's own."""

    def act() -> bool:
        with world.open() as takeback:
            return takeback.rewind(target, overrides=Overrides.all()).whole

    ran = start(act, Dawdling(chance)).outcome()
    assert ran.clean, ran.text
    return ran.answer is True
