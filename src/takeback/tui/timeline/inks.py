"""The styles of the pieces of a row, on the cursor's background and off it."""

from __future__ import annotations

from rich.style import Style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from textual.widget import Widget

_PLAIN, _BOLD, _REVERSE = Style(), Style(bold=True), Style(reverse=True)
_INKS = {
    "cursor-sign": ("accent", _BOLD),
    "lane": ("lane", _PLAIN),
    "badge": ("success", _PLAIN),
    "warning": ("warning", _PLAIN),
    "name": ("text", _BOLD),
    "label": ("accent", _BOLD),
    "prompt": ("text", _PLAIN),
    "found": ("accent", Style(bold=True, underline=True)),
    "age": ("muted", _PLAIN),
    "here": ("accent", _BOLD),
    "agent": ("agent", _PLAIN),
    "files": ("muted", _PLAIN),
    "added": ("success", _PLAIN),
    "deleted": ("error", _PLAIN),
    "gone": ("muted", Style(dim=True)),
    "gone-word": ("warning", _PLAIN),
    "resumed": ("agent", _PLAIN),
    "outside": ("muted", Style(italic=True)),
}
"""The styles of the pieces of a row: a colour of the theme, and how it is written."""
NAMES = tuple(_INKS)
CURSOR, CURSOR_BLURRED = "cursor", "cursor-blurred"

LAYERS = frozenset({CURSOR, CURSOR_BLURRED, *(color for color, _ in _INKS.values())})
"""What the list's style sheet gives colours."""


class Inks:
    """The styles of one list, each worked out once."""

    def __init__(self, list: Widget) -> None:
        self._list = list
        self._known: dict[tuple[str, str], Style] = {}

    def forget(self) -> None:
        """Forgets all styles: the theme has changed."""
        self._known.clear()

    def of(self, name: str, cursor: str = "") -> Style:
        """Returns the style of a piece, on the cursor's background if ``cursor`` names one."""
        ink = self._known.get((name, cursor))
        if ink is None:
            ink = self._known[name, cursor] = self._made(name, cursor)
        return ink

    def _made(self, name: str, cursor: str) -> Style:
        color, form = _INKS[name]
        if cursor and self._list.app.native_ansi_color:  # sixteen colours: no suitable background
            return form + (_REVERSE if cursor == CURSOR else _BOLD)
        layers = [f"timeline--{layer}" for layer in (cursor, color) if layer]
        return self._list.get_visual_style(*layers).rich_style + form
