"""A diff with removed and added lines below each other."""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip

from takeback.tui.detail import ink as inks
from takeback.tui.detail.lines import fitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.tui.detail.diff import Line, Patch
    from takeback.tui.detail.ink import Ink

_TWO_NUMBERS = 60
"""From this many columns on there is room for both line numbers."""


class Unified:
    """The rows of a patch, one per line; ``heads`` are the rows that the heads of hunks take."""

    def __init__(self, patch: Patch) -> None:
        self._rows: list[Line | None] = []
        self.heads: list[int] = []
        for hunk in patch.hunks:
            self.heads.append(len(self._rows))
            self._rows += (None, *hunk.lines)
        self._digits, self.longest = inks.measured(patch)

    def __len__(self) -> int:
        return len(self._rows)

    def room(self, width: int) -> int:
        """Returns how many cells of a line are visible at once."""
        return max(1, width - self._gutter(width))

    def _gutter(self, width: int) -> int:
        numbers = 2 if width >= _TWO_NUMBERS else 1
        return numbers * (self._digits + 1) + 2

    def draw(self, y: int, x: int, width: int, ink: Ink) -> Strip:
        """Returns one line; its number and sign stay where they are when the text moves."""
        row = self._rows[y]
        assert row is not None, "heads are drawn by the pane"
        behind = inks.tint(row, ink)
        numbers = (row.old, row.new) if width >= _TWO_NUMBERS else (row.new or row.old,)
        gutter = "".join(f"{'' if n is None else n:>{self._digits}} " for n in numbers)
        left = Strip([Segment(gutter, behind + ink("number-column")), inks.sign(row, ink)])
        body = fitted(inks.text(row, ink), self.room(width), x=x, behind=behind)
        return Strip.join([left, body])
