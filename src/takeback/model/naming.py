"""The names that people give to checkpoints and turns, and words for where and when they are."""

from __future__ import annotations

import time as clock

from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from takeback.model.entries import Session


# -- short ids: the beginning of a session's own id that tells it from the others of its agent


_SHORT_ID = 4


def short_ids(sessions: Iterable[Session]) -> dict[str, str]:
    """Returns the beginning of each session's own id, unique among those of its agent.

    If a child's id extends its parent's, so does the short one: ``s1.92af9a91`` of the parent
    ``s1`` is ``s1.92af``.
    """
    everyone = list(sessions)
    ids: dict[str | None, list[str]] = {}
    for session in everyone:
        ids.setdefault(session.agent, []).append(session.native or session.id)
    short = {agent: _shortened(sorted(set(own))) for agent, own in ids.items()}
    return {s.id: shown(short[s.agent][s.native or s.id]) for s in everyone}


def _shortened(ids: Sequence[str]) -> dict[str, str]:
    """Returns the short form of sorted ids: each is compared with its neighbours."""
    above: list[str] = []
    siblings: dict[str, list[str]] = {}
    for id in ids:
        while above and not id.startswith(above[-1]):
            above.pop()
        siblings.setdefault(above[-1] if above else "", []).append(id)
        above.append(id)
    short: dict[str, str] = {"": ""}
    for parent, children in sorted(siblings.items()):
        head = parent if len(parent) <= 2 * _SHORT_ID else short[parent]
        least = _SHORT_ID + 1 if parent else _SHORT_ID  # a child's begins with a dot
        for before, id, after in zip(["", *children], children, [*children[1:], ""], strict=False):
            common = max(_common(id, one) for one in (before, after))
            length = max(least, common + 1 - len(parent))
            short[id] = head + id[len(parent) :][:length]
    return short


def _common(one: str, other: str) -> int:
    """Returns the length of the common prefix of two texts."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


# -- moments in words: how long ago, and what the clocks here showed


_NOW, _MINUTE, _HOUR, _DAY = 5, 60, 3600, 86400


def age(time: float, now: float) -> str:
    """Returns how long ago: now, 42s, 5m, 3h, 2d."""
    seconds = max(0, int(now - time))
    if seconds < _NOW:
        return "now"
    if seconds < _MINUTE:
        return f"{seconds}s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE}m"
    return f"{seconds // _HOUR}h" if seconds < _DAY else f"{seconds // _DAY}d"


def ago(time: float, now: float) -> str:
    """Returns how long ago as part of a sentence: now, 5m ago."""
    how_long = age(time, now)
    return how_long if how_long == "now" else f"{how_long} ago"


def time_of_day(time: float, now: float) -> str:
    """Returns what the clocks here showed: 21:39, with the date if that was not today."""
    shown = clock.localtime(time)
    if shown[:3] == clock.localtime(now)[:3]:
        return clock.strftime("%H:%M", shown)
    return clock.strftime("%Y-%m-%d %H:%M", shown)


# -- the names that people give to checkpoints and turns, as far as the text alone tells
#
# ``SESSION/PLACE`` is a place in one session. A turn (``turn:3``), the newest checkpoint (``@``)
# and the newest at which tests passed (``green``) mean something only within a session.


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
