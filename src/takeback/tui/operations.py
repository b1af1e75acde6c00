"""The operation log in the picker: what was done, and going before or after any of it."""

from __future__ import annotations

from rich.text import Text
from textual.binding import Binding
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from takeback.tui.choices import ActionList
from takeback.tui.dialog import Dialog, Title
from takeback.words import operations as words
from takeback.words.paint import Paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.widget import Widget

    from takeback.timeline.operations import Logged

_PLAIN = Paint(on=False)


class OperationsScreen(Dialog[str | None]):
    """Lists the operations, newest first; answers with ``OP.before`` or ``OP.after``."""

    NAME = "Operations"
    BINDINGS = [  # noqa: RUF012 - as Textual has it
        Binding("b", "go('before')", "before it"),
        Binding("a", "go('after')", "after it"),
    ]

    def __init__(self, log: Sequence[Logged], now: float) -> None:
        super().__init__()
        self._log = log[::-1]
        self._now = now

    def head(self) -> Iterator[Widget]:
        yield Title(words.WHERE_TO if self._log else words.NONE_YET)

    def middle(self) -> Iterator[Widget]:
        yield ActionList(*self._options(), id="operations")

    def _options(self) -> Iterator[Option]:
        for entry in self._log:
            line = Text(words.operation_words(entry, _PLAIN, self._now))
            yield Option(line, id=entry.operation.id)

    def on_mount(self) -> None:
        if self._log:
            self.query_one(ActionList).highlighted = 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.action_go("before")

    def action_go(self, side: str) -> None:
        """Answers with the state before or after the chosen operation."""
        at = self.query_one(ActionList).highlighted
        if at is not None:
            self.answer(f"{self._log[at].operation.id}.{side}")
