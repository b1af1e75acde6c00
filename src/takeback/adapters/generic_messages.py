"""What a person reads of a transcript that any program keeps, if it is in a usual form.

That is one JSON object a line, or a list of them, with ``role`` and ``content`` as the model
providers have them, with ``type`` as the items of OpenAI's responses, or with ``parts`` as
pydantic-ai has it; anything else is passed over.
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
from takeback.model.agent import ASSISTANT, SYSTEM, TOOL, USER, Message, ToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from takeback.model.agent import Role

_ROLES: dict[str, Role] = {"user": USER, "human": USER, "assistant": ASSISTANT, "model": ASSISTANT}
_PARTS: dict[str, Role] = {"user-prompt": USER, "text": ASSISTANT, "system-prompt": SYSTEM}
_TEXTS = ("text", "input_text", "output_text")


def messages(history: bytes) -> Iterator[Message]:
    """Returns the messages of a history, in order; see ``ports.MessageReader``."""
    telling = Telling()
    for record in records(history, lists=True):
        unread = left_out(record)
        if unread is not None:
            telling.say(unread)
        _take_in(telling, record)
        yield from telling.ready()
    yield from telling.ready(end=True)


def _take_in(telling: Telling, record: Mapping[str, Any]) -> None:
    if record.get("kind") in ("request", "response"):
        for part in fields.tables(record, "parts"):
            _take_part(telling, part)
        return
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
    _take_item(telling, record)


def _take_item(telling: Telling, item: Mapping[str, Any]) -> None:
    """Takes in a call of a tool, or its result, as the items of OpenAI's responses have them."""
    if item.get("type") == "function_call":
        _call(telling, item, "call_id", "name", "arguments")
    elif item.get("type") == "function_call_output":
        telling.answer(fields.text(item, "call_id"), failed=False)


def _take_part(telling: Telling, part: Mapping[str, Any]) -> None:
    """Takes in a part of a message as pydantic-ai has it."""
    kind = fields.text(part, "part_kind") or ""
    if kind in _PARTS:
        content = part.get("content")
        said = content if isinstance(content, list) else [content]
        text = "\n".join(one for one in said if isinstance(one, str))
        telling.say(Message(_PARTS[kind], text.strip(), moment(part.get("timestamp"))))
    elif kind == "tool-call":
        _call(telling, part, "tool_call_id", "tool_name", "args")
    elif kind in ("tool-return", "retry-prompt"):
        is_failure = kind == "retry-prompt" or part.get("outcome") == "failed"
        telling.answer(fields.text(part, "tool_call_id"), failed=is_failure)


def _call(telling: Telling, said: Mapping[str, Any], id: str, name: str, given: str) -> None:
    called = ToolUse(fields.text(said, name) or "", input_text(said.get(given)))
    telling.call(fields.text(said, id), Message(TOOL, "", tool=called))
