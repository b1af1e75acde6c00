"""Proposals: what has not been done yet, what a person ticked of it, decided and agreed to."""

from __future__ import annotations

from takeback.errors import Refused
from takeback.model.checkpoint import Change
from takeback.model.conflicts import NOTHING_CHOSEN, SKIP, Conflict
from takeback.model.coverage import NO_OVERRIDES, Overrides
from takeback.model.operation import APPLY, FORK, REVERT, REWIND, SUMMARISE, UNDO, Move, step_named
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.rewind.request import ALL_OTHERS, EDITS, KEEP_NOTHING, NOTHING, Keeping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from takeback.app.engine import Engine
    from takeback.merge.revert import CarriedTurn
    from takeback.model.agent import SummaryWay
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.conflicts import ConflictChoice, ConflictChoices, Pick
    from takeback.model.entries import Candidate
    from takeback.model.ids import CheckpointId
    from takeback.model.lines import Disputed
    from takeback.model.operation import OperationKind, Outcome, Plan, ScopeKind, StepKind
    from takeback.retention.prune import Prune, Pruning
    from takeback.rewind.request import Kept
    from takeback.rewind.rewind import Recovered
    from takeback.timeline.names import NamedTurn

    Planning = Callable[[Engine, Overrides], Plan]
    Going = Callable[[Engine, Overrides, Plan | None], Outcome]

# -- proposals
#
# A proposal is planned, shown, agreed to and carried out; the words and keys for that are up to the
# face.


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


# -- plans that were shown to a person, by name, so that what is done is what they agreed to
#
# For faces that answer one request at a time and keep only a name between them: a number for an
# extension, which sends its request again; a nonce for a client of the server, which is all it
# sends.


AGAIN = "ask for the plan again and show it"


class Agreement(Value):
    """What a person was shown: an operation, its plan, what they waived; and whose it is."""

    proposal: Proposal
    plan: Plan
    overrides: Overrides = NO_OVERRIDES
    workspace: str = ""


class PruneAgreement(Value):
    """What a person was shown before checkpoints lose their files.

    ``planning`` decides it again: what it says then has to be what was ``shown``.
    """

    planning: Callable[[Engine], Prune]
    shown: Pruning
    workspace: str

    def carry_out(self, tb: Engine) -> Pruning | None:
        """Does it; None if something else would go now."""
        planned = self.planning(tb)
        now = planned.outlook()
        same = now.dropped == self.shown.dropped and now.sessions == self.shown.sessions
        return tb.prune(planned) if same else None


class Agreements:
    """Remembers the newest plans that were shown, each for ``seconds`` if that is given."""

    def __init__(
        self,
        kept: int,
        new_name: Callable[[], object],
        *,
        seconds: float | None = None,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._kept = kept
        self._new_name = new_name
        self._seconds = seconds
        self._clock = clock
        self._shown: dict[object, tuple[Agreement | PruneAgreement, float]] = {}

    def remember(self, agreement: Agreement | PruneAgreement) -> Any:
        """Returns the name with which to agree to what is shown now."""
        name = self._new_name()
        self._shown[name] = (agreement, self._clock())
        while len(self._shown) > self._kept:
            del self._shown[next(iter(self._shown))]
        return name

    def plan(self, name: object, proposal: Proposal) -> Plan | None:
        """Returns the plan with that name, None if no name is given.

        Raises Refused if it is unknown, no longer known, or for something else.
        """
        if name is None:
            return None
        known = self._known(name)
        if not isinstance(known, Agreement) or not known.proposal.is_about_the_same(proposal):
            raise Refused(f"plan {name} is of something else", hint=AGAIN)
        return known.plan

    def take(self, name: object) -> Agreement | PruneAgreement:
        """Returns what a name stands for, once: it is forgotten.

        Raises Refused if it is unknown, or too old.
        """
        known = self._known(name)
        del self._shown[name]
        return known

    def _known(self, name: object) -> Agreement | PruneAgreement:
        hashable = type(name) in (int, str)
        found, since = self._shown.get(name, (None, 0.0)) if hashable else (None, 0.0)
        if found is None:
            raise Refused(f"no plan {name!r} is known", hint=AGAIN)
        if self._seconds is not None and self._clock() - since > self._seconds:
            del self._shown[name]
            raise Refused("that plan was shown too long ago", hint=AGAIN)
        return found


# -- disputes: the conflicts of a plan as questions, one disputed stretch after the other
#
#     a.txt  stretch 1 ── a.txt  stretch 2 ── b.bin ── ... ── what was chosen
#
# Whoever leaves a whole file as it is is not asked about its other stretches.


class Dispute(Value):
    """One question: a conflict, the stretch of it if it has any, and which of how many it is.

    ``kind`` is the operation that it is about.
    """

    conflict: Conflict
    stretch: Disputed | None
    number: int
    of: int
    kind: OperationKind


class Disputes:
    """Asks about the conflicts of an operation in order.

    ``before`` is what was chosen until now about others.
    """

    def __init__(
        self,
        found: Iterable[Conflict],
        kind: OperationKind,
        before: ConflictChoices = NOTHING_CHOSEN,
    ) -> None:
        self._found = tuple(found)
        self._kind = kind
        self._before = before
        self._asked = [
            (at, stretch)
            for at, conflict in enumerate(self._found)
            for stretch in conflict.hunks or (None,)
        ]
        self._given: list[tuple[int, ConflictChoice]] = []
        """The questions that were answered, each with the choice."""

    def __len__(self) -> int:
        return len(self._asked)

    def __iter__(self) -> Iterator[Dispute]:
        return map(self._dispute, range(len(self)))

    @property
    def next(self) -> Dispute | None:
        """Returns the question that comes next; None if all are answered."""
        number = self._next()
        return None if number == len(self) else self._dispute(number)

    def _dispute(self, number: int) -> Dispute:
        at, stretch = self._asked[number]
        return Dispute(self._found[at], stretch, number + 1, len(self), self._kind)

    def _next(self) -> int:
        if not self._given:
            return 0
        number, choice = self._given[-1]
        at, _ = self._asked[number]
        number += 1
        while choice == SKIP and number < len(self) and self._asked[number][0] == at:
            number += 1
        return number

    def settle(self, choice: ConflictChoice) -> None:
        """Answers the question that comes next."""
        self._given.append((self._next(), choice))

    def step_back(self) -> bool:
        """Withdraws the last answer; False if there is none."""
        if self._given:
            self._given.pop()
            return True
        return False

    @property
    def chosen(self) -> ConflictChoices:
        """Returns everything that was chosen, now and before."""
        given: dict[int, list[ConflictChoice]] = {}
        for number, choice in self._given:
            given.setdefault(self._asked[number][0], []).append(choice)
        return self._before.with_more(
            (self._found[at], _whole(self._found[at], choices)) for at, choices in given.items()
        )


def _whole(conflict: Conflict, choices: list[ConflictChoice]) -> tuple[ConflictChoice, ...]:
    """Returns a choice for each stretch: who skips the file skips all of it."""
    if SKIP in choices:
        choices = [SKIP] * conflict.count
    return tuple(choices)


# -- what a person has ticked of what a rewind would change: whole files, and hunks of others


class TickedHunks(Value):
    """Some hunks of one text, by their place in ``TextChange.shown``, and the change they are of.

    If the file or what it would become is another one since, the numbers mean nothing.
    """

    change: Change
    numbers: frozenset[int]


class Ticked(Value):
    """Whole files by path, and hunks of others; paths begin at the root of the workspace."""

    files: frozenset[bytes] = frozenset()
    hunks: tuple[TickedHunks, ...] = ()

    @property
    def paths(self) -> frozenset[bytes]:
        """Returns every path of which something is ticked."""
        return self.files | {one.change.path for one in self.hunks}

    @property
    def hunk_count(self) -> int:
        return sum(len(one.numbers) for one in self.hunks)


NOTHING_TICKED = Ticked()


def only_ticked(tb: Engine, asked: Proposal, hunks: Sequence[TickedHunks]) -> Proposal:
    """Returns a rewind of some files as one that takes of some of them the ticked hunks alone.

    Raises Refused if one of them is not what it was when its hunks were ticked, and for files that
    cannot go together with hunks.
    """
    plan = asked.plan(tb)
    waiting = {one.change.path: one for one in hunks}
    picked: dict[bytes, Pick] = {}
    for offer in tb.offers(plan):
        one = waiting.pop(offer.change.path, None)
        if one is None:
            picked |= offer.whole()
        elif one.change == offer.change:
            picked[one.change.path] = _pick(tb, one)
        else:
            raise _changed(one)
    for one in waiting.values():
        raise _changed(one)
    _check_files(plan, picked, hunks)
    return asked.choosing(asked.choices.replace(picked=picked))


def _pick(tb: Engine, ticked: TickedHunks) -> Pick:
    """Returns what a file becomes by some of its hunks; its permission bits stay as they are."""
    text, old = tb.text_change(ticked.change), ticked.change.old
    if text is None or old is None:
        raise _changed(ticked)
    taken = [
        one
        for number, shown in enumerate(text.shown())
        if number in ticked.numbers
        for one in text.replacements(shown)
    ]
    return text.pick(ticked.change, old.mode, taken)


def _changed(ticked: TickedHunks) -> Refused:
    return Refused(
        f"the hunks of {to_text(ticked.change.path)} are others now: it changed since they were "
        "ticked",
        hint="look at what going there would change now, and tick them again",
    )


def _check_files(plan: Plan, picked: dict[bytes, Pick], hunks: Sequence[TickedHunks]) -> None:
    """Raises Refused for a whole file that would be left out, or be taken without a question.

    What no snapshot has cannot be picked. Hunks were looked at, so nothing is asked about them;
    that another session changed a file is asked about where it is ticked alone.
    """
    for change in (*plan.writes, *plan.deletes):
        entry = change.new or change.old
        if entry is not None and not entry.is_directory and change.path not in picked:
            raise _not_together(change.path, "git ignores")
    looked_at = {one.change.path for one in hunks}
    for path in plan.others:
        if path not in looked_at:
            raise _not_together(path, "another session changed since")


def _not_together(path: bytes, why: str) -> Refused:
    return Refused(
        f"single hunks cannot go together with {to_text(path)}, which {why}",
        hint="tick files only, or take it back by itself",
    )
