"""Readers: several threads that look at one workspace at the same time.

Each has it open for itself, and none of them writes: what is new is brought into the ledger by the
thread that the operations run in.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections import deque

from takeback.app.workspace_thread import WorkspaceThread
from takeback.errors import LedgerDamaged, LedgerUnwritable
from takeback.timeline.conversation import ConversationPages, KeptConversations

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


class ReadingRoom:
    """What the readers of all workspaces share: so many seats, and what was read lately."""

    def __init__(self, each: int, together: int) -> None:
        self.each = each
        self._left = together
        self._lock = threading.Lock()
        self.kept = KeptConversations()

    def take(self, taken: int) -> bool:
        """Takes one for a workspace that has so many already; its first is always granted."""
        with self._lock:
            if taken and (taken >= self.each or self._left <= 0):
                return False
            self._left -= 1
            return True

    def give_back(self, number: int) -> None:
        with self._lock:
            self._left += number


class _Reader:
    """One thread, and whether it is answering a question."""

    def __init__(self, open_workspace: Callable[[], Engine]) -> None:
        self.thread = WorkspaceThread(open_workspace)
        self.is_busy = False


class Readers:
    """The readers of one workspace, opened as they are needed."""

    def __init__(
        self,
        worker: WorkspaceThread,
        open_workspace: Callable[[], Engine],
        room: ReadingRoom,
        *,
        moment: float | None = _MOMENT,
    ) -> None:
        """``moment`` is how many seconds they wait for what is new; None until it is there."""
        self._worker = worker
        self._open_workspace = open_workspace
        self._room = room
        self._readers: list[_Reader] = []
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._long = asyncio.Semaphore(max(1, room.each // 2))
        self._catching_up = _CatchingUp(worker, moment)
        self._pages = ConversationPages(room.kept)

    async def ask(self, job: Callable[[Engine], T], *, long: bool = False) -> T:
        """Runs a job that changes nothing; raises what it raises.

        Those that may take ``long`` never take all readers. Where the ledger cannot be shared, the
        thread of the operations answers.
        """
        if not long:
            return await self._ask(job)
        async with self._long:
            return await self._ask(job)

    async def _ask(self, job: Callable[[Engine], T]) -> T:
        self._catching_up.now_and_then()
        reader = await self._free()
        answer = asyncio.wrap_future(reader.thread.start(lambda tb: _looked(tb, job)))
        answer.add_done_callback(lambda answer: self._set_free(reader, answer))
        try:
            # A job runs to its end even if nobody waits any more; until then it has its reader.
            return await asyncio.shield(answer)
        except (LedgerDamaged, LedgerUnwritable):
            return await self._worker.ask(job)

    async def _free(self) -> _Reader:
        """Returns a reader that has nothing to do; those who wait are served in their order."""
        while True:
            free = next((one for one in self._readers if not one.is_busy), None)
            if free is None and self._room.take(len(self._readers)):
                free = _Reader(self._opened)
                self._readers.append(free)
            if free is not None:
                free.is_busy = True
                return free
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # it was our turn: it is the next one's
                    self._call_next()
                raise

    def _set_free(self, reader: _Reader, answer: asyncio.Future[T]) -> None:
        reader.is_busy = False
        if not answer.cancelled():
            answer.exception()  # of one that nobody waits for: it would end up on stderr
        self._call_next()

    def _call_next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def _opened(self) -> Engine:
        opened = self._open_workspace()
        opened.only_look(self._catching_up, self._pages)
        return opened

    def close(self) -> None:
        """Waits for running jobs, then closes all."""
        for reader in self._readers:
            reader.thread.close()
        self._room.give_back(len(self._readers))
        self._readers.clear()


class _CatchingUp:
    """Has the worker catch up, once for all readers that ask for it at the same time."""

    def __init__(self, worker: WorkspaceThread, moment: float | None) -> None:
        self._worker = worker
        self._moment = moment
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
        if not concurrent.futures.wait([due], None if long else self._moment).done:
            self._late = due
            return False
        return due.exception() is None


def _looked(tb: Engine, job: Callable[[Engine], T]) -> T:
    tb.look_again()
    return job(tb)
