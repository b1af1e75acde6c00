"""What the picker's questions have in common: a frame over the timeline, keys at the foot.

Text from outside (prompts, paths, messages) is never read as markup: it is a ``Text``.
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Footer, Static

from takeback.tui.body import Body

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult
    from textual.widget import Widget

T = TypeVar("T")

SCROLLING: tuple[BindingType, ...] = (
    Binding("up,k", "scroll('up')", show=False),
    Binding("down,j", "scroll('down')", show=False),
    Binding("pageup", "scroll('page_up')", show=False),
    Binding("pagedown", "scroll('page_down')", show=False),
    Binding("home", "scroll('home')", show=False),
    Binding("end", "scroll('end')", show=False),
    Binding("left", "app.focus_previous", show=False),
    Binding("right", "app.focus_next", show=False),
)
"""Keys of a dialog with a Body, wherever the focus is."""


class Title(Static):
    """The line at the top of a frame: the question itself."""

    DEFAULT_CSS = """
    Title {
        text-style: bold;
        margin: 0 0 1 0;
    }
    """

    def __init__(self, words: str) -> None:
        super().__init__(Text(words), markup=False, id="title")


class Choice(Button):
    """A button whose words come from outside."""

    DEFAULT_CSS = """
    Choice, Choice:hover, Choice:focus {
        width: auto;
        min-width: 0;
        height: 1;
        margin: 0 1 0 0;
        padding: 0;
        border: none;
        background: transparent;
        background-tint: transparent 0%;
        text-style: none;
    }
    Choice:hover {
        text-style: underline;
    }
    Choice:focus {
        text-style: bold reverse;
    }
    """

    def __init__(self, words: str, *, id: str) -> None:
        super().__init__(Content(words), id=id, compact=True)


class Dialog(ModalScreen[T]):
    """A frame with a head, a middle that scrolls, and a foot that is always visible.

    Esc steps back, which never changes anything.
    """

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
    }
    Dialog > #frame {
        width: 96%;
        max-width: 100;
        height: auto;
        max-height: 100%;
        padding: 0 1;
        border: round $primary;
        border-title-color: $text;
        border-title-style: bold;
        background: $surface;
    }
    Dialog #head {
        dock: top;
        height: auto;
        max-height: 50%;
    }
    Dialog #foot {
        dock: bottom;
        height: auto;
    }
    Dialog #choices {
        height: auto;
        margin: 1 0 0 0;
    }
    Dialog.-narrow #choices {
        layout: vertical;
    }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (78, "-wide")]  # noqa: RUF012 - as Textual has it
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "step_back", "step back")]
    NAME = ""
    """The title in the frame, for people who use a screen reader: which stage this is."""

    def head(self) -> Iterator[Widget]:
        """Yields the top part."""
        yield from ()

    def middle(self) -> Iterator[Widget]:
        """Yields the part that may be longer than the screen."""
        yield from ()

    def foot(self) -> Iterator[Widget]:
        """Yields the question."""
        yield from ()

    def compose(self) -> ComposeResult:
        frame = Vertical(
            Vertical(*self.head(), id="head"),
            *self.middle(),
            Vertical(*self.foot(), id="foot"),
            id="frame",
        )
        frame.border_title = self.NAME
        yield frame
        yield Footer(show_command_palette=False)

    def answer(self, result: T | None) -> None:
        """Closes the dialog with an answer, once.

        A second key or click already on its way would close the screen below.
        """
        if self.is_active:
            self.dismiss(result)

    def action_step_back(self) -> None:
        self.answer(None)

    def action_scroll(self, way: str) -> None:
        body = self.query_one(Body)
        getattr(body, f"scroll_{way}")(animate=False)
