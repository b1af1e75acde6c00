"""The line at the top, which says where we are, and the line at the foot, which lists the keys."""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from takeback.tui.bar_pieces import fitting, key_pieces, key_width, title_pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual import events

    from takeback.tui.keys import Key


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
