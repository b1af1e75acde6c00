"""A protected run: a command that reports nothing, followed by what happens to the files.

    begin     a checkpoint, before the command is started
    attend    what is due: a burst of changes that came to rest is a turn; one that goes on for
              long is kept meanwhile; a prompt that aider wrote down begins a turn
    end       what changed last

What goes wrong meanwhile must not reach the command: it is noted, and tried again with the next
changes. What is not told apart: who changed a file while the command ran.
"""

from __future__ import annotations

import os
import time

from takeback.adapters import OWN_AGENT, OWN_SESSION, aider, find_agent
from takeback.app.border import guarded
from takeback.bisect.bisect import Burst
from takeback.errors import InUse, TakebackError
from takeback.model import event as events
from takeback.store.notes import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from takeback.app.engine import Engine
    from takeback.capture.watching import Listening
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.event import AgentEvent

    NameTurn = Callable[[float], str]

_PATIENCE = 0.5
"""Seconds to wait for another process that is at work here, while the command runs."""
_LAST_PATIENCE = 10.0
_AGAIN = 1.0
_LOOKED_UP = 0.5
"""How often, in seconds, aider's history is looked up: it may lie outside the workspace."""
_LONGEST_NAME = 40


@guarded
class ProtectedRun:
    """One run of a command as a session of its own; ``every`` is the longest time unkept.

    ``name_turn`` returns the words for a turn that began at a time, where nobody typed any.
    """

    def __init__(
        self,
        tb: Engine,
        words: Sequence[str],
        environ: Mapping[str, str],
        *,
        every: float,
        name_turn: NameTurn,
    ) -> None:
        self._tb = tb
        self._every = every
        self._name_turn = name_turn
        history, project = None, os.fsdecode(tb.root)
        if aider.is_aider(words):
            history = aider.history_files(words, environ, os.getcwd(), project)
        self._history = None if history is None else _History(history)
        self._besides = () if history is None else aider.own_files(history, project)
        name = aider.NAME if history is not None else os.path.basename(words[0])
        self.agent = agent_name(name)
        self.session = tb.session(self.agent)
        self._listening: Listening | None = None
        self._burst: Burst | None = None
        self._running: str | None = None
        """The id of the turn that is open, if one is."""
        self._ended: str | None = None
        """The id of the prompted turn that ended last: until the next prompt it may go on."""
        self._typed: str | None = None
        """A prompt that becomes a turn only if files change."""
        self._patience = _PATIENCE
        self.turns = 0
        self.failure: str | None = None
        """What went wrong last, if what it concerns is not kept since."""

    def begin(self) -> None:
        """Makes the first checkpoint and listens from then on; raises TakebackError."""
        self._tb.refuse_program("a run of a program")
        received = self.session.tell(events.SESSION_START)
        if received.waiting:
            raise InUse("another process is at work here", hint="nothing was run: try again")
        self._listening = self._tb.listening()

    @property
    def variables(self) -> dict[str, str]:
        """What names the session to the commands of takeback that are called from inside it.

        An agent that takeback knows names its own.
        """
        if self.agent.startswith(_KNOWN):
            return {}
        return {OWN_SESSION: self.session.native, OWN_AGENT: self.agent}

    @property
    def queue(self) -> int | None:
        """What becomes readable when something changes, if anything does."""
        return None if self._listening is None else self._listening.queue

    def attend(self) -> float | None:
        """Does what is due; returns in how many seconds to call again, besides when ``queue`` says.

        None if there is no need to.
        """
        assert self._listening is not None
        now = time.monotonic()
        moved = self._listening.heard()
        if self._history is not None:
            for prompt in self._history.prompts():
                self._take(prompt)
            moved |= self._history.has_grown()
        if moved:
            begun = self._burst or Burst.begin(now)
            self._burst = begun.goes_on(now)
        if self._burst is not None and self._burst.is_over(self._listening.heard_until):
            self._keep(ended=True)
        elif self._burst is not None and self._burst.is_long(now, self._every):
            self._keep(ended=False)
        return self._pause()

    def end(self) -> None:
        """Keeps what changed last, and closes the last turn."""
        self._patience = _LAST_PATIENCE
        if self._history is not None:
            for prompt in self._history.prompts():
                self._take(prompt)
            self._history.has_grown()
        self._keep(ended=True, is_over=True)
        if self._listening is not None:
            self._listening.close()
        self._tb.keep_house(events.SESSION_END)

    def _pause(self) -> float | None:
        assert self._listening is not None
        asked = self._listening.pause
        pauses = [] if asked is None else [asked]
        if self._burst is not None and asked is None:
            pauses.append(self._burst.rest(time.monotonic(), self._every))
        if self._history is not None:
            pauses.append(_LOOKED_UP)
        return min(pauses, default=None)

    def _take(self, prompt: str) -> None:
        """Begins the turn of a prompt that was typed.

        Changes that have not come to rest are its own: that it was written down is one of them.
        """
        assert self._history is not None
        if self._running is not None:
            self._keep(ended=True, is_over=True)
        self._ended, self._typed = None, prompt
        if aider.is_command(prompt):
            return
        id, said = os.urandom(8).hex(), self._history.heard()
        begun = self._event(events.PROMPT, turn=id, prompt=prompt, messages=said)
        self._history.ask(prompt)
        if self._record([begun], always=True):
            self._running, self._typed = id, None

    def _keep(self, *, ended: bool, is_over: bool = False) -> None:
        """Keeps what changed. If that has ``ended``, so has the turn, unless an answer is awaited.

        If it ``is_over``, it is so whatever is awaited.
        """
        now = time.monotonic()
        burst, self._burst = self._burst, None
        if self._running is not None:
            done = ended and (is_over or self._history is None or self._history.is_answered())
            kind: events.EventKind = events.TURN_END if done else events.ROUND_END
            kept = self._record([self._of(self._running, kind)], always=done)
            if done and kept:
                self._ended = self._running if self._history is not None else None
                self._running = None
        elif self._ended is not None:
            kept = self._record([self._of(self._ended, events.TURN_END, continues=True)])
        else:
            kept = self._keep_found(burst, ended=ended)
        if kept is None:  # somebody else is at work here
            self._burst = (burst or Burst.begin(now)).goes_on(now)
        elif self._listening is not None and self._listening.listen_anew():
            self._burst = Burst.begin(now)
        elif not ended and burst is not None:
            self._burst = burst.kept(now)

    def _keep_found(self, burst: Burst | None, *, ended: bool) -> tuple[Checkpoint, ...] | None:
        """Keeps what changed while no turn was open as a turn of its own."""
        id = os.urandom(8).hex()
        ago = 0.0 if burst is None else time.monotonic() - burst.first
        words = self._typed or self._name_turn(time.time() - ago)
        begun = self._event(events.PROMPT, turn=id, prompt=words)
        kept = self._record([begun, self._of(id, events.TURN_END if ended else events.ROUND_END)])
        if kept and kept[0].kind == events.PROMPT:
            self._running = None if ended else id
            self._ended = id if ended and self._history is not None else None
            self._typed = None
        return kept

    def _of(self, turn: str, kind: events.EventKind, **fields: Any) -> AgentEvent:
        said = None if self._history is None else self._history.said()
        return self._event(kind, turn=turn, messages=said, **fields)

    def _event(self, kind: events.EventKind, **fields: Any) -> AgentEvent:
        return self.session.event(kind, **fields)

    def _record(
        self, told: list[AgentEvent], *, always: bool = False
    ) -> tuple[Checkpoint, ...] | None:
        """Records events, or notes why not; None if another process does not let us."""
        try:
            made = self._tb.record_belated(
                told, always=always, besides=self._besides, wait=self._patience
            )
            self._tb.keep_house(events.TURN_END)
        except InUse as error:
            self.failure = error.message
            return None
        except TakebackError as error:
            self.fail(error)
            return ()
        self.failure = None
        self.turns += sum(one.kind == events.PROMPT for one in made)
        return made

    def fail(self, error: TakebackError) -> None:
        """Notes what went wrong, for the end and for ``status``."""
        self.failure = error.message
        complain(f"run {self.agent}: {error.message}", self._tb.root)


_KNOWN = "run-"


def agent_name(program: str) -> str:
    """Returns what a program's sessions are listed under: its name, unless that is an agent's."""
    name = program[:_LONGEST_NAME] or "program"
    return name if find_agent(name) is None else f"{_KNOWN}{name}"


class _History:
    """What aider has written down since its run began."""

    def __init__(self, files: aider.HistoryFiles) -> None:
        self._input = aider.Grown(files.input)
        self._chat = aider.Grown(files.chat)
        self._conversation = aider.SaidInAider()

    def prompts(self) -> list[str]:
        return aider.prompts_in(self._input.text())

    def has_grown(self) -> bool:
        """Hears what was said since, and tells whether anything was."""
        text = self._chat.text()
        self._conversation.hear(text)
        return bool(text)

    def ask(self, prompt: str) -> None:
        self._conversation.ask(prompt)

    def is_answered(self) -> bool:
        return self._conversation.is_answered

    def heard(self) -> bytes:
        """Returns what was heard so far: what is new may answer the prompt that comes now."""
        return self._conversation.messages()

    def said(self) -> bytes:
        self.has_grown()
        return self.heard()
