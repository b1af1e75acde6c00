"""kill -9 of the whole process group at any moment, also between the durable steps.

One workspace goes to and fro between two trees, round after round, and is killed in most of
them. After each round it is one of the two again, whole.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from takeback.model.coverage import Overrides
from tests.crash import world as worlds
from tests.crash.world import State, World
from tests.support.cli import Cli
from tests.support.faults import start
from tests.support.lanes import shares
from tests.support.processes import Started

SHARES = 4
ROUNDS = 300
ROUNDS_IN_A_SOAK = 10_000
ROUNDS_IN_A_WORLD = 75
CLI_EVERY = 5
CHECK_STORE_EVERY = 15


class Rounds:
    """One workspace that is killed again and again."""

    def __init__(self, base: Path, chance: random.Random) -> None:
        self.world = World(base)
        self.chance = chance
        self.killed = self.interrupted = 0
        worlds.make_target_tree(self.world)
        self.one = self.world.state()
        with self.world.open() as takeback:
            first = takeback.checkpoint().checkpoint.id
            worlds.edit_tree(self.world)
            (self.world.root / ".gitignore").unlink()  # nothing ignored: all comes and goes
            self.other = self.world.state()
            second = takeback.checkpoint().checkpoint.id
        self.checkpoints = [first, second]
        self.seen = set(self.checkpoints)
        self.world.old, self.world.new = self.one, self.other
        self.call_seconds = self.seconds_of_a_call()
        self.arguments = self.possible()

    def seconds_of_a_call(self) -> float:
        """Returns how long an undisturbed rewind takes on this machine."""
        begin = time.monotonic()
        with self.world.open() as takeback:
            takeback.rewind(self.checkpoints[0], overrides=Overrides.all())
        return time.monotonic() - begin

    def play(self, number: int) -> None:
        arguments = self.chance.choice(self.arguments)
        if number % CLI_EVERY == 0:
            self.kill_cli(arguments)
        else:
            self.kill_call(arguments)
        self.world.check_paths()
        self.settle()
        if number % CHECK_STORE_EVERY == 0:
            with self.world.open() as takeback:
                self.world.checkpoints = sorted(self.seen)
                self.world.check_store(takeback)

    def settle(self) -> None:
        """The next command finishes or rolls back, and the tree is one of the two."""
        with self.world.open() as takeback:
            self.interrupted += takeback.interrupted
            takeback.recover()
            assert not takeback.interrupted
        self.world.check_is(self.nearest())
        self.arguments = self.possible()

    def nearest(self) -> State:
        edited = self.world.state()[b"edited"].content
        return self.one if edited == self.one[b"edited"].content else self.other

    def possible(self) -> list[tuple[str, ...]]:
        """Returns what can be done next."""
        with self.world.open() as takeback:
            status = takeback.status()
            kept = {entry.checkpoint.id for entry in takeback.checkpoints(everything=True)}
        assert self.seen <= kept, "a checkpoint is lost"
        self.seen = kept
        found: list[tuple[str, ...]] = [("checkpoint",)]
        found += [("rewind", checkpoint) for checkpoint in self.checkpoints] * 2
        found += [("undo",)] * 3 if status.can_undo else []
        found += [("redo",)] * 3 if status.can_redo else []
        return found

    def kill_call(self, arguments: tuple[str, ...]) -> None:
        """Calls the Python API in a process of its own and kills it."""

        def act() -> None:
            with self.world.open() as takeback:
                if arguments[0] == "checkpoint":
                    takeback.checkpoint()
                else:
                    getattr(takeback, arguments[0])(*arguments[1:], overrides=Overrides.all())

        running = start(act)
        time.sleep(self.chance.uniform(0, 1.2) * self.call_seconds)
        running.kill()
        ran = running.outcome()
        assert ran.killed or ran.done, ran.text
        self.killed += ran.killed

    def kill_cli(self, arguments: tuple[str, ...]) -> None:
        """Starts the real command and kills it."""
        cli = Cli(self.world.root, env=self.world.environ)
        extra = ["--force"] if arguments[0] != "checkpoint" else []
        with Started(
            cli.argv("--yes", *arguments, *extra),
            cwd=self.world.root,
            env=cli.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            time.sleep(self.chance.uniform(0.03, 0.2))
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait(60)
        self.killed += process.returncode == -signal.SIGKILL


@shares(SHARES)
def test_killed_at_any_moment(
    tmp_path: Path, share: int, soak: bool, record_property: Callable[[str, object], None]
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    record_property("seed", seed)
    chance = random.Random(seed)
    total = (ROUNDS_IN_A_SOAK if soak else ROUNDS) // SHARES
    killed = interrupted = 0
    for begin in range(0, total, ROUNDS_IN_A_WORLD):
        rounds = Rounds(tmp_path / str(begin), chance)
        for number in range(min(ROUNDS_IN_A_WORLD, total - begin)):
            rounds.play(number)
        killed += rounds.killed
        interrupted += rounds.interrupted
        rounds.world.check_outside()
        rounds.world.remove()
    record_property("killed", killed)
    record_property("interrupted", interrupted)
    assert interrupted, "no round was killed in the middle of an operation"
