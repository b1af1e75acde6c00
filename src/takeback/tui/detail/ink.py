"""Draws the text of one line of a diff: its tint, its syntax colours, the part that changed."""

from __future__ import annotations

from itertools import pairwise

from rich.segment import Segment

from takeback.words.changes import NO_LINE_END

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.style import Style

    from takeback.tui.detail.diff import Line, Patch

    Ink = Callable[[str], Style]
    """Gives the style of a name: added, removed, same, keyword, ..."""

TINTS = {"+": "added", "-": "removed"}


def tint(line: Line, ink: Ink) -> Style:
    """Returns the background of a whole line."""
    return ink(TINTS.get(line.sign, "same"))


def sign(line: Line, ink: Ink) -> Segment:
    """Returns the sign of a line, so that no colour is needed to tell what it is."""
    name = TINTS.get(line.sign)
    behind = tint(line, ink)
    return Segment(line.sign + " ", behind if name is None else behind + ink(f"{name}-sign"))


def text(line: Line, ink: Ink) -> list[Segment]:
    """Returns the text of a line in pieces of one style.

    If the line itself has a colour, for lack of a tint, its parts have none.
    """
    behind = tint(line, ink)
    start, end = line.inner or (0, 0)
    changed = ink(f"{TINTS[line.sign]}-inner") if line.sign in TINTS else behind
    cuts = sorted(
        {0, len(line.text), start, end, *(cut for span in line.spans for cut in span[:2])}
    )
    starts = {span[0]: span for span in line.spans}
    segments = []
    part = None
    for at, following in pairwise(cuts):
        part = starts.get(at, part if part is not None and at < part[1] else None)
        style = behind if part is None or behind.color is not None else behind + ink(part[2])
        style = style + changed if start <= at < end else style
        segments.append(Segment(line.text[at:following], style))
    if not line.end:
        segments.append(Segment(f"  ({NO_LINE_END})", behind + ink("number-column")))
    return segments


def measured(patch: Patch) -> tuple[int, int]:
    """Returns how many digits line numbers have, and how many cells the longest line takes."""
    highest, longest = 0, 0
    for hunk in patch.hunks:
        for line in hunk.lines:
            highest = max(highest, line.old or 0, line.new or 0)
            longest = max(longest, _length(line))
    return len(str(highest)), longest


def _length(line: Line) -> int:
    from rich.cells import cell_len

    return cell_len(line.text) + (0 if line.end else len(NO_LINE_END) + 4)
