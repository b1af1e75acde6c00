"""A workspace whose rounds rely on a watch, each looked at as by a spare of its own."""

from __future__ import annotations

import os

from takeback.capture.capture import Captured, capture
from takeback.capture.watching import heard, keep_watched
from takeback.context import Context
from takeback.worktree.watch import Note, Watches, WatchTable
from tests.support.engine import settle
from tests.support.scanner import Scanner


class Watched:
    """Holds the descriptors of the watch, as the standby does."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.held: list[tuple[int, int]] = []

    def close(self) -> None:
        for pair in self.held:
            for fd in pair:
                os.close(fd)
        self.held = []

    def watches(self) -> Watches:
        """Returns the watches as the next spare has them."""
        return Watches(self.held, self._keep)

    def _keep(self, workspace: bytes, watch: tuple[int, int]) -> None:
        self.close()
        self.held = [watch]

    def begin(self) -> None:
        """Looks, has the files watched, and looks once more: the next round relies on that."""
        self.look(relies=False)
        keep_watched(self.context, self.watches())
        self.look(relies=False)
        settle()

    def look(self, *, relies: bool) -> Captured:
        """Captures the workspace and keeps what was learnt."""
        with self.context.locked() as locked:
            made = capture(locked, after=heard(locked, self.watches(), relies=relies))
            made.keep()
        return made

    def round(self) -> Captured:
        """Captures a round, which must have what a look that reads every file has."""
        made = self.look(relies=True)
        everything = Scanner(self.context).run(rehash=True)
        assert (made.tree, made.saved) == (everything.tree, everything.saved)
        assert made.coverage == everything.coverage
        return made

    def full_look(self) -> Captured:
        return self.look(relies=False)

    @property
    def note(self) -> Note:
        [(_, table)] = self.held
        return WatchTable(table).note

    @property
    def watched_directories(self) -> int:
        [(_, table)] = self.held
        return WatchTable(table).watches
