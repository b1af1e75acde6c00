"""What a prune does, as lines of text."""

from __future__ import annotations

from takeback.config import bytes_of
from takeback.model.naming import ago
from takeback.model.retention import (
    EXCESS,
    HERE,
    IN_BETWEEN,
    LABELLED,
    NAMED,
    NEWEST,
    RUNNING,
    THINNED,
    TIP,
    TOO_LARGE,
    TOO_MANY,
    TOO_OLD,
    UNDOABLE,
)
from takeback.visible import shown
from takeback.words.documents import path_fields
from takeback.words.text import count, quoted, shown_path, size, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from takeback.config import Settings
    from takeback.model.ids import CheckpointId, SessionId
    from takeback.retention.prune import Pruning
    from takeback.retention.sweep import Together, Used
    from takeback.retention.trash import Restored
    from takeback.store.history import Trash
    from takeback.words.documents import Document

_DROPPED = {
    TOO_OLD: "too old (max_age_days)",
    EXCESS: "added by one turn beyond its part of the bound",
    IN_BETWEEN: "in the middle of an old turn (thin)",
    THINNED: "thinned (thin)",
    TOO_MANY: "too many (max_snapshots)",
    TOO_LARGE: "too large (max_bytes)",
    NAMED: "named",
}
_PINNED = {
    LABELLED: "labelled (keep_labelled)",
    NEWEST: "among the newest turns (keep_newest)",
    UNDOABLE: "for undo (undo_grace_days)",
    RUNNING: "of a running turn",
    TIP: "the newest of its session",
    HERE: "the newest of all",
}
_FITS = ", so that the rest fits (max_bytes)"
_BESIDE = "nothing else goes for it (max_bytes)."
NOTHING = "Nothing is to be dropped."
QUESTION = "Drop the files of these checkpoints?"


def retention(settings: Settings) -> str:
    """Says in one sentence what goes by itself, for one who is asked whether to begin."""
    days, snapshots = settings["max_age_days"], int(settings["max_snapshots"])
    age = f"after {count(days, 'day')}" if days else ""
    here = [_bound(settings["max_bytes"]), count(snapshots, "snapshot") if snapshots else ""]
    in_all = _bound(settings["max_total_bytes"])
    each = f"{' or '.join(filter(None, here))} a project" if any(here) else ""
    room = " or ".join(filter(None, [each, f"{in_all} in all" if in_all else ""]))
    when = ", or ".join(filter(None, [age, f"above {room}" if room else ""]))
    return f"The files of old checkpoints go {when}." if when else "No checkpoint goes by itself."


def _bound(value: str | float) -> str:
    """Returns a bound in bytes as it was typed; nothing for none."""
    number = bytes_of(value)
    return "" if not number else shown(value) if isinstance(value, str) else size(number)


def outlook_lines(made: Pruning) -> Iterator[str]:
    """Yields what goes, why, how many bytes come free, and what keeps the rest."""
    if made.is_idle:
        yield NOTHING
    elif made.dropped or not made.forgotten:
        files = count(made.dropped, "checkpoint")
        yield f"The files of {files} go ({size(made.bytes)}); prompts and conversations stay."
        yield from _reasons(made.dropped, _DROPPED)
    if made.forgotten:
        free = "" if made.dropped else f" ({size(made.bytes)})"
        go = "goes" if len(made.forgotten) == 1 else "go"
        yield f"{count(made.forgotten, 'expired checkpoint')} {go} altogether{free}{_FITS}."
    for session in made.sessions:
        yield f"  Session {shown(session)} goes whole{_why(made, session)}."
    kept = count(made.kept, "checkpoint")
    yield f"{kept} {'keeps its' if made.kept == 1 else 'keep their'} files" + (
        ", of these pinned:" if made.pinned else "."
    )
    yield from _reasons(made.pinned, _PINNED)
    if made.beside:
        yield f"Single turns added {size(made.beside)} of that beyond their part: {_BESIDE}"
    yield from unread_lines(made)


def _why(made: Pruning, session: SessionId) -> str:
    return _FITS if session in made.for_room else ""


def reasons_dropped(made: Pruning) -> list[Document]:
    """Returns why checkpoints lose their files, in words, and how many for each reason."""
    return _counted(made.dropped, _DROPPED)


def reasons_pinned(made: Pruning) -> list[Document]:
    """Returns why checkpoints keep their files, in words, and how many for each reason."""
    return _counted(made.pinned, _PINNED)


def _counted(found: Mapping[CheckpointId, str], words: Mapping[str, str]) -> list[Document]:
    counts = {reason: sum(1 for why in found.values() if why == reason) for reason in words}
    return [
        {"reason": reason, "words": words[reason], "count": number}
        for reason, number in counts.items()
        if number
    ]


def _reasons(found: Mapping[CheckpointId, str], words: Mapping[str, str]) -> Iterator[str]:
    for one in _counted(found, words):
        yield f"  {one['count']:>6,}  {one['words']}"


def unread_lines(made: Pruning) -> Iterator[str]:
    """Yields the sessions that were left alone because they do not read."""
    for session, reason in made.unread.items():
        yield f"Session {shown(session)} is left alone: {shown(reason)}"


def done_lines(made: Pruning, grace_days: float) -> Iterator[str]:
    """Yields what was done, and how to take it back."""
    if made.operation is None:
        yield NOTHING
        return
    files = count(made.dropped, "checkpoint")
    days = f"{grace_days:g} day" + ("" if grace_days == 1 else "s")
    yield f"Dropped the files of {files} ({size(made.bytes)}) into the trash, for {days}."
    if made.forgotten:
        yield f"{count(made.forgotten, 'expired checkpoint')} went there altogether{_FITS}."
    for session in made.sessions:
        yield f"Session {shown(session)} went whole{_why(made, session)}."
    for operation in filter(None, (made.earlier, made.operation)):
        yield f"Bring them back: takeback prune --restore {operation}"


def kept_lines(made: Pruning) -> Iterator[str]:
    """Yields what was named and keeps its files all the same, and why."""
    for id, reason in made.pinned.items():
        yield f"{id} keeps its files: {_PINNED.get(reason, reason)}"


def restored_lines(made: Restored) -> Iterator[str]:
    """Yields what came back from the trash."""
    yield f"{count(made.checkpoints, 'checkpoint')} got their files back from the trash."
    for session in made.sessions:
        yield f"Session {shown(session)} is there again."


def trash_lines(there: Sequence[Trash], now: float) -> Iterator[str]:
    """Yields what can be brought back."""
    for trash in there:
        number = sum(len(ids) for ids in trash.dropped.values())
        yield f"In the trash: {count(number, 'checkpoint')}, {ago(trash.time, now)}  {trash.id}"


def gone_lines(roots: Sequence[bytes]) -> Iterator[str]:
    """Yields the workspaces whose directory is gone, with what to do about it."""
    for root in roots:
        path = shown_path(root)
        yield f"{path} is gone; to delete its checkpoints: takeback forget {quoted(path)}"


def together_lines(found: Together | None) -> Iterator[str]:
    """Yields that all stores are larger than they may be, and which of them give way."""
    if found is None or not found.too_many:
        return
    yield (
        f"All stores together take {size(found.bytes)}, more than {size(found.most)} "
        "(max_total_bytes). What was forgotten gives way first, then the least recently used:"
    )
    for one in _giving_way(found):
        trash = "" if one.forgotten is None else ", forgotten"
        yield f"  {shown_path(one.location.root)}  {size(one.bytes)}{trash}"


def _giving_way(found: Together) -> Iterator[Used]:
    left = found.too_many
    for one in found.stores:
        if left <= 0:
            return
        yield one
        left -= one.bytes


def together_document(found: Together | None) -> Document | None:
    """Returns the same for programs; None for a prune that is not by the settings."""
    if found is None:
        return None
    return {
        "bytes": found.bytes,
        "budget": found.most,
        "giving_way": [
            {**path_fields(one.location.root), "bytes": one.bytes} for one in _giving_way(found)
        ],
    }


def document(made: Pruning) -> Document:
    """Returns a prune, or the outlook of one, for programs."""
    return {
        "operation": made.operation,
        "dropped": [{"id": id, "reason": why} for id, why in made.dropped.items()],
        "pinned": [{"id": id, "reason": why} for id, why in made.pinned.items()],
        "sessions": list(made.sessions),
        "for_room": list(made.for_room),
        "forgotten": list(made.forgotten),
        "kept": made.kept,
        "bytes": made.bytes,
        "beside": made.beside,
        "earlier": made.earlier,
        "unread": [{"session": id, "reason": why} for id, why in made.unread.items()],
    }


def restored(made: Restored) -> Document:
    """Returns what came back from the trash, for programs."""
    return {
        "operation": made.operation,
        "checkpoints": list(made.checkpoints),
        "sessions": list(made.sessions),
    }


def trash_documents(there: Sequence[Trash]) -> list[Document]:
    """Returns what can be brought back, for programs."""
    return [
        {
            "id": trash.id,
            "time": timestamp(trash.time),
            "checkpoints": [id for ids in trash.dropped.values() for id in ids],
        }
        for trash in there
    ]
