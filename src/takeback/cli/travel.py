"""What rewind, undo and redo have in common: show the plan, ask, go, say what was done."""

from __future__ import annotations

import click

from takeback.cli.terminal import agrees
from takeback.errors import PartlyDone, Refused, UsageError
from takeback.model.policy import Overrides
from takeback.words import documents, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.cli.options import Call
    from takeback.model.operation import Operation
    from takeback.model.plan import Outcome, Plan

DECLINED = 1
# A path left for one of these was never meant to change; any other makes the exit status 3.


def override_options(function: Callable[..., int]) -> Callable[..., int]:
    """Adds the flags that waive a precondition; ``overrides`` collects them."""
    for name, about in (
        ("--force", "All of these, except --keep-others."),
        ("--keep-others", "Leave the files that another session changed since."),
        ("--overwrite-others", "Also files that another session changed since."),
        ("--during-turn", "Also while an agent is working here."),
        ("--other-branch", "Also when another branch is checked out than then."),
        ("--during-git", "Also while a merge, rebase or the like is in progress."),
        ("--allow-mass-delete", "Also when most of the files would be deleted."),
    ):
        function = click.option(name, is_flag=True, help=about)(function)
    return function


def overrides(
    *,
    allow_mass_delete: bool,
    during_git: bool,
    other_branch: bool,
    during_turn: bool,
    overwrite_others: bool,
    keep_others: bool,
    force: bool,
) -> Overrides:
    """Returns which preconditions are waived."""
    if keep_others and overwrite_others:
        raise UsageError("--keep-others and --overwrite-others say opposite things")
    if force:
        return Overrides.all().replace(keep_others=keep_others, overwrite_others=not keep_others)
    return Overrides(
        mass_delete=allow_mass_delete,
        during_git=during_git,
        other_branch=other_branch,
        during_turn=during_turn,
        overwrite_others=overwrite_others,
        keep_others=keep_others,
    )


class Journey:
    """One rewind, undo or redo: how it is planned, how it is done, and how it is called."""

    def __init__(
        self,
        call: Call,
        kind: str,
        *,
        plan: Callable[[], Plan],
        go: Callable[[Plan | None], Outcome],
        of: Operation | None = None,
    ) -> None:
        self._call = call
        self._output = call.output
        self._kind = kind
        self._plan = plan
        self._go = go
        self._of = of

    def show_plan(self) -> int:
        """Answers with the plan and changes nothing."""
        plan = self._plan()
        self._output.document("plan", documents.plan(plan))
        if plan.does_nothing:
            self._output.line(f"Nothing to do: the files are already at {plan.target.id}.")
        else:
            question = render.question(self._kind, plan, self._of).rstrip("?")
            self._output.line(f"Plan: {question[0].lower()}{question[1:]}.")
        paint = self._output.paint
        self._output.lines(render.plan_lines(plan, paint, whole=self._call.verbose))
        return 0

    def travel(self) -> int:
        """Asks, unless told to go ahead, and does it."""
        if self._call.yes:
            return self._arrive(self._go(None))
        while True:
            plan = self._plan()
            if not plan.does_nothing and not self._agreed(plan):
                self._output.note("Nothing was changed.")
                return DECLINED
            try:
                return self._arrive(self._go(plan))
            except Refused:
                if self._plan().same_changes(plan):
                    raise
                self._output.note("The files changed meanwhile; this is the new plan.")

    def go_ahead(self) -> int:
        """Does it without a question: nothing that is there is changed."""
        return self._arrive(self._go(None))

    def _agreed(self, plan: Plan) -> bool:
        paint = self._output.paint_stderr
        self._output.aside(render.plan_lines(plan, paint, whole=self._call.verbose))
        if plan.refused:
            flags = " ".join(refusal.flag for refusal in plan.refused if refusal.flag)
            raise Refused(
                plan.refused[0].message,
                hint=f"to do it all the same: {flags}" if flags else "nothing was changed",
                flag=plan.refused[0].flag,
            )
        return agrees(render.question(self._kind, plan, self._of))

    def _arrive(self, outcome: Outcome) -> int:
        self._output.document(self._kind, documents.outcome(outcome))
        lines = render.outcome_lines(outcome, self._of)
        if self._call.quiet:
            lines = render.left_alone_lines(outcome.left_alone, "Left alone")
        self._output.lines(lines)
        return 0 if outcome.whole else PartlyDone.exit_status


def require_yes(call: Call, what: str) -> None:
    """Raises Refused when nobody can be asked and nobody has said yes."""
    if not call.yes and not call.can_ask:
        raise Refused(
            f"{what} changes files, and there is no terminal to ask at",
            hint="look at the plan with --dry-run, then say --yes",
            flag="--yes",
        )
