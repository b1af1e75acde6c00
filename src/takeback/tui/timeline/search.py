"""The search line: what is typed is searched at once, and the newest question wins."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from textual.timer import Timer

_REST = 0.12
"""Seconds without a key before a search begins: too short to notice, longer than one letter."""


class SearchLine(Input):
    """A line over the list. It posts ``Sought`` when its text has been the same for a moment."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", "older", show=False),
        Binding("up", "move(-1)", "newer", show=False),
    ]
    DEFAULT_CSS = """
    SearchLine { height: 1; border: none; padding: 0 1; background: $surface; }
    SearchLine:focus { border: none; }
    """

    class Sought(Message):
        """The text has changed; if it is empty, everything is shown."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Kept(Message):
        """Enter: the person has found it, or gives up with an empty line."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Moved(Message):
        """An arrow was pressed, meant for the cursor of the list."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    def __init__(self) -> None:
        super().__init__(placeholder="search prompts and paths")
        self._timer: Timer | None = None
        self._said = ""

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_REST, self._say)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._say()
        self.post_message(self.Kept(self.value.strip()))

    def _say(self) -> None:
        text = self.value.strip()
        if text != self._said:
            self._said = text
            self.post_message(self.Sought(text))

    def action_move(self, by: int) -> None:
        self.post_message(self.Moved(by))
