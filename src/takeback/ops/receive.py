"""Receive: an agent's event becomes a checkpoint, and the agent is told what it must know.

hook ── event ──> lock ──> events that wait ──> capture ──> checkpoint
                    └─ not had in time ──> the event waits (store/pending.py)

The end of a round may let its agent go on while the files are captured: as soon as the lock is
held, behind which all later events wait, and the event is one that waits, so that a kill loses
nothing. Before its next tool the agent waits for what is left (``await_rounds``).

Any other event does so once its agent has waited for long enough (``Patience``): what has begun
goes on, so that nothing is begun again, and is marked as late unless all files were looked at.
"""

from __future__ import annotations

from takeback.errors import InUse, StoreMoved, TimedOut
from takeback.model import event as events
from takeback.model.checkpoint import Checkpoint
from takeback.model.turn import ROUND
from takeback.model.value import Value
from takeback.ops.capture import capture, has_captured
from takeback.ops.closing import close_gone
from takeback.ops.event_step import NO_TRANSCRIPT, EventStep, Transcript
from takeback.ops.failures import Translated
from takeback.store import pending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from takeback.model.event import AgentEvent
    from takeback.ops.capture import After, Captured
    from takeback.ops.context import Context, LockedContext
    from takeback.store.pending import WaitingEvent
    from takeback.store.store import Store
    from takeback.worktree.watches import Watches


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
        from takeback.store import log

        log.append(context.store, f"{event.agent} {event.kind}: {error.message}; the event waits")
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
        from takeback.ops.save import save_before

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
    from takeback.ops.watch import heard  # only a process that stays has any

    is_round = step.moment is not None and step.moment.kind == ROUND
    return heard(context, watches, relies=is_round and not late)
