"""Readers: several threads that look at one workspace at the same time.

Each has it open for itself, and none of them writes: what is new is brought into the ledger by the
thread that the operations run in.
"""

from __future__ import annotations

import concurrent.futures
import threading
import time

from takeback.app.workspace_thread import WorkspaceThread
from takeback.errors import LedgerDamaged, LedgerUnwritable
from takeback.ops.conversation_pages import ConversationPages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from typing import TypeVar

    from takeback.app.engine import Engine

    T = TypeVar("T")

_MOMENT = 0.25
"""Seconds that a reader waits for what is new, before it answers with what was there before."""

_NOW_AND_THEN = 1.0
"""Seconds after which the worker looks for turns that ended unannounced, while somebody reads."""


class Seats:
    """How many readers there may be, of one workspace and of all together."""

    def __init__(self, each: int, together: int) -> None:
        self._each = each
        self._left = together
        self._lock = threading.Lock()

    def take(self, taken: int) -> bool:
        """Takes one for a workspace that has so many already; its first is always granted."""
        with self._lock:
            if taken and (taken >= self._each or self._left <= 0):
                return False
            self._left -= 1
            return True

    def give_back(self, number: int) -> None:
        with self._lock:
            self._left += number


class _Reader:
    """One thread, and how many questions it has to answer."""

    def __init__(self, open_workspace: Callable[[], Engine]) -> None:
        self.thread = WorkspaceThread(open_workspace)
        self.asked = 0


class Readers:
    """The readers of one workspace, opened as they are needed."""

    def __init__(
        self, worker: WorkspaceThread, open_workspace: Callable[[], Engine], seats: Seats
    ) -> None:
        self._worker = worker
        self._open_workspace = open_workspace
        self._seats = seats
        self._readers: list[_Reader] = []
        self._catching_up = _CatchingUp(worker)
        self._pages = ConversationPages()

    async def ask(self, job: Callable[[Engine], T]) -> T:
        """Runs a job that changes nothing; raises what it raises.

        Where the ledger cannot be shared, the thread of the operations answers.
        """
        self._catching_up.now_and_then()
        reader = self._free()
        reader.asked += 1
        try:
            return await reader.thread.ask(lambda tb: _looked(tb, job))
        except (LedgerDamaged, LedgerUnwritable):
            return await self._worker.ask(job)
        finally:
            reader.asked -= 1

    def _free(self) -> _Reader:
        """Returns a reader that has nothing to do, or else the one with the least."""
        least = min(self._readers, key=lambda one: one.asked, default=None)
        if (least is None or least.asked) and self._seats.take(len(self._readers)):
            least = _Reader(self._opened)
            self._readers.append(least)
        assert least is not None, "the first seat is always granted"
        return least

    def _opened(self) -> Engine:
        opened = self._open_workspace()
        opened.only_look(self._catching_up, self._pages)
        return opened

    def close(self) -> None:
        """Waits for running jobs, then closes all."""
        for reader in self._readers:
            reader.thread.close()
        self._seats.give_back(len(self._readers))
        self._readers.clear()


class _CatchingUp:
    """Has the worker catch up, once for all readers that ask for it at the same time."""

    def __init__(self, worker: WorkspaceThread) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self._next: Future[None] | None = None
        self._late: Future[None] | None = None
        """One that somebody has waited for in vain: the others need not try."""
        self._last = 0.0

    def now_and_then(self) -> None:
        """Catches up for nobody in particular: only then are turns ended whose agent is gone."""
        with self._lock:
            is_idle = self._next is None or self._next.done()
            if is_idle and time.monotonic() - self._last > _NOW_AND_THEN:
                self._start()

    def _start(self) -> Future[None]:
        self._last = time.monotonic()
        self._next = self._worker.start(lambda tb: tb.catch_up())
        return self._next

    def __call__(self, *, long: bool) -> bool:
        with self._lock:
            due = self._next
            if due is None or due.running() or due.done():  # it may have looked before we did
                due = self._start()
            if not long and self._late is not None and not self._late.done():
                return False
        if not concurrent.futures.wait([due], None if long else _MOMENT).done:
            self._late = due
            return False
        return due.exception() is None


def _looked(tb: Engine, job: Callable[[Engine], T]) -> T:
    tb.look_again()
    return job(tb)
