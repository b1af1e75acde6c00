"""``?``: all keys."""

from __future__ import annotations

from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from takeback.tui import keys
from takeback.tui.timeline import rows as signs
from takeback.words import rows as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult


def help_lines() -> Iterator[str]:
    """Yields the page. Headings are not indented."""
    for heading, some in keys.PAGES:
        yield heading
        for key in some:
            yield f"  {key.keys:<20} {key.sentence}"
        yield ""
    yield "Signs"
    for sign, sentence in (
        (signs.TURN, "a turn"),
        (signs.GONE, "a turn that was taken back, or left"),
        (signs.HERE, "the files stand here"),
        (signs.PLACE, "another place: a checkpoint made by hand, a fork"),
        (signs.STEP, "a prompt that was typed while a turn was running"),
        (signs.OUTSIDE, "edits of your own, outside of any turn"),
        (words.COMPLETE, "all files are held"),
        (words.INCOMPLETE, "some are not: the detail names them"),
    ):
        yield f"  {sign:<20} {sentence}"


class HelpScreen(ModalScreen[None]):
    """The keys over the timeline; any of the usual ones closes it."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > VerticalScroll {
        width: 90%; max-width: 80; height: auto; max-height: 90%; padding: 0 1;
        scrollbar-size-vertical: 1;
        border: round $primary; border-title-style: bold; background: $surface;
    }
    """
    BINDINGS = [  # noqa: RUF012 - as Textual has it
        Binding("escape,question_mark,q,enter", "close", "close"),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
    ]

    def compose(self) -> ComposeResult:
        text = Text()
        for line in help_lines():
            text.append(line + "\n", "" if line.startswith(" ") else "bold")
        frame = VerticalScroll(Static(text, markup=False))
        frame.border_title = "Keys"
        frame.border_subtitle = "esc closes"
        yield frame

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_close(self) -> None:
        if self.is_active:
            self.dismiss()

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)
