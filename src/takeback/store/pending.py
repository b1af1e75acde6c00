"""Events that are not recorded yet, kept for the next holder of the lock.

One file per event, named by its time of arrival, so that an acknowledged event survives whatever
ends the process. They are recorded in the order in which they came.

    could not be recorded in time     whoever has the lock next does it, late; flushed
    the end of a round, for which     the process that has the lock does it at once; if it is
    its agent does not wait; and      killed, it is an event like the others; not flushed, since
    one whose agent has waited for    the agent would wait for that, and loses power too
    long enough
    overtaken-NAME                    the agent's next tool did not wait for it any longer
"""

from __future__ import annotations

import os
import zlib

from takeback import durable
from takeback.model import event as events
from takeback.model import json_text
from takeback.model.checkpoint import TranscriptPart
from takeback.model.value import Value
from takeback.ordinary import all_names, ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.model.event import AgentEvent
    from takeback.store.lock import Locked
    from takeback.store.store import Store

_OVERTAKEN = "overtaken-"


class WaitingEvent(Value):
    """An event that waits, when it came, and how long its transcript was then."""

    name: str
    event: AgentEvent
    time: float
    transcript: tuple[TranscriptPart, ...]


def leave(
    store: Store,
    event: AgentEvent,
    time: float,
    transcript: tuple[TranscriptPart, ...],
    *,
    flush: bool = True,
) -> str:
    """Keeps an event, durable when it returns, and returns its name. The lock need not be held.

    Without ``flush`` a power loss may take it, or leave it damaged, which ``verify`` says.

    One that is left twice (the time limit struck when it had just been left) is kept once.
    """
    folder = store.path("pending")
    durable.make_directories(folder)
    told = json_text.dumps(events.encode(event))  # once: an agent waits for this
    name = f"{_stamp(time)}-{os.getpid():x}-{_mark(told)}"
    parts = json_text.dumps([[part.path, part.size] for part in transcript])
    places = json_text.dumps([part.place for part in transcript])
    record = (
        f'{{"v": 1, "event": {told}, "time": {time!r}, "transcript": {parts}, '
        f'"transcript_places": {places}}}'
    )
    checked = f'{record[:-1]}, "check": "{_mark(record)}"}}'
    durable.replace_file(os.path.join(folder, name), checked.encode(), flush=flush)
    return name


def _stamp(time: float) -> str:
    return f"{int(time * 1_000_000):020d}"


def _mark(told: str) -> str:
    return f"{zlib.crc32(told.encode(errors='surrogateescape')):08x}"


def any_left(store: Store) -> bool:
    """Tells whether an event is waiting; costs one stat if none ever was."""
    try:
        return any(name[:1].isdigit() for name in all_names(store.path("pending")))
    except FileNotFoundError:
        return False


def read(store: Store) -> list[WaitingEvent]:
    """Returns the waiting events, oldest first; unreadable ones are skipped."""
    folder = store.path("pending")
    found = (_read(folder, name) for name in _names(folder))
    return [waiting for waiting in found if waiting is not None]


def damaged(store: Store) -> list[str]:
    """Returns the names of the waiting events that are not as they were left."""
    folder = store.path("pending")
    return [name for name in _names(folder) if not _is_whole(folder, name)]


def _is_whole(folder: str, name: str) -> bool:
    try:
        record = _record(folder, name)
        check, stamp = record.pop("check"), _stamp(record["time"])
        mark = _mark(json_text.dumps(record["event"]))
        is_so = check == _mark(json_text.dumps(record))
        return is_so and name.startswith(stamp) and name.endswith(mark)
    except FileNotFoundError:  # recorded meanwhile
        return True
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


def set_aside(locked: Locked, name: str) -> str:
    """Renames a damaged event, so that it is kept and not recorded; returns the new name."""
    aside = f"unreadable-{name}"
    durable.rename(locked.store.path("pending", name), locked.store.path("pending", aside))
    return aside


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in all_names(folder) if name[:1].isdigit())
    except FileNotFoundError:
        return []


def _read(folder: str, name: str) -> WaitingEvent | None:
    try:
        record = _record(folder, name)
        places = (*record.get("transcript_places", ()), *[""] * len(record["transcript"]))
        parts = (
            TranscriptPart(path, size, place)
            for (path, size), place in zip(record["transcript"], places, strict=False)
        )
        event = events.decode(record["event"])
        return WaitingEvent(name, event, float(record["time"]), tuple(parts))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _record(folder: str, name: str) -> dict[str, Any]:
    with open(os.path.join(folder, name), encoding="utf-8", opener=ordinary) as file:
        record = json_text.loads(file.read())
    if not isinstance(record, dict):
        raise ValueError("not an object")
    return record


def remove(locked: Locked, name: str) -> None:
    """Drops an event that has been recorded."""
    durable.unlink(locked.store.path("pending", name))
    mark = locked.store.path("pending", _OVERTAKEN + name)
    if os.path.exists(mark):
        durable.unlink(mark)


def overtake(store: Store) -> None:
    """Notes that an agent goes on although the files of these events may still be looked at."""
    folder = store.path("pending")
    for name in _names(folder):
        try:
            os.close(durable.create(os.path.join(folder, _OVERTAKEN + name)))
        except FileExistsError:
            continue


def any_overtaken(store: Store) -> bool:
    """Tells whether an agent went on before its event was recorded, which it still is not."""
    return any(is_overtaken(store, name) for name in _names(store.path("pending")))


def all_overtaken(store: Store) -> bool:
    """Tells whether nobody waits any more for any of the events that wait."""
    return all(is_overtaken(store, name) for name in _names(store.path("pending")))


def is_overtaken(store: Store, name: str) -> bool:
    """Tells whether an agent went on before its event was recorded.

    If it did not by the time that all files were looked at, none of them is of later.
    """
    return os.path.exists(store.path("pending", _OVERTAKEN + name))
