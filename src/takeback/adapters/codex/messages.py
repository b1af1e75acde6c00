"""What a person reads of a Codex rollout, whose chain of files was joined and cut."""

from __future__ import annotations

from takeback.adapters import fields
from takeback.adapters.codex.conversation import RolloutLine
from takeback.adapters.telling import Telling, input_text, left_out, moment, records
from takeback.model.agent import ASSISTANT, SYSTEM, TOOL, USER, Message, ToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.model.agent import Role

_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call")
_SEARCHES = {"local_shell_call": "shell", "web_search_call": "web_search"}


def messages(history: bytes) -> Iterator[Message]:
    """Returns the messages of a history, in order; see ``ports.MessageReader``."""
    telling = Telling()
    for record in records(history):
        unread = left_out(record)
        if unread is not None:
            telling.say(unread)
        _take_in(telling, RolloutLine(b"", record))
        yield from telling.ready()
    yield from telling.ready(end=True)


def _take_in(telling: Telling, line: RolloutLine) -> None:
    payload = line.payload
    kind = fields.text(payload, "type") or ""
    if line.kind == "compacted":
        telling.say(_about(line, SYSTEM, fields.text(payload, "message") or ""))
    elif line.is_message and line.is_said:
        role: Role = USER if line.is_human else ASSISTANT
        telling.say(_about(line, role, "\n".join(line.texts).strip()))
    elif line.kind == "response_item" and kind in _CALLS:
        name = fields.text(payload, "name") or _SEARCHES.get(kind, kind)
        given = next((payload[n] for n in ("arguments", "input", "action") if n in payload), "")
        called = ToolUse(name, input_text(given))
        telling.call(fields.text(payload, "call_id"), _about(line, TOOL, "", called))
    elif line.event == "item_completed":
        item = fields.table(payload, "item")
        status, code = fields.text(item, "status"), fields.number(item, "exit_code")
        failed = status in ("failed", "declined") or code not in (None, 0)
        if fields.text(item, "type") not in ("UserMessage", "AgentMessage", "Reasoning"):
            telling.answer(fields.text(item, "id"), failed=failed)
    elif line.event == "turn_aborted":
        telling.say(_about(line, SYSTEM, "Interrupted by the person."))


def _about(line: RolloutLine, role: Role, text: str, tool: ToolUse | None = None) -> Message:
    return Message(
        role,
        text,
        moment(line.record.get("timestamp")),
        tool,
        entry=fields.text(line.payload, "id"),
        turn=line.turn,
    )
