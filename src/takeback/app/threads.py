"""Threads: one has the workspace open, several look at it, and an event loop waits for none."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor

from takeback.errors import LedgerDamaged, LedgerUnwritable, UsageError
from takeback.timeline.transcripts import ConversationPages, KeptConversations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Future
    from typing import TypeVar

    from takeback.app.engine import Engine

    T = TypeVar("T")

# -- one thread has the workspace open and answers all questions, one by one
#
# The screen never waits for the disk, and no two questions run at once: SQLite and the store belong
# to the thread that opened them.


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


# -- readers: several threads that look at one workspace at the same time
#
# Each has it open for itself, and none of them writes: what is new is brought into the ledger by
# the thread that the operations run in.


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


# -- asking: how a program with an event loop uses a workspace, and never waits for it
#
#     task 1   await rewind ──┐                             ┌── done
#     task 2        await checkpoint ──┐                    │   ┌── done
#     worker                  └ rewind ┴────────────────────┴ checkpoint
#     reader                        └ cat ┘
#
# One thread works, one thing after the other, in the order in which it is asked; a few others
# look at what is kept, beside it (``workspace_thread.py``, ``readers.py``). What waits for a
# program or a function of somebody else has a thread of its own. What has begun is finished in
# its thread, whether its task still waits or was cancelled.


_READERS = 4


class Asking:
    """One workspace, opened in threads of its own, which are asked from an event loop."""

    def __init__(
        self, open_to_work: Callable[[], Engine], open_to_look: Callable[[], Engine]
    ) -> None:
        self._open_to_work = open_to_work
        self._thread = WorkspaceThread(open_to_work)
        room = ReadingRoom(_READERS, _READERS)
        # Who looks after an answer sees what was done: they wait until that is in the ledger.
        self._readers = Readers(self._thread, open_to_look, room, moment=None)
        self._asked = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing: asyncio.Task[None] | None = None

    async def work(self, job: Callable[[Engine], T]) -> T:
        """Runs a job in its turn; raises what it raises."""
        return await self._counted(lambda: self._thread.ask(job))

    async def look(self, job: Callable[[Engine], T]) -> T:
        """Runs a job that looks only at what is kept, beside others."""
        return await self._counted(lambda: self._readers.ask(job))

    async def aside(self, job: Callable[[Engine], T]) -> T:
        """Runs a job that waits for others, perhaps for tasks of this loop: nobody waits for it."""
        return await self._counted(lambda: beside(lambda: self._with_its_own(job)))

    def _with_its_own(self, job: Callable[[Engine], T]) -> T:
        with self._open_to_work() as tb:
            return job(tb)

    def work_later(self, job: Callable[[Engine], T]) -> None:
        """Has a job run in its turn, for nobody who waits."""
        self._thread.start(job)

    async def _counted(self, ask: Callable[[], Awaitable[T]]) -> T:
        if self._closing is not None:
            raise UsageError("the workspace was closed", hint="open it again: AsyncTakeback.open")
        self._asked += 1
        self._idle.clear()
        try:
            return await ask()
        finally:
            self._asked -= 1
            if not self._asked:
                self._idle.set()

    async def close(self) -> None:
        """Waits for what was asked, then closes files and descriptors; again, waits for that."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self._idle.wait()
        await beside(self._close_threads)

    def _close_threads(self) -> None:
        self._readers.close()  # they ask the other thread for what is new
        self._thread.close()


async def beside(job: Callable[[], T]) -> T:
    """Runs a job that needs no open workspace in a thread."""
    return await asyncio.to_thread(job)


# -- what the workspace reports while it works, kept until the screen polls


_NOTES_KEPT = 100
"""Who never asks for them is told only the newest."""


class PolledReporter:
    """The picker's ``Reporter``. The workspace's thread writes to it, the screen's reads it."""

    def __init__(self) -> None:
        self.step: tuple[str, int, int] | None = None
        self._notes: list[str] = []

    def progress(self, what: str, done: int, total: int) -> None:
        self.step = (what, done, total)

    def note(self, text: str) -> None:
        self._notes = [*self._notes[1 - _NOTES_KEPT :], text]

    def take_notes(self) -> list[str]:
        """Returns what was noted since the last time."""
        taken, self._notes = self._notes, []
        return taken
