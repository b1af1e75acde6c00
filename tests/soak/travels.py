"""What a person does to checkpoints in a campaign, and what has to be true of them."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from typing import NamedTuple

from takeback import Takeback
from takeback.errors import Expired, NoSuchCheckpoint, Refused
from takeback.model.coverage import Overrides
from takeback.model.event import PROMPT, TURN_END
from takeback.model.operation import Outcome
from tests.soak.agent import Agent
from tests.soak.project import Project, is_ignored
from tests.soak.record import UNDO, Point, Tree, walk
from tests.soak.surroundings import Clock

DAY = 86_400.0
UNDO_GRACE = 7 * DAY
KEEP_NEWEST = 20
"""The defaults of the settings, which the campaign leaves alone."""
LABELS = 12
FORCE = Overrides.all()


class _Step(NamedTuple):
    """An operation that can be taken back: to which point, and since when."""

    back: Point
    time: float


class Travels:
    """The points of a campaign, and every way to go to one."""

    def __init__(
        self,
        tb: Takeback,
        project: Project,
        tree: Tree,
        agent: Agent,
        chance: random.Random,
        clock: Clock,
    ) -> None:
        self.tree = tree
        self.turn = 0
        self.counts: Counter[str] = Counter()
        self._tb = tb
        self._project = project
        self._agent = agent
        self._chance = chance
        self._clock = clock
        self._points: dict[str, Point] = {}
        self._labelled: list[str] = []
        self._dropped: set[int] = set()
        """Turns that were dropped by their name."""
        self._undoable: list[_Step | None] = []
        """None for an operation that this campaign never takes back."""

    def count(self, what: str, times: int = 1) -> None:
        self.counts[what] += times

    def note(self, checkpoint: str, kind: str) -> Point:
        """Notes a checkpoint that was just made of the files as they are."""
        made = self.tree.point(checkpoint, time=self._clock.time, turn=self.turn, kind=kind)
        self._points[checkpoint] = made
        return made

    def perhaps(self, often: float) -> None:
        """Does one of the things that are done now and then."""
        dice = self._chance.random() / often
        for share, act in (
            (0.035, self.rewind),
            (0.005, self.fork),
            (0.003, self.fork_elsewhere),
            (0.007, self.undo_late),
            (0.02, self.label),
            (0.004, self.prune),
            (0.002, self.restore),
        ):
            if dice < share:
                act()
                return
            dice -= share

    # -- there and back

    def rewind(self) -> None:
        point = self._some_point()
        if point is None:
            return
        back = self._go(point)
        if back is None or self._chance.random() < 0.5:
            return
        self._step(self._tb.undo(overrides=FORCE), back)
        self.count("undos")
        self._undoable.pop()
        if self._chance.random() < 0.5:
            self._step(self._tb.redo(overrides=FORCE), point)
            self.count("redos")
            self._undoable.append(_Step(back, self._clock.time))

    def _go(self, point: Point) -> Point | None:
        """Rewinds; returns the point that is the way back, None if there was nothing to do."""
        self.tree.check()
        both = not point.is_undo and self._chance.random() < 0.5
        try:
            outcome = self._tb.rewind(point.id, scope="both" if both else "files", overrides=FORCE)
        except Expired:
            assert not self._has_files(point)  # a sweep that runs beside it was faster
            return None
        self.count("rewinds")
        if outcome.operation is None:
            self.tree.check()
            return None
        back = self._step(outcome, point)
        self._undoable.append(_Step(back, self._clock.time))
        return back

    def _step(self, outcome: Outcome, point: Point) -> Point:
        """Checks what an operation led to; returns the point of its undo snapshot."""
        assert outcome.whole, (outcome.left_alone, outcome.conversation_error)
        assert outcome.undo is not None
        back = self.note(outcome.undo, UNDO)
        if outcome.kind in ("undo", "redo") and not outcome.written and not outcome.deleted:
            self.tree.check()  # what it goes back over changed no file
        else:
            self.tree.go_to(point)
        self._project.refresh()
        self._follow(outcome)
        return back

    def _follow(self, outcome: Outcome) -> None:
        """Has the agent go on with the session that the conversation is at now."""
        if outcome.resume is None:
            return
        name = outcome.resume.argv[-1].partition("=")[2]
        if name:
            self._agent.resume(name, self._clock.time)
        else:
            self._agent.start(self._clock.time)

    def undo_late(self) -> None:
        """Takes the newest operation back, with all that was done since."""
        step = self._undoable[-1] if self._undoable else None
        if step is None:
            return
        self.tree.check()
        try:
            outcome = self._tb.undo(overrides=FORCE)
        except Expired:
            assert step.time <= self._clock.time - UNDO_GRACE, "an undo was lost within its grace"
            self.count("undos that came too late")
            return
        self._step(outcome, step.back)
        self._undoable.pop()
        self.count("late undos")

    def fork(self) -> None:
        """Begins another session, with its files or without."""
        point = self._some_point()
        if point is None or point.is_undo:
            return
        files = self._chance.random() < 0.5
        outcome = self._tb.fork(point.id, files=files, overrides=FORCE)
        self._step(outcome, point if files else self.note(outcome.undo or "", UNDO))
        self._undoable.append(None)
        self.count("forks")

    def fork_elsewhere(self) -> None:
        """Forks into a new directory, which has just the files of the point."""
        point = self._some_point()
        if point is None or point.is_undo:
            return
        place = f"{os.fsdecode(self._project.root)}-{self.counts['forks elsewhere']}"
        outcome = self._tb.fork(point.id, worktree=place, overrides=FORCE)
        assert sum(walk(os.fsencode(place), is_ignored).values()) == point.sum
        assert outcome.undo is None or self.note(outcome.undo, UNDO)
        self.tree.check()
        shutil.rmtree(place)
        self._undoable.append(None)
        self.count("forks elsewhere")

    # -- labels, prunes

    def label(self) -> None:
        point = self._some_point()
        if point is None or point.id in self._labelled:
            return
        self._tb.label(point.id, f"label-{self.turn}")
        if self._tb.find(point.id).expired is not None:
            return  # a sweep beside it came first
        self._labelled.append(point.id)
        self.count("labels")
        if len(self._labelled) > LABELS:
            self._tb.label(self._labelled.pop(0), None)

    def prune(self) -> None:
        """Drops a turn by its name, unless that is pinned."""
        point = self._some_point()
        if point is None:
            return
        try:
            self._tb.engine.prune(self._tb.engine.plan_prune((point.id,)))
        except Refused:
            self.count("prunes of what is pinned")
            return
        assert point.id not in self._labelled, "a label did not keep its files"
        self._dropped.add(point.turn)
        self.count("prunes")

    def restore(self) -> None:
        """Brings the newest of the trash back, and looks at one of it."""
        try:
            restored = self._tb.engine.restore()
        except Refused:
            return  # the trash is empty
        self.count("restores")
        known = [self._points[id] for id in restored.checkpoints if id in self._points]
        if known:
            self._there_and_back(self._chance.choice(known))

    # -- what has to be true

    def check(self, count: int) -> None:
        """Goes to some of what is kept, and back; all labels are kept, and the newest turns."""
        for id in self._labelled:
            assert self._tb.find(id).expired is None, "a label did not keep its files"
        self._check_newest()
        for _ in range(count):
            point = self._some_point()
            if point is not None:
                self._there_and_back(point)
        problems = self._tb.verify().problems
        assert problems == (), problems

    def _check_newest(self) -> None:
        """Both ends of the newest turns are there, but for what was dropped by its name.

        Each fork and each session counts as one of the newest, too: so half of them are looked at.
        """
        for point in reversed(self._points.values()):
            if point.turn <= self.turn - KEEP_NEWEST // 2:
                break
            if point.kind in (PROMPT, TURN_END) and point.turn not in self._dropped:
                assert self._has_files(point), "one of the newest was lost"

    def _there_and_back(self, point: Point) -> None:
        back = self._go(point)
        if back is not None:
            self._step(self._tb.undo(overrides=FORCE), back)
            self._undoable.pop()
        self.count("checked there and back")

    def _some_point(self) -> Point | None:
        """Returns a point that has its files, a young one as likely as one of any age."""
        ids = list(self._points)
        for _ in range(30):
            if self._chance.random() < 0.5:
                at = max(0, len(ids) - 1 - int(self._chance.expovariate(1 / 200)))
            else:
                at = self._chance.randrange(len(ids))
            point = self._points.get(ids[at])
            if point is not None and self._has_files(point):
                return point
        return None

    def _has_files(self, point: Point) -> bool:
        """Tells whether a checkpoint has not expired; fails if it may not have done so."""
        try:
            if self._tb.find(point.id).expired is None:
                return True
        except NoSuchCheckpoint:  # its whole session is gone
            pass
        assert point.id not in self._labelled, "a label did not keep its files"
        is_young = point.time > self._clock.time - UNDO_GRACE
        assert not (point.is_undo and is_young), "an undo snapshot was lost within its grace"
        self.count("met expired")
        return False
