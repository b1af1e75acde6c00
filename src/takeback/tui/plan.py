"""The plan of an operation on a screen, and what is shown after it."""

from __future__ import annotations

import os
import shutil
from time import monotonic

from rich.text import Text
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Static

from takeback.rewind.request import ALL_OTHERS, EDITS
from takeback.tui.bars import PAINT, Body
from takeback.tui.dialog import SCROLLING, Choice, Dialog, Title
from takeback.visible import shown
from takeback.words import choices as words
from takeback.words import plans
from takeback.words.outcomes import way_back
from takeback.words.plans import Answer
from takeback.words.text import shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual import events
    from textual.widget import Widget

    from takeback.app.proposal import Proposal
    from takeback.model.checkpoint import Resume
    from takeback.model.coverage import Waiver
    from takeback.model.operation import Move, Outcome, Plan
    from takeback.rewind.request import Kept
    from takeback.words.plans import Question


# -- the plan, always shown before the confirming key, and the questions before it
#
# PlanScreen       what would happen to which file; the person agrees, or steps back
# RefusalScreen    one objection, answered by itself


AGREE = "agree"
_WAYS: dict[str, Kept] = {"keep_edits": EDITS, "keep_others": ALL_OTHERS}
"""The buttons for what keeps more than the plan."""


class PlanScreen(Dialog[str | None]):
    """Shows a whole plan and asks; answers AGREE or what else is to be kept, None to step back.

    If there are objections or conflicts, agreeing means answering those first. What can be kept is
    offered if it would take back what the person typed, or another session's work. ``agreed`` are
    the fields of ``Overrides`` already answered, ``note`` is shown above the plan.
    """

    NAME = "The plan"
    BINDINGS = [  # noqa: RUF012 - as Textual has it
        Binding("y", "agree", "agree"),
        Binding(words.WAY_KEYS[EDITS], "keep('keep_edits')", "keep your edits"),
        Binding(words.WAY_KEYS[ALL_OTHERS], "keep('keep_others')", "only its own session's"),
        Binding("n", "step_back", show=False),
        *SCROLLING,
    ]

    def __init__(
        self,
        proposal: Proposal,
        plan: Plan,
        *,
        agreed: Sequence[Waiver] = (),
        note: str | None = None,
    ) -> None:
        super().__init__()
        self._proposal = proposal
        self._plan = plan
        self._agreed = agreed
        self._note = note

    @property
    def _can_go_on(self) -> bool:
        return not self._plan.does_nothing and plans.can_be_answered(self._plan)

    @property
    def _ways(self) -> dict[str, Kept]:
        """Returns what else can be kept, by the name of its button."""
        found = self._proposal.ways_to_keep(self._plan)
        return {name: what for name, what in _WAYS.items() if what in found}

    def head(self) -> Iterator[Widget]:
        if self._note is not None:
            yield Static(Text(self._note), markup=False, id="note")
        yield Title(words.question(self._proposal, self._plan))

    def middle(self) -> Iterator[Widget]:
        yield Body(self._lines())

    def foot(self) -> Iterator[Widget]:
        buttons = [Choice(f"{words.STEP_BACK} (Esc)", id="back")]
        if self._can_go_on:
            buttons.append(Choice(f"{self._deed()} (y)", id=AGREE))
        for name, what in self._ways.items():
            keeps = f"{words.way_to_keep(what, self._plan)} ({words.WAY_KEYS[what]})"
            buttons.append(Choice(keeps, id=name))
        # Three do not fit beside each other on a screen of 80 columns.
        yield (Vertical if self._ways else Horizontal)(*buttons, id="choices")

    def _lines(self) -> Iterator[str]:
        if self._plan.refused:
            for line in plans.refused_lines(self._plan):
                yield PAINT.warning(line)
            yield ""
        yield from plans.agreed_lines(self._agreed)
        yield from words.plan_lines(self._proposal, self._plan, PAINT)

    def _deed(self) -> str:
        if plans.objections(self._plan):
            return words.ANSWER_FIRST
        if self._plan.conflicts:
            return words.CHOOSE_FIRST
        return words.verb(self._proposal, self._plan)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "keep":
            return parameters[0] in self._ways
        return self._can_go_on if action == "agree" else True

    def on_mount(self) -> None:
        self.query_one("#back").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        name = event.button.id or "back"
        self.answer(None if name == "back" else _WAYS.get(name, name))

    def action_agree(self) -> None:
        self.answer(AGREE)

    def action_keep(self, name: str) -> None:
        self.answer(_WAYS[name])


class RefusalScreen(Dialog[Answer | None]):
    """Asks about one refusal; None if the person steps back."""

    NAME = "A question first"
    DEFAULT_CSS = """
    RefusalScreen Choice {
        margin: 0 0 0 0;
    }
    RefusalScreen #choices {
        layout: vertical;
    }
    RefusalScreen Input {
        margin: 1 0 0 0;
    }
    """
    BINDINGS = [*SCROLLING]  # noqa: RUF012 - as Textual has it

    def __init__(self, question: Question, number: int, of: int) -> None:
        super().__init__()
        self._question = question
        self._numbers = (number, of)

    def head(self) -> Iterator[Widget]:
        number, of = self._numbers
        title = self._question.title
        yield Title(title if of == 1 else f"{number} of {of}: {title}")

    def middle(self) -> Iterator[Widget]:
        asked = self._question
        yield Body([asked.consequence, *(f"  {shown_file(path)}" for path in asked.paths)])

    def foot(self) -> Iterator[Widget]:
        asked = self._question
        if asked.word is not None:
            yield Static(Text(plans.type_it(asked.word)), markup=False, id="typing")
            yield Input(id="word", compact=True)
        buttons = [Choice(f"{words.STEP_BACK} (Esc)", id="back")]
        if asked.word is None:
            buttons += [
                Choice(f"{answer.title} ({number})", id=f"answer-{number}")
                for number, answer in enumerate(asked.answers, 1)
            ]
        yield Horizontal(*buttons, id="choices")

    def on_mount(self) -> None:
        self.query_one("#word" if self._question.word is not None else "#back").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        number = (event.button.id or "").removeprefix("answer-")
        self.answer(self._question.answers[int(number) - 1] if number.isdigit() else None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip() == self._question.word:
            self.answer(self._question.answers[0])
        else:
            self.query_one("#typing", Static).update(
                Text(f"{plans.not_it(event.value)} {plans.type_it(self._question.word or '')}")
            )

    def on_key(self, event: events.Key) -> None:
        answers = self._question.answers
        number = event.character or ""
        if self._question.word is None and number.isdigit() and 1 <= int(number) <= len(answers):
            event.stop()
            self.answer(answers[int(number) - 1])


# -- what was done: written, deleted, left alone; how to continue, and a key to take it back


TAKE_BACK, RESUME = "take_back", "resume"
QUIET = 0.5
"""Seconds after it has appeared in which Enter is ignored."""


class AfterScreen(Dialog[str | None]):
    """Shows an outcome; answers TAKE_BACK or RESUME if the person wants that next, else None."""

    NAME = "What was done"
    BINDINGS = [  # noqa: RUF012 - as Textual has it
        Binding("enter", "too_early", show=False, priority=True),
        Binding("r", "resume", "resume the agent"),
        Binding("u", "take_back", "take it back"),
        Binding("c", "copy_line", "copy the resume line"),
        Binding("p", "copy_prompt", "copy the prompt"),
        *SCROLLING,
    ]

    def __init__(self, outcome: Outcome, of: Move | None) -> None:
        super().__init__()
        self._appeared = monotonic()
        self._outcome = outcome
        resume = outcome.resume
        self._no_resume = words.no_resume(resume, found=resume is not None and _is_there(resume))
        self._lines = list(words.after_lines(outcome, of, self._no_resume))

    def head(self) -> Iterator[Widget]:
        yield Title(self._lines[0])

    def middle(self) -> Iterator[Widget]:
        yield Body(self._lines[1:])

    def foot(self) -> Iterator[Widget]:
        buttons = [Choice("To the timeline (Esc)", id="enough")]
        if self._can(TAKE_BACK):
            buttons.append(Choice("Take it back (u)", id=TAKE_BACK))
        if self._can(RESUME):
            buttons.append(Choice("Resume the agent (r)", id=RESUME))
        yield Horizontal(*buttons, id="choices")

    def _can(self, action: str) -> bool:
        outcome = self._outcome
        if action == "too_early":
            return monotonic() - self._appeared < QUIET
        if action == RESUME:
            return self._no_resume is None
        if action == TAKE_BACK:
            return way_back(outcome) is not None
        if action == "copy_line":
            return outcome.resume is not None and bool(outcome.resume.argv)
        return action != "copy_prompt" or outcome.prompt is not None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._can(action)

    def on_mount(self) -> None:
        self._appeared = monotonic()
        self.query_one("#enough").focus()  # never one that starts a program: Enter must be harmless

    def action_too_early(self) -> None:
        """Swallows an Enter that was meant for the screen before, or typed ahead."""

    def on_button_pressed(self, event: Button.Pressed) -> None:
        choice = event.button.id
        self.answer(choice if choice in (TAKE_BACK, RESUME) else None)

    def action_resume(self) -> None:
        self.answer(RESUME)

    def action_take_back(self) -> None:
        self.answer(TAKE_BACK)

    def action_copy_line(self) -> None:
        assert self._outcome.resume is not None
        self._copy(words.resume_line(self._outcome.resume))

    def action_copy_prompt(self) -> None:
        self._copy(self._outcome.prompt or "")

    def _copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)
        self.notify(f"Copied: {shown(text)}", markup=False)


def _is_there(resume: Resume) -> bool:
    if not resume.argv or not os.path.isdir(resume.cwd):
        return False
    return shutil.which(resume.argv[0]) is not None
