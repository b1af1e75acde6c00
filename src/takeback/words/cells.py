"""Cells: how wide a text is on a terminal, and how to cut it to a width.

A Chinese, Japanese or Korean character and most emoji take two cells, a combining mark none.
"""

from __future__ import annotations

from unicodedata import category, east_asian_width

MORE = "…"


def width(text: str) -> int:
    """Returns how many cells a text takes; it has no control characters."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    if character.isascii():
        return 1
    if category(character) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(character) in ("W", "F") else 1


def cut(text: str, room: int) -> str:
    """Returns a text that is no wider than ``room``, with a sign where the rest was."""
    if width(text) <= room:
        return text
    return "" if room < 1 else _first(text, room - 1) + MORE


def cut_left(text: str, room: int) -> str:
    """Cuts off the beginning instead: the end of a path says more."""
    if width(text) <= room:
        return text
    return "" if room < 1 else MORE + _first(text[::-1], room - 1)[::-1]


def _first(text: str, room: int) -> str:
    taken = 0
    for at, character in enumerate(text):
        taken += _cells(character)
        if taken > room:
            return text[:at]
    return text


def filled(text: str, room: int) -> str:
    """Returns a text padded with blanks to a width."""
    return text + " " * (room - width(text))
