"""What a person reads of pi's session file, which was cut to the line of one entry's ancestors."""

from __future__ import annotations

from takeback.adapters import fields
from takeback.adapters.pi import ROOT
from takeback.adapters.telling import (
    Telling,
    blocks_text,
    input_text,
    left_out,
    moment,
    records,
)
from takeback.model.agent import ASSISTANT, SYSTEM, TOOL, USER, Message, ToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


def messages(history: bytes) -> Iterator[Message]:
    """Returns the messages of a history, in order; see ``ports.MessageReader``."""
    telling = Telling()
    at = ROOT
    for record in records(history):
        unread = left_out(record)
        if unread is not None:
            telling.say(unread)
        message = fields.table(record, "message")
        _take_in(telling, record, message, at)
        if _is_place(record, message):
            at = fields.text(record, "id") or at
        yield from telling.ready()
    yield from telling.ready(end=True)


def _is_place(record: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Tells whether a prompt that follows an entry is said to have come at it: ``leaf_before``."""
    if record.get("type") == "session" or record.get("customType") == "takeback":
        return False
    return message.get("role") != "system"


def _take_in(
    telling: Telling, record: Mapping[str, Any], message: Mapping[str, Any], at: str
) -> None:
    role = message.get("role")
    about = Message(
        SYSTEM, "", moment(record.get("timestamp")), entry=fields.text(record, "id"), after=at
    )
    if record.get("type") in ("compaction", "branch_summary"):
        telling.say(about.replace(text=fields.text(record, "summary") or ""))
    elif role == "user":
        telling.say(about.replace(role=USER, text=blocks_text(message.get("content"))))
    elif role == "bashExecution":
        telling.say(about.replace(role=USER, text=f"!{fields.text(message, 'command') or ''}"))
    elif role == "toolResult":
        failed = message.get("isError") is True
        telling.answer(fields.text(message, "toolCallId"), failed=failed)
    elif role == "assistant":
        for block in fields.tables(message, "content"):
            if block.get("type") == "text":
                words = fields.text(block, "text") or ""
                telling.say(about.replace(role=ASSISTANT, text=words))
            elif block.get("type") == "toolCall":
                name = fields.text(block, "name") or ""
                called = ToolUse(name, input_text(block.get("arguments")))
                telling.call(fields.text(block, "id"), about.replace(role=TOOL, tool=called))
        telling.say(about.replace(text=fields.text(message, "errorMessage") or ""))
