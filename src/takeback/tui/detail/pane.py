"""The pane of a diff, with what is ticked in it."""

from __future__ import annotations

from bisect import bisect_right

from rich.segment import Segment
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from takeback.app.proposal import Ticked, TickedHunks
from takeback.model.checkpoint import Change
from takeback.model.value import Value
from takeback.tui.detail.lines import NARROWEST, Lines, Patch, SideBySide, Unified, fitted, wrapped
from takeback.words.changes import more_lines, too_narrow
from takeback.words.text import PARTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import ClassVar

    from rich.style import Style
    from textual import events
    from textual.binding import BindingType

    from takeback.model.operation import Plan
    from takeback.tui.detail.view import ReadDiff

    Boxes = Callable[[int], str]

# -- the boxes that are ticked in the detail: those of files, and those of single hunks
#
# A file's tick is all of its hunks, and all of its hunks are the file: its permission bits go with
# them, whereas they stay if only some hunks are ticked.


TICKED, PARTLY, NOT_TICKED = "[x]", "[-]", "[ ]"


class Tickable(Value):
    """A text whose hunks can be ticked one by one, and how many there are."""

    change: Change
    count: int


class Ticks:
    """What is ticked now; two widgets draw it."""

    def __init__(self) -> None:
        self._files: set[bytes] = set()
        self._hunks: dict[bytes, TickedHunks] = {}

    @property
    def value(self) -> Ticked:
        return Ticked(frozenset(self._files), tuple(self._hunks.values()))

    def box(self, path: bytes) -> str:
        """Returns the box of a file."""
        return TICKED if path in self._files else PARTLY if path in self._hunks else NOT_TICKED

    def hunk_box(self, text: Tickable, number: int) -> str:
        """Returns the box of a hunk."""
        return TICKED if number in self._numbers(text) else NOT_TICKED

    def turn_file(self, path: bytes) -> None:
        """Ticks a file, also one that is ticked in part, or unticks it."""
        self._hunks.pop(path, None)
        self._files ^= {path}

    def turn_hunk(self, text: Tickable, number: int) -> None:
        """Ticks or unticks a hunk."""
        path = text.change.path
        numbers = self._numbers(text) ^ {number}
        self._files.discard(path)
        self._hunks.pop(path, None)
        if len(numbers) == text.count:
            self._files.add(path)
        elif numbers:
            self._hunks[path] = TickedHunks(text.change, numbers)

    def _numbers(self, text: Tickable) -> frozenset[int]:
        path = text.change.path
        if path in self._files:
            return frozenset(range(text.count))
        found = self._hunks.get(path)
        return frozenset() if found is None or found.change != text.change else found.numbers

    def clear(self) -> None:
        self._files.clear()
        self._hunks.clear()

    def clear_hunks(self) -> None:
        """Unticks the hunks and leaves the files: an operation has changed what they are of."""
        self._hunks.clear()

    def drop_outdated(self, plan: Plan) -> list[bytes]:
        """Unticks hunks of changes that a new plan does not make; returns the paths."""
        made = {change.path: change for change in (*plan.writes, *plan.deletes)}
        gone = [path for path, one in self._hunks.items() if made.get(path) != one.change]
        for path in gone:
            del self._hunks[path]
        return gone


# -- the diff of one file: what it is in words, then its lines, unified or side by side


_NAMES = (
    *("added", "removed", "same", "nothing", "head", "number-column", "words", "trouble"),
    "cursor",
    *("added-sign", "removed-sign", "added-inner", "removed-inner"),
    *PARTS,
)


_BOX_END = 4


class DiffPane(Lines):
    """Scrolls in both directions; line numbers stay. Where hunks have boxes, one is the cursor's.

    The cursor goes along when the lines are scrolled: it is always on a hunk that can be seen.
    """

    class Ticked(Message):
        """The person wants the box of a hunk turned; None if there is no box."""

        def __init__(self, number: int | None) -> None:
            super().__init__()
            self.number = number

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "hunk(1)", show=False),
        Binding("p", "hunk(-1)", show=False),
        Binding("space", "tick", "tick"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"diff--{name}" for name in _NAMES}
    DEFAULT_CSS = """
    DiffPane > .diff--added { background: $success 18%; }
    DiffPane > .diff--removed { background: $error 18%; }
    DiffPane > .diff--added-inner { background: $success 40%; }
    DiffPane > .diff--removed-inner { background: $error 40%; }
    DiffPane > .diff--added-sign { color: $text-success; text-style: bold; }
    DiffPane > .diff--removed-sign { color: $text-error; text-style: bold; }
    DiffPane > .diff--nothing { background: $foreground 4%; }
    DiffPane > .diff--head { color: $foreground-muted; background: $foreground 8%; }
    DiffPane > .diff--cursor { background: $block-cursor-blurred-background; text-style: bold; }
    DiffPane:focus > .diff--cursor {
        color: $block-cursor-foreground;
        background: $block-cursor-background;
    }
    DiffPane > .diff--number-column { color: $foreground-muted; }
    DiffPane > .diff--words { text-style: italic; }
    DiffPane > .diff--trouble { color: $text-error; text-style: bold; }
    DiffPane > .diff--comment { color: $foreground-muted; text-style: italic; }
    DiffPane > .diff--keyword { color: $text-primary; }
    DiffPane > .diff--string { color: $text-warning; }
    DiffPane > .diff--number { color: $text-accent; }
    DiffPane > .diff--name { text-style: bold; }
    DiffPane > .diff--builtin { color: $text-secondary; }
    /* sixteen colours have no tints: the text itself is green or red, and its parts are not */
    DiffPane:ansi > .diff--added { background: transparent; color: ansi_green; }
    DiffPane:ansi > .diff--removed { background: transparent; color: ansi_red; }
    DiffPane:ansi > .diff--added-inner, DiffPane:ansi > .diff--removed-inner {
        background: transparent;
        text-style: underline;
    }
    DiffPane:ansi > .diff--head { background: transparent; color: ansi_default; text-style: dim; }
    DiffPane:ansi > .diff--cursor { background: transparent; text-style: bold; }
    DiffPane:ansi:focus > .diff--cursor { color: ansi_default; text-style: bold reverse; }
    DiffPane:ansi > .diff--nothing { background: transparent; }
    DiffPane:ansi > .diff--number-column { color: ansi_default; text-style: dim; }
    DiffPane:ansi > .diff--comment { color: ansi_default; text-style: dim; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._patch = Patch()
        self._said: list[str] = []
        self._said_as = "words"
        self._head: list[str] = []
        self._body: Unified | SideBySide = Unified(self._patch)
        self._beside = False
        self._boxes: Boxes | None = None
        self._cursor = 0

    @property
    def has_hunks(self) -> bool:
        """Whether there are lines to be seen."""
        return bool(self._patch.hunks)

    @property
    def side_by_side(self) -> bool:
        """Whether the halves are side by side now."""
        return isinstance(self._body, SideBySide)

    def turn_side_by_side(self) -> None:
        """Toggles between unified and side by side."""
        self._beside = not self._beside
        self.relay()

    def show(self, read: ReadDiff, boxes: Boxes | None) -> None:
        """Shows a diff with words before it, from its beginning; ``boxes`` draws those of hunks."""
        self._boxes = boxes
        self._set(read.patch, read.said, "words")

    def say(self, said: Iterable[str], *, trouble: bool = False) -> None:
        """Shows words instead of a diff."""
        self._boxes = None
        self._set(Patch(), said, "trouble" if trouble else "words")

    def _set(self, patch: Patch, said: Iterable[str], said_as: str) -> None:
        self._patch, self._said, self._said_as = patch, list(said), said_as
        self._body = Unified(patch)
        self._cursor = 0
        self.scroll_to(0, 0, animate=False)
        self.relay()

    def lay_out(self, width: int) -> Size:
        wanted = SideBySide if self._beside and width >= NARROWEST else Unified
        if not isinstance(self._body, wanted):
            self._body = wanted(self._patch)
        said = list(self._said)
        if self._beside and width < NARROWEST and self._patch.hunks:
            can_grow = self.screen.maximized is None and self.screen.size.width >= NARROWEST
            said.append(too_narrow(width, NARROWEST, can_grow=can_grow))
        self._head = [line for text in said for line in wrapped(text, width)]
        more = 1 if self._patch.more else 0
        beyond = max(0, self._body.longest - self._body.room(width))
        return Size(width + beyond, len(self._head) + len(self._body) + more)

    def draw(self, y: int, x: int, width: int) -> Strip:
        if y < len(self._head):
            return fitted([Segment(self._head[y], self._ink(self._said_as))], width)
        y -= len(self._head)
        if y < len(self._body):
            number = self._hunk_at(y)
            if self._body.heads[number] == y:
                return self._draw_head(number, width)
            return self._body.draw(y, x, width, self._ink)
        if y == len(self._body) and self._patch.more:
            words = Segment(more_lines(self._patch.more), self._ink("words"))
            return fitted([words], width)
        return Strip.blank(width)

    def _draw_head(self, number: int, width: int) -> Strip:
        head, ink = self._patch.hunks[number].head, self._ink("head")
        if self._boxes is not None:
            here = number == self._cursor
            head = f"{'>' if here else ' '}{self._boxes(number)} {head}"
            ink = self._ink("cursor") if here else ink
        return fitted([Segment(head, ink)], width, behind=ink)

    def _ink(self, name: str) -> Style:
        return self.style(f"diff--{name}")

    # -- the cursor

    def _hunk_at(self, y: int) -> int:
        """Returns the number of the hunk that a row of the diff is in."""
        return bisect_right(self._body.heads, y) - 1

    def _rows_of(self, number: int) -> tuple[int, int]:
        """Returns the rows of a hunk in the pane: its head's, and the one after its last."""
        heads, first = self._body.heads, len(self._head)
        end = heads[number + 1] if number + 1 < len(heads) else len(self._body)
        return first + heads[number], first + end

    def action_hunk(self, by: int) -> None:
        """Goes to another hunk; after the last comes the first."""
        if self.has_hunks:
            self._cursor = (self._cursor + by) % len(self._body.heads)
            start, end = self._rows_of(self._cursor)
            self._reveal(start, end - start)

    def _reveal(self, row: int, rows: int) -> None:
        region = Region(0, row, 1, min(rows, self.scrollable_content_region.height))
        self.scroll_to_region(region, animate=False, x_axis=False)
        self.refresh()

    def action_tick(self) -> None:
        """Ticks or unticks the hunk under the cursor; its box is seen, also if it is far above."""
        if self._boxes is None:
            self.post_message(self.Ticked(None))
            return
        self._reveal(self._rows_of(self._cursor)[0], 1)
        self.post_message(self.Ticked(self._cursor))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self.has_hunks:
            return
        heads, top = self._body.heads, round(new_value) - len(self._head)
        bottom = top + self.scrollable_content_region.height
        if not top <= heads[self._cursor] < bottom:
            seen = (number for number, row in enumerate(heads) if top <= row < bottom)
            self._cursor = next(seen, max(0, self._hunk_at(top)))

    def on_click(self, event: events.Click) -> None:
        """Moves to a hunk by mouse; a click on its box ticks it."""
        y = event.y - self.gutter.top + round(self.scroll_y) - len(self._head)
        if self._boxes is None or not 0 <= y < len(self._body):
            return
        self._cursor = self._hunk_at(y)
        if self._body.heads[self._cursor] == y and event.x <= _BOX_END:
            self.action_tick()
        self.refresh()
