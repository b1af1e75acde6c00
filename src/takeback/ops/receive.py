"""Receive: an agent's event becomes a checkpoint, and the agent is told what it must know.

hook ── event ──> lock ──> events that wait ──> capture ──> checkpoint
                    └─ not had in time ──> the event waits (store/pending.py)

The end of a round may let its agent go on while the files are captured: as soon as the lock is
held, behind which all later events wait, and the event is one that waits, so that a kill loses
nothing. Before its next tool the agent waits for what is left (``await_rounds``).
"""

from __future__ import annotations

from takeback.errors import InUse, TimedOut
from takeback.model import event as events
from takeback.model.checkpoint import Checkpoint
from takeback.model.turn import ROUND
from takeback.model.value import Value
from takeback.ops.capture import capture
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
    from takeback.worktree.watches import Watches


class Delivery(Value):
    """When an event came, and how its agent waits for it.

    ``wait`` is how many seconds the lock may take. ``let_go`` lets the agent go on before the files
    are captured; it is not called if the event itself has to wait. ``watches`` are those of a
    process that stays.
    """

    came: float
    wait: float
    let_go: Callable[[], None] | None = None
    watches: Watches | None = None


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
            if delivery.let_go is None:
                received = _record_in_time(locked, event, transcript, delivery)
            else:
                received = _record_beside(locked, event, transcript, delivery)
    except InUse:
        pending.leave(store, event, came, transcript.files)
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
    pending.leave(context.store, event, came, transcript.files)
    return Received(waiting=True, timed_out=True)


def has_waiting(context: Context) -> bool:
    """Tells whether an event is not recorded yet, or just being recorded beside its agent."""
    return pending.any_left(context.store)


def take_waiting(context: Context, *, wait: float = 0.0) -> int:
    """Records the waiting events, unless another process has the lock: then that one does.

    A process that leaves an event tries this afterwards, and one that releases the lock looks once
    more, so no event is left behind because each thought that the other would see it.
    """
    try:
        with context.locked(wait=wait) as locked:
            return record_waiting(locked)
    except InUse:
        return 0


def await_rounds(context: Context, *, wait: float) -> bool:
    """Waits until no round is captured any more whose agent went on; call it before its next tool.

    What a killed process has left behind is recorded. Returns False if ``wait`` seconds were not
    enough: then ``overtake`` has to be called before the tool runs.
    """
    if not has_waiting(context):
        return True
    try:
        with context.locked(wait=wait) as locked:
            record_waiting(locked)
    except InUse:
        return False
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


def _record_beside(
    context: LockedContext, event: AgentEvent, transcript: Transcript, delivery: Delivery
) -> Received:
    """Lets the agent go on, and then records the end of its round."""
    assert delivery.let_go is not None
    with Translated("keeping an event"):
        name = pending.leave(context.store, event, delivery.came, transcript.files, flush=False)
    delivery.let_go()
    received: Received | None = None
    try:
        received = _record_in_time(context, event, transcript, delivery, name)
        return received
    finally:  # recorded, or failed: then it would fail the next events, too
        if received is None or not received.waiting:
            with Translated("the capture"):
                pending.remove(context.lock, name)


def _record_in_time(
    context: LockedContext,
    event: AgentEvent,
    transcript: Transcript,
    delivery: Delivery,
    own: str = "",
) -> Received:
    try:
        return _record_all(context, event, transcript, own, delivery.watches)
    except TimedOut as error:
        pending.leave(context.store, event, delivery.came, transcript.files)
        from takeback.store import log

        log.append(context.store, f"{event.agent} {event.kind}: {error.message}; the event waits")
        return Received(waiting=True, timed_out=True)


def _record_all(
    context: LockedContext,
    event: AgentEvent,
    transcript: Transcript,
    own: str,
    watches: Watches | None,
) -> Received:
    """Records an event, after all that wait; ``own`` is its name among them, if it is one."""
    if event.kind == events.TOOL_BEFORE:
        from takeback.ops.save import save_before

        save_before(context, event)
        return Received()
    late = [one for one in pending.read(context.store) if one.name != own]
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
    made = step.record(captured, late=bool(own) and pending.is_overtaken(context.store, own))
    return Received(made, step.note(), warning=step.warning(made, captured))


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
