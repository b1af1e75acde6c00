"""The workspaces that the server has open: by id, each in threads of its own.

One thread has it open to work in it, and does one thing after the other; others only look.
"""

from __future__ import annotations

import asyncio
import os
import time

from takeback.app.engine import Engine
from takeback.app.polled_reporter import PolledReporter
from takeback.app.readers import Readers, ReadingRoom
from takeback.app.workspace_thread import WorkspaceThread
from takeback.errors import TakebackError
from takeback.serve.errors import Rejected, no_such
from takeback.serve.settings import ServerSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import TypeVar

    from takeback.workspaces import KnownWorkspace

    T = TypeVar("T")

HOLDER = "serve"
_PATIENCE = 60.0
"""Seconds that another process may write the ledger: those who look do not wait for it."""


class _Open:
    """One open workspace; ``store`` is the directory of its store, with its inode."""

    def __init__(self, known: KnownWorkspace, store: tuple[str, int], room: ReadingRoom) -> None:
        self.root = known.root
        self.reporter = PolledReporter()
        self.thread = WorkspaceThread(lambda: _open_to_work(known, self.reporter), self.reporter)
        self.readers = Readers(self.thread, lambda: _open(known, PolledReporter()), room)
        self.store = store
        self.asking = 0
        self.last = time.monotonic()

    def close(self) -> None:
        """Waits for what is being done and read, then closes the workspace."""
        self.readers.close()  # they ask the other thread for what is new
        self.thread.close()


class OpenWorkspaces:
    """Opens a workspace when it is first asked, and closes it when nobody asks any more."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._room = ReadingRoom(settings.readers, settings.all_readers)
        self._open: dict[str, _Open] = {}
        self._closing: dict[asyncio.Task[None], _Open] = {}

    async def ask(self, id: str, job: Callable[[Engine], T]) -> T:
        """Runs a job with a workspace; raises what it raises, and Rejected for an unknown id."""
        one = self._opened(id)
        return await self._counted(one, one.thread.ask(job))

    async def change(self, id: str, job: Callable[[Engine], T]) -> T:
        """Runs a job that changes something: whoever looks after its answer sees the change."""
        return await self.ask(id, lambda tb: _and_caught_up(tb, job))

    async def look(self, id: str, job: Callable[[Engine], T], *, long: bool = False) -> T:
        """Runs a job that changes nothing, beside others; it waits for no operation.

        One that may take ``long`` keeps no quick one waiting.
        """
        one = self._opened(id)
        return await self._counted(one, one.readers.ask(job, long=long))

    async def _counted(self, one: _Open, answer: Coroutine[None, None, T]) -> T:
        one.asking += 1
        try:
            return await answer
        finally:
            one.asking -= 1
            one.last = time.monotonic()
            if not one.asking:
                one.reporter.step = None

    def notes(self, id: str) -> list[str]:
        """Returns what a workspace had to say since the last time, such as a recovery."""
        one = self._open.get(id)
        return [] if one is None else one.reporter.take_notes()

    def progress(self) -> Iterator[tuple[str, tuple[str, int, int]]]:
        """Yields what each busy workspace is doing: its id, and what, how much of how much."""
        for id, one in self._open.items():
            step = one.reporter.step
            if one.asking and step is not None:
                yield id, step

    def steps(self) -> list[tuple[str, int, int] | None]:
        """Returns how far each workspace is with what it does; may be called in any thread."""
        return [one.reporter.step for one in self._all()]

    def at_work(self) -> list[bytes]:
        """Returns the roots of those that have not answered yet; may be called in any thread."""
        closing = list(self._closing.values())
        busy = [one.root for one in self._all() if one.asking or one in closing]
        return sorted(set(busy))

    def _all(self) -> list[_Open]:
        return [*self._open.values(), *self._closing.values()]

    def _opened(self, id: str) -> _Open:
        known = find(id)
        store = _identity(known.store)
        one = self._open.get(id)
        if one is not None and one.store != store:  # deleted and made anew, or adopted
            self._close_later(self._open.pop(id))
            one = None
        if one is None:
            self._make_room()
            one = self._open[id] = _Open(known, store, self._room)
        return one

    def _make_room(self) -> None:
        if len(self._open) < self._settings.workspaces:
            return
        idle = [(one.last, id) for id, one in self._open.items() if not one.asking]
        if not idle:
            raise Rejected(
                503, "busy", "too many workspaces are open", headers={"Retry-After": "5"}
            )
        self._close_later(self._open.pop(min(idle)[1]))

    def close_idle(self) -> None:
        """Closes the workspaces that nobody has asked about for a while."""
        before = time.monotonic() - self._settings.idle_seconds
        for id, one in list(self._open.items()):
            if not one.asking and one.last < before:
                self._close_later(self._open.pop(id))

    def _close_later(self, one: _Open) -> None:
        task = asyncio.get_running_loop().create_task(asyncio.to_thread(one.close))
        self._closing[task] = one
        task.add_done_callback(lambda task: self._closing.pop(task, None))

    async def close(self) -> None:
        """Closes all; an operation that runs is finished first."""
        for id in list(self._open):
            self._close_later(self._open.pop(id))
        if self._closing:
            await asyncio.wait(list(self._closing))


def find(id: str) -> KnownWorkspace:
    """Returns the workspace with an id; raises Rejected if there is none."""
    for known in Engine.workspaces():
        if known.id == id:
            return known
    raise no_such("there is no workspace with that id")


def _open_to_work(known: KnownWorkspace, reporter: PolledReporter) -> Engine:
    opened = _open(known, reporter)
    opened.wait_for_the_ledger(_PATIENCE)
    return opened


def _open(known: KnownWorkspace, reporter: PolledReporter) -> Engine:
    """Opens a workspace; what is kept of another directory at the same path is not it."""
    opened = Engine.open(os.fsdecode(known.root), create=False, reporter=reporter, holder=HOLDER)
    if os.path.realpath(opened.store_directory) != os.path.realpath(known.store):
        opened.close()
        raise no_such("the directory of that workspace is another one now")
    return opened


def _and_caught_up(tb: Engine, job: Callable[[Engine], T]) -> T:
    answer = job(tb)
    try:
        tb.catch_up()
    except TakebackError:  # it is done all the same; whoever looks next says what is wrong
        pass
    return answer


def _identity(directory: str) -> tuple[str, int]:
    try:
        return directory, os.stat(directory).st_ino
    except OSError:
        return directory, 0
