"""The conflicts of a plan: one disputed stretch after the other, with the lines of both sides."""

from __future__ import annotations

from textual.containers import Vertical

from takeback.tui.body import PAINT, Body
from takeback.tui.dialog import SCROLLING, Choice, Dialog, Title
from takeback.words import choices
from takeback.words import conflicts as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual import events
    from textual.widget import Widget
    from textual.widgets import Button

    from takeback.app.disputes import Dispute


class ConflictScreen(Dialog[int | None]):
    """Asks about one disputed stretch; answers which choice it is, from 1, None to step back."""

    NAME = "Both changed the same"
    DEFAULT_CSS = """
    ConflictScreen Choice {
        margin: 0 0 0 0;
    }
    """
    BINDINGS = [*SCROLLING]  # noqa: RUF012 - as Textual has it

    def __init__(self, dispute: Dispute) -> None:
        super().__init__()
        self._dispute = dispute
        self._choices = dispute.conflict.choices

    def head(self) -> Iterator[Widget]:
        dispute = self._dispute
        title = f"{words.title(dispute.conflict, dispute.kind)}."
        yield Title(title if dispute.of == 1 else f"{dispute.number} of {dispute.of}: {title}")

    def middle(self) -> Iterator[Widget]:
        stretch, kind = self._dispute.stretch, self._dispute.kind
        yield Body([] if stretch is None else words.stretch_lines(stretch, kind, PAINT))

    def foot(self) -> Iterator[Widget]:
        yield Vertical(
            Choice(f"{choices.STEP_BACK} (Esc)", id="back"),
            *(
                Choice(f"{words.choice(name)} ({number})", id=f"choice-{number}")
                for number, name in enumerate(self._choices, 1)
            ),
            id="choices",
        )

    def on_mount(self) -> None:
        self.query_one("#back").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        number = (event.button.id or "").removeprefix("choice-")
        self.answer(int(number) if number.isdigit() else None)

    def on_key(self, event: events.Key) -> None:
        number = event.character or ""
        if number.isascii() and number.isdigit() and 1 <= int(number) <= len(self._choices):
            event.stop()
            self.answer(int(number))
