"""The diff of one file: what it is in words, then its lines, unified or side by side."""

from __future__ import annotations

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip

from takeback.tui.detail.diff import Patch
from takeback.tui.detail.lines import Lines, fitted, wrapped
from takeback.tui.detail.side_by_side import NARROWEST, SideBySide
from takeback.tui.detail.syntax import PARTS
from takeback.tui.detail.unified import Unified
from takeback.words.changes import more_lines, too_narrow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import ClassVar

    from rich.style import Style

_NAMES = (
    *("added", "removed", "same", "nothing", "head", "number-column", "words", "trouble"),
    *("added-sign", "removed-sign", "added-inner", "removed-inner"),
    *PARTS,
)


class DiffPane(Lines):
    """Scrolls in both directions; line numbers stay."""

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

    @property
    def side_by_side(self) -> bool:
        """Whether the halves are side by side now."""
        return isinstance(self._body, SideBySide)

    def turn_side_by_side(self) -> None:
        """Toggles between unified and side by side."""
        self._beside = not self._beside
        self.relay()

    def show(self, patch: Patch, said: Iterable[str]) -> None:
        """Shows a diff with words before it, from its beginning."""
        self._set(patch, said, "words")

    def say(self, said: Iterable[str], *, trouble: bool = False) -> None:
        """Shows words instead of a diff."""
        self._set(Patch(), said, "trouble" if trouble else "words")

    def _set(self, patch: Patch, said: Iterable[str], said_as: str) -> None:
        self._patch, self._said, self._said_as = patch, list(said), said_as
        self._body = Unified(patch)
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
            return self._body.draw(y, x, width, self._ink)
        if y == len(self._body) and self._patch.more:
            words = Segment(more_lines(self._patch.more), self._ink("words"))
            return fitted([words], width)
        return Strip.blank(width)

    def _ink(self, name: str) -> Style:
        return self.style(f"diff--{name}")
