"""Writes texts as JSON in all the ways in which programs do, and in some in which none does."""

from __future__ import annotations

from random import Random

_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


def escaped(text: str, times: int, random: Random, *, numbers: float = 0.3) -> str:
    """Returns what stands between the quotes of a string of JSON, inside JSON, so many times.

    Each character is written as it is, with a short escape or by its number, as it happens;
    ``numbers`` is how often one that need not be escaped is written by its number.
    """
    for _ in range(times):
        text = "".join(_written(character, random, numbers) for character in text)
    return text


def _written(character: str, random: Random, numbers: float) -> str:
    must = character in '"\\' or character < " "
    if random.random() < (0.5 if must else numbers):
        units = character.encode("utf-16-be").hex()
        units = random.choice((units, units.upper()))
        return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    if character in _SHORT and (must or random.random() < 0.5):
        return "\\" + _SHORT[character]
    return character if not must else f"\\u{ord(character):04x}"
