"""Syntax colours in a diff."""

from __future__ import annotations

from itertools import accumulate

from takeback.tui.detail.diff import Hunk, Patch
from takeback.words.text import LONGEST_LINE, MOST_TEXT, lexer_for, spans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.words.text import Lexer, Spans


def coloured(patch: Patch, path: str) -> Patch:
    """Returns the patch with its lines marked up by the lexer for the file's name.

    A hunk is read twice, as it was and as it is. The first call takes 120 ms to load pygments.
    """
    if any(len(line.text) > LONGEST_LINE for hunk in patch.hunks for line in hunk.lines):
        return patch
    lexer = lexer_for(path.rpartition("/")[2])
    if lexer is None:
        return patch
    hunks, left = [], MOST_TEXT
    for hunk in patch.hunks:
        ends = accumulate(len(line.text) for line in hunk.lines)
        most = sum(1 for end in ends if end <= left)
        left -= sum(len(line.text) for line in hunk.lines)
        hunks.append(_hunk(hunk, most, lexer) if most else hunk)
    return patch.replace(hunks=tuple(hunks))


def _hunk(hunk: Hunk, most: int, lexer: Lexer) -> Hunk:
    lines = hunk.lines[:most]
    found: dict[int, Spans] = {}
    for without in "+-":
        side = [(at, line) for at, line in enumerate(lines) if line.sign != without]
        parts = spans([line.text for _, line in side], lexer)
        found.update((at, parts[number]) for number, (at, _) in enumerate(side))
    coloured = (line.replace(spans=found[at]) for at, line in enumerate(lines))
    return hunk.replace(lines=(*coloured, *hunk.lines[most:]))
