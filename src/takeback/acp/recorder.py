"""Recorder: the process that records what the proxy hears, asked one thing after the other.

It is ``takeback hook generic --stdio``, which extensions of agents talk to as well. If it takes too
long, whoever waits is let go and it goes on. If it dies, it is started again, and an event that it
had not answered is told once more: rather twice than never.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import deque

from takeback import programs
from takeback.acp import messages
from takeback.acp.streams import IncomingLines, OutgoingBytes
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Document = dict[str, Any]
    Then = Callable[[Document | None], None]

_MOST_ANSWER = 64 << 20
_AT_ONCE = 1 << 16
_MOST_QUESTIONS = 1_000
_FOREVER = float("inf")
EVENT = "event"
"""The call that tells an event."""


class _Question(Value):
    """Something asked, whom to tell the answer, and until when they wait for it.

    ``may_repeat`` says that it may be asked again if there was no answer.
    """

    request: Document
    then: Then
    until: float
    may_repeat: bool


class Recorder:
    """Asks questions in order; ``limit`` is how many seconds those wait that cannot wait long."""

    def __init__(self, environ: Mapping[str, str], limit: float) -> None:
        self._environ = dict(environ)
        self._limit = limit
        self._asked: deque[_Question] = deque()
        """Unanswered, oldest first; only the first was sent."""
        self._process: subprocess.Popen[bytes] | None = None
        self._leaving: list[subprocess.Popen[bytes]] = []
        self._reader: IncomingLines | None = None
        self._writer: OutgoingBytes | None = None
        self._start()

    def _start(self) -> None:
        try:
            started = subprocess.Popen(
                programs.takeback("hook", "generic", "--stdio"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self._environ,
                start_new_session=True,  # who ends the proxy does not end what it has begun
            )
        except OSError:  # nothing is recorded, and nothing is held up
            return
        assert started.stdin is not None
        assert started.stdout is not None
        os.set_blocking(started.stdin.fileno(), False)
        self._process = started
        self._reader = IncomingLines(started.stdout.fileno(), _MOST_ANSWER)
        self._writer = OutgoingBytes(started.stdin.fileno(), _AT_ONCE)

    @property
    def reader(self) -> IncomingLines | None:
        return self._reader

    @property
    def writer(self) -> OutgoingBytes | None:
        return self._writer

    @property
    def is_idle(self) -> bool:
        return not self._asked

    @property
    def last_unsent(self) -> Document | None:
        """The newest request, if it was not sent yet: it may still be added to."""
        return self._asked[-1].request if len(self._asked) > 1 else None

    @property
    def next_deadline(self) -> float:
        """When the first of those who wait is to be let go."""
        return min((question.until for question in self._asked), default=_FOREVER)

    def ask(self, request: Document, then: Then, *, forever: bool = False) -> None:
        """Asks; ``then`` is told the result, or None if there is none in time."""
        if len(self._asked) >= _MOST_QUESTIONS:
            then(None)
            return
        until = _FOREVER if forever else time.monotonic() + self._limit
        self._asked.append(_Question(request, then, until, request["call"] == EVENT))
        if len(self._asked) == 1:
            self._send()

    def _send(self) -> None:
        if self._process is None:
            self._start()
        if self._writer is None:
            self._answer(None)
            return
        self._writer.write(messages.line_of({"id": 0, **self._asked[0].request}))

    def hear(self) -> None:
        """Takes what the process says; call it only if there is something, or its end."""
        assert self._reader is not None
        self._reader.read()
        while (piece := self._reader.next()) is not None:
            said = messages.read(piece.data) if piece.is_line else None
            result = said.get("result") if said is not None and said.get("ok") is True else None
            self._answer(result if isinstance(result, dict) else None)
        if not self._reader.is_open:
            self._forget()
            self._ask_again()

    def _ask_again(self) -> None:
        """Goes on after the process has died with a question."""
        if not self._asked:
            return
        first = self._asked[0]
        if first.may_repeat:
            self._asked[0] = first.replace(may_repeat=False)
            self._send()
        else:
            self._answer(None)

    def let_go(self) -> None:
        """Lets those go on who have waited long enough; what they asked is done all the same."""
        now = time.monotonic()
        for at, question in enumerate(self._asked):
            if question.until <= now:
                self._asked[at] = question.replace(then=_nothing, until=_FOREVER)
                question.then(None)

    def _answer(self, result: Document | None) -> None:
        """Tells the first who asked, and asks the next question."""
        if not self._asked:
            return
        question = self._asked.popleft()
        if self._asked:
            self._send()
        question.then(result)

    def _forget(self) -> None:
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            # Not waited for: one that closed its stdout and stays would hold up editor and agent.
            self._leaving = [one for one in (*self._leaving, self._process) if one.poll() is None]
        self._process = self._reader = self._writer = None

    def close(self) -> None:
        """Ends it; what it is at work on, it finishes."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()


def _nothing(result: Document | None) -> None:
    """Tells nobody."""
