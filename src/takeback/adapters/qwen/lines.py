"""A line of Qwen Code's transcripts, in the words of Claude Code's.

Both keep a tree of entries, each naming the one before. Qwen Code keeps what was said in parts, as
Gemini does, and everything it notes about the session is an entry of that tree too.
"""

from __future__ import annotations

from takeback.adapters import fields
from takeback.adapters.claude.lines import Record, TranscriptLine, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ASIDE = frozenset(
    (
        "session_artifact_event",
        "session_artifact_snapshot",
        "session_sources_snapshot",
        "managed_session_header_v1",
        "managed_session_event_v1",
        "managed_session_commit_v1",
    )
)
"""What hangs beside the conversation; no later entry names it."""
_NOBODY = ("notification", "cron", "goal_runtime")
"""Prompts that no person wrote."""
_INTERRUPTED = {"type": "text", "text": "[Request interrupted by user]"}


def as_line(raw: bytes, record: Record) -> TranscriptLine:
    """Returns a line whose bytes are Qwen's and whose record says what Claude's would say."""
    aside = record.get("type") == "system" and record.get("subtype") in _ASIDE
    id = None if aside or "parentUuid" not in record else text(record, "uuid")
    return TranscriptLine(raw.removesuffix(b"\n"), _translated(record) if record else {}, id)


def _translated(record: Record) -> Record:
    kind, subtype = record.get("type"), record.get("subtype")
    found: dict[str, Any] = {**record, "message": {"id": record.get("uuid"), "content": []}}
    content = found["message"]["content"]
    for part in fields.tables(fields.table(record, "message"), "parts"):
        content += _blocks(part)
    if kind == "tool_result":
        found["type"] = "user"
        if fields.table(record, "toolCallResult").get("status") == "cancelled":
            content.append(_INTERRUPTED)
    elif kind == "user" and subtype == "mid_turn_user_message":
        words = "\n".join(block.get("text") or "" for block in content)
        found["attachment"] = {"type": "queued_command", "prompt": words}
    elif kind == "user":
        _without_note(found, record)
    elif subtype == "chat_compression":
        found["subtype"] = "compact_boundary"
    return found


def _blocks(part: Record) -> list[Record]:
    """Returns what one part says; what the model thought is left out."""
    call, answer = fields.table(part, "functionCall"), fields.table(part, "functionResponse")
    words = text(part, "text")
    if call:
        name, given = call.get("name"), call.get("args")
        return [{"type": "tool_use", "id": call.get("id"), "name": name, "input": given}]
    if answer:
        failed = "error" in fields.table(answer, "response")
        return [{"type": "tool_result", "tool_use_id": answer.get("id"), "is_error": failed}]
    return [] if words is None or part.get("thought") else [{"type": "text", "text": words}]


def _without_note(found: dict[str, Any], record: Record) -> None:
    """Takes out of a prompt what no person typed: a note of a hook, a prompt of the agent's own."""
    payload = fields.table(record, "systemPayload")
    if record.get("subtype") in _NOBODY:
        found["isMeta"] = True
    elif text(payload, "hookContext"):
        shown = {"type": "text", "text": payload.get("displayText")}
        found["message"] = {**found["message"], "content": [shown]}
