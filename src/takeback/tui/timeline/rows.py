"""What the list shows: rows with their lanes, made from the light rows of the ledger. Pure."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from takeback.model.ids import WORKSPACE_SESSION
from takeback.model.turn import PROMPT
from takeback.tui.timeline.lanes import ABOVE, BELOW, Stop, draw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.model.row import Spot, TimelineRow
    from takeback.timeline.timeline import Browsed

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
