"""What takes files off checkpoints while random things are done: prunes, sweeps, restores.

What is kept stays exact: the rules that go to a point go to all that are left. What was done can be
undone, however many sweeps there were, as long as no more time has passed than ``undo_grace_days``.
"""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from takeback import Takeback
from takeback.errors import Refused
from takeback.retention.sweep import sweep
from tests.property.oracle import Point, Recording
from tests.support.engine import TestClock
from tests.support.trees import differences

SETTINGS = "max_age_days = 1\nmax_snapshots = 3\nkeep_newest = 1\n"
"""Bounds that are soon reached; undo snapshots are kept longer than an example ever lasts."""
_MOST_HOURS = 8

pick = st.integers(0, 1 << 16)


class Upkeep(RuleBasedStateMachine):
    """The part of a workspace's rules that is about what is kept."""

    takeback: Takeback
    points: list[Point]

    def __init__(self) -> None:
        super().__init__()
        self.clock = TestClock()
        self.dropped: list[Point] = []
        """The points that have no files, of which some are in the trash."""

    def record(self) -> Recording:
        raise NotImplementedError

    @rule(hours=st.integers(0, _MOST_HOURS))
    def sweep(self, hours: int) -> None:
        """Time passes, and what the settings say goes."""
        self.clock.time += hours * 3600
        before = self.record()
        made = sweep(self.takeback.engine._upkeep())
        assert made is not None
        assert differences(before.state, self.record().state) == [], "a sweep touched the files"
        self.sort_points()

    @precondition(lambda self: len(self.plain_points()) > 1)
    @rule(which=pick)
    def prune(self, which: int) -> None:
        """A person drops one checkpoint by its name, which must not be the newest of all."""
        plain = self.plain_points()
        point = plain[which % len(plain)]
        try:
            self.takeback.engine.prune(self.takeback.engine.plan_prune((point.id,)))
        except Refused:
            newest = max(self.points, key=lambda one: self.takeback.find(one.id).sequence)
            assert point == newest
        else:
            assert self.takeback.find(point.id).expired is not None
        self.sort_points()

    @precondition(lambda self: self.dropped)
    @rule()
    def restore(self) -> None:
        """What is in the trash comes back, all that one prune has dropped."""
        there = self.takeback.engine.trash()
        if not there:
            return
        wanted = {id for ids in there[-1].dropped.values() for id in ids}
        restored = self.takeback.engine.restore()
        assert set(restored.checkpoints) == wanted
        self.points += [point for point in self.dropped if point.id in wanted]
        self.dropped = [point for point in self.dropped if point.id not in wanted]
        for id in wanted:
            assert self.takeback.find(id).expired is None

    def plain_points(self) -> list[Point]:
        return [point for point in self.points if not point.is_undo]

    def sort_points(self) -> None:
        """Finds out which points have lost their files; those that may not have kept them."""
        kept = []
        for point in self.points:
            if self.takeback.find(point.id).expired is None:
                kept.append(point)
                continue
            assert not point.is_undo, "an undo snapshot was lost within its grace"
            self.dropped.append(point)
        self.points = kept
        assert self.plain_points(), "nothing is left to go back to"
