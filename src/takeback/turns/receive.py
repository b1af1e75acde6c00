"""Receive: an agent's event becomes a checkpoint, and the agent is told what it must know."""

from __future__ import annotations

from takeback.capture.capture import capture, draft_after, has_captured, record, record_again
from takeback.context import Translated
from takeback.errors import InUse, StoreMoved, TakebackError, TimedOut
from takeback.model import event as events
from takeback.model.checkpoint import UNDO, Checkpoint, Origin
from takeback.model.coverage import LET_GO
from takeback.model.event import READ
from takeback.model.turn import (
    BACKGROUND,
    FORK,
    IDLE,
    PROMPT,
    ROUND,
    SESSION_END,
    SESSION_START,
    STEER,
    TURN_END,
    ended,
    follow,
    forked_from,
)
from takeback.model.value import Value
from takeback.store import journal, notes, pending
from takeback.store.namespace import session_id
from takeback.store.records import checkpoints_back, newest_checkpoint, newest_id
from takeback.turns.processes import SILENT_FOR, is_alive_here, is_gone, seen
from takeback.turns.said import said_in, said_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from takeback.capture.capture import After, Captured
    from takeback.context import Context, LockedContext
    from takeback.model.checkpoint import TranscriptPart
    from takeback.model.event import AgentEvent, ToolCall
    from takeback.model.ids import SessionId
    from takeback.model.turn import Moment
    from takeback.store.conversation import Part
    from takeback.store.pending import WaitingEvent
    from takeback.store.store import Store
    from takeback.turns.making import StatusIn
    from takeback.turns.said import SaidPart
    from takeback.worktree.watch import Watches

    IsStopped = Callable[[Checkpoint], bool]

# -- closing: ends the turn of an agent that will never announce its end
#
# A killed agent sends no more events, and some send none when a person stops them with Esc. The
# next capture, or look, ends such a turn with a checkpoint of that session, so that all who read
# the refs agree on it: what had changed by then belongs to the turn, what comes after it does
# not. If neither the process nor the transcript shows it, a turn stays open.


def close_gone(
    context: LockedContext,
    captured: Captured,
    *,
    besides: SessionId | None = None,
    is_stopped: IsStopped | None = None,
) -> None:
    """Ends the open turns of agents that are gone.

    ``besides`` is the session whose event this is: its own events end its turns. ``is_stopped``
    tells from a session's newest checkpoint whether Esc has ended its turn; without it that is not
    checked.
    """
    for session in notes.with_open_turn(context.store):
        if session == besides:
            continue
        newest = newest_checkpoint(context.store, session)
        if newest is None or newest.moment.phase == IDLE or _is_old(context, newest):
            notes.note_turn(context.lock, session, is_open=False)
            continue
        moment = _end(newest, is_stopped)
        if moment is None:
            continue
        drafted = draft_after(newest, context, kind=moment.kind, session=session).replace(
            phase=moment.phase,
            unfinished=moment.unfinished,
            stopped=newest.stopped,
            left=(),
        )
        record(context, captured, drafted)
        notes.note_turn(context.lock, session, is_open=False)


def _end(newest: Checkpoint, is_stopped: IsStopped | None) -> Moment | None:
    """Returns how a turn has ended whose agent will not say so; None if it may be running."""
    if newest.left:
        return None if any(map(is_alive_here, newest.left)) else ended(TURN_END, newest.moment)
    if newest.process is not None and is_gone(newest.process):
        return ended(SESSION_END, newest.moment)
    if is_stopped is not None and is_stopped(newest):
        return ended(TURN_END, newest.moment)
    return None


def _is_old(context: Context, newest: Checkpoint) -> bool:
    return (
        newest.process is None
        and not newest.left
        and context.clock.now() - newest.time > SILENT_FOR
    )


def close_ended(context: Context, is_stopped: IsStopped) -> None:
    """Ends the turns that are over, before somebody looks; never prevents the look.

    Nothing is done while another process is at work here or an operation was interrupted, nor if
    nothing can be captured: then the turns look as before.
    """
    store = context.store
    if store.lock.held or not _any_ended(context, is_stopped):
        return
    try:
        with context.locked(wait=0.0) as locked:
            if not journal.exists(store):
                captured = capture(locked)
                record_waiting(locked, captured)
                close_gone(locked, captured, is_stopped=is_stopped)
                captured.keep()
    except (TakebackError, OSError):
        return


def _any_ended(context: Context, is_stopped: IsStopped) -> bool:
    for session in notes.with_open_turn(context.store):
        newest = newest_checkpoint(context.store, session)
        if newest is not None and newest.moment.phase != IDLE and _end(newest, is_stopped):
            return True
    return False


# -- step: one event of an agent, and the checkpoint that it leads its session to


class Transcript(Value):
    """The files of a conversation with their present lengths, and how its agent's are read.

    ``status_in`` tells from the end of one how the command of a call ended, ``follows`` from the
    whole of one which turns a turn follows whose agent had gone back.
    """

    files: tuple[TranscriptPart, ...] = ()
    status_in: StatusIn | None = None
    follows: Callable[[bytes, str], tuple[str, ...]] | None = None


NO_TRANSCRIPT = Transcript()


class EventStep:
    """One event and where it leads its session."""

    def __init__(self, context: LockedContext, event: AgentEvent, transcript: Transcript) -> None:
        self._context = context
        self._event = event
        self._transcript = transcript
        self.session = session_id(event.agent, event.session)
        self.newest = newest_checkpoint(context.store, self.session)
        self._base = _base(context, event) if self.newest is None else None
        self._last = self._where()
        self.moment = follow(self._last, event)
        self._tells = self.moment is not None and self.moment.kind in (PROMPT, STEER)
        """Whether the model can be told something now."""
        self._newest_operation = newest_id(context.store) if self._tells else None

    def _where(self) -> Moment | None:
        if self.newest is not None:
            return self.newest.moment
        return None if self._base is None else forked_from(self._base.moment)

    def adds_nothing(self, captured: Captured) -> bool:
        """True if the place already exists: a second start, a round that only read."""
        assert self.moment is not None
        if self.newest is None or self.newest.expired is not None:
            return False
        if captured.snapshot != self.newest.snapshot:
            return False
        if self.moment.unfinished or self.moment.phase != self.newest.moment.phase:
            return False
        if self.moment.kind == ROUND:
            return all(tool.kind == READ for tool in self._event.tools) and self._event.human
        return self.moment.kind == SESSION_START

    def is_recorded(self, *, since: float) -> bool:
        """True for the end of a round, which came then, if the newest checkpoint is already of it.

        The process that recorded it was killed before it could say so.
        """
        newest, event = self.newest, self._event
        if newest is None or newest.kind != ROUND or event.kind != events.ROUND_END:
            return False
        known = (newest.subagent, newest.tools) == (event.subagent, _noted_tools(event))
        return known and newest.time >= since and not newest.late

    def record(self, captured: Captured, *, late: bool = False) -> Checkpoint:
        drafted, kept = self._drafted(late=late)
        made = record(self._context, captured, drafted, conversation=kept, base=self._base)
        return self._noted_as_open(made)

    def record_as_kept(self, last: Checkpoint) -> Checkpoint:
        """Makes the checkpoint with the files of ``last``, not with those of now."""
        drafted, kept = self._drafted(late=False)
        return self._noted_as_open(record_again(self._context, last, drafted, conversation=kept))

    def _noted_as_open(self, made: Checkpoint) -> Checkpoint:
        notes.note_turn(self._context.lock, self.session, is_open=made.phase != IDLE)
        return made

    def _drafted(self, *, late: bool) -> tuple[Checkpoint, list[Part]]:
        """Returns the checkpoint but for its files, and the conversation that it keeps."""
        event, moment, base = self._event, self.moment, self._base
        assert moment is not None
        # Since it was read nobody else could write to this session: the lock is held.
        drafted = draft_after(
            self.newest, self._context, kind=moment.kind, session=self.session
        ).replace(
            prompt=event.prompt,
            turn=moment.turn,
            turn_id=moment.turn_id,
            phase=moment.phase,
            unfinished=moment.unfinished,
            stopped=self._is_stopped or (moment.unfinished and self._was_stopped),
            agent=event.agent,
            native=event.session,
            directory=event.directory,
            leaf=event.leaf,
            entry=event.entry,
            tools=_noted_tools(event),
            subagent=event.subagent,
            late=late,
        )
        if event.resume:
            drafted = drafted.replace(resume=event.resume)
        if moment.phase != BACKGROUND or event.background:
            drafted = drafted.replace(left=())
        drafted = drafted.replace(below=event.below)
        if event.process is not None:
            drafted = drafted.replace(process=seen(event.process))
        if base is not None:
            drafted = drafted.replace(origin=Origin(base.session, base.id))
        told = self._tells and not late  # nobody is told what comes late
        drafted = drafted.replace(noted=self._newest_operation if told else self._noted)
        said = self._said(whole=late or moment.kind != ROUND)
        parts = tuple(one.part for one in said)
        drafted = drafted.replace(follows=self._follows(said))
        drafted = self._with_tests(drafted.replace(transcript=parts), said)
        return drafted, [one.kept for one in said]

    def _follows(self, said: list[SaidPart]) -> tuple[str, ...]:
        """Returns what the session's newest turn follows, if its agent had gone back before it.

        The agent writes a prompt down only after its event, and may be late even at the end of a
        short turn: then the next event that reads all of the transcript has it.
        """
        newest, follows = self.newest, self._transcript.follows
        if follows is None or not said or newest is None or not newest.turn_id:
            return ()
        if newest.turn_id in newest.follows[:1] or said[-1].kept.after.size:  # only its end is read
            return ()
        found = follows(said[-1].kept.data, newest.turn_id)
        return (newest.turn_id, *found) if found else ()

    @property
    def _is_stopped(self) -> bool:
        """Whether a person stopped the turn, not a failure that its agent has announced."""
        event = self._event
        return event.kind == events.INTERRUPTED and event.reason == events.BY_PERSON

    @property
    def _was_stopped(self) -> bool:
        return self.newest is not None and self.newest.stopped

    def _with_tests(self, drafted: Checkpoint, said: list[SaidPart]) -> Checkpoint:
        """Returns a checkpoint with what is known of tests; what comes late ran on other files."""
        event = self._event.replace(tools=()) if drafted.late else self._event
        before = self._last_told
        awaited = before is not None and before.awaited
        if not awaited and not any(_has_an_end(tool) for tool in event.tools):
            return drafted
        from takeback.turns.ends import how_tests_ended

        found = how_tests_ended(
            event,
            before,
            said[-1].tail if said else None,
            prefixes=self._context.policy.test_commands,
            status_in=self._transcript.status_in,
        )
        return drafted.replace(
            tested=found.tested, tested_earlier=found.earlier, awaited=found.awaited
        )

    @property
    def _last_told(self) -> Checkpoint | None:
        """Returns the newest checkpoint but for what operations have saved since."""
        if self.newest is None or self.newest.kind != UNDO:
            return self.newest
        back = checkpoints_back(self._context.store, self.newest.commit)
        return next((one for one in back if one.kind != UNDO), None)

    def _said(self, *, whole: bool) -> list[SaidPart]:
        if self._event.messages is not None:
            return [said_in(self._context.store, self._event.messages)]
        return said_now(self._context.store, self._transcript.files, self.newest, whole=whole)

    def warning(self, made: Checkpoint, captured: Captured) -> str | None:
        """Returns what the person must be told: what is no longer held, or new and not held."""
        if made.complete and not captured.coverage.names(LET_GO):
            return None
        from takeback.capture.capture import new_gaps

        return new_gaps(self._context.store, self.newest, captured.coverage)

    def note(self) -> str | None:
        """Returns what the model must be told: files that changed under its conversation."""
        began = self.newest or self._base
        if not self._tells or began is None:
            return None
        if self._last is None or not self._last.turn or self._newest_operation == self._noted:
            return None
        from takeback.turns.said import note_of, untold

        found = untold(self._context.store, began.commit, self._noted)
        return None if found is None else note_of(found)

    @property
    def _noted(self) -> str | None:
        """Returns the last operation that the session's model has been told about."""
        if self.newest is not None:
            return self.newest.noted
        if self._base is None:
            return None
        if self._event.leaf not in (None, self._base.leaf):
            return self._base.noted  # the agent cut after the note, which comes before its prompt
        from takeback.turns.said import told_until

        return told_until(self._context.store, self._base)


def _noted_tools(event: AgentEvent) -> tuple[ToolCall, ...]:
    return tuple(tool.replace(command=None, status=None, call=None) for tool in event.tools)


def _has_an_end(tool: ToolCall) -> bool:
    return tool.status is not None or tool.call is not None


def _base(context: Context, event: AgentEvent) -> Checkpoint | None:
    """Returns the checkpoint that a new session descends from, if any.

    The parent may have said beforehand where the fork goes (``before_fork`` with its entry); else
    it is where the parent is.
    """
    if event.parent is None:
        return None
    parent = session_id(event.agent, event.parent)
    entry = event.entry
    found: Checkpoint | None = None
    newest = newest_checkpoint(context.store, parent)
    for checkpoint in checkpoints_back(context.store, None if newest is None else newest.commit):
        if checkpoint.kind == UNDO:  # the fork's own files may have been restored meanwhile
            continue
        if found is None and entry is None and checkpoint.kind == FORK:
            entry = checkpoint.entry
        elif entry is not None:
            if entry in (checkpoint.turn_id, checkpoint.leaf) and checkpoint.kind == PROMPT:
                return checkpoint
        elif checkpoint.agent is not None:
            return checkpoint
        found = found or checkpoint
    return found


# -- receive
#
# hook ── event ──> lock ──> events that wait ──> capture ──> checkpoint
#                     └─ not had in time ──> the event waits (store/pending.py)
#
# The end of a round may let its agent go on while the files are captured: as soon as the lock is
# held, behind which all later events wait, and the event is one that waits, so that a kill loses
# nothing. Before its next tool the agent waits for what is left (``await_rounds``).
#
# Any other event does so once its agent has waited for long enough (``Patience``): what has begun
# goes on, so that nothing is begun again, and is marked as late unless all files were looked at.


class Patience:
    """An agent's, while its event is recorded: ``end`` is called once it has waited long enough.

    ``let_go`` lets it go on, with a note for its model, and is told whether its event is left. What
    is done for it then goes on alone.
    """

    def __init__(self, let_go: Callable[[str | None, bool], None] | None = None) -> None:
        self._let_go = let_go
        self._underway: _Underway | None = None

    def lasts_for(self, underway: _Underway) -> None:
        """Says what goes on alone from now on if it ends."""
        self._underway = underway

    def end(self) -> None:
        """Lets the agent go on, at any point of what is done; raises TimedOut if it has to stop."""
        if self._underway is None or self._let_go is None:
            raise TimedOut("the capture did not fit into the hook's time limit")
        # What is flushed here takes seconds where so much is being written.
        is_left = self._underway.leave(flush=False)
        self._let_go(self._underway.note, is_left)


class Delivery(Value):
    """When an event came, and how its agent waits for it.

    ``wait`` is how many seconds the lock may take. ``let_go`` lets the agent go on before the files
    are captured; it is not called if the event itself has to wait. ``watches`` are those of a
    process that stays. ``patience`` is heard of while the event is recorded.
    """

    came: float
    wait: float
    let_go: Callable[[], None] | None = None
    watches: Watches | None = None
    patience: Patience | None = None


class Received(Value):
    """The result of an event: a checkpoint, words for the model, or a place among the waiting.

    If it ``timed_out``, what waits is left to the background. ``warning`` is what the person should
    be told: what the checkpoint lacks and the one before it in the session did not.
    """

    checkpoint: Checkpoint | None = None
    note: str | None = None
    waiting: bool = False
    timed_out: bool = False
    warning: str | None = None

    @property
    def is_left(self) -> bool:
        """Whether the event itself is left to the background for lack of time."""
        return self.waiting and self.timed_out


class _Underway:
    """An event that is being recorded: its name among those that wait, once it is one of them.

    ``note`` is what its model is to be told; ``is_safe`` says that it is recorded.
    """

    def __init__(
        self, store: Store, event: AgentEvent, transcript: Transcript, came: float
    ) -> None:
        self._store, self._event, self._came = store, event, came
        self._files = transcript.files
        self.name = ""
        self.note: str | None = None
        self.is_safe = False

    def keep(self, *, flush: bool = True) -> None:
        """Makes it one that waits, so that a kill loses nothing."""
        self.name = pending.leave(self._store, self._event, self._came, self._files, flush=flush)

    def leave(self, *, flush: bool = True) -> bool:
        """Keeps it for lack of time, unless that is done or not needed any more."""
        if self.name or self.is_safe:
            return False
        self.keep(flush=flush)
        pending.overtake(self._store)
        return True


def receive(
    context: Context,
    event: AgentEvent,
    transcript: Transcript = NO_TRANSCRIPT,
    *,
    delivery: Delivery,
) -> Received:
    """Records an event; durable when it returns, as a checkpoint or as an event that waits.

    Raises what a capture raises; then the event is lost, and the next one sees everything that
    happened.
    """
    store, came = context.store, delivery.came
    try:
        with context.locked(wait=delivery.wait) as locked:
            received = _record_in_time(locked, event, transcript, delivery)
    except InUse:
        own = _Underway(store, event, transcript, came)
        if is_first_left(context):
            own.leave()
        else:  # before its next tool its agent waits for this
            own.keep()
        received = Received(waiting=True)
    if received.timed_out or not has_waiting(context):
        return received
    try:
        take_waiting(context)
    except TimedOut:  # this event is safe; what it took on for others goes on without its agent
        return received.replace(timed_out=True)
    return received


def leave(context: Context, event: AgentEvent, transcript: Transcript, *, came: float) -> Received:
    """Keeps an event that there was no time for; the next holder of the lock records it."""
    _Underway(context.store, event, transcript, came).leave()
    return Received(waiting=True, timed_out=True)


def has_waiting(context: Context) -> bool:
    """Tells whether an event is not recorded yet, or just being recorded beside its agent."""
    return pending.any_left(context.store)


def is_first_left(context: Context) -> bool:
    """Tells whether agents have gone on before the first capture was done, and it is not yet.

    Nobody else has to wait for that one: it holds nothing of what came after it began.
    """
    return pending.any_overtaken(context.store) and not has_captured(context.store)


def take_waiting(context: Context, *, wait: float = 0.0) -> int:
    """Records the waiting events, unless another process has the lock: then that one does.

    A process that leaves an event tries this afterwards, and one that releases the lock looks once
    more, also after this, so no event is left behind because each thought that the other would see
    it. What cannot be read stays.
    """
    taken = 0
    while has_waiting(context):
        try:
            with context.locked(wait=0.0 if taken else wait) as locked:
                recorded = record_waiting(locked)
        except InUse:
            break
        if not recorded:
            break
        taken += recorded
    return taken


def await_rounds(context: Context, *, wait: float) -> bool:
    """Waits until no round is captured any more whose agent went on; call it before its next tool.

    What a killed process has left behind is recorded. Returns False if ``wait`` seconds were not
    enough: then ``overtake`` has to be called before the tool runs.
    """
    if not has_waiting(context):
        return True
    if pending.all_overtaken(context.store):  # they are late whenever they are recorded
        wait = 0
    try:
        with context.locked(wait=wait) as locked:
            record_waiting(locked)
    except InUse:
        return False
    except StoreMoved:  # and all that waited there
        return True
    return True


def overtake(context: Context) -> None:
    """Has what is not recorded yet say that its files may be of later."""
    with Translated("noting that a tool did not wait"):
        pending.overtake(context.store)


def record_waiting(context: LockedContext, captured: Captured | None = None) -> int:
    """Records the waiting events, with the files as they are now."""
    waiting = pending.read(context.store)
    if not waiting:
        return 0
    captured = captured or capture(context)
    for one in waiting:
        _record_late(context, captured, one)
    return len(waiting)


def _record_late(context: LockedContext, captured: Captured, waiting: WaitingEvent) -> None:
    step = EventStep(context, waiting.event, Transcript(waiting.transcript))
    if step.moment is not None and not step.is_recorded(since=waiting.time):
        step.record(captured, late=True)
    with Translated("the capture"):
        pending.remove(context.lock, waiting.name)


def _record_in_time(
    context: LockedContext, event: AgentEvent, transcript: Transcript, delivery: Delivery
) -> Received:
    """Records an event while its agent waits, or beside it; if it has to stop, the event waits."""
    own = _Underway(context.store, event, transcript, delivery.came)
    if delivery.let_go is not None:
        with Translated("keeping an event"):
            own.keep(flush=False)
        delivery.let_go()
    received: Received | None = None
    try:
        if delivery.patience is not None:
            delivery.patience.lasts_for(own)
        received = _record_all(context, event, transcript, own, delivery.watches)
        own.is_safe = True
    except TimedOut as error:
        own.leave()
        from takeback.store import notes

        notes.append(context.store, f"{event.agent} {event.kind}: {error.message}; the event waits")
        received = Received(waiting=True, timed_out=True)
    finally:  # recorded, or failed: then it would fail the next events, too
        if own.name and (received is None or not received.waiting):
            with Translated("the capture"):
                pending.remove(context.lock, own.name)
    return received


def _record_all(
    context: LockedContext,
    event: AgentEvent,
    transcript: Transcript,
    own: _Underway,
    watches: Watches | None,
) -> Received:
    """Records an event, after all that wait but itself."""
    if event.kind == events.TOOL_BEFORE:
        from takeback.capture.capture import save_before

        save_before(context, event)
        return Received()
    late = [one for one in pending.read(context.store) if one.name != own.name]
    step = EventStep(context, event, transcript)
    if step.moment is None and not late:
        return Received()
    captured = capture(context, after=_heard(context, watches, step, late))
    close_gone(context, captured, besides=step.session)
    for one in late:
        _record_late(context, captured, one)
    if late:
        step = EventStep(context, event, transcript)
    if step.moment is None or step.adds_nothing(captured):
        captured.keep()
        return Received(step.newest)
    own.note = step.note()  # before it is decided: its agent may go on at any moment
    is_late = bool(own.name) and pending.is_overtaken(context.store, own.name)
    made = step.record(captured, late=is_late)
    return Received(made, own.note, warning=step.warning(made, captured))


def _heard(
    context: LockedContext,
    watches: Watches | None,
    step: EventStep,
    late: Sequence[WaitingEvent],
) -> After | None:
    """Returns what a process that stays has heard of the files; only a round relies on it."""
    if watches is None:
        return None
    from takeback.capture.watching import heard  # only a process that stays has any

    is_round = step.moment is not None and step.moment.kind == ROUND
    return heard(context, watches, relies=is_round and not late)
