"""A campaign: an agent and a person work for months, and everything kept comes back as it was.

    turn          a prompt, rounds of tools and shells, a subagent now and then, its end
    beside it     a person's own edits, labels, sweeps and packing in processes of their own
    5 %           rewinds, undos, redos, forks, prunes, restores (travels.py)
    now and then  a capturing process or a sweep is killed

Each checkpoint that was acknowledged is noted with the files of that moment (record.py). Later a
checkpoint either gives back exactly these, or has expired by the rules of docs/retention.md.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

from takeback import Takeback
from takeback.events import Heard
from takeback.model.event import TURN_END
from takeback.paths import config_file
from tests.soak import surroundings
from tests.soak.agent import Agent
from tests.soak.project import Project, is_ignored
from tests.soak.record import Tree
from tests.soak.surroundings import Background, passing_time
from tests.soak.travels import DAY, Travels
from tests.support.faults import start

DAYS = 100
"""The age of the whole, in a short campaign too: then more time passes between two turns."""
TURNS_A_SESSION = 60
SAMPLES = 100
CHECKS = 10
PATIENCE = 60
LATENCIES = 100
"""Of so many turns at the beginning and at the end the latencies are compared."""


class Size(NamedTuple):
    """How large a campaign is."""

    turns: int
    files: int
    max_bytes: int
    often: float = 1.0
    """How many times more often than in a long one a person goes back, labels, prunes."""


class Sample(NamedTuple):
    """What was measured after a turn, with nothing running in the background."""

    turn: int
    store: int
    memory: int
    blocks: int
    """How many pieces of memory Python has in use; what a campaign itself notes is in it."""
    descriptors: int
    ended: int
    """Processes that have ended and were not waited for."""
    looking: float
    """Seconds of computing to list the newest turns, the ledger's catching up included."""


class Report(NamedTuple):
    """What a campaign has measured and done."""

    size: Size
    samples: list[Sample]
    latencies: list[float]
    """Seconds of computing for which the agent waited, one number a turn.

    What else the machine does in half an hour would hide what the length of a history costs.
    """
    after_sweeps: list[int]
    """Bytes of the store after each session, when its sweep was over."""
    counts: dict[str, int]

    @property
    def memory(self) -> tuple[float, float]:
        """The memory in the second quarter of all turns, and in the last one.

        In the first one modules are loaded and caches come to be full, in a long campaign the
        store too. A median, as no operation is the largest of all for long.
        """
        few = max(1, len(self.samples) // 4)
        second, last = self.samples[few : 2 * few], self.samples[-few:]
        return median(one.memory for one in second), median(one.memory for one in last)

    @property
    def slowdown(self) -> float:
        """How many times longer the agent waits at the end than at the beginning."""
        few = min(LATENCIES, len(self.latencies) // 3)
        return median(self.latencies[-few:]) / median(self.latencies[:few])


class Campaign:
    """One workspace from its first turn to its last. ``run`` it once."""

    def __init__(
        self,
        base: Path,
        size: Size,
        *,
        seed: int,
        tell: Callable[[Sample], None] = lambda sample: None,
    ) -> None:
        """``tell`` hears each sample as soon as it is taken."""
        self._base = base
        self._size = size
        self._tell = tell
        self._chance = random.Random(seed)
        root = base / "project"
        root.mkdir(parents=True)
        self._root = os.fsencode(root)
        self._project = Project(self._root, self._chance, files=size.files)
        self._background = Background(base)
        self._agent = Agent(str(root), Path(os.environ["HOME"]))
        self._samples: list[Sample] = []
        self._latencies: list[float] = []
        self._after_sweeps: list[int] = []
        self._waited = 0.0
        self._is_over = False

    def stop(self) -> None:
        """Has it end with the turn that is played now, checked as any other end."""
        self._is_over = True

    def run(self) -> Report:
        """Plays all turns; fails at the first thing that is not as it has to be."""
        settings = Path(config_file(os.environ))
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(
            f"max_bytes = {self._size.max_bytes}\n"
            f"hook_seconds = {PATIENCE}\n"  # a busy machine is not what is tried here
        )
        self._project.make()
        with (
            passing_time(self._base, time.time() - DAYS * DAY) as clock,
            Takeback.open(self._root.decode()) as tb,
        ):
            self._clock, self._tb = clock, tb
            tree = Tree(self._root, is_ignored)
            self._travels = Travels(tb, self._project, tree, self._agent, self._chance, clock)
            self._play()
        played = self._size._replace(turns=len(self._latencies))
        return Report(
            played, self._samples, self._latencies, self._after_sweeps, self._travels.counts
        )

    def _play(self) -> None:
        turns = self._size.turns
        self._agent.start(self._clock.time)
        left = TURNS_A_SESSION
        for number in range(1, turns + 1):
            if self._is_over:
                break
            self._clock.pass_by(DAYS * DAY / turns)
            self._travels.turn = number
            if left == 0:
                self._next_session()
                left = self._chance.randrange(1, 2 * TURNS_A_SESSION)
            left -= 1
            self._waited = 0.0
            self._turn(number)
            self._latencies.append(self._waited)
            self._in_between()
            if number % max(5, turns // SAMPLES) == 0:
                self._sample(number)
            if number % max(10, turns // CHECKS) == 0:
                self._travels.check(min(8, max(1, turns // 100)))
        self._next_session()
        self._background.until_rest()
        verified = self._tb.verify(read_data=True)
        assert verified.problems == ()
        self._sample(len(self._latencies))

    # -- what an agent does

    def _turn(self, number: int) -> None:
        self._heard(lambda: self._agent.ask(f"turn {number}: improve it", self._clock.time))
        for _ in range(self._chance.randrange(1, 3)):
            self._round()
        if self._chance.random() < 0.1:
            [path] = self._changed(self._project.write())
            self._heard(lambda: self._agent.subagent(os.fsdecode(self._full(path))))
        if self._chance.random() < 0.02:
            self._killed_in(lambda: self._agent.stop("killed"))
        self._heard(lambda: self._agent.stop("Done. " + "It works as it should now. " * 5))

    def _round(self) -> None:
        said = "Looking at it. " * self._chance.randrange(5, 60)
        if self._chance.random() < 0.3:
            self._changed(self._project.run())
            self._heard(lambda: self._agent.after([("Bash", "make")], said))
            return
        if self._chance.random() < 0.2:
            [path] = self._changed(self._project.write())
            tool = "Write"
        else:
            if self._chance.random() < 0.3:
                some = os.fsdecode(self._full(self._chance.choice(self._project.files)))
                self._heard(lambda: self._agent.before(some))
            [path] = self._changed(self._project.edit())
            tool = "Edit"
        named = os.fsdecode(self._full(path))
        self._heard(lambda: self._agent.after([(tool, named)], said))

    def _next_session(self) -> None:
        """Ends a session; the sweep that this starts leaves the store within its bound."""
        self._background.until_rest()
        self._heard(self._agent.end)
        self._background.until_rest()
        self._after_sweeps.append(surroundings.bytes_on_disk(self._tb.store_directory))
        self._agent.tidy(self._clock.time)
        self._heard(lambda: self._agent.start(self._clock.time))

    # -- what happens beside it

    def _in_between(self) -> None:
        if self._chance.random() < 0.1:
            edit = self._chance.choice((self._project.edit, self._project.run))
            self._changed(edit())  # a person's own
        if self._chance.random() < 0.01:
            self._travels.count("killed in the background", self._background.kill())
        elif self._chance.random() < 0.2:  # else the next turn begins beside what still runs
            self._background.until_rest()
        self._travels.perhaps(self._size.often)

    def _killed_in(self, tell: Callable[[], Heard]) -> None:
        """Tells something in another process, and kills that."""

        def act() -> str | None:
            return tell().checkpoint

        running = start(act)
        time.sleep(self._chance.uniform(0, 0.06))
        running.kill()
        ran = running.outcome()
        self._travels.count("killed while capturing" if ran.killed else "not killed in time")
        if ran.answer:
            self._travels.note(ran.answer, TURN_END)

    # -- how

    def _full(self, path: bytes) -> bytes:
        return os.path.join(self._root, path)

    def _changed(self, paths: list[bytes]) -> list[bytes]:
        self._travels.tree.look(paths)
        return paths

    def _heard(self, tell: Callable[[], Heard]) -> None:
        """Tells an event; what is acknowledged is noted with the files as they are."""
        begin = time.process_time()
        heard = tell()
        self._waited += time.process_time() - begin
        if heard.failure is not None:
            raise heard.failure
        assert heard.warning is None, heard.warning
        self._travels.count("events")
        if heard.waiting:
            self._travels.count("events that had to wait")
        if heard.checkpoint is not None:
            assert heard.event is not None
            self._travels.note(heard.checkpoint, heard.event.kind)

    def _sample(self, number: int) -> None:
        self._background.until_rest()
        begin = time.process_time()
        assert self._tb.checkpoints(limit=20)
        took = time.process_time() - begin
        sample = Sample(
            number,
            surroundings.bytes_on_disk(self._tb.store_directory),
            surroundings.memory(),
            sys.getallocatedblocks(),
            surroundings.open_descriptors(),
            self._background.ended(),
            took,
        )
        self._samples.append(sample)
        self._tell(sample)
