"""The line at the top, which says where we are, and the line at the foot, which lists the keys."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual import events

    from takeback.tui.keys import Key

NAME = "takeback"


class TitleBar(Widget):
    """The workspace on the left; how much is shown, and of what, on the right."""

    DEFAULT_CSS = """
    TitleBar { height: 1; dock: top; background: $panel; color: $text; }
    TitleBar:ansi { text-style: reverse; }
    """

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where
        self._right = ""

    def say(self, right: str) -> None:
        """Sets the text on the right."""
        if right != self._right:
            self._right = right
            self.refresh()

    def render_line(self, y: int) -> Strip:
        style, width = self.rich_style, self.size.width
        right = f" {self._right} "
        left = f"  {self._where}"
        room = max(0, width - len(NAME) - 1)
        if cell_len(left) + cell_len(right) > room:
            kept = max(0, room - cell_len(right))
            left = set_cell_size(left, kept - 1) + "…" if kept > 1 else " " * kept
        right = set_cell_size(right, min(cell_len(right), room - cell_len(left)))
        gap = " " * max(0, room - cell_len(left) - cell_len(right))
        bold = style + _BOLD
        return Strip(
            [Segment(f" {NAME}", bold), Segment(left + gap, style), Segment(right, style)]
        ).adjust_cell_length(width, style)


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

    def fitting(self) -> list[tuple[int, Key]]:
        """Returns the keys that fit, with their columns; always the last two."""
        rest = list(self._keys)
        while len(rest) > 2 and sum(_width(key) for key in rest) + 1 > self.size.width:
            del rest[-3]
        at, found = 1, []
        for key in rest:
            found.append((at, key))
            at += _width(key)
        return found

    def render_line(self, y: int) -> Strip:
        style: Style = self.rich_style
        key_style = style + self.get_component_rich_style("keys--key", partial=True)
        segments = [Segment(" ", style)]
        for _, key in self.fitting():
            segments += [Segment(key.key, key_style), Segment(f" {key.word}  ", style)]
        return Strip(segments).adjust_cell_length(self.size.width, style)

    async def on_click(self, event: events.Click) -> None:
        for at, key in self.fitting():
            if at <= event.x < at + _width(key) and key.action:
                await self.screen.run_action(key.action)


def _width(key: Key) -> int:
    return cell_len(key.key) + len(key.word) + 3


def _bold() -> Style:
    from rich.style import Style

    return Style(bold=True)


_BOLD = _bold()
