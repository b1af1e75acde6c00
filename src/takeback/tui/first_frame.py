"""The first frame: the rows as the picker will show them, drawn before its library is loaded.

What each line says, and how wide it is, comes from where the picker itself takes it; here it only
becomes codes for a terminal. The thumb of the scroll bar and the detail come with the library.
"""

from __future__ import annotations

from takeback.tui import keys, palette
from takeback.tui.bar_pieces import key_pieces, title_pieces
from takeback.tui.cells import cell_len
from takeback.tui.layout import BARS, list_width
from takeback.tui.timeline.lines import TimelineLines, centered
from takeback.visible import shown
from takeback.words.rows import READING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from takeback.tui.timeline.page import Page

    Piece = tuple[str, str]
    """Text, and the name of its style."""

_LEAST_WIDTH, _LEAST_HEIGHT = 40, 6
"""On a smaller screen there is nothing but the title."""
_KEEP_LINES, _BREAK_LINES = "\x1b[?7l", "\x1b[?7h"
"""A character that is wider than we think must not push the next line down."""


def title_frame(where: str, width: int, height: int) -> str:
    """Returns the title, and below it a note that more is coming; no colours. Pure."""
    title = f" takeback  {shown(where)}"[:width]
    return f"\x1b[1;7m{title:<{width}}\x1b[0m\r\n\r\n  {READING[: max(0, width - 2)]}"


class FirstFrame:
    """Draws a page for a screen of any size; ``styles`` are the codes of each style."""

    def __init__(self, page: Page, where: str, styles: Mapping[str, str], now: float) -> None:
        self._page = page
        self._where = where
        self._styles = styles
        self._now = now
        self._lines = TimelineLines(page.browsed, page.rows)

    def __call__(self, width: int, height: int) -> str:
        if width < _LEAST_WIDTH or height < _LEAST_HEIGHT:
            return title_frame(self._where, width, height)
        lines = [
            self._title(width),
            *self._rows(list_width(width), height - BARS),
            self._keys(width),
        ]
        drawn = (
            f"\x1b[{at};1H{self._painted(line, width)}" for at, line in enumerate(lines, start=1)
        )
        return f"{_KEEP_LINES}{''.join(drawn)}{_BREAK_LINES}"

    def _title(self, width: int) -> list[Piece]:
        name, *rest = title_pieces(self._where, self._page.summary, width)
        return [(name, palette.TITLE_NAME), *((text, palette.TITLE) for text in rest)]

    def _keys(self, width: int) -> list[Piece]:
        pieces = key_pieces(keys.TIMELINE, width)
        drawn = [(text, palette.KEY if is_key else palette.KEYS) for text, is_key in pieces]
        return [*drawn, (" " * (width - sum(cell_len(text) for text, _ in pieces)), palette.KEYS)]

    def _rows(self, width: int, height: int) -> Iterable[list[Piece]]:
        """Yields the lines in view, the cursor's in the middle."""
        rows, cursor = self._lines.rows, self._lines.start
        has_bar = rows.height > height
        top = min(centered(rows.tops[cursor], height), max(0, rows.height - height))
        for line in range(top, top + height):
            found = self._lines.line(
                line,
                width=width - has_bar,
                now=self._now,
                cursor=cursor,
                entry_of=self._page.entries.get,
            )
            pieces, chosen = found or ([], False)
            yield [(text, palette.on_cursor(name) if chosen else name) for text, name in pieces]

    def _painted(self, pieces: list[Piece], width: int) -> str:
        """Returns a line with its codes, filled to the width of the screen."""
        rest = width - sum(cell_len(text) for text, _ in pieces)
        whole = [*pieces, (" " * rest, palette.BASE)]
        return "".join(f"\x1b[{self._styles[name]}m{text}\x1b[0m" for text, name in whole if text)
