"""What rewind, undo and redo have in common: show the plan, ask, do it, say what was done."""

from __future__ import annotations

import click

from takeback.app import proposal as proposals
from takeback.cli.conflicts import Conflicts
from takeback.cli.picking import Picking
from takeback.cli.refusals import Refusals
from takeback.cli.terminal import agrees, ask
from takeback.errors import PartlyDone, Refused
from takeback.model.coverage import Overrides
from takeback.model.merge import CHOICES
from takeback.model.operation import SUMMARISE
from takeback.words import choices, documents, outcomes, plans
from takeback.words.outcomes import COMMAND_LINE
from takeback.words.text import NOTHING_CHANGED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from takeback.app.engine import Engine
    from takeback.app.proposal import Proposal
    from takeback.cli.call import Call
    from takeback.model.operation import Outcome, Plan
    from takeback.words.text import Paint

DECLINED = 1


_OVERRIDES = {
    "--allow-mass-delete": "Also when most of the files would be deleted.",
    "--during-git": "Also while a merge, rebase or the like is in progress.",
    "--other-branch": "Also when another branch is checked out than then.",
    "--during-turn": "Also while an agent is working here.",
    "--overwrite-others": "Also files that another session changed since.",
    "--keep-others": "Leave the files that another session changed since.",
    "--force": "All of these, except --keep-others.",
}
_MERGED = {
    **{name: _OVERRIDES[name] for name in ("--allow-mass-delete", "--during-git", "--during-turn")},
    "--force": "All of these.",
}
"""Those for what is merged into the files as they are: nobody's changes are overwritten by it."""


def override_options(function: Callable[..., int]) -> Callable[..., int]:
    """Adds the flags that waive a precondition; ``overrides`` collects them."""
    return _flags(function, _OVERRIDES)


def merged_override_options(function: Callable[..., int]) -> Callable[..., int]:
    """Adds the flags that waive what can stand against a merge."""
    return _flags(function, _MERGED)


def _flags(function: Callable[..., int], flags: Mapping[str, str]) -> Callable[..., int]:
    for name, about in reversed(list(flags.items())):
        function = click.option(name, is_flag=True, help=about)(function)
    return function


def conflicts_option(function: Callable[..., int]) -> Callable[..., int]:
    """Adds the option that answers all conflicts of a merge at once."""
    about = "Where both changed the same: ours (as it is), theirs, markers, skip (the whole file)."
    kind = click.Choice(CHOICES)
    return click.option("--conflicts", metavar="CHOICE", type=kind, help=about)(function)


def overrides(**waived: bool) -> Overrides:
    """Returns which preconditions are waived."""
    flags = [f"--{name.replace('_', '-')}" for name, is_on in waived.items() if is_on]
    found = outcomes.overrides(flag for flag in flags if flag in outcomes.FLAGS)
    if "--force" not in flags:
        return found
    return Overrides.all().replace(
        keep_others=found.keep_others, overwrite_others=not found.keep_others
    )


class Dialogue:
    """One proposal at the command line: the plan is shown, asked about, and carried out.

    ``command`` is how takeback is called for the workspace that it is about.
    """

    def __init__(
        self,
        call: Call,
        tb: Engine,
        proposal: Proposal,
        allowed: Overrides,
        command: str = "takeback",
    ) -> None:
        self._command = command
        self._call = call
        self._output = call.output
        self._tb = tb
        self._proposal = self._asked = proposal.replace(whose=call.whose)
        self._allowed = self._given = allowed

    def hold(self, *, patch: bool = False) -> int:
        """Shows, asks and does what the call wants; returns the exit status.

        With ``patch`` hunks are asked about first. Raises Refused if nobody can be asked.
        """
        if patch and not self.pick():
            return self.declined()
        if self._call.dry_run:
            return self.show_plan()
        require_yes(self._call, self._proposal.kind)
        return self.ask_and_go()

    def pick(self) -> bool:
        """Asks hunk by hunk what of the plan is wanted; False if nothing is.

        What is in conflict is settled first: nobody can pick what is not decided.
        """
        self._recover()
        plan = self._plan()
        while plan.conflicts:
            self._show(plan)
            if not self._chosen(plan):
                return False
            plan = self._plan()
        if plan.does_nothing:
            return True
        output = self._output
        asking = Picking(self._tb, lambda lines: output.aside(lines), output.paint_stderr)
        picked = asking.answers(plan)
        if picked:
            choices = self._proposal.choices.replace(picked=picked)
            self._proposal = self._asked = self._proposal.choosing(choices)
        return bool(picked)

    def _recover(self) -> None:
        recovered = proposals.recover_before(self._tb, self._proposal.kind)
        if recovered is not None:
            self._output.note(recovered.sentence())

    def show_plan(self) -> int:
        """Answers with the plan and changes nothing."""
        plan = self._plan()
        self._output.document("plan", documents.plan(plan))
        if plan.does_nothing:
            self._output.line(outcomes.nothing_to_do(plan))
        else:
            question = outcomes.question(self._proposal.kind, plan, self._proposal.of).rstrip("?")
            self._output.line(f"Plan: {question[0].lower()}{question[1:]}.")
        paint = self._output.paint
        self._output.lines(self._lines(plan, paint))
        return 0

    def ask_and_go(self) -> int:
        """Asks, unless told to go ahead, and carries it out."""
        self._recover()
        if self._call.yes:
            return self.go_ahead()
        before: Plan | None = None
        while True:
            plan = self._plan()
            if not plan.does_nothing:
                if before is None or not plan.same_changes(before):
                    self._show(plan)
                before = plan
                if plan.conflicts:
                    if not self._chosen(plan):
                        return self.declined()
                    continue
                if plan.refused:
                    if not self._waived(plan):
                        return self.declined()
                    continue
                if not agrees(outcomes.question(self._proposal.kind, plan, self._proposal.of)):
                    return self.declined()
            done = self._proposal.go(self._tb, self._allowed, shown=plan)
            if done is not None:
                return self._arrive(done)
            self._output.note(choices.NEW_PLAN)
            # What was waived or chosen was so for the files as they were.
            self._proposal, self._allowed, before = self._asked, self._given, None

    def go_ahead(self) -> int:
        """Carries it out without asking: it was agreed to, or nothing existing is changed."""
        self._call.tell_whose()
        return self._arrive(self._proposal.carry_out(self._tb, self._allowed))

    def _plan(self) -> Plan:
        return self._proposal.plan(self._tb, self._allowed)

    def _show(self, plan: Plan) -> None:
        paint = self._output.paint_stderr
        self._output.aside(self._lines(plan.replace(refused=()), paint))

    def _lines(self, plan: Plan, paint: Paint) -> Iterator[str]:
        return plans.plan_lines(plan, paint, whole=self._call.verbose, ways=COMMAND_LINE)

    def _waived(self, plan: Plan) -> bool:
        """Asks about each refusal separately; raises Refused if one cannot be waived."""
        if not plans.can_be_answered(plan):
            from takeback.rewind.rewind import refused

            raise refused(plan)
        self._output.aside([plans.questions_first(plan)])
        asking = Refusals(_line, lambda text: self._output.aside([text]), ways="or q")
        given = asking.answers(plan)
        if given is not None:
            self._allowed = self._allowed.replace(**given)
        return given is not None

    def _chosen(self, plan: Plan) -> bool:
        """Asks about each conflict; False if the person steps back."""
        output = self._output
        asking = Conflicts(
            _line, lambda text: output.aside([text]), output.paint_stderr, ways="or q"
        )
        given = asking.answers(plan, self._proposal.choices)
        if given is not None:
            self._proposal = self._proposal.choosing(given)
        return given is not None

    def declined(self) -> int:
        """Says that nothing was done."""
        self._output.note(NOTHING_CHANGED)
        return DECLINED

    def _arrive(self, outcome: Outcome) -> int:
        self._output.document(self._proposal.kind, documents.outcome(outcome))
        lines = outcomes.outcome_lines(
            outcome, self._proposal.of, command=self._command, ways=COMMAND_LINE
        )
        if self._call.quiet:
            lines = outcomes.left_alone_lines(outcome.left_alone, "Left alone", COMMAND_LINE)
        self._output.lines(lines)
        return 0 if outcome.whole else PartlyDone.exit_status


def _line(question: str) -> str | None:
    """Asks; None if the person steps back: q, b, an empty line, the end of the input."""
    typed = ask(question)
    return None if typed.lower() in ("", "b", "q") else typed


def patch_option(function: Callable[..., int]) -> Callable[..., int]:
    """Adds the option to be asked hunk by hunk."""
    about = "Ask about each hunk, as git does: take it or leave it, split it, edit it."
    return click.option("-p", "--patch", is_flag=True, help=about)(function)


def require_terminal(call: Call, what: str) -> None:
    """Raises Refused if hunks cannot be asked about."""
    if not call.can_ask:
        raise Refused(
            f"{what} --patch asks about each hunk, and there is no terminal to ask at",
            hint="name the files instead: -- PATH...",
        )


_DOES = {SUMMARISE: "makes a session of what a program says"}


def require_yes(call: Call, what: str) -> None:
    """Raises Refused if nobody can be asked and yes was not given."""
    if not call.yes and not call.can_ask:
        does = _DOES.get(what, "changes files")
        raise Refused(
            f"{what} {does}, and there is no terminal to ask at",
            hint="look at the plan with --dry-run, then say --yes",
            flag="--yes",
        )
