"""Finish: does what a hook had no time for, in a process that outlives it.

A first capture of a large workspace takes longer than an agent may wait. The event waits in
``pending/``; this process takes its time to capture, and records what waits, marked as late.
"""

from __future__ import annotations

import os

from takeback import config
from takeback.errors import TakebackError
from takeback.ops.context import Context, SilentReporter, SystemClock
from takeback.ops.open import open_workspace
from takeback.ops.receive import take_waiting
from takeback.store import detached, log
from takeback.store.location import read_location
from takeback.store.store import Store

_PATIENCE = 600.0
"""Seconds to wait for the lock: the hook that started this may not have released it yet."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.location import StoreLocation


def start(context: Context) -> None:
    """Starts it; returns at once."""
    detached.start(context.store, "takeback.ops.finish")


def main(directory: str) -> None:
    """What the detached process runs."""
    location = read_location(directory)
    if location is None:
        return
    store = Store.open(location, os.environ)
    try:
        _finish(location, store)
    except (TakebackError, OSError) as error:
        log.append(store, f"a capture that was left to the background failed: {error}")
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
