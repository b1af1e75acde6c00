"""A diff with the old lines on the left and the new ones on the right."""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip

from takeback.tui.detail import ink as inks
from takeback.tui.detail.diff import pairs
from takeback.tui.detail.lines import fitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.tui.detail.diff import Line, Patch
    from takeback.tui.detail.ink import Ink

    Pair = tuple[Line | None, Line | None]

NARROWEST = 96
"""With fewer columns two halves show too little of a line of code."""
_BETWEEN = "│"


class SideBySide:
    """The rows of a patch in two halves; ``heads`` are the rows that the heads of hunks take."""

    def __init__(self, patch: Patch) -> None:
        self._rows: list[Pair | None] = []
        self.heads: list[int] = []
        for hunk in patch.hunks:
            self.heads.append(len(self._rows))
            self._rows += (None, *pairs(hunk))
        self._digits, self.longest = inks.measured(patch)

    def __len__(self) -> int:
        return len(self._rows)

    def room(self, width: int) -> int:
        """Returns how many cells of a line are visible at once."""
        return max(1, (width - len(_BETWEEN)) // 2 - self._digits - 3)

    def draw(self, y: int, x: int, width: int, ink: Ink) -> Strip:
        """Returns one row of lines; both halves move together."""
        row = self._rows[y]
        assert row is not None, "heads are drawn by the pane"
        room, half = self.room(width), (width - len(_BETWEEN)) // 2
        left = self._half(row[0], None if row[0] is None else row[0].old, x, room, ink)
        odd = width - len(_BETWEEN) - 2 * half
        right = self._half(row[1], None if row[1] is None else row[1].new, x, room + odd, ink)
        return Strip.join([left, Strip([Segment(_BETWEEN, ink("number-column"))]), right])

    def _half(self, line: Line | None, number: int | None, x: int, room: int, ink: Ink) -> Strip:
        if line is None:
            return Strip.blank(self._digits + 3 + room, ink("nothing"))
        behind = inks.tint(line, ink)
        gutter = f"{'' if number is None else number:>{self._digits}} "
        left = Strip([Segment(gutter, behind + ink("number-column")), inks.sign(line, ink)])
        return Strip.join([left, fitted(inks.text(line, ink), room, x=x, behind=behind)])
