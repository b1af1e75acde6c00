"""The hook: an agent calls it at each event. It never fails, never blocks, never chatters.

    stdin    what the agent says, in JSON
    stdout   nothing, or what the model has to be told, or the person
    exit     0 always: another status would stop the agent

Whatever goes wrong becomes one line in a log, which ``takeback status`` shows.
"""

from __future__ import annotations

import os

from takeback.adapters import PLUGIN
from takeback.errors import UsageError
from takeback.events import Speaker, hear
from takeback.model import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from takeback.events import Heard, LetGo
    from takeback.model.event import AgentEvent
    from takeback.model.json_text import Json

_MOST_INPUT = 64 << 20
_PIECE = 1 << 16


def main(words: list[str], began: float | None = None) -> int:
    """Takes one event of the agent named by the first word; returns 0, whatever happens.

    ``began`` is when the agent called, by ``time.monotonic``.
    """
    speaker = speaker_of(words, began=began)
    answer(speaker.replace(part=lambda seconds: _part(speaker, seconds)))
    return 0


def speaker_of(words: list[str], *, process: int = 0, began: float | None = None) -> Speaker:
    """Returns who calls the hook with these words; ``process`` is the caller's, if not this one.

    Without any word it is a Claude Code that does not know the ``args`` of its settings.
    """
    agent, *more = words or [PLUGIN]
    speaker = Speaker(agent, f"hook of {agent}", process=process, began=began)
    if not more:
        return speaker
    from takeback.handover import BESIDE  # who handed over, or tried to, has it already

    return speaker.replace(beside=BESIDE in more)


def answer(speaker: Speaker, let_go: Callable[[AgentEvent], None] | None = None) -> Heard:
    """Takes the event on stdin, says on stdout what there is to say, and returns what happened.

    ``let_go`` is called if the agent need not wait until it has happened; see ``events.hear``.
    """

    def say_and_let_go(event: AgentEvent, output: str) -> None:
        _say(speaker, output)
        if let_go is not None:
            let_go(event)

    heard = hear(speaker, _payload, None if let_go is None else say_and_let_go)
    _say(speaker, heard.output)
    return heard


def _part(speaker: Speaker, seconds: float) -> LetGo | None:
    """Goes on in a child, which may outlast this process, for which the agent waits.

    For what may take longer than it waits and would else be begun again. Returns how the child lets
    the agent go on; None if there can be no child.
    """
    waits, goes = os.pipe()
    try:
        child = os.fork()
    except OSError:  # no process is left
        os.close(waits)
        os.close(goes)
        return None
    if child:
        os.close(goes)
        _wait_for(waits, seconds)
    os.close(waits)
    os.setsid()  # an agent may end what its hook has left in its group

    def let_go(event: AgentEvent, output: str) -> None:
        _say(speaker, output)
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for stream in range(3):
            os.dup2(null, stream)
        os.close(null)
        os.write(goes, b".")

    return let_go


def _wait_for(child: int, seconds: float) -> NoReturn:
    """Ends with the child's last word, or when an agent has waited far too long for it."""
    from takeback.c_modules import signal
    from takeback.handover import MARGIN

    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, seconds + MARGIN)
    try:
        os.read(child, 1)
    finally:
        os._exit(0)


def _say(speaker: Speaker, output: str) -> None:
    if not output:
        return
    try:
        os.write(1, output.encode(errors="surrogateescape"))
    except OSError as error:
        from takeback.store.notes import complain

        complain(f"hook {speaker.agent}: what it had to say could not be said: {error}")


def _payload() -> Json:
    """Returns the JSON on stdin; raises UsageError."""
    try:
        return json_text.loads(_input())
    except ValueError as error:
        raise UsageError(str(error)) from None


def _input() -> str:
    pieces: list[bytes] = []
    size = 0
    while size <= _MOST_INPUT:
        piece = os.read(0, _PIECE)
        if not piece:
            return b"".join(pieces).decode("utf-8", "surrogateescape")
        pieces.append(piece)
        size += len(piece)
    raise UsageError(f"the payload is longer than {_MOST_INPUT >> 20} MB")
