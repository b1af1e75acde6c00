"""The list of the timeline: only what is in view is drawn."""

from __future__ import annotations

import time
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from takeback.tui.timeline.lines import Rows, TimelineLines, centered
from takeback.visible import shown
from takeback.words import listing as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from textual import events
    from textual.widget import Widget

    from takeback.model.row import TimelineRow
    from takeback.timeline.timeline import Browsed, TimelineEntry


# -- the styles of the pieces of a row, on the cursor's background and off it


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


# -- the entries of rows that were in view: what changed in each, remembered for a while


_KEPT = 2_000
"""How many entries are remembered: more than anybody scrolls through in a minute."""


class KnownEntries:
    """Entries by the id of their row."""

    def __init__(self) -> None:
        self._entries: dict[str, TimelineEntry] = {}

    def get(self, id: str) -> TimelineEntry | None:
        return self._entries.get(id)

    def learn(self, entries: Mapping[str, TimelineEntry]) -> None:
        """Remembers entries that were lacking."""
        self._entries.update(entries)

    def lacking(self, ids: Iterable[str]) -> list[str]:
        """Returns which of the rows have no known entry, each once."""
        return list(dict.fromkeys(id for id in ids if id not in self._entries))

    def forget_changed(self, before: Browsed | None, after: Browsed) -> None:
        """Forgets the entries of turns that continued, or got a label."""
        if before is None:
            return
        if len(self._entries) > _KEPT:
            self._entries.clear()
        known = {row.id: row for row in before.rows if row.id in self._entries}
        now = {row.id: row for row in after.rows if row.id in self._entries}
        for id, row in known.items():
            if now.get(id) != row:
                del self._entries[id]


# -- the timeline's list: only the lines in view are drawn, however many rows there are


class TimelineList(ScrollView, can_focus=True):
    """Shows rows, has a cursor that wraps around, and asks for the entries that it lacks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "newer", show=False),
        Binding("down,j", "move(1)", "older", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "a page up", show=False),
        Binding("pagedown,ctrl+f", "page(1)", "a page down", show=False),
        Binding("home,g", "jump(0)", "the newest", show=False),
        Binding("end,G", "jump(-1)", "the oldest", show=False),
        Binding("enter", "open", "actions", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"timeline--{layer}" for layer in LAYERS}
    DEFAULT_CSS = """
    TimelineList {
        height: 1fr;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        & > .timeline--cursor { background: $primary 35%; }
        & > .timeline--cursor-blurred { background: $primary 18%; }
        & > .timeline--lane { color: $text-primary; }
        & > .timeline--text { color: $text; }
        & > .timeline--muted { color: $text-muted; }
        & > .timeline--agent { color: $text-secondary; }
        & > .timeline--accent { color: $text-accent; }
        & > .timeline--success { color: $text-success; }
        & > .timeline--warning { color: $text-warning; }
        & > .timeline--error { color: $text-error; }
    }
    """

    class Chosen(Message):
        """The cursor is on another row now, or on none."""

        def __init__(self, row: TimelineRow | None) -> None:
            super().__init__()
            self.row = row

    class Opened(Message):
        """Enter was pressed on a row, or it was clicked twice."""

        def __init__(self, row: TimelineRow) -> None:
            super().__init__()
            self.row = row

    class Lacking(Message):
        """Entries of rows in view are not known yet."""

        def __init__(self, ids: Sequence[str]) -> None:
            super().__init__()
            self.ids = ids

    def __init__(self, now: Callable[[], float] = time.time, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self._rows = Rows()
        self._lines: TimelineLines | None = None
        self._entries = KnownEntries()
        self._cursor = 0
        self._arrived = False
        """Whether the cursor has been put where the files are, or was moved."""
        self._moved = False
        self._instead: Sequence[str] = (words.READING,)
        self._inks = Inks(self)

    # -- what is shown

    def show(
        self,
        browsed: Browsed,
        rows: Rows,
        *,
        sought: str = "",
        instead: Sequence[str] = words.NO_CHECKPOINTS,
    ) -> None:
        """Shows rows. The cursor stays on its row, and the row at its place on the screen.

        ``instead`` is shown if there are none. If the row is gone, the cursor moves to the next. It
        begins where the files are.
        """
        before, offset = self.chosen, self._cursor_line - self.scroll_offset.y
        at_top = self.scroll_offset.y == 0
        arrives = not self._arrived and browsed.here is not None
        shown_before = None if self._lines is None else self._lines.browsed
        self._entries.forget_changed(shown_before, browsed)
        self._rows, self._instead = rows, instead
        self._lines = TimelineLines(browsed, rows, sought=sought)
        self._cursor = self._found(before, rows)
        if arrives and browsed.here is not None and browsed.here[0] in rows.indexes:
            self._cursor = self._lines.start
            self._arrived = True
        self._arrived = self._arrived or browsed.whole
        self.virtual_size = Size(self._width, rows.height)
        self._refresh_scrollbars()
        stays = at_top and self._cursor_line + 1 < self.size.height
        self.scroll_to(y=0 if stays else self._cursor_line - offset, animate=False, immediate=True)
        if arrives:
            self._center()
        self.refresh()
        self._ask_for_entries()
        if self.chosen != before:
            self.post_message(self.Chosen(self.chosen))

    def _found(self, before: TimelineRow | None, rows: Rows) -> int:
        if before is not None and before.id in rows.indexes:
            return rows.indexes[before.id]
        older = (
            at
            for at, row in enumerate(rows.rows)
            if row.can_be_chosen and before is not None and row.item.position < before.position
        )
        return next(older, rows.indexes[rows.rows[-1].item.id] if before and len(rows) else 0)

    def know(self, entries: Mapping[str, TimelineEntry]) -> None:
        """Takes entries that were lacking."""
        self._entries.learn(entries)
        self.refresh()

    def entry_of(self, row: TimelineRow) -> TimelineEntry | None:
        """Returns an entry in full, if it is known."""
        return self._entries.get(row.id)

    @property
    def chosen(self) -> TimelineRow | None:
        """The row under the cursor."""
        return self._rows.rows[self._cursor].item if len(self._rows) else None

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    @property
    def _cursor_line(self) -> int:
        return self._rows.tops[self._cursor] if len(self._rows) else 0

    def choose(self, id: str) -> None:
        """Moves the cursor to a row, if it is there."""
        if id in self._rows.indexes:
            self._go(self._rows.indexes[id])

    def _ask_for_entries(self) -> None:
        """Asks for unknown entries in view, and for a page around them."""
        if not len(self._rows):
            return
        top, page = self.scroll_offset.y, max(1, self.size.height)
        first = self._rows.at_line(max(0, top - page // 2)) or (0, 0)
        last = self._rows.at_line(top + page + page // 2) or (len(self._rows) - 1, 0)
        seen = self._rows.rows[first[0] : last[0] + 1]
        ids = self._entries.lacking(row.item.id for row in seen)
        if ids:
            self.post_message(self.Lacking(ids))

    # -- moving

    def action_move(self, by: int) -> None:
        if len(self._rows):
            self._go(self._rows.step(self._cursor, by))

    def action_page(self, by: int) -> None:
        """Moves by about a page; does not wrap, but stops at the ends."""
        if not len(self._rows):
            return
        line = self._cursor_line + by * max(1, self.size.height - 2)
        at = self._rows.at_line(min(max(line, 0), self._rows.height - 1))
        assert at is not None
        row = self._rows.rows[at[0]]
        self._go(at[0] if row.can_be_chosen else self._rows.indexes[row.item.id])

    def action_jump(self, to: int) -> None:
        if len(self._rows):
            self._go(0 if to == 0 else self._rows.indexes[self._rows.rows[-1].item.id])

    def action_open(self) -> None:
        if self.chosen is not None:
            self.post_message(self.Opened(self.chosen))

    def on_click(self, event: events.Click) -> None:
        found = self._rows.at_line(event.y + self.scroll_offset.y)
        if found is None:
            return
        self._go(self._rows.indexes[self._rows.rows[found[0]].item.id])
        if event.chain == 2:
            self.action_open()

    def _go(self, to: int) -> None:
        if to == self._cursor:
            return
        self._cursor = to
        self._arrived = self._moved = True
        top, height = self._cursor_line, len(self._rows.rows[to].graph)
        self.scroll_to_region(Region(0, top, 1, height), animate=False, immediate=True, force=True)
        self.refresh()
        self.post_message(self.Chosen(self.chosen))

    def _center(self) -> None:
        """Scrolls so that the cursor is in the middle."""
        top = centered(self._cursor_line, self.size.height)
        self.scroll_to(y=top, animate=False, immediate=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._ask_for_entries()

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """Centers the cursor before anything is drawn; ``on_resize`` comes after the first frame.

        Textual has no public hook between its layout and its first frame.
        """
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if changed and len(self._rows) and not self._moved:
            self.virtual_size = Size(self._width, self._rows.height)
            self._center()
        return changed

    def on_resize(self) -> None:
        self.virtual_size = Size(self._width, self._rows.height)
        if len(self._rows) and self._moved:
            height = len(self._rows.rows[self._cursor].graph)
            self.scroll_to_region(Region(0, self._cursor_line, 1, height), animate=False)
        self._ask_for_entries()

    # -- drawing

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._inks.forget()

    def render_line(self, y: int) -> Strip:
        width = self._width
        base = self.rich_style
        if self._lines is None or not len(self._rows):
            return self._said_instead(y, width, base)
        found = self._lines.line(
            y + self.scroll_offset.y,
            width=width,
            now=self._now(),
            cursor=self._cursor,
            entry_of=self._entries.get,
        )
        if found is None:
            return Strip.blank(width, base)
        pieces, chosen = found
        cursor = "" if not chosen else CURSOR if self.has_focus else CURSOR_BLURRED
        return Strip([Segment(text, self._inks.of(name, cursor)) for text, name in pieces], width)

    def _said_instead(self, y: int, width: int, base: Style) -> Strip:
        lines = self._instead
        text = f"  {shown(lines[y - 1])}" if 0 < y <= len(lines) else ""
        return Strip([Segment(text, base)]).adjust_cell_length(width, base)
