"""Agents' events: the one path that each takes, whichever face it comes through.

    understood    what the agent sent becomes an AgentEvent, its texts cleaned, once
    believed      as what it can be, by who tells it (gate/teller.py)
    wanted        not before a tool that makes a new file; not if the person has takeback off
    a command     a prompt that is meant for takeback is answered, and no turn begins
    recorded      within the time that an agent waits; else the event waits for another process
    let go        at the end of a round its agent may go on before the files are captured; before
                  its next tool it waits for what is left of that. At any other event it goes on
                  when the time is up, and what has begun goes on beside it, late
    afterwards    packs are combined if there are many, and old files are swept out
    told          a failure is a line that ``status`` shows; the person is told the first of a turn
    later         when a turn has ended, a process that stays brings the ledger up to date, looks
                  whether the turn left something running, and has the files watched, so that the
                  next rounds need not look at all of them

``hear`` never raises: an agent is not stopped because takeback failed.
"""

from __future__ import annotations

import os
import time

from takeback.adapters import BUILT_IN, adapter_speaking
from takeback.errors import (
    NotAWorkspace,
    Refused,
    SettingsUnknown,
    StoreTooOld,
    TakebackError,
    TimedOut,
    UsageError,
)
from takeback.model.event import (
    INTERRUPTED,
    PROMPT,
    READ,
    ROUND_END,
    SESSION_END,
    SESSION_START,
    TOOL_AFTER,
    TOOL_BEFORE,
    TURN_END,
    cleaned,
)
from takeback.model.value import Value
from takeback.paths import home_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from takeback.app.recording import Recording
    from takeback.gate.teller import Above, Teller
    from takeback.model.agent import Silencer
    from takeback.model.event import AgentEvent
    from takeback.model.operation import Outcome
    from takeback.ports import Adapter
    from takeback.turns.receive import Received
    from takeback.worktree.watch import Watches

    LetGo = Callable[[AgentEvent, str], None]

_SIGALRM = 14
_ITIMER_REAL = 0
_TELLING = (SESSION_START, PROMPT, ROUND_END, TOOL_AFTER, TURN_END)
"""Not before a tool, where the output decides whether the tool runs, nor at a session's end."""
_ENDS = (TURN_END, INTERRUPTED, SESSION_END)
_WHOLE_LOOKS = (SESSION_START, PROMPT, TURN_END)
"""Once or twice in a turn the files may be watched anew: a watch may be void each time."""
_LONGEST_LATER = 60.0
"""How many seconds the ledger may take; the next turn's end continues from there."""
_LEAST = 0.000001
"""How many seconds are left at least: a timer of none would never ring."""
_LONGEST_ANSWER = 3600.0
"""How many seconds a person's own words may take: who typed them waits, and can end it."""
_OVERTAKEN = "a tool began while the round before it was still captured; that is marked as late"
_LATE = "the files are not kept yet: that takes longer than an agent waits, and goes on meanwhile"
_FIRST = (
    "no checkpoint before this turn yet: the first capture of the files takes longer than an agent "
    "waits, and goes on meanwhile"
)


class Speaker(Value):
    """Who speaks: the agent as it was called, and what it speaks through.

    ``holder`` is the name that others see while they wait for the workspace. ``directory`` is where
    it runs, for input that cannot be understood. One that ``follows`` continues with a new
    session by itself. ``process`` is its own, where this one only stands in for it, and ``line`` is
    who was above that when it came: it may be gone before its event is heard. ``beside`` says
    that it goes on at the end of a round, and calls before each tool that may change files.
    ``watches`` are those of the process that stays, if this is one of its spares. ``began`` is when
    the agent began to wait, by ``time.monotonic``, if that was before the event was heard;
    ``wait_on`` says for how long it is to wait from then on, to a hook that waits for this process.
    ``part`` goes on in a process that the agent does not wait for, and returns how that lets it go;
    None if there can be no such process. It is told for how long the agent waits.
    """

    agent: str
    holder: str
    directory: str = ""
    follows: bool = False
    process: int = 0
    line: Above | None = None
    beside: bool = False
    watches: Watches | None = None
    began: float | None = None
    wait_on: Callable[[float], None] | None = None
    part: Callable[[float], LetGo | None] | None = None


class Heard(Value):
    """What happened to an event.

    ``recorded`` is False if nothing is to be kept. ``note`` is for the model, ``warning`` for the
    person, ``answer`` also for the person and instead of a turn, ``outcome`` what was done for it;
    ``output`` is all of them as the agent's hooks print it. ``failure`` is why it was not recorded;
    that is logged already.
    """

    event: AgentEvent | None = None
    recorded: bool = False
    checkpoint: str | None = None
    waiting: bool = False
    note: str | None = None
    warning: str | None = None
    answer: str | None = None
    outcome: Outcome | None = None
    output: str = ""
    failure: TakebackError | None = None


def hear(speaker: Speaker, read: Callable[[], Any], let_go: LetGo | None = None) -> Heard:
    """Does everything that one event requires; ``read`` returns the JSON that the agent sent.

    ``let_go`` lets an agent go on that need not wait, with what it is to be told; nothing can be
    lost any more then, and nothing of what is returned is heard by anybody.
    """
    event: AgentEvent | None = None
    if speaker.began is None:
        speaker = speaker.replace(began=time.monotonic())
    try:
        is_off = _is_off(speaker.process) if os.environ.get("TAKEBACK") else False
        if is_off:
            return Heard()
        adapter, event = _understood(speaker.agent, read())
        if event is None or (is_off is None and not _is_forged(event)):
            return Heard()
        heard = _followed(speaker, adapter, event, let_go)
        return heard.replace(event=event, output=_output(adapter, heard))
    except TakebackError as error:
        said, failure = error.message, error
    except Exception as error:  # a bug of ours must not stop the agent
        from takeback.app.border import bug

        said, failure = f"bug: {type(error).__name__}: {error}", bug(error)
    _complain(speaker.agent, said, speaker.directory if event is None else event.directory)
    return Heard(event=event, failure=failure)


def do_later(speaker: Speaker, heard: Heard, *, longest: float = _LONGEST_LATER) -> None:
    """Does what can wait until the agent has its answer: after a turn, the ledger; the watch.

    And the look at what the turn has left running. Only for a process that nobody waits for any
    more, or that is not waited for just now: then ``longest`` is how many seconds it may take.
    """
    event, watches = heard.event, speaker.watches
    if event is None or not heard.recorded or event.kind not in (*_ENDS, *_WHOLE_LOOKS):
        return
    from takeback.app.recording import Recording

    try:
        with (
            _Limit(longest),
            Recording.open(event.directory, create=False, holder=speaker.holder) as tb,
        ):
            if watches is not None and event.kind in _WHOLE_LOOKS:
                tb.keep_watched(watches)
            if event.kind in _ENDS:
                tb.keep_ready()
                tb.left_running(just_ended=True)
    except TakebackError:  # whoever looks at the timeline does it, and is told
        return


def _understood(agent: str, payload: Any) -> tuple[Adapter, AgentEvent | None]:
    """Returns who is speaking and what it says; None if that does not concern us."""
    if not isinstance(payload, dict):
        raise UsageError("an event is a JSON object")
    adapter = adapter_speaking(agent, payload)
    try:
        event = adapter.parse(payload, os.environ)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return adapter, None if event is None else cleaned(event)


def _is_off(process: int) -> bool | None:
    """Tells whether the person has recording off; None if variables say so, and nobody knows whose.

    ``process`` is the hook's, if not this one.
    """
    from takeback.app import switches  # hardly ever

    return switches.says_off(os.environ) and switches.is_of_agent(process)


def _silencers(event: AgentEvent, root: str) -> list[Silencer]:
    """Returns the files of a project that try to keep the agent of an event from being heard."""
    agent = next((one for one in BUILT_IN if one.name == event.agent), None)
    if agent is None or not agent.project_files:
        return []
    from takeback.adapters.silencing import silencers

    return list(silencers(agent, dict.fromkeys((event.directory, root)), home_named(os.environ)))


def _is_forged(event: AgentEvent) -> bool:
    """Tells whether a project says what, for all the system tells, the person may have said."""
    return any(one.sets == "TAKEBACK" for one in _silencers(event, event.directory))


def _followed(speaker: Speaker, adapter: Adapter, event: AgentEvent, let_go: LetGo | None) -> Heard:
    try:
        return _heard(speaker, adapter, event, let_go)
    except SettingsUnknown as error:  # what was forbidden is not known: so it is not done
        _complain(event.agent, error.message, event.directory)
        if event.kind not in (SESSION_START, PROMPT):
            return Heard()
        return Heard(warning=f"takeback: the files here are not kept: {error.message}")


def _heard(speaker: Speaker, adapter: Adapter, event: AgentEvent, let_go: LetGo | None) -> Heard:
    bars = speaker.beside and event.kind == TOOL_BEFORE
    concerns_files = _concerns_files(event)
    if not concerns_files and not bars:
        return Heard()
    from takeback import durable
    from takeback.app.recording import Recording

    durable.unmask_owner()
    is_wanted = Recording.wants(event.directory)
    if not is_wanted and not (_restored_home(speaker) and Recording.wants(event.directory)):
        return Heard()
    from takeback.gate.teller import Above, Teller

    line = speaker.line or Above.of(speaker.process)
    if speaker.process and not line.processes:
        raise Refused("who reported an event has gone, and could not be looked at")
    told = Teller.of(line, event.process, os.environ)
    event = told.believed(event)
    words = _command(adapter, event) if told.model is None else None
    if words is not None:
        if speaker.wait_on is not None:
            speaker.wait_on(_LONGEST_ANSWER)
        return _answered(speaker, adapter, event, words, told)
    try:
        # A model may add to what is kept; where nothing is, that is for the person to say.
        tb = _opened(speaker, event, create=told.model is None)
    except TakebackError as error:
        return _unopened(event, error) if concerns_files else Heard()
    with tb:
        told.note(event, tb.store_directory)
        tb.settings.require_known("capture")
        if not tb.hears_agents:
            return Heard()
        if speaker.wait_on is not None:
            speaker.wait_on(tb.hook_seconds)
        if bars:
            _wait_for_rounds(tb, event, _left(speaker, tb))
        if not concerns_files:
            return Heard()
        if let_go is None and speaker.part is not None and not tb.has_captured:
            let_go = speaker.part(_left(speaker, tb))
        return _recorded(tb, speaker, adapter, event, let_go)


def _opened(speaker: Speaker, event: AgentEvent, *, create: bool) -> Recording:
    from takeback.app.recording import Recording

    try:
        return Recording.open(event.directory, create=create, holder=speaker.holder)
    except NotAWorkspace:
        if not _restored_home(speaker):
            raise
    return Recording.open(event.directory, create=create, holder=speaker.holder)


def _restored_home(speaker: Speaker) -> bool:
    """Takes the agent's own HOME, where nothing would be recorded; False if it is this already."""
    from takeback.app import switches  # hardly ever

    return switches.restore_home(speaker.process)


def _left(speaker: Speaker, tb: Recording) -> float:
    """Returns for how many seconds its agent still waits: one limit for all that one call does."""
    assert speaker.began is not None
    return max(speaker.began + tb.hook_seconds - time.monotonic(), _LEAST)


def _wait_for_rounds(tb: Recording, event: AgentEvent, seconds: float) -> None:
    """Holds a tool back until no capture can see what it does; not longer than an agent waits."""
    was_told = tb.is_first_left  # at the prompt
    try:
        with _Limit(seconds):
            if tb.await_rounds(wait=seconds):
                return
        if was_told:
            return
        failure = _OVERTAKEN
    except TimedOut:
        failure = _OVERTAKEN
    except TakebackError as error:
        failure = error.message
    _complain(event.agent, failure, tb.root)
    tb.overtake()


def _output(adapter: Adapter, heard: Heard) -> str:
    if heard.answer is not None:
        return adapter.answer(heard.answer)
    if heard.note or heard.warning:
        return adapter.note(heard.note or "", heard.warning or "")
    return ""


def _concerns_files(event: AgentEvent) -> bool:
    """Tells from the event alone, in half the time, whether there is anything to save.

    Not before a tool that makes a new file, and not after a round that only read.
    """
    if event.kind == TOOL_BEFORE:
        paths = [path for tool in event.tools for path in tool.paths]
        return any(os.path.lexists(os.path.join(event.directory, path)) for path in paths)
    if event.kind == ROUND_END and event.human and event.subagent is None and event.tools:
        return any(tool.kind != READ for tool in event.tools)
    return True


def _command(adapter: Adapter, event: AgentEvent) -> list[str] | None:
    """Returns the words of a prompt that is meant for takeback; None for every other event."""
    command, prompt = adapter.command, event.prompt or ""
    if event.kind != PROMPT or command is None or command not in prompt:
        return None
    from takeback.prompt_command import words_for

    return words_for(command, prompt)


def _answered(
    speaker: Speaker, adapter: Adapter, event: AgentEvent, words: list[str], told: Teller
) -> Heard:
    """Answers the words of a prompt that is meant for takeback."""
    from takeback.app.engine import Engine
    from takeback.prompt_command import answer
    from takeback.store.namespace import session_id

    try:
        tb = Engine.open(event.directory, holder=speaker.holder, asker=told.asker(), bounded=True)
    except TakebackError as error:
        return Heard(answer=f"takeback: {error.message}")
    session = session_id(event.agent, event.session)
    with tb:
        said = answer(tb, session, words, command=adapter.command or "", follows=speaker.follows)
    return Heard(answer=said.text, outcome=said.outcome)


def _unopened(event: AgentEvent, error: TakebackError) -> Heard:
    """Notes that an event's workspace could not be opened, and says so to the person.

    If a directory is not protected at all, that is said once, when a session starts there; that its
    store has an older format is said only once.
    """
    if isinstance(error, StoreTooOld):  # it stays that way until the person does something about it
        is_told = _complain(event.agent, error.message, event.directory, once=True)
    else:
        _complain(event.agent, error.message, event.directory)
        is_told = event.kind == (SESSION_START if isinstance(error, NotAWorkspace) else PROMPT)
    if not is_told:
        return Heard()
    return Heard(warning=f"takeback: the files here are not kept: {error.message}")


def _recorded(
    tb: Recording, speaker: Speaker, adapter: Adapter, event: AgentEvent, let_go: LetGo | None
) -> Heard:
    """Records an event; never fails for lack of time, space or rights."""
    telling = _Telling(tb, adapter, event, let_go)
    is_first_left = tb.is_first_left
    try:
        received = _received(tb, speaker, adapter, event, telling)
    except TakebackError as error:
        _complain(event.agent, error.message, tb.root)
        what = "before this turn" if event.kind == PROMPT else "at this moment"
        failed = f"the files {what} are not kept: {error.message}"
        return Heard(recorded=True, warning=telling.told(failed))
    checkpoint = received.checkpoint
    return Heard(
        recorded=True,
        checkpoint=None if checkpoint is None else checkpoint.id,
        waiting=received.waiting,
        note=received.note,
        warning=telling.told(
            telling.late
            if received.is_left or (received.waiting and is_first_left)
            else received.warning
        ),
    )


class _Telling:
    """What the person is told at an event: the first failure of a turn.

    One that is found after the agent was let go is told at the next event.
    """

    def __init__(
        self, tb: Recording, adapter: Adapter, event: AgentEvent, let_go: LetGo | None
    ) -> None:
        self._tb, self._adapter, self._event, self._let_go = tb, adapter, event, let_go
        self._is_gone = False
        self._earlier = tb.unsaid(event) if event.kind in _TELLING else None

    def let_go(self) -> None:
        """Lets the agent go on, if it does not wait for the end of this event."""
        assert self._let_go is not None
        self._let_go(self._event, _output(self._adapter, Heard(warning=self._earlier)))
        self._is_gone = True

    def go_on(self, note: str | None, is_left: bool) -> None:
        """Lets the agent go on, which has waited long enough for this event."""
        if self._let_go is None or self._is_gone:
            return
        said = Heard(note=note, warning=self.told(self.late if is_left else None))
        self._let_go(self._event, _output(self._adapter, said))
        self._is_gone = True

    @property
    def can_go(self) -> bool:
        """Whether the agent can go on before its event is recorded."""
        return self._let_go is not None

    @property
    def late(self) -> str:
        """What the person is told of an event that is not recorded yet."""
        is_first = self._event.kind == PROMPT and not self._tb.has_captured
        return _FIRST if is_first else _LATE

    def _settings(self) -> str | None:
        """Returns what is wrong with the settings, once in a session."""
        damage = self._tb.settings.damage
        if not damage or self._event.kind not in _TELLING:
            return None
        if not self._tb.is_first(self._event, "settings"):
            return None
        return f"takeback: {'; '.join(map(str, damage))}"

    def _silence(self) -> list[str]:
        """Returns what keeps agents here from being heard, each thing once in a session."""
        if self._event.kind not in (SESSION_START, PROMPT):
            return []
        found = [str(one) for one in _silencers(self._event, os.fsdecode(self._tb.root))]
        if os.environ.get("TAKEBACK", "").lower() == "off" and not found:
            found = ["TAKEBACK=off was not said to the agent itself: that is not followed"]
        return [
            f"takeback: {one}. More: takeback status"
            for one in found
            if self._tb.is_first(self._event, one)
        ]

    def told(self, failed: str | None) -> str | None:
        """Returns what is told now."""
        tb, event = self._tb, self._event
        warning = None if failed is None else f"takeback: {failed}. More: takeback status"
        if warning is None and not self._is_gone:
            said = (self._earlier, self._settings(), *self._silence())
            self._earlier = "\n".join(filter(None, said)) or None
        if self._is_gone:
            if warning is not None:
                tb.say_later(event, warning)
            return None
        if warning is None:
            if event.kind == PROMPT:
                tb.note_good_beginning(event)
            return self._earlier
        if event.kind not in _TELLING or not tb.is_news(event):
            return self._earlier
        return warning


def _received(
    tb: Recording, speaker: Speaker, adapter: Adapter, event: AgentEvent, telling: _Telling
) -> Received:
    from takeback.turns.receive import Patience  # the app has it already

    left = _left(speaker, tb)
    # The round before may still be captured, which nobody has waited for yet; else some of the time
    # is for the capture.
    wait = left if tb.has_waiting else left / 2
    if tb.is_first_left:  # that capture is of before this event, and takes longer than that
        wait = 0.0
    # What is saved before a tool is not what was there before it, once that goes on.
    patience = Patience(telling.go_on if telling.can_go and event.kind != TOOL_BEFORE else None)
    beside = telling.can_go and speaker.beside and event.kind == ROUND_END
    delivery = tb.delivery(
        wait=wait,
        let_go=telling.let_go if beside else None,
        watches=speaker.watches,
        patience=patience,
    )
    try:
        with _Limit(left, patience.end):
            received = tb.record(event, adapter, delivery=delivery)
    except TimedOut:  # before or after the recording: the disk hangs, or everything is very slow
        received = tb.leave(event, adapter, came=delivery.came)
    if received.timed_out:
        tb.finish_detached()
    if event.kind == TOOL_BEFORE:
        return received  # the agent waits, and the end of its round comes by here too
    tb.keep_house(event.kind)
    return received


class _Limit:
    """Ends what takes longer than the hook's own limit, with TimedOut, or does what ``ring`` does.

    Only in the main process and only around the recording, which leaves nothing half-done wherever
    it is interrupted: no more than a killed process would.
    """

    def __init__(self, seconds: float, ring: Callable[[], None] | None = None) -> None:
        self._seconds = seconds
        self._end = ring

    def __enter__(self) -> None:
        from takeback.c_modules import signal

        signal.signal(_SIGALRM, self._ring)
        signal.setitimer(_ITIMER_REAL, self._seconds)

    def __exit__(self, *exc: object) -> None:
        from takeback.c_modules import signal

        signal.setitimer(_ITIMER_REAL, 0)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._end is None:
            raise TimedOut("the capture did not fit into the hook's time limit")
        self._end()


def _complain(agent: str, said: str, directory: str | bytes, *, once: bool = False) -> bool:
    from takeback.store.notes import complain

    return complain(f"hook {agent}: {said}", directory, once=once)
