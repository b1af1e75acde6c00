"""Numbers of a list, typed by a person: the one way that line by line something is chosen."""

from __future__ import annotations

from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def ask_number(
    ask: Callable[[], str | None],
    say: Callable[[str], None],
    most: int,
    words: Mapping[str, int] | None = None,
) -> int | None:
    """Asks until a number of the list is given, or a word that means one; None steps back."""
    while (typed := ask()) is not None:
        number = number_of(typed, most)
        if number is None and words:
            number = words.get(typed.lower())
        if number is not None:
            return number
        say(not_listed(typed))
    return None


def number_of(typed: str, most: int) -> int | None:
    """Returns the number that was typed, None if the list has no such number."""
    if typed.isascii() and typed.isdigit() and 1 <= int(typed) <= most:
        return int(typed)
    return None


def not_listed(typed: str) -> str:
    """Says that an answer is none of those that are offered."""
    return f"{shown(typed)} is not in the list."
