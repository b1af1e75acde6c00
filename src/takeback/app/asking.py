"""Asking: how a program with an event loop uses a workspace, and never waits for it.

    task 1   await rewind ──┐                             ┌── done
    task 2        await checkpoint ──┐                    │   ┌── done
    worker                  └ rewind ┴────────────────────┴ checkpoint
    reader                        └ cat ┘

One thread works, one thing after the other, in the order in which it is asked; a few others look at
what is kept, beside it (``workspace_thread.py``, ``readers.py``). What waits for a program or a
function of somebody else has a thread of its own. What has begun is finished in its thread, whether
its task still waits or was cancelled.
"""

from __future__ import annotations

import asyncio

from takeback.app.readers import Readers, ReadingRoom
from takeback.app.workspace_thread import WorkspaceThread
from takeback.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    from takeback.app.engine import Engine

    T = TypeVar("T")

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
