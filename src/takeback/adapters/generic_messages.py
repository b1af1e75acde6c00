"""What a person reads of a transcript that any program keeps, if it is in the usual form.

That is one JSON object a line, with ``role`` and ``content`` as the model providers have them;
anything else is passed over.
"""

from __future__ import annotations

from takeback.adapters import fields
from takeback.adapters.telling import (
    Telling,
    blocks_text,
    input_text,
    left_out,
    moment,
    records,
)
from takeback.model.message import ASSISTANT, SYSTEM, TOOL, USER, Message, ToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from takeback.model.message import Role

_ROLES: dict[str, Role] = {"user": USER, "human": USER, "assistant": ASSISTANT, "model": ASSISTANT}
_TEXTS = ("text", "input_text", "output_text")


def messages(history: bytes) -> Iterator[Message]:
    """Returns the messages of a history, in order; see ``ports.MessageReader``."""
    telling = Telling()
    for record in records(history):
        unread = left_out(record)
        if unread is not None:
            telling.say(unread)
        _take_in(telling, record)
        yield from telling.ready()
    yield from telling.ready(end=True)


def _take_in(telling: Telling, record: Mapping[str, Any]) -> None:
    role: Role = _ROLES.get(str(record.get("role")), SYSTEM)
    when = next((record[n] for n in ("time", "timestamp", "created_at") if n in record), None)
    about = Message(role, "", moment(when), entry=fields.text(record, "id"))
    content = record.get("content", record.get("text"))
    if record.get("role") == "tool":
        telling.answer(fields.text(record, "tool_call_id"), failed=record.get("is_error") is True)
        return
    if "role" in record:
        telling.say(about.replace(text=blocks_text(content, _TEXTS)))
    for block in fields.tables(record, "content"):
        if block.get("type") == "tool_use":
            called = ToolUse(fields.text(block, "name") or "", input_text(block.get("input")))
            telling.call(fields.text(block, "id"), about.replace(role=TOOL, tool=called))
        elif block.get("type") == "tool_result":
            failed = block.get("is_error") is True
            telling.answer(fields.text(block, "tool_use_id"), failed=failed)
    for call in fields.tables(record, "tool_calls"):
        function = fields.table(call, "function")
        called = ToolUse(fields.text(function, "name") or "", input_text(function.get("arguments")))
        telling.call(fields.text(call, "id"), about.replace(role=TOOL, tool=called))
