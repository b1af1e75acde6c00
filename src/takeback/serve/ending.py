"""Ending: a server that is told to end does so, also if a workspace never answers.

What is being done is finished first, as long as it moves. What hangs is left as by a kill: the
journal of the operation is there, and the next command recovers it.
"""

from __future__ import annotations

import os
import threading
import time

from takeback.errors import Command, TakebackError, TimedOut
from takeback.model.path_text import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.serve.server import Server

_PAUSE = 0.1
_NAMED = 3


class Ending:
    """Waits for the work of a server in a thread of its own, and gives it up in the end.

    ``give_up`` gets what to say of workspaces that were at work, if any was. After it the process
    ends, without waiting for any thread.
    """

    def __init__(self, server: Server, give_up: Callable[[TakebackError | None], None]) -> None:
        self._server = server
        self._give_up = give_up
        self._asked = 0
        self._begun = threading.Lock()

    def begin(self) -> None:
        """Is called for each signal: the first begins, the second waits no longer."""
        self._asked += 1
        if self._begun.acquire(blocking=False):
            threading.Thread(target=self._wait, daemon=True, name="takeback-ending").start()

    def _wait(self) -> None:
        settings, workspaces = self._server.settings, self._server.workspaces
        seen, moved = workspaces.steps(), time.monotonic()
        last = moved + settings.ending_seconds
        while self._asked < 2 and time.monotonic() < min(last, moved + settings.silent_seconds):
            time.sleep(_PAUSE)
            now = workspaces.steps()
            if now != seen:
                seen, moved = now, time.monotonic()
        roots = workspaces.at_work()
        error = _left(roots) if roots else None
        try:
            self._give_up(error)
        finally:  # nobody may hear it any more
            os._exit(0 if error is None else error.exit_status)


def _left(roots: list[bytes]) -> TakebackError:
    """Returns the error that names the workspaces that were not waited for."""
    first = ", ".join(to_text(root) for root in roots[:_NAMED])
    more = f" and {len(roots) - _NAMED} more" if len(roots) > _NAMED else ""
    return TimedOut(
        f"ended without waiting any longer for {first}{more}",
        hint=("what was interrupted there is recovered by the next command: ", Command("status")),
    )
