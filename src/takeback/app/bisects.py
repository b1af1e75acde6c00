"""Bisects: finding the turn that broke a command, beside the workspace and not in it."""

from __future__ import annotations

import os

from takeback import rooms
from takeback.app.border import guarded
from takeback.app.steps import Steps
from takeback.errors import UsageError
from takeback.model.operation import Between
from takeback.model.path_text import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from takeback.app.workspace import CheckpointLike
    from takeback.bisect.bisect import Bisected, Bisection, Inquiry, Run
    from takeback.model.checkpoint import CountedChange


@guarded
class Bisects(Steps):
    """Everything that tries a command on the files of checkpoints."""

    def bisect(
        self,
        good: CheckpointLike,
        bad: CheckpointLike,
        command: Sequence[str],
        *,
        copies: Iterable[str | bytes] = (),
        timeout: float | None = None,
    ) -> Bisected:
        """Finds what broke a command between two checkpoints: runs it on the states in between.

        It runs in a scratch directory, with ``copies`` of paths that no checkpoint holds, such as
        ``.venv``; a run of more than ``timeout`` seconds is bad. Each verdict is kept, so a search
        that was broken off carries on if it is called again. Raises UsageError if ``good`` is not
        good or ``bad`` not bad, BrokenOff, and Refused if another search is under way.
        """
        asked = self.bisection(good, bad, command, copies=copies, timeout=timeout)
        reporter = self._context.reporter
        runs: list[Run] = []

        def heard(run: Run) -> None:
            runs.append(run)
            reporter.progress("runs", len(runs), asked.most_runs)

        return asked.run(heard)

    def bisection(
        self,
        good: CheckpointLike,
        bad: CheckpointLike,
        command: Sequence[str],
        *,
        copies: Iterable[str | bytes] = (),
        timeout: float | None = None,
    ) -> Bisection:
        """Returns the search for what broke a command between two checkpoints, to be ``run``.

        ``copies`` are paths that no checkpoint holds, such as ``.venv``: the command gets a copy. A
        run of more than ``timeout`` seconds is bad. Raises Refused if another one is under way.
        """
        if not command or not command[0]:
            raise UsageError("there is no command to be run", hint="it stands behind --")
        inquiry = rooms.bisect.Inquiry(
            self.find_kept(good).id,
            self.find_kept(bad).id,
            tuple(command),
            tuple(self._copied(path) for path in copies),
            timeout,
        )
        rooms.bisect.refuse_second(self._context, inquiry)
        return self._bisection(inquiry)

    def bisection_under_way(self) -> Bisection:
        """Returns the search that was begun and not finished; raises Refused if there is none."""
        return self._bisection(rooms.bisect.kept(self._context))

    def reset_bisection(self) -> bool:
        """Gives up the search that was begun and not finished; False if there is none."""
        self.refuse_inside("giving up a bisection")
        return rooms.bisect.reset(self._context)

    def broken_by(self, found: Bisected) -> list[CountedChange]:
        """Returns what changed from the last good state to the first bad one."""
        old, new = found.good.checkpoint, found.broken[-1].checkpoint
        return rooms.look.changes(self._context, Between.of_trees(old.tree, new.tree))

    def _bisection(self, inquiry: Inquiry) -> Bisection:
        self.refuse_program("a run of a command")
        good, bad = self.find_kept(inquiry.good), self.find_kept(inquiry.bad)
        among = self._ask(lambda ledger: rooms.bisect.places(self._context, ledger, good, bad))
        return rooms.bisect.Bisection(self._context, inquiry, among)

    def _copied(self, path: str | bytes) -> bytes:
        """Returns a path in the workspace, of which a copy is wanted; raises UsageError."""
        found = self.path(path)
        if not found or not os.path.lexists(os.path.join(self.root, found)):
            raise UsageError(f"there is no {to_text(os.fsencode(path))} to be copied")
        return found
