"""The bars of the picker: a list of lines, the title, the keys at the foot, the page of help."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from takeback.tui import pieces
from takeback.tui.pieces import fitting, key_pieces, key_width, title_pieces
from takeback.tui.timeline import lines as signs
from takeback.words import listing as words
from takeback.words.text import Paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console
    from rich.style import Style
    from textual import events
    from textual.app import ComposeResult

    from takeback.tui.pieces import Key


# -- lines, perhaps many more than fit: only those on the screen are made
#
# A plan can name 100,000 files, and each of them can be looked at before agreeing to it.


_CODES = re.compile(r"\x1b\[[\d;]*m")
_LIST = "  "
"""The start of an item of a list."""


class ScreenPaint(Paint):
    """The colours of the command line, except its yellow: unreadable on a light background."""

    def warning(self, text: str) -> str:
        return self.strong(text)


PAINT = ScreenPaint(on=True)


class Body(ScrollView, can_focus=True):
    """Painted lines, wrapped where they are too long, with space after each list.

    Names cannot control the terminal: the lines come from ``words``, where they are made harmless.
    """

    DEFAULT_CSS = """
    Body {
        height: auto;
        max-height: 100%;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
    }
    """

    def __init__(self, lines: Iterable[str]) -> None:
        super().__init__(id="body")
        self._lines = _aired(lines)
        self._laid_out: dict[int, list[str | Text]] = {}

    def _rows_at(self, width: int) -> list[str | Text]:
        """Returns the lines broken for a width.

        Two widths are remembered: Textual asks for the height with and without a scroll bar.
        """
        if width not in self._laid_out:
            console = self.app.console
            rows = [row for line in self._lines for row in _rows(line, width, console)]
            self._laid_out = {**dict(list(self._laid_out.items())[-1:]), width: rows}
        return self._laid_out[width]

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._rows_at(width))

    def on_resize(self, event: events.Resize) -> None:
        width = self.scrollable_content_region.width
        self.virtual_size = Size(width, len(self._rows_at(width)))

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        rows, at = self._rows_at(width), y + self.scroll_offset.y
        if at >= len(rows):
            return Strip.blank(width, self.rich_style)
        row = rows[at]
        text = row if isinstance(row, Text) else Text.from_ansi(row)
        segments = Segment.apply_style(text.render(self.app.console), self.rich_style)
        return Strip(segments).adjust_cell_length(width, self.rich_style)


def _aired(lines: Iterable[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if found and found[-1].startswith(_LIST) and line and not line.startswith(_LIST):
            found.append("")
        found.append(line)
    return found


def _rows(line: str, width: int, console: Console) -> Iterable[str | Text]:
    """Returns a line as it is if it fits, as nearly all do, else in parts."""
    plain = _CODES.sub("", line) if "\x1b" in line else line
    if cell_len(plain) <= width or width < 2:
        return (line,)
    return Text.from_ansi(line).wrap(console, width)


# -- the line at the top, which says where we are, and the line at the foot, which lists the keys


class TitleBar(Widget):
    """The workspace on the left; how much is shown, and of what, on the right."""

    DEFAULT_CSS = """
    TitleBar { height: 1; dock: top; background: $panel; color: $text; }
    TitleBar:ansi { text-style: reverse; }
    """

    def __init__(self, where: str, right: str = "") -> None:
        super().__init__()
        self._where = where
        self._right = right

    def say(self, right: str) -> None:
        """Sets the text on the right."""
        if right != self._right:
            self._right = right
            self.refresh()

    def render_line(self, y: int) -> Strip:
        style, width = self.rich_style, self.size.width
        name, *rest = title_pieces(self._where, self._right, width)
        segments = [Segment(name, style + _BOLD), *(Segment(text, style) for text in rest)]
        return Strip(segments).adjust_cell_length(width, style)


class KeyBar(Widget):
    """The keys that can be pressed now; a click on one presses it."""

    DEFAULT_CSS = """
    KeyBar { height: 1; dock: bottom; background: $panel; color: $text-muted; }
    KeyBar > .keys--key { color: $text-accent; text-style: bold; }
    """
    COMPONENT_CLASSES = {"keys--key"}  # noqa: RUF012 - as Textual has it

    def __init__(self, keys: Sequence[Key]) -> None:
        super().__init__()
        self._keys = keys

    def show(self, keys: Sequence[Key]) -> None:
        """Shows other keys."""
        if keys is not self._keys:
            self._keys = keys
            self.refresh()

    def render_line(self, y: int) -> Strip:
        style: Style = self.rich_style
        key_style = style + self.get_component_rich_style("keys--key", partial=True)
        segments = [
            Segment(text, key_style if is_key else style)
            for text, is_key in key_pieces(self._keys, self.size.width)
        ]
        return Strip(segments).adjust_cell_length(self.size.width, style)

    async def on_click(self, event: events.Click) -> None:
        for at, key in fitting(self._keys, self.size.width):
            if at <= event.x < at + key_width(key) and key.action:
                await self.screen.run_action(key.action)


def _bold() -> Style:
    from rich.style import Style

    return Style(bold=True)


_BOLD = _bold()


# -- ``?``: all keys


def help_lines() -> Iterator[str]:
    """Yields the page. Headings are not indented."""
    for heading, some in pieces.PAGES:
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
