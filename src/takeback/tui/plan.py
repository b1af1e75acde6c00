"""The plan, always shown before the confirming key, and the questions before it.

PlanScreen       what would happen to which file; the person agrees, or steps back
RefusalScreen    one objection, answered by itself
"""

from __future__ import annotations

from rich.text import Text
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Static

from takeback.rewind.request import ALL_OTHERS, EDITS
from takeback.tui.body import PAINT, Body
from takeback.tui.dialog import SCROLLING, Choice, Dialog, Title
from takeback.words import choices as words
from takeback.words import refusals
from takeback.words.refusals import Answer
from takeback.words.text import shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual import events
    from textual.widget import Widget

    from takeback.app.proposal import Proposal
    from takeback.model.coverage import Waiver
    from takeback.model.operation import Plan
    from takeback.rewind.request import Kept
    from takeback.words.refusals import Question


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
        return not self._plan.does_nothing and refusals.can_be_answered(self._plan)

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
            for line in refusals.refused_lines(self._plan):
                yield PAINT.warning(line)
            yield ""
        yield from refusals.agreed_lines(self._agreed)
        yield from words.plan_lines(self._proposal, self._plan, PAINT)

    def _deed(self) -> str:
        if refusals.objections(self._plan):
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
            yield Static(Text(refusals.type_it(asked.word)), markup=False, id="typing")
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
                Text(
                    f"{refusals.not_it(event.value)} {refusals.type_it(self._question.word or '')}"
                )
            )

    def on_key(self, event: events.Key) -> None:
        answers = self._question.answers
        number = event.character or ""
        if self._question.word is None and number.isdigit() and 1 <= int(number) <= len(answers):
            event.stop()
            self.answer(answers[int(number) - 1])
