"""The names that people give to checkpoints and turns, as far as the text alone tells.

``SESSION/PLACE`` is a place in one session. A turn (``turn:3``), the newest checkpoint (``@``) and
the newest at which tests passed (``green``) mean something only within a session.
"""

from __future__ import annotations

TURN = "turn:"
NEWEST = "@"
GREEN = "green"
"""The name of the newest checkpoint at which tests passed."""


def split_name(text: str) -> tuple[str | None, str]:
    """Returns the session that a name begins with, if it does, and the place.

    No place has a slash, but a session's id may.
    """
    session, slash, place = text.rpartition("/")
    return session if slash else None, place.strip()


def is_turn_name(place: str) -> bool:
    """Tells whether a place is a turn, or a step of one."""
    return place.startswith(TURN)


def is_whole_turn(old: object, new: object) -> bool:
    """Tells whether two names mean the two ends of one turn: ``turn:3`` and ``turn:3.end``."""
    if not isinstance(old, str) or new != f"{old}.end":
        return False
    number = split_name(old)[1].removeprefix(TURN)
    return is_turn_name(split_name(old)[1]) and number.isdecimal()


def names_newest(place: str) -> bool:
    """Tells whether a place is the newest checkpoint, or counted back from it."""
    return place.startswith(NEWEST)


def is_place(text: str) -> bool:
    """Tells whether a name means a place within a session, named or not, and no session itself."""
    _, place = split_name(text)
    return is_turn_name(place) or names_newest(place) or place == GREEN


def needs_session(text: str) -> bool:
    """Tells whether a name means something only within a session, but names none itself."""
    session, _ = split_name(text)
    return session is None and is_place(text)
