"""Endings: what agents' transcripts say about turns whose end was not announced."""

from __future__ import annotations

import os

from takeback import rooms
from takeback.adapters import adapter_of
from takeback.model.turn import PROMPT
from takeback.remembered import Remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint

_TAIL = 1 << 16
_TRANSCRIPTS_KEPT = 200


def turn_is_over(newest: Checkpoint) -> bool:
    """Tells from the end of a transcript whether a turn ended unannounced, by Esc."""
    state = _state(newest)
    return state is not None and _says_over(newest)


def _state(newest: Checkpoint) -> tuple[object, ...] | None:
    """Returns what changes with the transcript; None if the turn is not in it yet."""
    if newest.agent is None or not newest.transcript:
        return None
    part = newest.transcript[-1]
    try:
        found = os.stat(part.path)
    except (OSError, ValueError):
        return None
    if newest.kind == PROMPT and found.st_size <= part.size:
        return None  # the prompt is not written yet: the last line belongs to the turn before
    return newest.turn_id, found.st_size, found.st_mtime_ns


def _says_over(newest: Checkpoint) -> bool:
    tail = rooms.said.read_tail(newest.transcript[-1], _TAIL)
    return tail is not None and adapter_of(newest.agent or "").is_over(tail, newest.turn_id)


class Stops:
    """Tells which turns Esc has ended, and reads a transcript only when it has changed.

    Only for agents that have no event for Esc: the others announce every end, and their transcripts
    may be a moment ahead of it.
    """

    def __init__(self) -> None:
        self._seen: Remembered[str, tuple[object, bool]] = Remembered(_TRANSCRIPTS_KEPT)

    def __call__(self, newest: Checkpoint) -> bool:
        state = _state(newest)
        if state is None or not adapter_of(newest.agent or "").mute_on_esc:
            return False
        path = newest.transcript[-1].path
        known = self._seen.get(path)
        if known is None or known[0] != state:
            known = state, _says_over(newest)
            self._seen.add(path, known)
        return known[1]
