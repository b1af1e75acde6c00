"""What went wrong, what state the files are in, what to do; the picker goes on."""

from __future__ import annotations

from textual.binding import Binding
from textual.containers import Horizontal

from takeback.tui.body import Body
from takeback.tui.dialog import SCROLLING, Choice, Dialog, Title
from takeback.words import choices as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.widget import Widget
    from textual.widgets import Button

    from takeback.errors import TakebackError


class TroubleScreen(Dialog[bool | None]):
    """Shows what happened; True if the person wants an interrupted operation recovered."""

    NAME = "Something went wrong"
    BINDINGS = [  # noqa: RUF012 - as Textual has it
        Binding("r", "recover", "recover now"),
        *SCROLLING,
    ]

    def __init__(self, lines: Sequence[str], *, interrupted: bool = False) -> None:
        super().__init__()
        self._lines = lines
        self._interrupted = interrupted

    def head(self) -> Iterator[Widget]:
        yield Title(self._lines[0])

    def middle(self) -> Iterator[Widget]:
        yield Body(self._lines[1:])

    def foot(self) -> Iterator[Widget]:
        buttons = [Choice("Go on (Esc)", id="enough")]
        if self._interrupted:
            buttons.insert(0, Choice("Recover now (r)", id="recover"))
        yield Horizontal(*buttons, id="choices")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._interrupted if action == "recover" else True

    def on_mount(self) -> None:
        self.query_one("#recover" if self._interrupted else "#enough").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.answer(True if event.button.id == "recover" else None)

    def action_recover(self) -> None:
        self.answer(True)


class SaidScreen(TroubleScreen):
    """Says that something ended well."""

    NAME = "Recovered"


def trouble(error: TakebackError, *, interrupted: bool) -> TroubleScreen:
    """Returns the screen that reports an error."""
    lines = list(words.trouble_lines(error, interrupted=interrupted))
    return TroubleScreen(lines, interrupted=interrupted)
