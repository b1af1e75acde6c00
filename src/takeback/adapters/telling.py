"""Makes messages of what a transcript says, whoever wrote it. No hook imports this.

A call and its result are two entries. The call is held back until its result came, which says
whether it failed, and everything after it with it, so that the order stays; but never more than a
bound of it.
"""

from __future__ import annotations

import json
from collections import deque
from datetime import UTC, datetime

from takeback.model.agent import (
    LONGEST_INPUT,
    LONGEST_TEXT,
    SYSTEM,
    USER,
    Message,
    ToolUse,
    is_framed,
)
from takeback.model.checkpoint import time_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

_MOST_HELD = 1000
_LONGEST_LINE = 1 << 24
"""Bytes of a line that is read; none that an agent writes for people comes near that."""
_LONGEST_NAME = 100
_MILLISECONDS = 1e11
"""A number of seconds beyond the year 5138: agents count in thousandths."""
_TELLING = ("command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "prompt")
"""The field of a tool's input that says most, the first of these that it has."""


class Telling:
    """Takes in what was said, one entry after the other; gives back messages in that order."""

    def __init__(self) -> None:
        self._held: deque[Message] = deque()
        self._open: dict[str, int] = {}  # calls without a result, with their place
        self._given = 0

    def say(self, message: Message) -> None:
        """Adds what somebody said; an empty text is nothing.

        A summary that takeback put there stands in the person's name; it is none of their prompts.
        """
        if message.role == USER and is_framed(message.text):
            message = message.replace(role=SYSTEM)
        if message.text.strip():
            self._held.append(shortened(message))

    def call(self, id: str | None, message: Message) -> None:
        """Adds the call of a tool, whose result may follow."""
        if id:
            self._open.pop(id, None)
            self._open[id] = self._given + len(self._held)
        self._held.append(shortened(message))

    def answer(self, id: str | None, *, failed: bool) -> None:
        """Notes the result of a call."""
        place = self._open.pop(id or "", None)
        if place is None or not failed or place < self._given:
            return
        message = self._held[place - self._given]
        if message.tool is not None:
            self._held[place - self._given] = message.replace(
                tool=message.tool.replace(failed=True)
            )

    def ready(self, *, end: bool = False) -> Iterator[Message]:
        """Returns what cannot change any more, at the ``end`` all of it."""
        if end or len(self._held) > _MOST_HELD or (self._held and self._held[-1].role == USER):
            self._open.clear()  # nobody waits across a prompt
        first = next(iter(self._open.values()), self._given + len(self._held))  # the oldest
        while self._held and self._given < first:
            self._given += 1
            yield self._held.popleft()


def shortened(message: Message) -> Message:
    """Returns a message within the bounds, in characters that any face can write."""
    text = writable(message.text[:LONGEST_TEXT])
    tool = message.tool
    if tool is not None:
        tool = ToolUse(
            writable(tool.name[:_LONGEST_NAME]), writable(tool.input[:LONGEST_INPUT]), tool.failed
        )
    return message.replace(text=text, tool=tool, cut=len(message.text) > LONGEST_TEXT)


def writable(text: str) -> str:
    """Returns a text without halves of surrogate pairs, which no encoding has."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def input_text(value: object) -> str:
    """Returns the input of a tool as one short line: what says most of it."""
    if isinstance(value, str):
        try:
            parsed = json.loads(value) if value[:1] == "{" and len(value) < _LONGEST_LINE else value
        except (ValueError, RecursionError):
            parsed = value
        if not isinstance(parsed, dict):
            return _one_line(value)
        value = parsed
    if isinstance(value, dict):
        for name in _TELLING:
            if isinstance(value.get(name), str) and value[name]:
                return _one_line(value[name])
    if not value:
        return ""
    try:
        return _one_line(json.dumps(value, ensure_ascii=False))
    except (ValueError, TypeError, RecursionError):
        return ""


def _one_line(text: str) -> str:
    return " ".join(text[: 4 * LONGEST_INPUT].split())


def blocks_text(content: object, kinds: tuple[str, ...] = ("text",)) -> str:
    """Returns the words of a message's content: a string, or blocks of which some are text."""
    if isinstance(content, str):
        return content.strip()
    given = content if isinstance(content, list) else []
    found = [
        b["text"]
        for b in given
        if isinstance(b, dict) and b.get("type", "text") in kinds and isinstance(b.get("text"), str)
    ]
    return "\n".join(found).strip()


def moment(value: object) -> float | None:
    """Returns a time that an agent wrote, as text or as a number; None for anything else."""
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            return time_of(value / 1000 if abs(value) > _MILLISECONDS else value)
        if isinstance(value, str) and len(value) < _LONGEST_NAME:
            read = datetime.fromisoformat(value)
            return time_of((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        pass
    return None


def records(data: bytes, *, lists: bool = False) -> Iterator[Mapping[str, Any]]:
    """Returns the objects of a file of JSON lines; one that is no object is passed over.

    With ``lists`` a line may also be a list of them. A line that is too long to be read is one that
    says so.
    """
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        if end - start > _LONGEST_LINE:
            yield {TOO_LONG: end - start}
        else:
            try:
                record = json.loads(data[start:end])
            except (ValueError, RecursionError):
                record = None
            found = record if lists and isinstance(record, list) else (record,)
            yield from (one for one in found if isinstance(one, dict))
        start = end + 1


TOO_LONG = "\0too long"
"""The field of a record that stands for a line which was not read; no agent writes it."""


def left_out(record: Mapping[str, Any]) -> Message | None:
    """Returns what is said in place of a line that was not read; None for any other."""
    size = record.get(TOO_LONG)
    if not isinstance(size, int):
        return None
    return Message(SYSTEM, f"(an entry of {size >> 20} MB is not shown)")
