"""Gemini chat files: what is still part of the conversation, and that as a new session.

A chat file is a log, one JSON object per line; reading it means replaying it from the top:

    {"sessionId", "projectHash", ...}     a header; another one each time it is opened
    {"id", "type", "content", ...}        a message, or a new version of the one with that id
    {"$set": {"messages": [...], ...}}    these are the messages now; the others are forgotten
    {"$set": {"sessionId", "summary" …}}  other facts
    {"$rewindTo": id}                     that message and all after it are forgotten
"""

from __future__ import annotations

import os
import time
import uuid

from takeback.adapters import fields, json_lines
from takeback.adapters.json_lines import JsonLine
from takeback.model.checkpoint import NewSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_NOT_SAID = ("/", "?", "<session_context>", "<hook_context>")
"""How texts begin that Gemini does not load again."""
_CANCELLED = "Request cancelled."


class ChatLine(JsonLine):
    """One line of a chat file: its bytes, and what they say if they can be read."""

    @property
    def rewinds_to(self) -> str | None:
        value = self.record.get("$rewindTo")
        return value if isinstance(value, str) else None

    @property
    def message(self) -> str | None:
        """The id of the line's message."""
        return fields.text(self.record, "id")

    @property
    def is_header(self) -> bool:
        known = (fields.text(self.record, name) for name in ("sessionId", "projectHash"))
        return self.message is None and all(known)

    @property
    def resets(self) -> bool:
        return isinstance(fields.table(self.record, "$set").get("messages"), list)

    @property
    def speaks(self) -> bool:
        """True for any message, also one that was taken back."""
        somebody = self.message is not None and self.record.get("type") in ("user", "gemini")
        return somebody or self.rewinds_to is not None

    @property
    def messages(self) -> tuple[Mapping[str, Any], ...]:
        """The messages that the line holds, one or many."""
        if self.message is not None:
            return (self.record,)
        holder = fields.table(self.record, "$set") if self.resets else self.record
        return tuple(one for one in fields.tables(holder, "messages") if fields.text(one, "id"))


def cut(parts: Sequence[bytes]) -> bytes:
    """Returns the conversation in the files, the newest first; see the port."""
    for part in reversed(parts):
        lines = lines_of(part)
        while lines:
            kept = _remembered(lines)
            if any(is_said(message) for line in kept for message in line.messages):
                if not any(line.is_header for line in kept):
                    raise ValueError("the transcript has no header")
                return b"".join(line.raw for line in kept)
            opened = max((i for i, line in enumerate(lines) if line.is_header), default=0)
            if any(line.speaks for line in lines[opened:]):
                return b""
            lines = lines[:opened]  # opened again, but its messages not yet loaded
    return b""


def _remembered(lines: Sequence[ChatLine]) -> list[ChatLine]:
    """Returns the lines without the messages that later lines forget, and without those lines."""
    places: dict[str, list[int]] = {}  # of each message in order, the lines that hold it
    forgotten: dict[int, set[str]] = {}

    def forget(ids: Sequence[str]) -> None:
        for one in ids:
            for place in places.pop(one):
                forgotten.setdefault(place, set()).add(one)

    for index, line in enumerate(lines):
        if line.rewinds_to is not None:
            known = list(places)
            forget(known[known.index(line.rewinds_to) if line.rewinds_to in places else 0 :])
        elif line.resets:
            forget(list(places))
        for message in line.messages:
            places.setdefault(message["id"], []).append(index)
    found = (without(line, forgotten.get(index)) for index, line in enumerate(lines))
    return [line for line in found if line is not None and line.rewinds_to is None]


def without(line: ChatLine, ids: set[str] | None) -> ChatLine | None:
    """Returns a line without some of its messages, None if it had only these."""
    if ids is None:
        return line
    left = [one for one in line.messages if one["id"] not in ids]
    if line.message is not None or (line.resets and not left):
        return None
    if line.resets:
        return written_line({"$set": {**line.record["$set"], "messages": left}})
    return written_line({**line.record, "messages": left})


def is_said(message: Mapping[str, Any]) -> bool:
    """Tells whether Gemini loads a message again when it resumes."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    if message.get("type") == "gemini":
        return any(parts) or any(message.get(name) for name in ("toolCalls", "thoughts"))
    if message.get("type") != "user":
        return False
    if any(isinstance(part, dict) and "functionResponse" in part for part in parts):
        return True
    text = said_in(message)
    return bool(text) and not text.startswith(_NOT_SAID)


def said_in(message: Mapping[str, Any]) -> str:
    """Returns the words of a message."""
    content = message.get("content")
    if not isinstance(content, str):
        parts = fields.tables(message, "content")
        content = "".join(fields.text(part, "text") or "" for part in parts)
    return content.strip()


def new_session(history: bytes, *, transcript: str, title: str, now: float) -> NewSession:
    """Returns a history as a new session, with its id wherever the file names its session.

    The last line gives the title, and a time that keeps Gemini's clean-up from treating it as an
    old session.
    """
    new = str(uuid.uuid4())
    lines = [_renamed(line, new).raw for line in lines_of(history)]
    if lines:
        facts = {"lastUpdated": json_lines.timestamp(now), **({"summary": title} if title else {})}
        lines.append(written_line({"$set": facts}).raw)
    minute = time.strftime("%Y-%m-%dT%H-%M", time.gmtime(now))
    path = os.path.join(os.path.dirname(transcript), f"session-{minute}-{new[:8]}.jsonl")
    return NewSession(new, path, b"".join(lines))


def _renamed(line: ChatLine, new: str) -> ChatLine:
    if line.message is not None:
        return line
    if "sessionId" in line.record:
        line = written_line({**line.record, "sessionId": new})
    patch = fields.table(line.record, "$set")
    if "sessionId" in patch:
        line = written_line({**line.record, "$set": {**patch, "sessionId": new}})
    return line


def is_over(tail: bytes) -> bool:
    """Tells whether the newest turn was cancelled: Esc while a tool runs has no hook."""
    for line in reversed(lines_of(tail)):
        if line.record.get("type") == "info" and said_in(line.record) == _CANCELLED:
            return True
        if line.record.get("type") == "user" and said_in(line.record):
            return False
    return False


def lines_of(data: bytes) -> list[ChatLine]:
    """Returns the complete lines; a last one without its end was being written."""
    return json_lines.read(data, ChatLine)


def written_line(record: Mapping[str, Any]) -> ChatLine:
    return ChatLine(json_lines.written(record), record)
