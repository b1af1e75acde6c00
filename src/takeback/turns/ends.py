"""What comes after an event, or without one: finished work, late turns, late tests, by hand."""

from __future__ import annotations

import os

from takeback import config
from takeback.capture.capture import capture, newest_kept
from takeback.context import Context, SilentReporter, SystemClock
from takeback.errors import StoreDamaged, TakebackError
from takeback.model import event as events
from takeback.model.checkpoint import UNDO
from takeback.model.event import PROMPT, RanTests
from takeback.model.operation import Move
from takeback.model.tested import ran_tests, verdict
from takeback.model.value import Value
from takeback.store import notes, trees
from takeback.store import store as detached
from takeback.store.location import read_location
from takeback.store.namespace import session_id
from takeback.store.records import newest_here, operation_of, read_record
from takeback.store.store import Store
from takeback.turns.receive import (
    NO_TRANSCRIPT,
    EventStep,
    close_gone,
    record_waiting,
    take_waiting,
)
from takeback.workspaces import open_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from takeback.capture.capture import Captured
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.event import AgentEvent, AwaitedTests
    from takeback.model.ids import CheckpointId, SnapshotId
    from takeback.store.location import StoreLocation

    StatusIn = Callable[[bytes, str], int | None]
    """Tells from the end of a transcript how the command of a call ended."""

# -- finish: does what a hook had no time for, in a process that outlives it
#
# A first capture of a large workspace takes longer than an agent may wait. The event waits in
# ``pending/``; this process takes its time to capture, and records what waits, marked as late.


_PATIENCE = 600.0
"""Seconds to wait for the lock: the hook that started this may not have released it yet."""


def start(context: Context) -> None:
    """Starts it; returns at once."""
    detached.start(context.store, "takeback.turns.ends")


def main(directory: str) -> None:
    """What the detached process runs."""
    location = read_location(directory)
    if location is None:
        return
    store = Store.open(location, os.environ)
    try:
        _finish(location, store)
    except (TakebackError, OSError) as error:
        notes.append(store, f"a capture that was left to the background failed: {error}")
    finally:
        store.close()


def _finish(location: StoreLocation, store: Store) -> None:
    settings = config.for_workspace(os.environ, store.directory)
    context = Context(
        workspace=open_workspace(location),
        store=store,
        policy=settings.policy(),
        clock=SystemClock(),
        reporter=SilentReporter(),
        environ=os.environ,
        holder="capture in the background",
    )
    try:
        take_waiting(context, wait=_PATIENCE)
    finally:
        context.workspace.close()


# -- belated: a turn that nobody announced, found by what it did to the files
#
#         last kept ──────── now              what differs is a turn: its prompt has the files
#           prompt          turn end          as they were last kept, its end those of now
#
# A program without hooks says nothing before it changes a file. So the checkpoint before its turn
# is made afterwards, of files that are in the store already; if nothing differs, there was no
# turn. While another agent's turn is open here, that one says what it does: then only the files
# are kept.


def record_belated(
    context: Context,
    told: Sequence[AgentEvent],
    *,
    always: bool,
    besides: tuple[bytes, ...] = (),
    wait: float,
) -> tuple[Checkpoint, ...]:
    """Records events of one session that are noticed only now; returns their checkpoints.

    A prompt among them gets the files as they were last kept, the others those of now. Unless
    ``always``, nothing is recorded if these are the same, or differ only in paths that begin as one
    of ``besides``: what the program writes for itself. Raises InUse after ``wait`` seconds, and
    what a capture raises; then the next call finds everything that happened.
    """
    first = told[0]
    session = session_id(first.agent, first.session)
    with context.locked(wait=wait) as locked:
        captured = capture(locked)
        close_gone(locked, captured, besides=session)
        record_waiting(locked, captured)
        last = last_kept(locked.store)
        if last is not None and not always and not _differs(locked.store, last, captured, besides):
            captured.keep()
            return ()
        others = [one for one in notes.with_open_turn(locked.store) if one != session]
        if others and not always and first.kind == events.PROMPT:
            told = (first.replace(kind=events.SESSION_START, turn=None, prompt=None),)
        made = []
        for event in told:
            step = EventStep(locked, event, NO_TRANSCRIPT)
            if step.moment is None:
                continue
            if event.kind == events.PROMPT and last is not None:
                made.append(step.record_as_kept(last))
            else:
                made.append(step.record(captured))
        captured.keep()
        return tuple(made)


def _differs(
    store: Store, last: Checkpoint, captured: Captured, besides: tuple[bytes, ...]
) -> bool:
    if last.snapshot == captured.snapshot:
        return False
    if not besides:
        return True
    captured.revealed()
    changes = trees.diff(store, last.tree, captured.tree)
    return any(not change.path.startswith(besides) for change in changes)


def last_kept(store: Store) -> Checkpoint | None:
    """Returns the newest checkpoint of the workspace, with the files as an operation left them."""
    newest = newest_kept(store)
    if newest is None or newest.kind != UNDO:
        return newest
    after = _after_the_newest(store)
    return newest if after is None else newest.replace(snapshot=after)


def _after_the_newest(store: Store) -> SnapshotId | None:
    """Returns the files that the newest operation left; None if it moved none."""
    try:
        tip = newest_here(store)
        done = None if tip is None else operation_of(read_record(store, tip))
    except StoreDamaged:
        return None
    return done.after if isinstance(done, Move) and done.moves_files else None


# -- awaited: tests that an agent ran, and how they ended, as its transcript says a little later
#
#     round    pytest         nothing is known yet: the checkpoint awaits it
#     round    edit a.py      the transcript has it by now: "tests passed" is about the round above
#     end
#
# What is not there by the next prompt is given up. It delays nothing: only the end of the
# conversation is searched, only for what is awaited.


_TAIL = 1 << 20
_MOST = 16
"""How many tests are awaited at once; of more than that in one round nothing is known."""
_STATUS = 1 << 31


class Ended(Value):
    """What is known of tests at a moment: of its own files, of earlier ones, and what is not."""

    tested: RanTests | None
    earlier: tuple[RanTests, ...]
    awaited: tuple[AwaitedTests, ...]


def how_tests_ended(
    event: AgentEvent,
    before: Checkpoint | None,
    read_tail: Callable[[int], bytes] | None,
    *,
    prefixes: Sequence[str],
    status_in: StatusIn | None,
) -> Ended:
    """Returns how the tests ended that an event reports, and those that were awaited before it.

    ``before`` is the checkpoint before the event, ``read_tail`` returns so many last bytes of the
    conversation.
    """
    own = ran_tests(event.tools, prefixes)
    tested = own if isinstance(own, RanTests) else None
    awaited = [*_awaited_by(before), *(own if isinstance(own, tuple) else ())]
    tail = b"" if read_tail is None else read_tail(_TAIL)
    earlier: list[RanTests] = []
    still: list[AwaitedTests] = []
    for checkpoint, group in _by_checkpoint(awaited).items():
        if len(group) > _MOST:
            continue
        ran = _ran(group, tail, status_in)
        if ran is None:
            still = [*still, *group] if len(still) + len(group) <= _MOST else group
        elif checkpoint is None:
            tested = ran
        else:
            earlier.append(ran)
    return Ended(tested, tuple(earlier), () if event.kind == PROMPT else tuple(still))


def _awaited_by(before: Checkpoint | None) -> Iterator[AwaitedTests]:
    """Yields what a checkpoint awaits, each with the checkpoint whose files it is about."""
    if before is not None:
        for one in before.awaited:
            yield one if one.checkpoint else one.replace(checkpoint=before.id)


def _by_checkpoint(
    awaited: Sequence[AwaitedTests],
) -> dict[CheckpointId | None, list[AwaitedTests]]:
    found: dict[CheckpointId | None, list[AwaitedTests]] = {}
    for one in awaited:
        found.setdefault(one.checkpoint, []).append(one)
    return found


def _ran(
    awaited: Sequence[AwaitedTests], tail: bytes, status_in: StatusIn | None
) -> RanTests | None:
    """Returns what tests of the same files say together; None until all of them have ended."""
    ran = []
    for one in awaited:
        status = None if status_in is None else status_in(tail, one.call)
        if status is None or not -_STATUS <= status < _STATUS:
            return None
        ran.append(RanTests(one.command, status, one.checkpoint))
    return verdict(ran)
