"""The way through the picker's questions, one stage after the other.

    timeline ─ actions ─ plan ─ (each conflict, each refusal) ─ plan ─ doing ─ after ─ timeline
                 │        │                                                      │
                 │      the plan that keeps your own edits       taken back: plan ─ doing ─ after
              a label, a directory

Esc goes one stage back. The operations decide everything; this only asks and shows.
"""

from __future__ import annotations

import os
from functools import partial

from takeback.app import actions
from takeback.app import proposal as proposals
from takeback.app.actions import destination_of
from takeback.app.proposal import Disputes, only_ticked
from takeback.errors import UsageError
from takeback.model.coverage import NO_OVERRIDES
from takeback.model.operation import FILES
from takeback.tui.dialog import ActionsScreen, ConflictScreen, Progress, Recovery, TextPrompt
from takeback.tui.picker import OperationsScreen
from takeback.tui.plan import RESUME, TAKE_BACK, AfterScreen, PlanScreen, RefusalScreen
from takeback.words import choices as words
from takeback.words import plans
from takeback.words.outcomes import way_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from takeback.app.actions import ActionName, Doing
    from takeback.app.engine import Engine
    from takeback.app.proposal import Proposal, Ticked
    from takeback.app.threads import WorkspaceThread
    from takeback.fork.fork import Choices
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.conflicts import ConflictChoices
    from takeback.model.coverage import Overrides
    from takeback.model.operation import Outcome, Plan, StepKind
    from takeback.timeline.timeline import TimelineEntry
    from takeback.tui.picker import PickerApp

    T = TypeVar("T")


class Flow:
    """One run through the picker's questions, from a key on the timeline to what was done."""

    def __init__(self, app: PickerApp, workspace: WorkspaceThread) -> None:
        self._app = app
        self._workspace = workspace
        self._progress = Progress(app, workspace)
        self._recovery = Recovery(app, workspace)

    async def travel(self, entry: TimelineEntry, ticked: Ticked) -> Outcome | None:
        """Asks what to do at an entry and does it; returns the last outcome, if there is one."""
        return await self._recovery.guarded(self._travel(entry, ticked))

    async def step(self, kind: StepKind) -> Outcome | None:
        """Undoes or redoes the last operation, showing the plan first like everything else."""
        return await self._recovery.guarded(self._step(kind))

    async def operations(self) -> Outcome | None:
        """Shows the operation log, and goes to before or after an operation chosen there."""
        return await self._recovery.guarded(self._operations())

    async def label(self, entry: TimelineEntry) -> None:
        """Asks for the label of an entry's checkpoint."""
        await self._recovery.guarded(self._label(entry.checkpoint.id))

    # -- the stages

    async def _travel(self, entry: TimelineEntry, ticked: Ticked) -> Outcome | None:
        if not await self._recovery.is_whole():
            return None
        destination = destination_of(entry)
        at: ActionName | None = None
        while True:
            found = await self._choices(destination.checkpoint)
            offered = actions.actions(found, entry, destination, ticked)
            chosen = await self._app.push_screen_wait(ActionsScreen(found.about, offered, at=at))
            if chosen is None or chosen.name == actions.CANCEL:
                return None
            at = name = chosen.name
            if name == actions.END or name == actions.BEFORE:
                destination = destination.turned()
                at = None
                continue
            if name == actions.COPY:
                self._app.copy_to_clipboard(found.checkpoint.id)
                self._app.notify(f"Copied: {found.checkpoint.id}", markup=False)
                return None
            if name == actions.LABEL:
                if await self._label(found.checkpoint.id):
                    return None
                continue
            proposal = await self._proposal(name, found, ticked)
            if proposal is None:
                continue
            outcome = await self._agree_and_go(proposal)
            if outcome is not None:
                return await self._arrive(proposal, outcome)

    async def _choices(self, checkpoint: str) -> Choices:
        return await self._progress.during(words.LOOKING, lambda tb: tb.choices(checkpoint))

    async def _proposal(self, name: Doing, found: Choices, ticked: Ticked) -> Proposal | None:
        """Returns what is to be done; None if the person stepped back from a directory's name."""
        directory = None
        if name == actions.FORK_DIRECTORY:
            root = os.fsdecode(await self._workspace.ask(lambda tb: tb.root))
            directory = await self._checked(
                (words.DIRECTORY, words.DIRECTORY_ABOUT, f"{root}-{found.checkpoint.id[:4]}"),
                lambda tb, typed: tb.new_directory(os.path.expanduser(typed)),
            )
            if directory is None:
                return None
        made = actions.proposal_of(name, found, ticked=ticked.paths, directory=directory)
        if name != actions.TICKED or not ticked.hunks:
            return made
        return await self._progress.during(
            words.PLANNING, lambda tb: only_ticked(tb, made, ticked.hunks)
        )

    async def _label(self, checkpoint: str) -> bool:
        """Gives a checkpoint a label; False if the person stepped back."""
        before = await self._workspace.ask(lambda tb: tb.find(checkpoint))
        after = await self._checked(
            (f"Label {checkpoint}", words.LABEL_ABOUT, before.label or ""),
            lambda tb, typed: tb.label(before, typed or None),
        )
        if after is None:
            return False
        self._app.notify(words.labelled(before, after), markup=False)
        return True

    async def _checked(
        self,
        asked: tuple[str, str, str],
        take: Callable[[Engine, str], T],
    ) -> T | None:
        """Asks for a line until it is a valid one; None if the person stepped back."""
        question, about, value = asked
        while True:
            typed = await self._app.push_screen_wait(TextPrompt(question, about, value=value))
            if typed is None:
                return None
            try:
                return await self._workspace.ask(partial(_take, take, typed))
            except UsageError as error:
                about, value = error.message, typed

    async def _agree_and_go(self, asked: Proposal) -> Outcome | None:
        """Shows the plan until it is agreed to and carried out; None if the person stepped back."""
        proposal, overrides, note = asked, NO_OVERRIDES, None
        while True:
            plan = await self._plan(proposal, overrides)
            agreed = [name for name in plans.ANSWERABLE if getattr(overrides, name)]
            answer = await self._app.push_screen_wait(
                PlanScreen(proposal, plan, agreed=agreed, note=note)
            )
            if answer is None:
                return None
            note = None
            ways = {str(what): kept for what, kept in proposal.ways_to_keep(plan).items()}
            if answer in ways:
                done = await self._agree_and_go(ways[answer])
                if done is not None:
                    return done
                continue
            # Stepping back to the plan also withdraws what was waived or chosen on the way.
            if plan.conflicts:
                chosen = await self._chosen(plan, proposal)
                proposal = asked if chosen is None else proposal.choosing(chosen)
                continue
            if plan.refused:
                given = await self._answers(plan)
                overrides = NO_OVERRIDES if given is None else overrides.replace(**given)
                continue
            done = await self._go(proposal, overrides, plan)
            if done is not None:
                return done
            proposal, overrides, note = asked, NO_OVERRIDES, words.NEW_PLAN

    async def _plan(self, proposal: Proposal, overrides: Overrides) -> Plan:
        return await self._progress.during(words.PLANNING, lambda tb: proposal.plan(tb, overrides))

    async def _go(self, proposal: Proposal, overrides: Overrides, plan: Plan) -> Outcome | None:
        return await self._progress.during(
            words.under_way(proposal.kind),
            lambda tb: proposal.go(tb, overrides, shown=plan),
            changes=True,
            noted=lambda outcome: self._app.note_done(words.farewell(outcome, proposal.of)),
        )

    async def _answers(self, plan: Plan) -> dict[str, bool] | None:
        """Asks about each refusal separately; returns the chosen fields of ``Overrides``."""
        given: dict[str, bool] = {}
        objections = plans.objections(plan)
        for number, refusal in enumerate(objections, 1):
            question = plans.refusal(refusal, plan)
            answer = await self._app.push_screen_wait(
                RefusalScreen(question, number, len(objections))
            )
            if answer is None:
                return None
            given[answer.field] = True
        return given

    async def _chosen(self, plan: Plan, proposal: Proposal) -> ConflictChoices | None:
        """Asks about each disputed stretch; Esc goes back to the one before, then to the plan."""
        disputes = Disputes(plan.conflicts, plan.kind, proposal.choices)
        while (dispute := disputes.next) is not None:
            number = await self._app.push_screen_wait(ConflictScreen(dispute))
            if number is not None:
                disputes.settle(dispute.conflict.choices[number - 1])
            elif not disputes.step_back():
                return None
        return disputes.chosen

    async def _arrive(self, proposal: Proposal, outcome: Outcome) -> Outcome:
        """Shows what was done, again each time it is taken back from there."""
        while True:
            choice = await self._app.push_screen_wait(AfterScreen(outcome, proposal.of))
            if choice == RESUME:
                self._app.resume_with = outcome.resume
                self._app.exit()
            back = way_back(outcome)
            if choice != TAKE_BACK or back is None:
                return outcome
            again = await self._next_step(back)
            done = await self._agree_and_go(again)
            if done is not None:
                proposal, outcome = again, done

    async def _next_step(self, kind: StepKind) -> Proposal:
        return await self._workspace.ask(lambda tb: proposals.next_step(tb, kind))

    async def _step(self, kind: StepKind) -> Outcome | None:
        if not await self._recovery.is_whole():
            return None
        proposal = await self._next_step(kind)
        outcome = await self._agree_and_go(proposal)
        return None if outcome is None else await self._arrive(proposal, outcome)

    async def _operations(self) -> Outcome | None:
        if not await self._recovery.is_whole():
            return None
        while True:
            log, now = await self._workspace.ask(lambda tb: (tb.operation_log(), tb.now))
            name = await self._app.push_screen_wait(OperationsScreen(log, now))
            if name is None:
                return None
            proposal = proposals.rewind(await self._found(name), scope=FILES)
            outcome = await self._agree_and_go(proposal)
            if outcome is not None:
                return await self._arrive(proposal, outcome)

    async def _found(self, name: str) -> Checkpoint:
        return await self._workspace.ask(lambda tb: tb.find(name))


def _take(take: Callable[[Engine, str], T], typed: str, tb: Engine) -> T:
    return take(tb, typed)
