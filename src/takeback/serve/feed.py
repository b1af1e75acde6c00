"""The feed: what happened, numbered, for all who listen and for those who come back."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import deque

from takeback.model.value import Value
from takeback.serve.errors import Rejected
from takeback.serve.settings import ServerSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from takeback.model.timeline import NewsMark

    Document = Mapping[str, Any]

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
