"""What was done: written, deleted, left alone; how to continue, and a key to take it back."""

from __future__ import annotations

import os
import shutil
from time import monotonic

from textual.binding import Binding
from textual.containers import Horizontal

from takeback.tui.body import Body
from takeback.tui.dialog import SCROLLING, Choice, Dialog, Title
from takeback.visible import shown
from takeback.words import choices as words
from takeback.words.render import way_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.widget import Widget
    from textual.widgets import Button

    from takeback.model.checkpoint import Resume
    from takeback.model.operation import Move, Outcome

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
