"""Proposals: an operation that has not been done yet, the same for every face that asks about it.

A proposal is planned, shown, agreed to and carried out; the words and keys for that are up to the
face.
"""

from __future__ import annotations

from takeback.errors import Refused
from takeback.model.coverage import NO_OVERRIDES, Overrides
from takeback.model.merge import NOTHING_CHOSEN
from takeback.model.operation import APPLY, FORK, REVERT, REWIND, SUMMARISE, UNDO, Move, step_named
from takeback.model.value import Value
from takeback.rewind.request import ALL_OTHERS, EDITS, KEEP_NOTHING, NOTHING, Keeping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from takeback.app.engine import Engine
    from takeback.merge.revert import CarriedTurn
    from takeback.model.agent import SummaryWay
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import CheckpointId
    from takeback.model.merge import ConflictChoices
    from takeback.model.operation import OperationKind, Outcome, Plan, ScopeKind, StepKind
    from takeback.model.timeline import Candidate
    from takeback.rewind.request import Kept
    from takeback.rewind.rewind import Recovered
    from takeback.timeline.names import NamedTurn

    Planning = Callable[[Engine, Overrides], Plan]
    Going = Callable[[Engine, Overrides, Plan | None], Outcome]


_FILES_LIKE: dict[OperationKind, OperationKind] = {FORK: REWIND}


class Proposal(Value):
    """One rewind, revert, fork, summary, undo or redo that somebody is considering.

    ``goal`` is the checkpoint that it goes to or begins at; for an undo or redo ``of`` is the
    operation that it is about. ``directory`` is where a fork would put its files. ``keeping`` is
    what it keeps of the time since, with what is chosen about that; ``with_keeping`` returns the
    same proposal with another one, and without it there is nothing to choose. ``whose`` is the
    session that it is about, if none was named and there are others.
    """

    kind: OperationKind
    planning: Planning
    going: Going
    goal: CheckpointId | None = None
    of: Move | None = None
    directory: str | None = None
    keeping: Keeping = KEEP_NOTHING
    with_keeping: Callable[[Keeping], Proposal] | None = None
    whose: Candidate | None = None

    @property
    def choices(self) -> ConflictChoices:
        """Returns what has been chosen so far, about its conflicts and what is wanted of it."""
        return self.keeping.choices

    def choosing(self, choices: ConflictChoices) -> Proposal:
        """Returns the same proposal with other choices."""
        assert self.with_keeping is not None, "only of what merges can be chosen"
        return self.with_keeping(self.keeping.replace(choices=choices)).replace(whose=self.whose)

    def ways_to_keep(self, plan: Plan) -> dict[Kept, Proposal]:
        """Returns what keeps more than ``plan`` does: the person's edits, all but the session's.

        The one if it would take back what they changed by hand, the other if it would take back
        what another session changed; nothing for what cannot keep anything.
        """
        with_keeping = self.with_keeping
        if self.kind != REWIND or with_keeping is None or self.keeping.what != NOTHING:
            return {}
        lost: dict[Kept, tuple[bytes, ...]] = {EDITS: plan.outside, ALL_OTHERS: plan.others}
        return {
            what: with_keeping(Keeping(what)).replace(whose=self.whose)
            for what, paths in lost.items()
            if paths
        }

    def plan(self, tb: Engine, overrides: Overrides = NO_OVERRIDES) -> Plan:
        """Returns what it would change; changes nothing."""
        return self.planning(tb, overrides).replace(whose=self.whose)

    def carry_out(
        self, tb: Engine, overrides: Overrides = NO_OVERRIDES, *, shown: Plan | None = None
    ) -> Outcome:
        """Does it; raises Refused if ``shown`` is given and is no longer the plan."""
        return self.going(tb, overrides, shown)

    def go(
        self, tb: Engine, overrides: Overrides = NO_OVERRIDES, *, shown: Plan | None
    ) -> Outcome | None:
        """Carries it out as ``shown``; None if that plan has become outdated.

        Then nothing was done, and the new plan has to be shown and agreed to.
        """
        try:
            return self.carry_out(tb, overrides, shown=shown)
        except Refused:
            if shown is None:
                raise
            again = self.plan(tb, overrides)
            if again.same_changes(shown) and again.refused == shown.refused:
                raise
            return None

    def is_about_the_same(self, other: Proposal) -> bool:
        """Tells whether a plan for one is also a plan for the other.

        A fork that takes the files along does the same to them as a rewind to its beginning.
        """
        of, others = (None if one.of is None else one.of.id for one in (self, other))
        return (
            _FILES_LIKE.get(self.kind, self.kind) == _FILES_LIKE.get(other.kind, other.kind)
            and self.goal == other.goal
            and of == others
        )


def recover_before(tb: Engine, kind: OperationKind) -> Recovered | None:
    """Recovers what was interrupted: every plan that is carried out is about whole files.

    Raises RecoveredInstead for an undo or redo: they mean another operation then. Called before
    their proposal is made, as the interrupted operation may be the only one.
    """
    step = step_named(kind)
    if step is None:
        return tb.recover()
    tb.recover_instead_of(step)
    return None


def rewind(
    target: Checkpoint,
    paths: Iterable[str | bytes] = (),
    *,
    scope: ScopeKind,
    ignored: bool = False,
    keeping: Keeping = KEEP_NOTHING,
) -> Proposal:
    """Returns the proposal of going to a checkpoint."""
    named = tuple(paths)
    return Proposal(
        REWIND,
        lambda tb, overrides: tb.plan(
            target, named, scope=scope, ignored=ignored, overrides=overrides, keeping=keeping
        ),
        lambda tb, overrides, shown: tb.rewind(
            target,
            named,
            scope=scope,
            ignored=ignored,
            overrides=overrides,
            keeping=keeping,
            shown=shown,
        ),
        target.id,
        keeping=keeping,
        with_keeping=lambda other: rewind(
            target, named, scope=scope, ignored=ignored, keeping=other
        ),
    )


def rewind_to(
    tb: Engine,
    name: str,
    *,
    scope: ScopeKind | None = None,
    session: str | None = None,
    keeping: Keeping = KEEP_NOTHING,
) -> Proposal:
    """Returns the proposal of going to what a name means; without a scope, the name decides it."""
    target = tb.find(name, session=session)
    scope = scope or tb.default_scope(name, target, session=session)
    found = rewind(target, scope=scope, keeping=keeping)
    return found.replace(whose=tb.taken(name, session=session))


def revert(
    turns: Sequence[NamedTurn],
    paths: Iterable[str | bytes] = (),
    *,
    choices: ConflictChoices = NOTHING_CHOSEN,
) -> Proposal:
    """Returns the proposal of taking some turns out of the files."""
    named = tuple(paths)
    return Proposal(
        REVERT,
        lambda tb, overrides: tb.plan_revert(turns, named, choices=choices, overrides=overrides),
        lambda tb, overrides, shown: tb.revert(
            turns, named, choices=choices, overrides=overrides, shown=shown
        ),
        keeping=Keeping(choices=choices),
        with_keeping=lambda other: revert(turns, named, choices=other.choices),
    )


def apply(
    brought: CarriedTurn,
    paths: Iterable[str | bytes] = (),
    *,
    choices: ConflictChoices = NOTHING_CHOSEN,
) -> Proposal:
    """Returns the proposal of bringing a turn of another branch into the files."""
    named = tuple(paths)
    return Proposal(
        APPLY,
        lambda tb, overrides: tb.plan_apply(brought, named, choices=choices, overrides=overrides),
        lambda tb, overrides, shown: tb.apply(
            brought, named, choices=choices, overrides=overrides, shown=shown
        ),
        keeping=Keeping(choices=choices),
        with_keeping=lambda other: apply(brought, named, choices=other.choices),
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
        target.id,
        directory=worktree,
    )


def summarise(
    target: Checkpoint, way: SummaryWay, *, text: str | None = None, session: str | None = None
) -> Proposal:
    """Returns the proposal of a new session in which a part of a conversation is a summary.

    ``text`` is that summary, if the person has written it; ``session`` is whose conversation.
    """
    return Proposal(
        SUMMARISE,
        lambda tb, overrides: tb.plan_summary(target, way, text=text, session=session),
        lambda tb, overrides, shown: tb.summarise(
            target, way, text=text, session=session, shown=shown
        ),
        target.id,
    )


def next_step(tb: Engine, kind: StepKind) -> Proposal:
    """Returns the undo or redo that comes next; raises Refused if there is none."""
    found = tb.next_undo() if kind == UNDO else tb.next_redo()
    return step(kind, found.operation)


def step(kind: StepKind, of: Move) -> Proposal:
    """Returns the proposal of an undo or redo of an operation, which is the newest."""
    if kind == UNDO:
        return Proposal(
            kind,
            lambda tb, overrides: tb.plan_undo(overrides=overrides),
            lambda tb, overrides, shown: tb.undo(overrides=overrides, shown=shown),
            of=of,
        )
    return Proposal(
        kind,
        lambda tb, overrides: tb.plan_redo(overrides=overrides),
        lambda tb, overrides, shown: tb.redo(overrides=overrides, shown=shown),
        of=of,
    )
