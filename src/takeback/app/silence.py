"""Silence: agents that worked here unheard, or are about to, and the file that did it.

``status``, ``log``, the picker, the page and ``doctor`` all say what is found here. A transcript
tells it at once: the model has said something after the last event, and no turn is under way that
could have its rounds; or a prompt came after that event, which none announced.
"""

from __future__ import annotations

import time

from takeback import rooms
from takeback.adapters import message_reader
from takeback.check.finding import BROKEN, OFFER, Finding
from takeback.errors import Command
from takeback.model.agent import ASSISTANT, TOOL, USER
from takeback.model.checkpoint import TranscriptPart
from takeback.model.naming import ago

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.app.connect import AgentState

_TAIL = 1 << 18
_TICK = 1.0
"""Seconds that what was said may be newer than the event after it: clocks are read one by one."""
_ANNOUNCED = 20.0
"""Seconds by which a prompt is written after its event: a hook may take so long."""
_LAST_WORDS = 60.0
"""Seconds by which a transcript whose words have no time may be newer than the last event."""
_NO_PROMPTS = ("/", "!")
"""How what a person types begins that may be no prompt: a command, of which no event tells."""


def unheard_since(
    agent: str,
    transcripts: Iterable[tuple[str, float]],
    *,
    heard: float,
    connected: float,
    working: bool,
) -> float | None:
    """Returns when an agent said something that no event told of; None if it is not known to have.

    ``heard`` is when it was last heard, 0 for never, ``connected`` since when it would be, and
    ``working`` whether a turn of its has not ended.
    """
    after = max(heard, connected)
    unheard_after = max(heard + _TICK if heard else 0.0, connected)
    silent_after = max(heard + _LAST_WORDS if heard else 0.0, connected)
    found = []
    for path, written in transcripts:
        if written > after:
            prompted_after = after + _ANNOUNCED if working else 0.0
            timed, last = _last_said(agent, path, unheard_after, prompted_after)
            found += [last] if last else [written] if not timed and written > silent_after else []
    return max(found, default=None)


def _last_said(
    agent: str, path: str, after: float, prompted_after: float
) -> tuple[bool, float | None]:
    """Returns whether the end of a transcript says when, and when something unheard was said.

    That is what follows ``after``, and a prompt of after ``prompted_after`` if that is not 0.
    """
    reader = message_reader(agent)
    tail = rooms.said.read_tail(TranscriptPart(path, 0), _TAIL) if reader is not None else None
    if len(tail or b"") == _TAIL:
        tail = (tail or b"").partition(b"\n")[2]
    timed, asked, last = False, not prompted_after, None
    for message in reader(tail or b"") if reader is not None else ():
        if message.time is None:
            continue
        timed = True
        if message.role == USER and message.time > prompted_after:
            asked = asked or not message.text.startswith(_NO_PROMPTS)
        elif message.role in (ASSISTANT, TOOL) and message.time > after and asked:
            last = message.time
    return timed, last


def findings(state: AgentState, now: float | None = None) -> list[Finding]:
    """Returns what keeps an agent from being heard here; nothing if all is well.

    What only was tried is said too, of an agent that is connected or was heard here.
    """
    stops = [str(one) for one in state.silencers if one.stops]
    tried = [str(one) for one in state.silencers if not one.stops]
    if state.hindrance is not None:
        return [_broken(state, state.hindrance, "mend the file, then start it anew")]
    if state.missed_since is not None:
        when = ago(state.missed_since, time.time() if now is None else now)
        worked = f"{state.title} worked here ({when}) without takeback"
        if not state.connected:
            hint = Command("init", state.agent)
            return [Finding(state.title, OFFER, f"{worked}: it is not connected", (hint,))]
        if stops:
            return [_broken(state, f"{worked}: {one}", _TAKE_OUT) for one in stops]
        why = "its hooks are not trusted, or its settings were written anew"
        return [_broken(state, f"{worked}: {why}", state.advice)]
    if not state.connected and state.last_event is None:
        return []
    return [_broken(state, one, _TAKE_OUT) for one in (*stops, *tried)]


_TAKE_OUT = "take that out of it, unless you put it there"


def _broken(state: AgentState, message: str, hint: str) -> Finding:
    return Finding(state.title, BROKEN, message, hint)
