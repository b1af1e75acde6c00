"""Lanes: one column per session, newest on top, a fork joined to where it comes from. Pure.

●     turn 4 of a                each row has one line or two; the last one has room for
│                                the arm that joins a fork to its parent
│ ●   turn 3 of b, a fork of a
├─╯
●     turn 2 of a                b was forked from the end of turn 2, or before turn 3

Lanes that only wait for the same place are merged, so ten attempts at one turn are no wider than
two.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ABOVE = "above"
BELOW = "below"
LINE = "│"
_CROSSED = {" ": "─", LINE: "┼"}
_LINES = frozenset(" │─┼┴├┤")
"""What an arm may be drawn over; a row's own sign stays."""


class Stop:
    """A row as the lanes see it: whose it is, its sign, and how many lines it has.

    ``loose`` ones are on no lane: they go in a free column beside the others.
    """

    __slots__ = ("height", "id", "loose", "session", "sign")

    def __init__(
        self, id: str, session: str, sign: str, *, height: int = 1, loose: bool = False
    ) -> None:
        self.id = id
        self.session = session
        self.sign = sign
        self.height = height
        self.loose = loose


def draw(stops: Sequence[Stop], joins: Mapping[str, tuple[str, str]]) -> list[list[str]]:
    """Returns the graph of each line of each row.

    ``joins`` maps a session to the row it was forked at, and on which side of it: ABOVE (from its
    end) or BELOW (from before it).
    """
    lanes = _Lanes(stops, joins)
    return [lanes.add(stop) for stop in stops]


class _Lanes:
    def __init__(self, stops: Sequence[Stop], joins: Mapping[str, tuple[str, str]]) -> None:
        self._columns: list[str | None] = []
        self._drawn: str | None = None
        self._left: dict[str, int] = {}
        for stop in stops:
            if not stop.loose:
                self._left[stop.session] = self._left.get(stop.session, 0) + 1
        there = {stop.id for stop in stops if not stop.loose}
        self._joins = {s: row for s, row in joins.items() if row[0] in there and s in self._left}
        self._forks: dict[tuple[str, str], list[str]] = {}
        for session, row in self._joins.items():
            self._forks.setdefault(row, []).append(session)
        self._last: list[str] = []
        """The lines of the row before, whose last one takes the arms that join above a row."""

    def add(self, stop: Stop) -> list[str]:
        """Draws the lines of one row; those of the row before may still be drawn on."""
        waiting = [s for s in self._forks.get((stop.id, ABOVE), ()) if s in self._columns]
        if waiting and stop.session not in self._columns:
            # The parent continues in its first fork's column: a straight line.
            self._take(self._columns.index(waiting[0]), stop.session)
            del waiting[0]
        column = self._column(stop)
        if waiting and self._last:
            self._last[-1] = self._joined(self._last[-1], column, waiting)
        lines = [self._with_sign(column, stop.sign)]
        if not stop.loose:
            self._leave(stop, column)
        lines += [self._line()] * (stop.height - 1)
        self._gather(stop, column, lines)
        below = [s for s in self._forks.get((stop.id, BELOW), ()) if s in self._columns]
        if below:
            lines[-1] = self._joined(lines[-1], column, below)
        self._last = lines
        return lines

    def _column(self, stop: Stop) -> int:
        if not stop.loose and stop.session in self._columns:
            return self._columns.index(stop.session)
        if None in self._columns:
            column = self._columns.index(None)
        else:
            column = len(self._columns)
        if not stop.loose:
            self._take(column, stop.session)
        return column

    def _take(self, column: int, session: str | None) -> None:
        """Gives a column to a session, or frees it; removes free ones at the end."""
        self._columns[column : column + 1] = [session]
        while self._columns and self._columns[-1] is None:
            self._columns.pop()
        self._drawn = None

    def _leave(self, stop: Stop, column: int) -> None:
        """Frees the lane of a session whose last row this was, unless it has yet to join."""
        self._left[stop.session] -= 1
        if not self._left[stop.session] and stop.session not in self._joins:
            self._take(column, None)

    def _gather(self, stop: Stop, column: int, lines: list[str]) -> None:
        """Joins a lane whose last row this was to another one that waits for the same place."""
        place = self._joins.get(stop.session)
        if stop.loose or place is None or self._left[stop.session]:
            return
        for other, taken in enumerate(self._columns):
            if taken is None or taken == stop.session or self._left[taken]:
                continue
            first, last = sorted((column, other))
            between = self._columns[first + 1 : last]
            leaver = self._columns[last]
            if self._joins.get(taken) != place or leaver is None or any(between):
                continue  # an arm over the lanes of others would be harder to read than a lane
            lines[-1] = self._joined(lines[-1], first, [leaver])
            self._forks[place].remove(leaver)
            return

    def _line(self) -> str:
        """Returns the lanes between two rows; the same text while no lane comes or goes."""
        if self._drawn is None:
            self._drawn = " ".join(" " if taken is None else LINE for taken in self._columns)
        return self._drawn

    def _with_sign(self, column: int, sign: str) -> str:
        line, at = self._line(), 2 * column
        return f"{line[:at]:<{at}}{sign}{line[at + 1 :]}"

    def _joined(self, line: str, column: int, sessions: Sequence[str]) -> str:
        """Draws arms from the lanes of sessions to a column, and frees the lanes."""
        ends = sorted(self._columns.index(session) for session in sessions)
        for end in reversed(ends):
            self._take(end, None)
        first, last = min(column, ends[0]), max(column, ends[-1])
        cells = list(line.ljust(2 * last + 1))
        for at in range(2 * first + 1, 2 * last):
            cells[at] = _CROSSED.get(cells[at], cells[at])
        for end in ends:
            beyond = cells[2 * end + 1 :][:1] if end > column else cells[: 2 * end][-1:]
            arm = "┴" if beyond == ["─"] else "╯" if end > column else "╰"
            cells[2 * end] = arm if cells[2 * end] in _LINES else cells[2 * end]
        trunk = "┼" if first < column < last else "├" if last > column else "┤"
        cells[2 * column] = trunk if cells[2 * column] in _LINES else cells[2 * column]
        return "".join(cells).rstrip()
