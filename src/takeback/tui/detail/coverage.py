"""What a checkpoint does not hold, and why."""

from __future__ import annotations

from textual.binding import Binding
from textual.message import Message

from takeback.tui.detail.lines import Words
from takeback.words.changes import coverage_lines, error_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    from textual.binding import BindingType

    from takeback.errors import TakebackError
    from takeback.timeline.timeline import Shown


class CoverageView(Words):
    """Takes the place of the diff for as long as it is open."""

    class Closed(Message):
        """The person has closed it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", show=False)]

    def on_mount(self) -> None:
        self.title("what it holds, and what not")

    def tell(self, found: Shown) -> None:
        """Shows what a checkpoint holds and lacks."""
        sound = found.entry.checkpoint.complete
        self.say(
            (line, "plain" if sound or number else "warning")
            for number, line in enumerate(coverage_lines(found))
        )

    def trouble(self, error: TakebackError | OSError) -> None:
        """Says why this is not known."""
        self.say((line, "warning") for line in error_lines(error))

    def action_close(self) -> None:
        self.post_message(self.Closed())
