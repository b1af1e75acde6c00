"""The lines of the timeline, without the picker's library: lanes, rows, and how they are drawn."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, groupby
from typing import NamedTuple

from takeback.model.address import label_words
from takeback.model.ids import WORKSPACE_SESSION
from takeback.model.naming import age, short_ids
from takeback.model.turn import PROMPT, STEER
from takeback.model.value import Value
from takeback.tui.pieces import cell_len, set_cell_size
from takeback.words import listing as words
from takeback.words.listing import here_words, outside_words
from takeback.words.outcomes import counts
from takeback.words.text import Paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from takeback.app.engine import Engine
    from takeback.model.row import Spot, TimelineRow
    from takeback.timeline.sessions import Place
    from takeback.timeline.timeline import Browsed, TimelineEntry

    Piece = tuple[str, str]
    """Text, and the name of the style that it is drawn in."""

# -- lanes: one column per session, newest on top, a fork joined to where it comes from. Pure
#
# ●     turn 4 of a                each row has one line or two; the last one has room for
# │                                the arm that joins a fork to its parent
# │ ●   turn 3 of b, a fork of a
# ├─╯
# ●     turn 2 of a                b was forked from the end of turn 2, or before turn 3
#
# Lanes that only wait for the same place are merged, so ten attempts at one turn are no wider than
# two.


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


# -- what the list shows: rows with their lanes, made from the light rows of the ledger. Pure


TURN, GONE, HERE, PLACE, STEP, OUTSIDE = SIGNS = ("●", "○", "◆", "◇", "·", "┊")
_STEER = "steer"
_TALL = ("prompt", "shell", "manual")
"""Kinds that have a second line: what was changed."""


class Row(NamedTuple):
    """One row of the list. ``outside`` is a thin one: what the person changed before the turn."""

    item: TimelineRow
    graph: Sequence[str]
    outside: bool = False

    @property
    def can_be_chosen(self) -> bool:
        return not self.outside


class Rows:
    """All rows from the top down, and where each begins."""

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        self.rows = rows
        self.tops = [0, *accumulate(len(row.graph) for row in rows)]
        self.indexes = {row.item.id: at for at, row in enumerate(rows) if row.can_be_chosen}

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def height(self) -> int:
        """How many lines there are."""
        return self.tops[-1]

    def at_line(self, line: int) -> tuple[int, int] | None:
        """Returns which row a line belongs to, and which of the row's lines it is."""
        if not 0 <= line < self.height:
            return None
        at = bisect_right(self.tops, line) - 1
        return at, line - self.tops[at]

    def step(self, start: int, by: int) -> int:
        """Returns the next row that can be chosen; wraps around at the ends."""
        at = start
        for _ in range(len(self.rows)):
            at = (at + by) % len(self.rows)
            if self.rows[at].can_be_chosen:
                break
        return at


def build(browsed: Browsed, items: Sequence[TimelineRow] | None = None) -> Rows:
    """Returns the rows of a timeline, or of a part of it."""
    items = browsed.rows if items is None else items
    stops: list[Stop] = []
    kinds: list[tuple[TimelineRow, bool]] = []
    for item in items:
        height = 2 if item.kind in _TALL or item.label is not None else 1
        loose = item.session == WORKSPACE_SESSION
        stops.append(Stop(item.id, item.session, _sign(item, browsed), height=height, loose=loose))
        kinds.append((item, False))
        if item.outside:
            stops.append(Stop(f"{item.id} outside", item.session, OUTSIDE))
            kinds.append((item, True))
    graphs = draw(stops, _joins(browsed.origins, items))
    return Rows([Row(item, g, thin) for (item, thin), g in zip(kinds, graphs, strict=True)])


def _sign(item: TimelineRow, browsed: Browsed) -> str:
    if browsed.here is not None and browsed.here[0] == item.id:
        return HERE
    if item.kind == _STEER:
        return STEP
    if item.id in browsed.gone:
        return GONE
    return TURN if item.is_turn else PLACE


def _joins(origins: Mapping[str, Spot], items: Sequence[TimelineRow]) -> dict[str, tuple[str, str]]:
    """Says at which row each forked session leaves its parent, and on which side of it."""
    parents = {spot.session for spot in origins.values()}
    known: dict[str, list[TimelineRow]] = {}
    for item in reversed(items):  # oldest first
        if item.session in parents:
            known.setdefault(item.session, []).append(item)
    joins = {}
    for session, spot in origins.items():
        above = known.get(spot.session, [])
        at = bisect_right(above, spot.position, key=lambda item: item.position) - 1
        if at < 0:
            continue
        exact = above[at].position == spot.position and spot.kind == PROMPT
        joins[session] = (above[at].id, BELOW if exact else ABOVE)
    return joins


# -- draws one line of a row as pieces of text, each with the name of its style. Pure
#
# ❯ ● ✓ turn 12  fix the login bug …         <- here    5m
#   │     claude 2a8f · src/login.py, tests/test_login.py +1 more  +12 -3


CURSOR = "❯ "
_WIDEST_GRAPH = 12
_AGE = 4
_PLAIN = Paint(on=False)
_NEVER_DIM = ("cursor-sign", "lane", "gone-word", "here", "label", "resumed")


class Surroundings(Value):
    """What a row is drawn with besides itself; ``width`` is that of the list."""

    names: Mapping[str, str]
    origins: Mapping[str, Spot]
    here: Place | None
    gone: Mapping[str, str]
    now: float
    width: int
    sought: str = ""
    resumed: Mapping[str, Sequence[str]] = {}


def draw_line(
    row: Row, line: int, around: Surroundings, *, entry: TimelineEntry | None, chosen: bool
) -> list[Piece]:
    """Returns the pieces of one line of a row; together they are as wide as the list."""
    graph = _graph(row, line)
    start = [(CURSOR if chosen and line == 0 else " " * len(CURSOR), "cursor-sign"), graph]
    room = around.width - sum(cell_len(text) for text, _ in start)
    if row.outside:
        text = "outside edits before it" if entry is None else outside_words(entry)
        pieces = [*start, (_fitted(f"    {text}", room), "outside")]
    elif line == 0:
        pieces = [*start, *_first(row.item, room, around, entry)]
    else:
        pieces = [*start, *_second(row.item, room, around, entry)]
    expired = entry is not None and entry.checkpoint.expired is not None
    return _dimmed(pieces) if expired or row.item.id in around.gone else pieces


def _dimmed(pieces: list[Piece]) -> list[Piece]:
    """Returns the pieces of a row that is gone: dim, except for what is there to be noticed."""
    return [(text, name if name in _NEVER_DIM else "gone") for text, name in pieces]


def _graph(row: Row, line: int) -> Piece:
    longest = max(map(len, row.graph))
    graph, width = row.graph[line], min(longest, _WIDEST_GRAPH)
    # A row's own sign is always visible, however many lanes are beside it.
    sign = next((at for at, one in enumerate(row.graph[0]) if one in SIGNS), 0)
    start = max(0, sign + 2 - width) if longest > width else 0
    cells = graph[start : start + width]
    if start and cells:
        cells = f"…{cells[1:]}"
    if graph[start + width :]:
        cells = f"{cells[:-1]}…"
    return f"{cells:<{width}} ", "lane"


def _first(
    item: TimelineRow, room: int, around: Surroundings, entry: TimelineEntry | None
) -> list[Piece]:
    """What it is, what was asked, and when."""
    left = [_badge(item, entry), (f"{words.name(item)}  ", "name")]
    if item.kind == STEER:
        left.insert(1, ("  ", "prompt"))
    if item.label is not None:
        left.append((f"[{label_words(item)}]  ", "label"))
    right = [(f" {age(item.time, around.now):>{_AGE}} ", "age")]
    if around.here is not None and around.here[0] == item.id:
        right.insert(0, (f"  {here_words(around.here[1])}", "here"))
    text = words.prompt(item, entry) or words.about_fork(item, around.origins, around.names)
    return _filled(left, _sought(text, around.sought), right, room)


def _badge(item: TimelineRow, entry: TimelineEntry | None) -> Piece:
    if entry is None or entry.checkpoint.expired is not None:
        return "  ", "badge"
    if entry.checkpoint.complete:
        return f"{words.COMPLETE} ", "badge"
    return f"{words.INCOMPLETE} ", "warning"


def _sought(text: str, sought: str) -> list[Piece]:
    """Returns a prompt with the words that were searched for marked in it."""
    low = text.lower()
    marked = [False] * len(text)
    for word in sought.lower().split() if len(low) == len(text) else ():
        at = low.find(word)
        if at >= 0:
            marked[at : at + len(word)] = [True] * len(word)
    pieces, start = [], 0
    for found, run in groupby(marked):
        end = start + len(list(run))
        pieces.append((text[start:end], "found" if found else "prompt"))
        start = end
    return pieces or [("", "prompt")]


def _second(
    item: TimelineRow, room: int, around: Surroundings, entry: TimelineEntry | None
) -> list[Piece]:
    """Who did it, which files, and how much."""
    left = [(f"  {around.names.get(item.session, item.session)}", "agent")]
    right: list[Piece] = []
    gone = around.gone.get(item.id)
    for word in words.marks(item.state, entry, gone):
        ink = "gone-word" if word == gone else "warning"
        right.append((f"  {word}", "added" if word == words.TESTS_PASSED else ink))
    resumed = words.resumed(around.resumed.get(item.id, ()))
    if resumed:
        right.append((f"  {resumed}", "resumed"))
    if entry is None:
        return _filled(left, [], right, room)
    if entry.added or entry.deleted:
        added, deleted = counts(entry.added, entry.deleted, _PLAIN).split()
        right += [(f"  {added}", "added"), (f" {deleted}", "deleted")]
    right.append((" ", "age"))
    if entry.checkpoint.expired is not None:  # what it changed is not known any more
        return _filled(left, [], right, room)
    left.append((" · ", "files"))
    taken = sum(cell_len(text) for text, _ in (*left, *right))
    paths = [change.path for change in entry.shown]
    return _filled(left, [(words.files(paths, max(4, room - taken)), "files")], right, room)


def _filled(left: list[Piece], middle: list[Piece], right: list[Piece], room: int) -> list[Piece]:
    """Puts the right part at the right edge, and cuts the middle until it fits."""
    rest = room - sum(cell_len(text) for text, _ in right)
    if rest < 0:
        return [(_fitted("".join(text for text, _ in right), room), right[-1][1])]
    pieces = []
    for text, style in (*left, *middle):
        text = _fitted(text, rest) if cell_len(text) > rest else text
        rest -= cell_len(text)
        pieces.append((text, style))
    return [*pieces, (" " * rest, "prompt"), *right]


def _fitted(text: str, room: int) -> str:
    """Cuts a text, with a sign that there was more, or pads it with blanks."""
    if cell_len(text) <= room:
        return text + " " * (room - cell_len(text))
    return f"{set_cell_size(text, room - 1)}…" if room > 0 else ""


# -- the lines of a timeline, whoever draws them: the list, or the first frame before it. Pure


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


# -- the first page of the timeline: what is read while the screen is being prepared


_FIRST = 100
"""Rows that are read first, so that there is something to look at; the rest follows at once."""
_IN_VIEW = 30
"""Rows that are read in full: enough for a tall screen."""


class Page(NamedTuple):
    """The newest rows, drawn, and those in view in full."""

    browsed: Browsed
    rows: Rows
    entries: Mapping[str, TimelineEntry]

    @property
    def summary(self) -> str:
        """How much there is, in words."""
        return words.summary(self.browsed.rows, whole=self.browsed.whole)


def first_page(tb: Engine) -> Page:
    """Reads the newest rows."""
    browsed = tb.browse(limit=_FIRST)
    entries = tb.entries(row.id for row in browsed.rows[:_IN_VIEW])
    return Page(browsed, build(browsed), entries)
