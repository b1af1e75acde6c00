"""Watching: notices what happens in the workspaces, and publishes it; asleep if nobody listens."""

from __future__ import annotations

import asyncio

from takeback.app.engine import Engine
from takeback.errors import TakebackError
from takeback.serve.feed import WORKSPACE, Event
from takeback.words import documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.serve.feed import Feed
    from takeback.serve.server import Server
    from takeback.timeline.timeline import Happening
    from takeback.workspaces import KnownWorkspace

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
