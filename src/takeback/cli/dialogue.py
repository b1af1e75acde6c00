"""The dialogue about a plan: what is shown, asked, chosen, edited and refused."""

from __future__ import annotations

import os

import click

from takeback.app import proposal as proposals
from takeback.app.proposal import Disputes
from takeback.cli.terminal import agrees, ask, ask_number, not_listed
from takeback.errors import PartlyDone, Refused, UsageError
from takeback.model.conflicts import CHOICES
from takeback.model.coverage import Overrides
from takeback.model.operation import REWIND, SUMMARISE
from takeback.ordinary import ordinary
from takeback.words import choices, documents, outcomes, plans
from takeback.words.outcomes import COMMAND_LINE
from takeback.words.text import NOTHING_CHANGED, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from takeback.app.engine import Engine
    from takeback.app.proposal import Dispute, Proposal
    from takeback.cli.call import Call
    from takeback.merge.picking import Offer
    from takeback.model.checkpoint import Change, Entry
    from takeback.model.conflicts import (
        Conflict,
        ConflictChoice,
        ConflictChoices,
        OtherLines,
        Pick,
        ShownHunk,
        TextChange,
    )
    from takeback.model.operation import OperationKind, Outcome, Plan
    from takeback.words.plans import Question
    from takeback.words.text import Paint

    Say = Callable[[Iterable[str]], None]

# -- the objections to a plan, asked line by line: one question each, as in the picker


class Refusals:
    """Asks with ``ask``, which returns None if the person steps back; ``ways`` says how to."""

    def __init__(
        self, ask: Callable[[str], str | None], say: Callable[[str], None], *, ways: str
    ) -> None:
        self._ask = ask
        self._say = say
        self._ways = ways

    def answers(self, plan: Plan) -> dict[str, bool] | None:
        """Returns the chosen fields of ``Overrides``; None if the person steps back."""
        given: dict[str, bool] = {}
        for found in plans.objections(plan):
            field = self._answer(plans.refusal(found, plan))
            if field is None:
                return None
            given[field] = True
        return given

    def _answer(self, question: Question) -> str | None:
        self._say(question.title)
        for path in question.paths:
            self._say(f"  {shown_file(path)}")
        self._say(question.consequence)
        if question.word is not None:
            return self._word(question.word, question.answers[0].field)
        for at, answer in enumerate(question.answers, 1):
            self._say(f"{at:>4}  {answer.title}")
        number = ask_number(
            lambda: self._ask(f"number, {self._ways}: "), self._say, len(question.answers)
        )
        return None if number is None else question.answers[number - 1].field

    def _word(self, word: str, field: str) -> str | None:
        while True:
            typed = self._ask(f"{plans.type_it(word)} ")
            if typed is None:
                return None
            if typed == word:
                return field
            self._say(plans.not_it(typed))


# -- the conflicts of a plan, asked line by line: one question for each disputed stretch


class Conflicts:
    """Asks with ``ask``, which returns None if the person steps back; ``ways`` says how to."""

    def __init__(
        self,
        ask: Callable[[str], str | None],
        say: Callable[[str], None],
        paint: Paint,
        *,
        ways: str,
    ) -> None:
        self._ask = ask
        self._say = say
        self._paint = paint
        self._ways = ways

    def answers(self, plan: Plan, before: ConflictChoices) -> ConflictChoices | None:
        """Returns what was chosen, ``before`` included; None if the person steps back."""
        disputes = Disputes(plan.conflicts, plan.kind, before)
        last: Conflict | None = None
        while (dispute := disputes.next) is not None:
            if dispute.conflict is not last:
                last = dispute.conflict
                self._say(f"{outcomes.title(last, dispute.kind)}.")
            chosen = self._one(dispute)
            if chosen is None:
                return None
            disputes.settle(chosen)
        return disputes.chosen

    def _one(self, dispute: Dispute) -> ConflictChoice | None:
        conflict, stretch = dispute.conflict, dispute.stretch
        if stretch is not None:
            for line in outcomes.stretch_lines(stretch, dispute.kind, self._paint):
                self._say(line)
        for at, name in enumerate(conflict.choices, 1):
            self._say(f"{at:>4}  {outcomes.choice(name)} ({name})")
        number = ask_number(
            lambda: self._ask(f"number or word, {self._ways}: "),
            self._say,
            len(conflict.choices),
            {name: at for at, name in enumerate(conflict.choices, 1)},
        )
        return None if number is None else conflict.choices[number - 1]


# -- the editor: lets a person change a text. ``$VISUAL``, else ``$EDITOR``, else ``vi``
#
# It is a program with its arguments, not a shell command. One in a workspace is not run: an agent
# could have put it there.


def edited(tb: Engine, text: bytes) -> bytes:
    """Returns a text as the person left it; raises UsageError if there was no editor for it."""
    from subprocess import run
    from tempfile import NamedTemporaryFile

    argv = _editor(tb)
    with NamedTemporaryFile(prefix="takeback-", suffix=".diff") as file:
        file.write(text)
        file.flush()
        try:
            status = run([*argv, file.name], env={**os.environ, "PATH": tb.trusted_path}).returncode
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise UsageError(f"{argv[0]} could not be started: {reason}") from None
        if status:
            raise UsageError(f"{argv[0]} ended with status {status}, so nothing was edited")
        # An editor may have put another file there.
        with open(file.name, "rb", opener=ordinary) as now:
            return now.read()


def _editor(tb: Engine) -> list[str]:
    from shlex import split

    line = next((os.environ[n] for n in ("VISUAL", "EDITOR") if os.environ.get(n)), "vi")
    try:
        words = split(line)
    except ValueError:  # a quotation mark without its end
        words = []
    found = tb.find_program(words[0]) if words else None
    if found is None or found.program is None:
        why = found.passed_over if found is not None and found.passed_over else f"{line!r}"
        raise UsageError(f"there is no editor to run: {why}", hint="name one in EDITOR")
    return [found.program, *words[1:]]


# -- the changes of a plan, asked hunk by hunk as ``git restore -p`` does


_WHOLE = "ynq?"
_HUNK = "ynadeq?"
_HUNKS = "ynadseq?"
_HINT = b"""\
# The lines behind a plus are what the file gets. To keep a line that is marked with a minus, make
# it a space; remove lines with a plus to do without them. Lines that begin with # are left out.
# If you remove everything, nothing is edited.
"""


class _Quit(Exception):
    """The person wants no more questions."""


class Picking:
    """Asks about each change of a plan: takes it, leaves it, splits or edits a hunk."""

    def __init__(self, tb: Engine, say: Say, paint: Paint) -> None:
        self._tb = tb
        self._say = say
        self._paint = paint
        self._picked: dict[bytes, Pick] = {}
        self._kind: OperationKind = REWIND

    def answers(self, plan: Plan) -> dict[bytes, Pick]:
        """Returns what was picked, by path; nothing if nothing was."""
        self._kind = plan.kind
        offers = self._tb.offers(plan)
        self._say(plans.not_asked_lines(plan, offers))
        try:
            for offer in offers:
                self._offer(offer)
        except _Quit:
            pass
        return self._picked

    def _offer(self, offer: Offer) -> None:
        change = offer.change
        text = self._tb.text_change(change) if not offer.below else None
        self._say([plans.file_line(change, self._paint)])
        if text is not None and change.old is not None and change.new is not None:
            self._by_hunks(change, text, change.old, change.new)
            return
        self._say(plans.offer_lines(offer, text, self._paint))
        if self._key(plans.whole_question(change, self._kind), _WHOLE) == "y":
            self._picked |= offer.whole()

    def _by_hunks(self, change: Change, text: TextChange, old: Entry, new: Entry) -> None:
        mode, stopped = old.mode, False
        taken: list[OtherLines] = []
        try:
            if old.mode != new.mode and self._takes_mode(change):
                mode = new.mode
            self._hunks(text, taken)
        except _Quit:
            stopped = True
        if taken or mode != old.mode:
            self._picked[change.path] = text.pick(change, mode, taken)
        if stopped:
            raise _Quit

    def _takes_mode(self, change: Change) -> bool:
        return self._key(plans.mode_question(change, self._kind), _WHOLE) == "y"

    def _hunks(self, text: TextChange, taken: list[OtherLines]) -> None:
        """Asks about each hunk of a text; ``taken`` gets what is wanted as it is answered."""
        waiting = text.shown()
        done = 0
        while waiting:
            hunk = waiting.pop(0)
            self._say(plans.hunk_lines(text, hunk, self._paint))
            keys = _HUNKS if len(hunk.hunks) > 1 else _HUNK
            question = plans.hunk_question(done + 1, done + 1 + len(waiting), self._kind)
            answer = self._key(question, keys)
            if answer == "s":
                waiting[:0] = text.split(hunk)
                continue
            if answer == "e":
                found = self._edited(text, hunk)
                if found is None:
                    waiting.insert(0, hunk)
                    continue
                taken.append(found)
            if answer == "a":
                for one in (hunk, *waiting):
                    taken += text.replacements(one)
                return
            if answer == "d":
                return
            if answer == "y":
                taken += text.replacements(hunk)
            done += 1

    def _edited(self, text: TextChange, hunk: ShownHunk) -> OtherLines | None:
        """Returns a hunk as the person made it; None if it has to be asked about again."""
        try:
            found = edited(self._tb, text.patch(hunk) + _HINT)
            return text.edited(hunk, found)
        except UsageError as error:
            self._say([f"{error}."])
            return None

    def _key(self, question: str, keys: str) -> str:
        """Returns the answer; raises _Quit at ``q`` and at the end of the input."""
        while True:
            typed = ask(plans.with_keys(question, keys))
            if not typed:
                raise _Quit
            meant = plans.key(typed, keys)
            if meant == "q":
                raise _Quit
            if meant is not None and meant != "?":
                return meant
            if meant is None:
                self._say([not_listed(typed)])
            self._say(plans.help_lines(keys, self._kind))


# -- what rewind, undo and redo have in common: show the plan, ask, do it, say what was done


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
