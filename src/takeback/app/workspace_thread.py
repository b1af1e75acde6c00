"""One thread has the workspace open and answers all questions, one by one.

The screen never waits for the disk, and no two questions run at once: SQLite and the store belong
to the thread that opened them.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from typing import TypeVar

    from takeback.app.engine import Engine
    from takeback.app.polled_reporter import PolledReporter

    T = TypeVar("T")


class WorkspaceThread:
    """Opens the workspace in a thread of its own, at the first question, and asks it there."""

    def __init__(
        self, open_workspace: Callable[[], Engine], reporter: PolledReporter | None = None
    ) -> None:
        self._open_workspace = open_workspace
        self.reporter = reporter
        """What the workspace reports while it works, if it was opened with this as its reporter."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="takeback")
        self._workspace: Engine | None = None

    async def ask(self, job: Callable[[Engine], T]) -> T:
        """Runs a job with the workspace and returns its answer; raises what it raises.

        A job that has begun runs to its end even if nobody waits for it any more: an operation is
        not left half-done because somebody pressed a key.
        """
        answer = asyncio.wrap_future(self.start(job))
        answer.add_done_callback(_look_at)
        return await asyncio.shield(answer)

    def start(self, job: Callable[[Engine], T]) -> Future[T]:
        """Starts a job, even before there is anybody to wait for it."""
        return self._thread.submit(lambda: job(self._opened()))

    def _opened(self) -> Engine:
        if self._workspace is None:
            self._workspace = self._open_workspace()
        return self._workspace

    def close(self) -> None:
        """Waits for running jobs, then closes the workspace."""
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def _close(self) -> None:
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None


def _look_at(answer: asyncio.Future[T]) -> None:
    """Takes an answer that nobody waits for: else an error in it would end up on stderr at exit."""
    if not answer.cancelled():
        answer.exception()
