"""The names that people give to checkpoints and turns, and words for where and when they are."""

from __future__ import annotations

import time as clock

from takeback.model.checkpoint import MANUAL, UNDO
from takeback.model.turn import (
    COMPACTION,
    FORK,
    PROMPT,
    ROUND,
    SESSION_END,
    SESSION_START,
    SHELL,
    STEER,
    TURN_END,
)
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.row import TimelineRow
    from takeback.model.timeline import Session


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


# -- address: where a checkpoint is, in the words that every face uses
#
# "before-the-merge"                      its label
# before turn 3: fix the login bug        where a turn begins
# after turn 6, 21:39                     its end
# made by hand, 2026-11-14 21:39          on another day


_LONGEST = 60
_BY_MODEL = "model's: "


def address(checkpoint: Checkpoint, now: float) -> str:
    """Returns where a checkpoint is; never only its id, and fit to be shown anywhere."""
    if checkpoint.label:
        return f'"{label_words(checkpoint)}"'
    said = _line(checkpoint.prompt or "")
    if checkpoint.kind == PROMPT and checkpoint.turn:
        return f"before turn {checkpoint.turn}" + (f": {said}" if said else "")
    when = time_of_day(checkpoint.time, now)
    if checkpoint.kind == UNDO:
        return f"{said or 'before an operation'}, {when}"
    words = _WORDS.get(checkpoint.kind, checkpoint.kind)
    if checkpoint.kind in (MANUAL, SESSION_START, SESSION_END, FORK, PROMPT):
        who = shown(checkpoint.agent or checkpoint.session)
        return f"{words.format(who=who)}, {when}"
    turn = f"turn {checkpoint.turn}" if checkpoint.turn else "the first turn"
    if checkpoint.kind == STEER and said:
        return f"in {turn}, before: {said}"
    return f"{words} {turn}, {when}"


def label_words(place: Checkpoint | TimelineRow) -> str:
    """Returns the label of a place as terminals show it: one that a model gave begins with that.

    What is cut for want of room is not the mark. The page has the same one (static/words.js).
    """
    label = shown(place.label or "")
    return label if place.label_by is None else f"{_BY_MODEL}{label}"


_WORDS = {
    MANUAL: "made by hand",
    PROMPT: "before a prompt of {who}",
    SESSION_START: "when {who} started",
    SESSION_END: "when {who} ended",
    FORK: "where a session of {who} begins",
    TURN_END: "after",
    ROUND: "in",
    STEER: "in",
    COMPACTION: "at a compaction in",
    SHELL: "after a command that followed",
}


def _line(text: str) -> str:
    """Returns a text as one line, cut if it is long."""
    line = shown(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
