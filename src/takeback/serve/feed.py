"""The feed: what happens in open workspaces, told to everybody who listens."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import time
from collections import deque

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.background import BackgroundTask

from takeback.app.engine import Engine
from takeback.app.threads import PolledReporter, Readers, ReadingRoom, WorkspaceThread
from takeback.errors import TakebackError
from takeback.model import json_text
from takeback.model.value import Value
from takeback.serve.protocol import Asked, Rejected, ServerSettings, no_such
from takeback.words import documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
    from typing import Any, TypeVar

    from starlette.responses import Response

    from takeback.model.entries import NewsMark
    from takeback.serve.run import Server
    from takeback.timeline.timeline import Happening
    from takeback.workspaces import KnownWorkspace

    Document = Mapping[str, Any]
    T = TypeVar("T")

# -- the feed


WORKSPACE = "workspace"
"""The event that says that something happened somewhere; everybody hears it."""
RESET = "reset"


class Event(Value):
    """One event; ``number`` is None for one that is not kept, such as progress."""

    kind: str
    workspace: str | None
    data: Document
    number: int | None = None


class Listener:
    """One client that listens, to one workspace or to all."""

    def __init__(self, feed: Feed, workspace: str | None) -> None:
        self._feed = feed
        self.workspace = workspace
        self.waiting: deque[Event] = deque()
        self._more = asyncio.Event()

    def hears(self, event: Event) -> bool:
        return self.workspace in (None, event.workspace) or event.kind in (WORKSPACE, RESET)

    def put(self, event: Event) -> None:
        """Gives it an event; one that is too far behind begins anew."""
        if not self.hears(event):
            return
        if len(self.waiting) >= self._feed.settings.events:
            self.waiting.clear()
            event = self._feed.reset()
        self.waiting.append(event)
        self._more.set()

    async def next(self) -> Event:
        """Returns the next event, when there is one."""
        while not self.waiting:
            self._more.clear()
            await self._more.wait()
        return self.waiting.popleft()

    def close(self) -> None:
        self._feed.listeners.discard(self)


class Feed:
    """The newest events of one run of the server, and who listens to them."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.listeners: set[Listener] = set()
        self._run = secrets.token_hex(4)
        self._number = 0
        self._kept: deque[Event] = deque(maxlen=settings.events)
        self.moments: dict[str, NewsMark] = {}
        """The workspaces that are followed, each with up to where it was told of."""
        self.pulses: dict[str, tuple[int, ...]] = {}
        """The pulse of each workspace when it was last told of."""

    def publish(self, kind: str, workspace: str | None, data: Document) -> None:
        """Tells all who listen, and keeps it for those who come back."""
        self._number += 1
        event = Event(kind, workspace, data, self._number)
        self._kept.append(event)
        self.mention(event)

    def mention(self, event: Event) -> None:
        """Tells only those who listen now."""
        for listener in list(self.listeners):
            listener.put(event)

    def listen(self, workspace: str | None, last: str | None) -> Listener:
        """Returns a new listener, with what it missed since ``last``; raises Rejected if many."""
        if len(self.listeners) >= self.settings.streams:
            raise Rejected(
                503, "too_many_streams", "too many listen already", headers={"Retry-After": "5"}
            )
        listener = Listener(self, workspace)
        for event in () if last is None else self._since(last):
            listener.put(event)
        self.listeners.add(listener)
        return listener

    def forget(self) -> None:
        """Stops following: whoever comes back after that is told to read everything again."""
        self.pulses.clear()
        if self.moments or self._kept:
            self.moments.clear()
            self._kept.clear()
            self._number += 1

    def name(self, number: int | None = None) -> str:
        """Returns the id of an event, or of the present moment."""
        return f"{self._run}-{self._number if number is None else number}"

    def reset(self) -> Event:
        """Returns the event that says that some were lost: everything has to be read again."""
        return Event(RESET, None, {}, self._number)

    def _since(self, last: str) -> list[Event]:
        found = re.fullmatch(r"([0-9a-f]{8})-([0-9]{1,15})", last, re.ASCII)
        number = int(found[2]) if found is not None and found[1] == self._run else None
        oldest = self._kept[0].number if self._kept else self._number + 1
        if number is None or number > self._number or number + 1 < (oldest or 0):
            return [self.reset()]
        return [event for event in self._kept if (event.number or 0) > number]


# -- watching: notices what happens in the workspaces, and publishes it; asleep if nobody listens


_LISTING = 10
"""The list of all workspaces is read at each so many'th look."""


def begin(feed: Feed) -> None:
    """Notes how the workspaces are that nobody follows yet: what changes from here on is told."""
    for one in Engine.workspaces():
        if one.id not in feed.moments:
            feed.pulses.setdefault(one.id, one.pulse)


class Watching:
    """Looks at the pulse of each workspace, and asks those in which something moved."""

    def __init__(self, server: Server, log: Callable[[str], None]) -> None:
        self._server = server
        self._log = log
        self._known: dict[str, KnownWorkspace] = {}
        self._steps: dict[str, tuple[str, int, int]] = {}
        self._asked: dict[str, asyncio.Task[None]] = {}

    async def watch(self) -> None:
        """Looks again and again, until it is cancelled."""
        server, look, alone = self._server, 0, 0.0
        while True:
            await asyncio.sleep(server.settings.poll)
            server.workspaces.close_idle()
            alone = 0.0 if server.feed.listeners else alone + server.settings.poll
            if alone > server.settings.idle_seconds or (alone and not look):
                look = 0
                server.feed.forget()
                self._known = {}
                continue
            if look % _LISTING == 0:
                self._list(first=look == 0)
            look += 1
            self._tell_progress()
            for id in self._known:
                self._look(id)

    def _list(self, *, first: bool) -> None:
        """Reads which workspaces there are; tells of new and of gone ones."""
        pulses, found = self._server.feed.pulses, {one.id: one for one in Engine.workspaces()}
        # At the first look those are known that were there when somebody began to listen to all.
        known = (pulses.keys() or found.keys()) if first else self._known.keys()
        for id in found.keys() ^ known:
            pulses.pop(id, None)
            self._publish(WORKSPACE, id, {})
        self._known = found

    def _look(self, id: str) -> None:
        """Asks a workspace in which something moved.

        It may be at work for long, or never answer: the others are not kept waiting for it.
        """
        if id in self._asked:
            return
        feed = self._server.feed
        pulse, before = self._known[id].pulse, feed.pulses.get(id)
        if pulse == before or (before is None and id not in feed.moments):
            feed.pulses[id] = pulse
            return
        task = asyncio.create_task(self._ask(id, pulse, moved=before is not None))
        self._asked[id] = task
        task.add_done_callback(lambda _: self._asked.pop(id, None))

    async def _ask(self, id: str, pulse: tuple[int, ...], *, moved: bool) -> None:
        """Publishes what is new in a workspace; of one that was not followed, only that it is."""
        moments = self._server.feed.moments
        try:
            if id in moments:
                await self._tell(id, moved=moved)
            else:
                self._publish(WORKSPACE, id, {})
                moment = await self._server.workspaces.ask(id, Engine.seen_now)
                moments.setdefault(id, moment)  # a listener may have come with an earlier one
        except TakebackError as error:  # it is locked, or damaged: it is looked at again
            self._log(f"watching: {error.code}")
        else:
            self._server.feed.pulses[id] = pulse

    async def _tell(self, id: str, *, moved: bool) -> None:
        moments = self._server.feed.moments
        since = moments[id]
        happened, moments[id] = await self._server.workspaces.ask(id, lambda tb: tb.news(since))
        for one in happened or ():
            self._publish(*_event(id, one))
        if happened is None or (moved and not happened):  # very much, or a label
            self._publish(WORKSPACE, id, {})

    def _publish(self, kind: str, id: str, data: dict[str, object]) -> None:
        self._server.feed.publish(kind, id, data)

    def _tell_progress(self) -> None:
        steps = dict(self._server.workspaces.progress())
        for id, (what, done, total) in steps.items():
            if self._steps.get(id) != (what, done, total):
                data = {"what": what, "done": done, "total": total}
                self._server.feed.mention(Event("progress", id, data))
        self._steps = steps


def _event(id: str, one: Happening) -> tuple[str, str, dict[str, object]]:
    """Returns the name of an event, its workspace and its data."""
    if one.entry is not None:
        entry = documents.timeline_entry(one.entry)
        if one.turn is not None:
            return "turn", id, {"session": one.session, "what": one.turn, "turn": entry}
        return "checkpoint", id, {"session": one.session, "checkpoint": entry}
    assert one.logged is not None, "it is a checkpoint or an operation"
    kind = "pruned" if one.dropped else "operation"
    return kind, id, {"session": one.session, "operation": documents.operation(one.logged)}


# -- the workspaces that the server has open: by id, each in threads of its own
#
# One thread has it open to work in it, and does one thing after the other; others only look.


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


# -- server-sent events: what happens in the workspaces, as it happens


async def events(asked: Asked) -> Response:
    """Streams events until the client goes, or the server ends."""
    feed, workspace = asked.server.feed, asked.text("workspace")
    if workspace is not None:
        find(workspace)
    listener = feed.listen(workspace, asked.last_event)
    if workspace is None:
        begin(feed)
    elif workspace not in feed.moments:
        try:  # what happens from here on is told
            moment = await asked.server.workspaces.ask(workspace, Engine.seen_now)
        except TakebackError:
            listener.close()
            raise
        feed.moments.setdefault(workspace, moment)
    return EventSourceResponse(
        _stream(feed, listener),
        ping=asked.server.settings.heartbeat,
        ping_message_factory=lambda: ServerSentEvent(comment="still here"),
        send_timeout=asked.server.settings.patience,
        background=BackgroundTask(listener.close),
    )


async def _stream(feed: Feed, listener: Listener) -> AsyncIterator[ServerSentEvent]:
    """Yields events; the first has only an id, to resume from if nothing happens before."""
    try:
        if not listener.waiting:
            yield ServerSentEvent(id=feed.name())
        while True:
            event = await listener.next()
            id = None if event.number is None else feed.name(event.number)
            data = {"workspace": event.workspace, **event.data}
            yield ServerSentEvent(event=event.kind, data=json_text.dumps(data), id=id)
    finally:
        listener.close()
