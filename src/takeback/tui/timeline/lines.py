"""The lines of a timeline, whoever draws them: the list, or the first frame before it. Pure."""

from __future__ import annotations

from takeback.model.naming import short_ids
from takeback.tui.timeline.drawing import Surroundings, draw_line
from takeback.words import listing as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.timeline.timeline import Browsed, TimelineEntry
    from takeback.tui.timeline.drawing import Piece
    from takeback.tui.timeline.rows import Rows


class TimelineLines:
    """Rows of a timeline, and what they are drawn with."""

    def __init__(self, browsed: Browsed, rows: Rows, *, sought: str = "") -> None:
        self.browsed = browsed
        self.rows = rows
        short = short_ids(browsed.sessions)
        self._around = Surroundings(
            names=words.session_names(browsed.sessions),
            origins=browsed.origins,
            here=browsed.here,
            gone=browsed.gone,
            now=0.0,
            width=0,
            sought=sought,
            resumed={
                row: [short[one] for one in children if one in short]
                for row, children in browsed.resumed.items()
            },
        )

    @property
    def start(self) -> int:
        """The row that the cursor begins at: where the files are, else the newest."""
        here = self.browsed.here
        return 0 if here is None else self.rows.indexes.get(here[0], 0)

    def line(
        self,
        at: int,
        *,
        width: int,
        now: float,
        cursor: int,
        entry_of: Callable[[str], TimelineEntry | None],
    ) -> tuple[list[Piece], bool] | None:
        """Returns the pieces of one line, as wide as the list, and whether the cursor is there.

        None if there is no such line.
        """
        found = self.rows.at_line(at)
        if found is None:
            return None
        row, chosen = self.rows.rows[found[0]], found[0] == cursor
        around, entry = self._around.replace(now=now, width=width), entry_of(row.item.id)
        return draw_line(row, found[1], around, entry=entry, chosen=chosen), chosen


def centered(line: int, height: int) -> int:
    """Returns the line at the top of a list so high that has a line in its middle."""
    return max(0, line - height // 2)
