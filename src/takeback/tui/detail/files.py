"""The list of changed files: sign, path, lines, who did it, and a box to tick."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from takeback.model.value import Value
from takeback.tui.detail.lines import Lines, fitted
from takeback.words import changes as words
from takeback.words.text import shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import ClassVar

    from rich.style import Style
    from textual import events
    from textual.binding import BindingType

    from takeback.model.operation import Preview
    from takeback.timeline.timeline import TimelineEntry
    from takeback.tui.detail.pane import Ticks

_BAR = 5
_LEAST_WHO = 16
_WITH_WHO, _WITH_BAR = 56, 34
"""From this many columns on there is room for who did it, and for the bar."""
_TICK_END = 6


class FileRow(Value):
    """One line of the list. ``reason`` is set for a path that would be left as it is."""

    path: bytes
    kind: str
    added: int | None
    deleted: int | None
    who: str
    reason: str | None = None


def changed_rows(entry: TimelineEntry) -> list[FileRow]:
    """Returns what a turn changed, or what was found changed at a checkpoint."""
    session = entry.checkpoint.session
    return [FileRow(c.path, c.kind, c.added, c.deleted, words.who(c, session)) for c in entry.shown]


def going_rows(preview: Preview) -> list[FileRow]:
    """Returns what going there would change, then what it would leave alone."""
    own, others = frozenset(preview.plan.outside), frozenset(preview.plan.others)
    rows = []
    for change in preview.changes:
        who = words.OWN_EDIT if change.path in own else ""
        who = words.ANOTHER_SESSION if change.path in others else who
        rows.append(FileRow(change.path, change.kind, change.added, change.deleted, who))
    left = preview.plan.left_alone
    return rows + [FileRow(item.path, "", None, None, "", item.reason) for item in left]


class FileList(Lines):
    """A cursor moves over the files; ``space`` ticks the one under it."""

    class Moved(Message):
        """The cursor is on another file, by a key, or because the list has changed."""

        def __init__(self, *, by_hand: bool) -> None:
            super().__init__()
            self.by_hand = by_hand

    class Ticked(Message):
        """A box was ticked or unticked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "move_to(0)", show=False),
        Binding("end", "move_to(-1)", show=False),
        Binding("space", "tick", "tick"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "files--cursor",
        "files--added",
        "files--deleted",
        "files--faint",
    }
    DEFAULT_CSS = """
    FileList > .files--cursor { background: $block-cursor-blurred-background; text-style: bold; }
    FileList:focus > .files--cursor {
        color: $block-cursor-foreground;
        background: $block-cursor-background;
    }
    FileList > .files--added { color: $text-success; }
    FileList > .files--deleted { color: $text-error; }
    FileList > .files--faint { color: $foreground-muted; }
    FileList:ansi > .files--faint { color: ansi_default; text-style: dim; }
    FileList:ansi > .files--cursor { background: transparent; text-style: bold; }
    FileList:ansi:focus > .files--cursor { color: ansi_default; text-style: bold reverse; }
    """

    def __init__(self, ticks: Ticks, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._ticks = ticks
        self._rows: Sequence[FileRow] = ()
        self._instead = ""
        self._cursor = 0
        self._last: bytes | None = None
        self._most = 0
        self._counts = (0, 0)
        self._longest = (0, 0)

    @property
    def here(self) -> FileRow | None:
        """The file under the cursor."""
        return self._rows[self._cursor] if self._rows else None

    def show(self, rows: Sequence[FileRow], instead: str = "") -> None:
        """Shows files, or words if there are none; the cursor stays on its file if it can."""
        before = self.here
        self._last = self._last if before is None else before.path
        self._rows, self._instead = rows, instead
        self._most = max(((r.added or 0) + (r.deleted or 0) for r in rows), default=0)
        counts = [words.line_counts(r.added, r.deleted) for r in rows]
        self._counts = (
            max((len(plus) for plus, _ in counts), default=0),
            max((len(minus) for _, minus in counts), default=0),
        )
        self._longest = (
            max((cell_len(shown_file(r.path)) for r in rows), default=0),
            max((len(r.who) for r in rows), default=0),
        )
        self._cursor = next((at for at, row in enumerate(rows) if row.path == self._last), 0)
        self.relay()
        self._heading()
        self._follow()

    def show_ticks(self) -> None:
        """Draws the boxes again, which may have changed."""
        self._heading()
        self.refresh()

    def _heading(self) -> None:
        if not self._rows:
            self.title("files")
            return
        added = sum(row.added or 0 for row in self._rows)
        deleted = sum(row.deleted or 0 for row in self._rows)
        files = sum(1 for row in self._rows if row.reason is None)
        ticked = self._ticks.value
        self.title(words.files_title(files, (added, deleted), len(ticked.files), len(ticked.hunks)))

    def lay_out(self, width: int) -> Size:
        return Size(width, max(1, len(self._rows)))

    def draw(self, y: int, x: int, width: int) -> Strip:
        if not self._rows and y == 0:
            return fitted([Segment(self._instead, self.style("files--faint"))], width)
        if y >= len(self._rows):
            return Strip.blank(width)
        row, here = self._rows[y], y == self._cursor
        mark = ">" if here else " "
        box = "   " if row.reason is not None else self._ticks.box(row.path)
        sign = words.SIGNS.get(row.kind, words.LEFT_ALONE_SIGN)
        tail = self._tail(row, width)
        room = width - 8 - sum(cell_len(segment.text) for segment in tail)
        room = max(4, min(room, self._longest[0]))
        path = _end_of(shown_file(row.path), room)
        style = self._kind_style(row)
        strip = fitted(
            [
                Segment(f"{mark}{box} "),
                Segment(f"{sign} ", style),
                Segment(path),
                Segment(" " * (room - cell_len(path) + 1)),
                *tail,
            ],
            width,
        )
        if not here:
            return strip
        cursor = self.style("files--cursor")
        if self.has_focus:  # a single colour on the cursor's background, which suits no other
            return Strip([Segment(strip.text, cursor)])
        return strip.apply_style(cursor)

    def _tail(self, row: FileRow, width: int) -> list[Segment]:
        """Returns what goes to the right of the path, as far as there is room."""
        if row.reason is not None:
            return [Segment("left alone", self.style("files--faint"))]
        added, deleted = self.style("files--added"), self.style("files--deleted")
        plus, minus = words.line_counts(row.added, row.deleted)
        tail = [
            Segment(f"{plus:>{self._counts[0]}} ", added),
            Segment(f"{minus:>{self._counts[1]}}", deleted),
        ]
        if width >= _WITH_BAR and self._most:
            come, gone = words.bar(row.added, row.deleted, self._most, _BAR)
            blank = " " * (_BAR - len(come + gone))
            tail += [Segment(f" {come}", added), Segment(gone, deleted), Segment(blank)]
        if width >= _WITH_WHO:
            room = min(self._longest[1] + 1, max(_LEAST_WHO, width // 3))
            who = Strip([Segment(f" {row.who}", self.style("files--faint"))])
            tail += who.crop_extend(0, room, None)
        return tail

    def _kind_style(self, row: FileRow) -> Style | None:
        name = {"added": "files--added", "deleted": "files--deleted"}.get(row.kind)
        return None if name is None else self.style(name)

    # -- the cursor

    def action_move(self, by: int) -> None:
        if self._rows:
            self._go((self._cursor + by) % len(self._rows))

    def action_page(self, by: int) -> None:
        step = by * max(1, self.scrollable_content_region.height - 1)
        self._go(min(max(self._cursor + step, 0), len(self._rows) - 1))

    def action_move_to(self, to: int) -> None:
        self._go(to % max(1, len(self._rows)))

    def _go(self, to: int) -> None:
        if self._rows and to != self._cursor:
            self._cursor = to
            self._follow(by_hand=True)

    def _follow(self, *, by_hand: bool = False) -> None:
        """Scrolls to the cursor and reports where it is."""
        self.scroll_to_region(Region(0, self._cursor, 1, 1), animate=False, x_axis=False)
        self.refresh()
        self.post_message(self.Moved(by_hand=by_hand))

    def action_tick(self) -> None:
        """Ticks or unticks the file under the cursor."""
        row = self.here
        if row is None or row.reason is not None:
            return
        self._ticks.turn_file(row.path)
        self.show_ticks()
        self.post_message(self.Ticked())

    def on_click(self, event: events.Click) -> None:
        """Moves to a file by mouse; a click on its box ticks it."""
        y = event.y - self.gutter.top + round(self.scroll_y)
        if 0 <= y < len(self._rows):
            self._go(y)
            if event.x < _TICK_END:
                self.action_tick()


def _end_of(text: str, width: int) -> str:
    """Returns the end of a path that does not fit: it says more than the beginning."""
    if cell_len(text) <= width:
        return text
    text = text[-width:]
    while cell_len(text) > width - 1:
        text = text[1:]
    return "…" + text
