"""opencode's conversation, cut at a place, as a file that opencode imports.

We keep lines, one per message and the session last (adapters/opencode). opencode imports the
document that ``opencode export`` writes: {"info": SESSION, "messages": [MESSAGE, ...]}. It ignores
anything imported under an id that it already has, so every id is new; and it sorts by ids, so each
keeps its first half, which is a time.
"""

from __future__ import annotations

import json
import secrets
import string

from takeback.adapters import fields, json_lines
from takeback.adapters.json_lines import JsonLine
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from takeback.model.checkpoint import Anchor

_LETTERS = string.digits + string.ascii_letters
_TIME = len("msg_0123456789ab")
_OWN = 6
_REST = 8
_IDS = ("id", "sessionID", "messageID", "parentID", "tail_start_id", "parentSessionId")
_SAID = ("input", "output", "text", "raw")
"""Fields with the words of people, models and tools: nothing in there is an id."""
_KEPT = ("slug", "projectID", "workspaceID", "directory", "path", "metadata", "agent", "model")
"""What a fork in opencode copies too; no share, no costs, no place that was reverted to."""
_ENDED = ("completed", "error")


class _Kept(Value):
    """What a checkpoint keeps: the messages, each with its line, and the session."""

    messages: tuple[tuple[bytes, Mapping[str, Any]], ...]
    session: tuple[bytes, Mapping[str, Any]] | None


def cut(parts: Sequence[bytes], anchor: Anchor, later: Sequence[bytes]) -> bytes:
    """Returns the conversation up to a place; empty if nothing had been said by then."""
    kept = read(b"".join(parts))
    lines = []
    ended = _ended_calls(read(b"".join(later))) if anchor.leaf else {}
    reverted = fields.table(kept.session[1] if kept.session else {}, "revert")
    for line, message in kept.messages:
        own = fields.text(fields.table(message, "info"), "id")
        if anchor.before and own is not None and own == anchor.turn:
            break
        if own is not None and own == reverted.get("messageID"):
            lines += _beginning(line, message, fields.text(reverted, "partID"))
            break
        lines.append(_with_result(line, message, anchor.leaf, ended))
    if not lines:
        return b""
    if kept.session is None:
        raise ValueError("what was kept of it does not name its session")
    return b"".join([*lines, kept.session[0]])


def read(data: bytes) -> _Kept:
    """Reads complete lines; a torn one, and one that is not a message, is left out.

    A session that was made here begins with the document to import.
    """
    if data.startswith(b'{"info":{') and not data.endswith(b"\n"):
        data = _as_lines(data)
    messages: list[tuple[bytes, Mapping[str, Any]]] = []
    session: tuple[bytes, Mapping[str, Any]] | None = None
    for line in json_lines.read(data, JsonLine):
        record = line.record
        if isinstance(record.get("session"), dict):
            session = (line.raw, record["session"])
        elif fields.text(fields.table(record, "info"), "id") is not None:
            messages.append((line.raw, record))
    return _Kept(tuple(messages), session)


def _as_lines(document: bytes) -> bytes:
    try:
        record = json.loads(document)
        session, messages = record["info"], record["messages"]
        return b"".join(map(line_of, [*messages, {"session": session}]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return document


def line_of(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _beginning(line: bytes, message: Mapping[str, Any], part: str | None) -> list[bytes]:
    """Returns what remains of the message that was reverted to: what comes before a part."""
    parts = list(fields.tables(message, "parts"))
    ids = [fields.text(one, "id") for one in parts]
    if part is None or ids[:1] == [part]:
        return []
    return [line_of({**message, "parts": parts[: ids.index(part)]}) if part in ids else line]


def _ended_calls(kept: _Kept) -> dict[str, Mapping[str, Any]]:
    """Returns the tool calls of a conversation that have their results, by call."""
    found = {}
    for _, message in kept.messages:
        for part in fields.tables(message, "parts"):
            call = fields.text(part, "callID")
            if call is not None and fields.table(part, "state").get("status") in _ENDED:
                found[call] = part
    return found


def _with_result(
    line: bytes, message: Mapping[str, Any], call: str | None, ended: Mapping[str, Any]
) -> bytes:
    """Adds the result of the call that a round ended with; opencode writes it a moment later."""
    parts = fields.tables(message, "parts")
    if call is None or not any(_is_open(part, call) for part in parts) or call not in ended:
        return line
    filled = [ended[call] if _is_open(part, call) else part for part in parts]
    return line_of({**message, "parts": filled})


def _is_open(part: Mapping[str, Any], call: str) -> bool:
    return part.get("callID") == call and fields.table(part, "state").get("status") not in _ENDED


def new_id(now: float, mark: str) -> str:
    """Returns the id of a new session; newer ones come first, so the time counts backwards."""
    time = ~(int(now * 1000) << 12) & ((1 << 48) - 1)
    return f"ses_{time:012x}{mark}{_random(14 - len(mark))}"


def _random(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def exported(history: bytes, *, new: str, title: str, now: float) -> bytes:
    """Returns a history as the document that ``opencode import`` takes."""
    kept = read(history)
    session = kept.session[1] if kept.session is not None else {}
    names = {fields.text(session, "id"): new}
    child = _random(_OWN)
    for _, message in kept.messages:
        for one in (fields.table(message, "info"), *fields.tables(message, "parts")):
            id = fields.text(one, "id") or ""
            names[id] = f"{id[:_TIME]}{child}{id[_TIME : _TIME + _REST]}"
    time = int(now * 1000)
    info = {
        "id": new,
        "title": title,
        "version": fields.text(session, "version") or "",
        "time": {"created": time, "updated": time},
        **{name: session[name] for name in _KEPT if session.get(name) is not None},
    }
    messages = [_renamed(message, names) for _, message in kept.messages]
    return json.dumps({"info": info, "messages": messages}, separators=(",", ":")).encode()


def _renamed(value: Any, names: Mapping[str | None, str]) -> Any:
    if isinstance(value, list):
        return [_renamed(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: names.get(one, one)
        if key in _IDS and isinstance(one, str)
        else (one if key in _SAID else _renamed(one, names))
        for key, one in value.items()
    }
