"""Proposals: an operation that is not yet done, the same for every face that asks about it.

A proposal is planned, shown, agreed to and carried out; which words and keys that takes is the
face's business.
"""

from __future__ import annotations

from takeback.errors import Refused
from takeback.model.operation import FORK, REWIND, UNDO, Move
from takeback.model.policy import NO_OVERRIDES, Overrides
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from takeback.app import Takeback
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.plan import Outcome, Plan

    Planning = Callable[[Takeback, Overrides], Plan]
    Going = Callable[[Takeback, Overrides, Plan | None], Outcome]


class Proposal(Value):
    """One rewind, fork, undo or redo that somebody thinks about.

    ``of`` is the operation that an undo or redo is about, ``directory`` where a fork would put
    its files.
    """

    kind: str
    planning: Planning
    going: Going
    of: Move | None = None
    directory: str | None = None

    def plan(self, tb: Takeback, overrides: Overrides = NO_OVERRIDES) -> Plan:
        """Returns what it would change; changes nothing."""
        return self.planning(tb, overrides)

    def go(
        self, tb: Takeback, overrides: Overrides = NO_OVERRIDES, *, shown: Plan | None
    ) -> Outcome | None:
        """Carries it out as ``shown``; None if another plan is the right one meanwhile.

        Then nothing was done, and the new plan is to be shown and asked about.
        """
        try:
            return self.going(tb, overrides, shown)
        except Refused:
            if shown is None:
                raise
            again = self.plan(tb, overrides)
            if again.same_changes(shown) and again.refused == shown.refused:
                raise
            return None


def rewind(
    target: Checkpoint,
    paths: Iterable[str | bytes] = (),
    *,
    scope: str,
    ignored: bool = False,
) -> Proposal:
    """Returns the proposal of going to a checkpoint."""
    named = tuple(paths)
    return Proposal(
        REWIND,
        lambda tb, overrides: tb.plan(
            target, named, scope=scope, ignored=ignored, overrides=overrides
        ),
        lambda tb, overrides, shown: tb.rewind(
            target, named, scope=scope, ignored=ignored, overrides=overrides, shown=shown
        ),
    )


def fork(
    target: Checkpoint, *, files: bool = False, worktree: str | None = None, git: bool = False
) -> Proposal:
    """Returns the proposal of beginning a new session from a checkpoint."""
    return Proposal(
        FORK,
        lambda tb, overrides: tb.plan_fork(
            target, files=files, worktree=worktree, git=git, overrides=overrides
        ),
        lambda tb, overrides, shown: tb.fork(
            target, files=files, worktree=worktree, git=git, overrides=overrides, shown=shown
        ),
        directory=worktree,
    )


def step(kind: str, of: Move) -> Proposal:
    """Returns the proposal of an undo or redo of an operation, the newest that there is."""
    if kind == UNDO:
        return Proposal(
            kind,
            lambda tb, overrides: tb.plan_undo(overrides=overrides),
            lambda tb, overrides, shown: tb.undo(overrides=overrides, shown=shown),
            of,
        )
    return Proposal(
        kind,
        lambda tb, overrides: tb.plan_redo(overrides=overrides),
        lambda tb, overrides, shown: tb.redo(overrides=overrides, shown=shown),
        of,
    )
