"""Events that could not be recorded in time, kept for the next holder of the lock.

One file per event, named by its time of arrival and flushed, so that an acknowledged event survives
whatever ends the process. They are recorded in the order in which they came.
"""

from __future__ import annotations

import os
import zlib

from takeback import durable
from takeback.model import event as events
from takeback.model import json_text
from takeback.model.session import TranscriptPart
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.event import AgentEvent
    from takeback.store.locked import Locked
    from takeback.store.store import Store


class WaitingEvent(Value):
    """An event that waits, when it came, and how long its transcript was then."""

    name: str
    event: AgentEvent
    time: float
    transcript: tuple[TranscriptPart, ...]


def leave(
    store: Store, event: AgentEvent, time: float, transcript: tuple[TranscriptPart, ...]
) -> None:
    """Keeps an event, durable when it returns. The lock need not be held.

    One that is left twice (the time limit struck when it had just been left) is kept once.
    """
    folder = store.path("pending")
    durable.make_directories(folder)
    told = events.encode(event)
    mark = zlib.crc32(json_text.dumps(told).encode(errors="surrogateescape"))
    name = f"{int(time * 1_000_000):020d}-{os.getpid():x}-{mark:08x}"
    record = {
        "v": 1,
        "event": told,
        "time": time,
        "transcript": [[part.path, part.size] for part in transcript],
    }
    durable.replace_file(os.path.join(folder, name), json_text.dumps(record).encode())


def any_left(store: Store) -> bool:
    """Tells whether an event is waiting; costs one stat if none ever was."""
    try:
        return any(name[:1].isdigit() for name in os.listdir(store.path("pending")))
    except FileNotFoundError:
        return False


def read(store: Store) -> list[WaitingEvent]:
    """Returns the waiting events, oldest first; unreadable ones are skipped."""
    folder = store.path("pending")
    try:
        names = sorted(name for name in os.listdir(folder) if name[:1].isdigit())
    except FileNotFoundError:
        return []
    found = (_read(folder, name) for name in names)
    return [waiting for waiting in found if waiting is not None]


def _read(folder: str, name: str) -> WaitingEvent | None:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            record = json_text.loads(file.read())
        if not isinstance(record, dict):
            return None
        parts = tuple(TranscriptPart(path, size) for path, size in record["transcript"])
        return WaitingEvent(name, events.decode(record["event"]), float(record["time"]), parts)
    except (OSError, ValueError, LookupError, TypeError):
        return None


def remove(locked: Locked, waiting: WaitingEvent) -> None:
    """Drops an event that has been recorded."""
    durable.unlink(locked.store.path("pending", waiting.name))
