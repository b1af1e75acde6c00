"""What a person reads of a conversation of Copilot CLI."""

from __future__ import annotations

from takeback.adapters import fields
from takeback.adapters.telling import Telling, input_text, left_out, moment, records
from takeback.model.agent import ASSISTANT, SYSTEM, TOOL, USER, Message, ToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


def messages(history: bytes) -> Iterator[Message]:
    """Returns the messages of a history, in order; see ``ports.MessageReader``."""
    telling = Telling()
    for record in records(history):
        unread = left_out(record)
        if unread is not None:
            telling.say(unread)
        if fields.text(record, "agentId") is None:  # a subagent's are its own
            _take_in(telling, record)
        yield from telling.ready()
    yield from telling.ready(end=True)


def _take_in(telling: Telling, record: Mapping[str, Any]) -> None:
    kind, data = record.get("type"), fields.table(record, "data")
    words = fields.text(data, "content") or ""
    about = Message(USER, "", moment(record.get("timestamp")), entry=fields.text(record, "id"))
    if kind == "user.message":
        telling.say(about.replace(text=words))
    elif kind == "assistant.message":
        telling.say(about.replace(role=ASSISTANT, text=words))
        for call in fields.tables(data, "toolRequests"):
            called = ToolUse(fields.text(call, "name") or "", input_text(call.get("arguments")))
            id = fields.text(call, "toolCallId")
            telling.call(id, about.replace(role=TOOL, tool=called))
    elif kind == "tool.execution_complete":
        failed = data.get("success") is not True
        telling.answer(fields.text(data, "toolCallId"), failed=failed)
    elif kind == "session.compaction_complete":
        telling.say(about.replace(role=SYSTEM, text=fields.text(data, "summaryContent") or ""))
    elif kind == "abort":
        telling.say(about.replace(role=SYSTEM, text="Interrupted by the person."))
