"""Lines, perhaps many more than fit: only those on the screen are made.

A plan can name 100,000 files, and each of them can be looked at before agreeing to it.
"""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from takeback.words.paint import Paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from textual import events

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
