"""Draws one line of a row as pieces of text, each with the name of its style. Pure.

❯ ● ✓ turn 12  fix the login bug …         <- here    5m
  │     claude 2a8f · src/login.py, tests/test_login.py +1 more  +12 -3
"""

from __future__ import annotations

from itertools import groupby

from takeback.model.address import label_words
from takeback.model.naming import age
from takeback.model.turn import STEER
from takeback.model.value import Value
from takeback.tui.pieces import cell_len, set_cell_size
from takeback.tui.timeline.rows import SIGNS
from takeback.words import listing as words
from takeback.words.listing import here_words, outside_words
from takeback.words.outcomes import counts
from takeback.words.text import Paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from takeback.model.row import Spot, TimelineRow
    from takeback.timeline.sessions import Place
    from takeback.timeline.timeline import TimelineEntry
    from takeback.tui.timeline.rows import Row

    Piece = tuple[str, str]
    """Text, and the name of the style that it is drawn in."""

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
