"""Reads git's unified diff of one path into lines that can be drawn. Pure.

A file's contents are never trusted: the head of a hunk says how long it is, so that no line of a
file is taken for a line of the diff; and whatever would control a terminal is made harmless.
"""

from __future__ import annotations

import re

from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.visible import shown
from takeback.words.changes import more_characters
from takeback.words.text import Spans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_LINES = 5_000
LONGEST_LINE = 2_000
TAB = 4
_HEAD = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)", re.DOTALL)


class Line(Value):
    """One line of a file in the old state (``-``), in the new one (``+``) or in both.

    ``spans`` are (start, end, what it is) for colours; ``inner`` is the part in which it differs
    from the line that it replaces or is replaced by. The last line of a file may lack its ``end``.
    """

    sign: str
    old: int | None
    new: int | None
    text: str
    end: bool = True
    spans: Spans = ()
    inner: tuple[int, int] | None = None


class Hunk(Value):
    """Lines that belong together, and the head that git gives them."""

    head: str
    lines: tuple[Line, ...]


class Patch(Value):
    """The diff of one path, cut to what a person may read; ``more`` lines were left out."""

    hunks: tuple[Hunk, ...] = ()
    more: int = 0
    binary: bool = False
    crlf: bool = False
    not_utf8: bool = False


class _Raw(Value):
    sign: str
    old: int | None
    new: int | None
    text: bytes
    end: bool = True


def parse(patch: bytes, *, most: int = MOST_LINES) -> Patch:
    """Returns the diff of one path; for a file that became a link it has two parts."""
    hunks: list[tuple[bytes, list[_Raw]]] = []
    binary, more, kept = False, 0, 0
    lines = patch.split(b"\n")
    at = 0
    while at < len(lines):
        head = _HEAD.fullmatch(lines[at])
        at += 1
        if head is None:
            binary = binary or lines[at - 1].startswith(b"Binary files ")
            continue
        raw, at, missing = _hunk(lines, at, head, most - kept)
        kept += len(raw)
        more += missing
        if raw:
            hunks.append((head[0], raw))
    everything = [line.text for _, raw in hunks for line in raw]
    crlf = bool(everything) and all(text.endswith(b"\r") for text in everything)
    return Patch(
        tuple(Hunk(readable(head), tuple(_lines(raw, crlf=crlf))) for head, raw in hunks),
        more,
        binary,
        crlf,
        not all(_is_utf8(text) for text in everything),
    )


def _hunk(
    lines: Sequence[bytes], at: int, head: re.Match[bytes], most: int
) -> tuple[list[_Raw], int, int]:
    """Returns the lines of a hunk, where it ends, and how many of its lines were left out."""
    old, new = int(head[1]), int(head[3])
    last_old = old + (1 if head[2] is None else int(head[2]))
    last_new = new + (1 if head[4] is None else int(head[4]))
    found: list[_Raw] = []
    missing = 0
    while at < len(lines) and (old < last_old or new < last_new or lines[at][:1] == b"\\"):
        sign, text = lines[at][:1], lines[at][1:]
        at += 1
        if sign == b"\\":  # a remark of git's: the line before it has no newline
            if found and not missing:
                found[-1] = found[-1].replace(end=False)
            continue
        in_old, in_new = sign != b"+", sign != b"-"
        if len(found) < most:
            numbers = old if in_old else None, new if in_new else None
            found.append(_Raw(sign.decode("ascii", "replace") or " ", *numbers, text))
        else:
            missing += 1
        old += in_old
        new += in_new
    return found, at, missing


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _lines(raw: Sequence[_Raw], *, crlf: bool) -> Iterator[Line]:
    made = []
    for line in raw:
        text = readable(line.text[:-1] if crlf else line.text)
        made.append(Line(line.sign, line.old, line.new, text, line.end))
    for gone, come in replaced(made):
        parts = inner(made[gone].text, made[come].text)
        if parts is not None:
            made[gone] = made[gone].replace(inner=parts[0])
            made[come] = made[come].replace(inner=parts[1])
    yield from made


def readable(text: bytes) -> str:
    """Returns a line of a file made harmless, cut if it is very long."""
    whole = to_text(text)
    line = shown(whole[:LONGEST_LINE].expandtabs(TAB))
    return line if len(whole) <= LONGEST_LINE else line + more_characters(len(whole) - LONGEST_LINE)


def replaced(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Yields which line replaced which, where as many were added as removed."""
    at = 0
    while at < len(lines):
        gone = _run(lines, at, "-")
        come = _run(lines, gone, "+")
        if gone - at == come - gone:
            yield from ((at + number, gone + number) for number in range(gone - at))
        at = max(come, at + 1)


def _run(lines: Sequence[Line], at: int, sign: str) -> int:
    while at < len(lines) and lines[at].sign == sign:
        at += 1
    return at


def inner(old: str, new: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Returns the parts in which two lines differ; None if they have little in common."""
    shorter = min(len(old), len(new))
    start = 0
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    if len((old[:start] + old[len(old) - end :]).strip()) * 3 < max(len(old), len(new)):
        return None
    return (start, len(old) - end), (start, len(new) - end)


def pairs(hunk: Hunk) -> Iterator[tuple[Line | None, Line | None]]:
    """Yields the lines of a hunk in pairs, as shown side by side."""
    lines, at = hunk.lines, 0
    while at < len(lines):
        if lines[at].sign == " ":
            yield lines[at], lines[at]
            at += 1
            continue
        gone = _run(lines, at, "-")
        come = _run(lines, gone, "+")
        if come == at:  # a sign that git does not write: shown, and skipped
            yield lines[at], lines[at]
            at += 1
            continue
        for number in range(max(gone - at, come - gone)):
            yield (
                lines[at + number] if at + number < gone else None,
                lines[gone + number] if gone + number < come else None,
            )
        at = come
