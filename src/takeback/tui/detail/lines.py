"""Lines of which only those on the screen are made: a list of 10,000 costs as much as one of 20."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import ClassVar

    from textual import events
    from textual.binding import BindingType

CUT = "›"


class Lines(ScrollView, can_focus=True):
    """Draws lines one by one. A subclass says how many there are and draws each."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
    ]
    DEFAULT_CSS = """
    Lines {
        border-top: solid $foreground 30%;
        border-title-color: $foreground-muted;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 0;
        scrollbar-gutter: stable;
        background: $background;
    }
    Lines:focus {
        border-top: heavy $border;
        border-title-color: $foreground;
        border-title-style: bold;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._inks: dict[str, Style] = {}

    def draw(self, y: int, x: int, width: int) -> Strip:
        """Returns one line, from a column on, of the width asked for."""
        raise NotImplementedError

    def lay_out(self, width: int) -> Size:
        """Lays out the lines for a width and returns their total size."""
        raise NotImplementedError

    def style(self, name: str) -> Style:
        """Returns a component class's own style, its tints blended with the background.

        Textual's own partial style treats a tint of 18 % as a full colour.
        """
        found = self._inks.get(name)
        if found is None:
            found = self._inks[name] = self._mixed(name)
        return found

    def _mixed(self, name: str) -> Style:
        styles = self.get_component_styles(name)
        behind = self.background_colors[1]
        has_paper = styles.has_rule("background") and styles.background.a > 0
        paper = behind + styles.background if has_paper else None
        color = (paper or behind) + styles.color if styles.has_rule("color") else None
        mixed = Style(
            color=None if color is None else color.rich_color,
            bgcolor=None if paper is None else paper.rich_color,
        )
        return mixed + styles.text_style

    def notify_style_update(self) -> None:
        """Forgets the styles: the theme or the focus has changed."""
        super().notify_style_update()
        self._inks.clear()

    def title(self, text: str) -> None:
        """Sets the heading; what looks like markup is text."""
        self.border_title = Content(text)

    def relay(self) -> None:
        """Lays everything out again after what is shown has changed."""
        self.virtual_size = self.lay_out(self.scrollable_content_region.width)
        self.refresh(layout=True)

    def on_resize(self, event: events.Resize) -> None:
        self.relay()

    def render_line(self, y: int) -> Strip:
        x, top = self.scroll_offset
        width = self.scrollable_content_region.width
        return self.draw(y + top, x, width).apply_style(self.rich_style)


class Words(Lines):
    """Sentences, wrapped."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "words--plain",
        "words--strong",
        "words--faint",
        "words--warning",
    }
    DEFAULT_CSS = """
    Words > .words--strong { text-style: bold; }
    Words > .words--faint { color: $foreground-muted; }
    Words > .words--warning { color: $text-warning; text-style: bold; }
    Words:ansi > .words--faint { color: ansi_default; text-style: dim; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._said: list[tuple[str, str]] = []
        self._wrapped: list[tuple[str, str]] = []

    def say(self, said: Iterable[tuple[str, str]]) -> None:
        """Shows sentences, each with how it is said: plain, strong, faint, warning."""
        told = list(said)
        if told != self._said:
            self._said = told
            self.scroll_home(animate=False)
            self.relay()

    def lay_out(self, width: int) -> Size:
        self._wrapped = self._wrap(width)
        return Size(width, len(self._wrapped))

    def _wrap(self, width: int) -> list[tuple[str, str]]:
        return [(line, how) for text, how in self._said for line in wrapped(text, width)]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._wrap(width))

    def draw(self, y: int, x: int, width: int) -> Strip:
        if y >= len(self._wrapped):
            return Strip.blank(width)
        text, how = self._wrapped[y]
        return fitted([Segment(text, self.style(f"words--{how}"))], width)


def wrapped(text: str, width: int) -> list[str]:
    """Returns a text in lines that fit."""
    return [line.plain for line in Content(text).wrap(max(width, 2))]


def fitted(
    segments: Sequence[Segment], width: int, *, x: int = 0, behind: Style | None = None
) -> Strip:
    """Returns ``width`` cells from column ``x`` on; a sign says that there is more to the right."""
    strip = Strip(segments)
    if strip.cell_length <= x + width:
        return strip.crop_extend(x, x + width, behind)
    mark = Strip([Segment(CUT, behind)])
    return Strip.join([strip.crop_extend(x, x + width - 1, behind), mark])
