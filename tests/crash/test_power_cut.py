"""The power fails: whatever was acknowledged is there afterwards, and no file is torn.

What was not flushed by then is lost, or came in another order (power.py).
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crash import power
from tests.crash import world as worlds
from tests.crash.world import World, bare
from tests.support.lanes import shares

SHARES = 19
"""Each run is cut into so many tests, which take every nineteenth moment each (as the kills do)."""
RANDOM = 3
"""How many disks are made up at random for each moment, besides those of ``power.WAYS``."""


class Machine:
    """A world that is run once, and whose power then fails at each moment of that."""

    def __init__(self, world: World, *, quiet: bool = True) -> None:
        self.world = world
        self._home = Path(world.environ["TAKEBACK_HOME"])
        self._ledgers = {path: path.read_bytes() for path in self._home.rglob("ledger.db*")}
        with power.recorded([world.root, self._home], quiet=quiet) as self.recorder:
            world.operate()
        self.end = self.recorder.time

    def disks(self, times: Iterable[int]) -> Iterator[tuple[int, str]]:
        """Yields each moment and way to fail that leaves another disk behind."""
        seen: set[str] = set()
        for time in times:
            ways = dict(power.WAYS)
            ways.update((f"seed {n}", power.at_random(n * 1000 + time)) for n in range(RANDOM))
            for name, choose in ways.items():
                disk = power.cut(self.recorder, time, choose)
                if repr(disk) in seen:
                    continue
                seen.add(repr(disk))
                self._lay(disk)
                yield time, name

    def every(self, share: int) -> range:
        """Returns the moments of a share, all of them before the operation has ended."""
        return range(1 + share, self.end, SHARES)

    def _lay(self, disk: list[power.Tree]) -> None:
        for top, tree in zip(self.recorder.tops, disk, strict=True):
            power.lay(top, tree)
        for path in self._home.rglob("ledger.db*"):
            path.unlink()
        for path, data in self._ledgers.items():
            path.write_bytes(data)
        for table in self._home.rglob("trust"):
            _, packs = marshal.loads(table.read_bytes())  # never torn: it is flushed
            table.write_bytes(marshal.dumps(("the run of the machine before", packs)))
        self._take_for_the_same_files()

    def _take_for_the_same_files(self) -> None:
        """A disk keeps inodes and times of what it has; ours had to write some of it anew."""
        here = self.world.state()
        for state in (self.world.old, self.world.new):
            for path, entry in state.items():
                if path in here and bare(here[path]) == bare(entry):
                    state[path] = here[path]


@contextmanager
def told(time: int, way: str, machine: Machine) -> Iterator[None]:
    """Says of a failure when the power went and what was lost."""
    try:
        yield
    except Exception as error:
        raise AssertionError(f"power cut at {time} of {machine.end}, {way}") from error


@shares(SHARES, long=3)
def test_what_was_captured_before_a_power_cut_is_there(tmp_path: Path, share: int) -> None:
    world = worlds.prepare_rewind(World(tmp_path / "world"))
    world.operation, world.new = "checkpoint", world.old
    checkpoints = list(world.checkpoints)
    machine = Machine(world)
    for time, way in machine.disks(machine.every(share)):
        with told(time, way, machine):
            world.checkpoints = list(checkpoints)
            check_capture(world)


def check_capture(world: World) -> None:
    """Every checkpoint reads back, and the next one holds everything."""
    with world.open() as takeback:
        again = takeback.checkpoint()
        assert again.skipped == ()
        world.check_store(takeback)
        for path, entry in world.old.items():
            if entry.kind == "file" and not path.endswith(b".ign"):
                assert takeback.cat(again.checkpoint, path) == entry.content, path
    world.check_is(world.old)


@shares(SHARES, long=3)
@pytest.mark.parametrize(
    ("operation", "quiet"), [("rewind", True), ("rewind", False), ("undo", True)]
)
def test_an_operation_and_a_power_cut_leave_each_file_old_or_new(
    tmp_path: Path, operation: str, quiet: bool, share: int
) -> None:
    world = worlds.prepare(tmp_path / "world", operation)
    checkpoints, old, new = list(world.checkpoints), dict(world.old), dict(world.new)
    machine = Machine(world, quiet=quiet)
    for time, way in machine.disks(machine.every(share)):
        with told(time, way, machine):
            world.check_paths()
            world.check_operation(by=("recover", "checkpoint", "undo")[time % 3], thorough=False)
        world.checkpoints, world.old, world.new = list(checkpoints), dict(old), dict(new)


@pytest.mark.parametrize("operation", ["checkpoint", "rewind", "undo"])
def test_nothing_is_lost_of_what_has_ended(tmp_path: Path, operation: str) -> None:
    prepared = "rewind" if operation == "checkpoint" else operation
    world = worlds.prepare(tmp_path / "world", prepared)
    if operation == "checkpoint":
        world.operation, world.new = "checkpoint", world.old
    machine = Machine(world)
    with world.open() as takeback:
        operations = len(takeback.operations())
        world.checkpoints = [e.checkpoint.id for e in takeback.checkpoints(everything=True)]
    for time, way in machine.disks([machine.end]):
        with told(time, way, machine), world.open() as takeback:
            assert not takeback.interrupted
            assert len(takeback.operations()) == operations
            world.check_store(takeback)
            world.check_is(world.new)
