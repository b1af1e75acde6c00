"""Asks for one line of text: a label, a directory."""

from __future__ import annotations

from rich.text import Text
from textual.binding import Binding
from textual.widgets import Input, Static

from takeback.tui.dialog import Dialog, Title
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.widget import Widget


class TextPrompt(Dialog[str | None]):
    """Asks; None if the person steps back.

    ``about`` says what the text is for, or what was wrong with the previous one, which is filled in
    for editing.
    """

    NAME = "Type it"
    BINDINGS = [Binding("enter", "submit", "take it")]  # noqa: RUF012 - as Textual has it

    def __init__(self, question: str, about: str, *, value: str = "") -> None:
        super().__init__()
        self._question = question
        self._about = about
        self._value = value

    def middle(self) -> Iterator[Widget]:
        yield Title(shown(self._question))
        yield Static(Text(shown(self._about)), markup=False, id="about")
        yield Input(shown(self._value), id="line", compact=True, select_on_focus=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.answer(event.value.strip())
