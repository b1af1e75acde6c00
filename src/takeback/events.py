"""Events of agents: each is recorded within the time that an agent waits, or says why not.

Hooks and extensions hear through here. Whatever goes wrong is one line in a log, which ``status``
shows, and the first of it in a turn is said to the person by the agent itself, where it can.
"""

from __future__ import annotations

from takeback.errors import NotAWorkspace, TakebackError, TimedOut
from takeback.model.event import PROMPT, ROUND_END, SESSION_START, TOOL_AFTER, TURN_END
from takeback.ops.receive import Received
from takeback.store.log import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

    from takeback.app import Takeback
    from takeback.model.event import AgentEvent

_SIGALRM = 14
_ITIMER_REAL = 0
_TELLING = (SESSION_START, PROMPT, ROUND_END, TOOL_AFTER, TURN_END)
"""Not before a tool, where what an agent reads decides whether it runs, nor at a session's end."""
_LATE = "the files are not kept yet: that takes longer than an agent waits, and goes on meanwhile"


def hear(tb: Takeback, event: AgentEvent) -> Received:
    """Records an event; never fails for want of time, space or rights.

    ``warning`` of the answer is what the person has to be told, once a turn.
    """
    try:
        received = _heard(tb, event)
    except TakebackError as error:
        complain(f"hook {event.agent}: {error.message}", tb.root)
        what = "before this turn" if event.kind == PROMPT else "at this moment"
        failed = f"the files {what} are not kept: {error.message}"
        received = Received(warning=failed)
    if received.timed_out:
        received = received.replace(warning=_LATE)
    if received.warning is None:
        if event.kind == PROMPT:
            tb.note_good_beginning(event)
        return received
    if event.kind not in _TELLING or not tb.is_news(event):
        return received.replace(warning=None)
    return received.replace(warning=f"takeback: {received.warning}. More: takeback status")


def unheard(event: AgentEvent, error: TakebackError) -> str:
    """Notes that an event's workspace could not be opened; returns what the person is told of it.

    That a directory is not protected at all is said once, when a session starts there.
    """
    complain(f"hook {event.agent}: {error.message}", event.directory)
    when = SESSION_START if isinstance(error, NotAWorkspace) else PROMPT
    return f"takeback: the files here are not kept: {error.message}" if event.kind == when else ""


def _heard(tb: Takeback, event: AgentEvent) -> Received:
    came = tb.now
    try:
        with _Limit(tb):
            received = tb.receive(event, came=came, wait=tb.hook_seconds / 2)
    except TimedOut:  # before or after the recording: the disk hangs, or all is very slow
        tb.leave(event, came=came)
        received = Received(waiting=True, timed_out=True)
    if received.timed_out:
        tb.finish_detached()
    tb.keep_house()
    return received


class _Limit:
    """Ends what takes longer than the hook's own limit, by TimedOut.

    Only in the main process and only around the recording, which leaves nothing half-done when
    it is interrupted anywhere: a killed process leaves no more.
    """

    def __init__(self, tb: Takeback) -> None:
        self._seconds = tb.hook_seconds

    def __enter__(self) -> None:
        from takeback.c_modules import signal

        signal.signal(_SIGALRM, _ring)
        signal.setitimer(_ITIMER_REAL, self._seconds)

    def __exit__(self, *exc: object) -> None:
        from takeback.c_modules import signal

        signal.setitimer(_ITIMER_REAL, 0)


def _ring(number: int, frame: FrameType | None) -> NoReturn:
    raise TimedOut("the capture did not fit into the hook's time limit")
