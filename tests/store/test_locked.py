"""What holds the lock is a value: without it nothing is changed, and afterwards it is of no use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from takeback.capture.capture import capture
from takeback.context import Context, LockedContext
from takeback.errors import InUse
from takeback.git.objects import BLOB
from takeback.model.ids import SessionId
from takeback.store import journal, notes
from takeback.store.sink import PackSink
from takeback.store.trust import Trust
from tests.support.engine import opened

NEED_IT: tuple[Callable[[LockedContext], object], ...] = (
    lambda it: it.lock.store,
    lambda it: it.lock.next_sequence(),
    lambda it: it.lock.raise_epoch(),
    lambda it: it.lock.clear_blame(["pack-x"]),
    lambda it: journal.write(it.lock, {}),
    lambda it: notes.note_turn(it.lock, SessionId("s"), is_open=True),
    lambda it: PackSink(it.lock),
    lambda it: Trust(it.store).begin(it.lock),
    capture,
)


def test_it_is_of_no_use_when_its_with_has_ended_also_when_the_lock_is_had_again(
    context: Context,
) -> None:
    with context.locked() as old:
        assert old.lock.store is context.store
    for act in NEED_IT:
        with pytest.raises(RuntimeError, match="not held any more"):
            act(old)
    with context.locked():
        for act in NEED_IT:
            with pytest.raises(RuntimeError, match="not held any more"):
                act(old)


def test_a_sink_that_outlives_the_lock_publishes_nothing_that_is_believed(context: Context) -> None:
    with context.locked() as locked:
        sink = PackSink(locked.lock)
        sink.add(BLOB, b"too late")
    with pytest.raises(RuntimeError, match="not held any more"):
        sink.publish()
    assert not any(Trust(context.store).believes(name) for name in context.store.pack_names())


def test_a_capture_that_outlives_the_lock_is_not_kept(context: Context) -> None:
    with context.locked() as locked:
        made = capture(locked)
        made.keep()
    with pytest.raises(RuntimeError, match="not held any more"):
        made.keep()


def test_it_is_of_no_use_in_a_forked_child(context: Context) -> None:
    with context.locked() as locked:
        context.store.lock.forget_in_child()
        with pytest.raises(RuntimeError, match="not held any more"):
            locked.lock.next_sequence()


def test_the_lock_is_free_after_its_with_whatever_ended_that(
    workspace: Path, context: Context
) -> None:
    with pytest.raises(ZeroDivisionError), context.locked():
        raise ZeroDivisionError
    with context.locked(), pytest.raises(RuntimeError, match="holds the lock already"):
        context.locked().__enter__()
    with opened(workspace) as other, other.locked(), pytest.raises(InUse):
        context.locked(wait=0).__enter__()


def test_a_time_limit_that_rings_at_the_moment_the_lock_is_taken_leaves_nobody_locked_out(
    workspace: Path, context: Context
) -> None:
    """A process that goes on, as the one that extensions talk to, closes the store all the same."""
    with opened(workspace) as other:
        other.locked().__enter__()  # and no with to end it
        with pytest.raises(InUse):
            context.locked(wait=0).__enter__()
    with context.locked(wait=0) as locked:
        assert locked.lock.store is context.store
