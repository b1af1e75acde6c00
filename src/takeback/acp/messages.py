"""Messages of the Agent Client Protocol: JSON-RPC 2.0, one object a line."""

from __future__ import annotations

from takeback.adapters import fields
from takeback.model import event as events
from takeback.model import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from takeback.model.event import ToolKind

    Document = dict[str, Any]

PROMPT = "session/prompt"
UPDATE = "session/update"
CLOSE = "session/close"
STARTING = ("session/new", "session/fork")
"""Requests that are answered with the id of a new session."""
RESUMING = ("session/load", "session/resume")
"""Requests that name the session."""
COMMANDS = "available_commands_update"
TOOLS = ("tool_call", "tool_call_update")
CANCELLED = "cancelled"
_TEXT = "text"
"""A block of what is said that is words."""
_ENDED = ("completed", "failed")
_INTERNAL_ERROR = -32603
_MOST_PATHS = 100
_KINDS: dict[str, ToolKind] = {
    "edit": events.EDIT,
    "delete": events.EDIT,
    "move": events.EDIT,
    "execute": events.SHELL,
    "read": events.READ,
    "search": events.READ,
    "think": events.READ,
    "fetch": events.READ,
}


def read(line: bytes) -> Document | None:
    """Returns the message of a line; None for anything that is not one object."""
    try:
        found = json_text.loads(line.decode("utf-8", "surrogateescape"))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def line_of(message: Document) -> bytes:
    """Returns a message as a line."""
    return json_text.dumps({"jsonrpc": "2.0", **message}).encode("utf-8", "surrogateescape") + b"\n"


def prompt_text(blocks: object) -> str:
    """Returns what a person reads of a prompt; what is not text is only named."""
    found = blocks if isinstance(blocks, list) else []
    said = (_said(block) for block in found if isinstance(block, dict))
    return "\n".join(part for part in said if part)


def _said(block: Mapping[str, Any]) -> str:
    kind = fields.text(block, "type") or ""
    if kind == _TEXT:
        return fields.text(block, "text") or ""
    inner = fields.table(block, "resource") if kind == "resource" else block
    name = fields.text(inner, "uri") or fields.text(inner, "name")
    return f"[{name or kind}]" if kind else ""


def with_note(message: Document, note: str) -> Document:
    """Returns a prompt that begins with what its model has to be told."""
    params = message["params"]
    known = params.get("prompt")
    blocks = [{"type": _TEXT, "text": note}, *(known if isinstance(known, list) else ())]
    return {**message, "params": {**params, "prompt": blocks}}


def with_command(message: Document, command: Document) -> Document:
    """Returns a list of commands with one more, unless there is one of that name."""
    params = message["params"]
    update = params["update"]
    known = update.get("availableCommands")
    if not isinstance(known, list):
        return message
    if any(isinstance(one, dict) and one.get("name") == command["name"] for one in known):
        return message
    more = {**update, "availableCommands": [*known, command]}
    return {**message, "params": {**params, "update": more}}


def update(session: str, kind: str, **more: Any) -> bytes:
    """Returns a line by which an agent tells its editor something of a session."""
    changed = {"sessionUpdate": kind, **more}
    return line_of({"method": UPDATE, "params": {"sessionId": session, "update": changed}})


def said(session: str, text: str) -> bytes:
    """Returns a line by which an agent says something."""
    return update(session, "agent_message_chunk", content={"type": _TEXT, "text": text})


def fenced(text: str) -> str:
    """Returns lines as Markdown shows them as they are, whatever they are."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}\n"


def answered(request: object) -> bytes:
    """Returns the line that ends a prompt."""
    return line_of({"id": request, "result": {"stopReason": "end_turn"}})


def failed(request: object, why: str) -> bytes:
    """Returns the line that says that a request will not be answered any more."""
    return line_of({"id": request, "error": {"code": _INTERNAL_ERROR, "message": why}})


def has_ended(call: Mapping[str, Any]) -> bool:
    """Tells whether a tool has done what it was called for."""
    return call.get("status") in _ENDED


def tool(call: Mapping[str, Any]) -> Document:
    """Returns a call of a tool as ``takeback hook generic`` takes it."""
    kind = fields.text(call, "kind") or "other"
    paths = [fields.text(one, "path") for one in fields.tables(call, "locations")]
    paths += [fields.text(one, "path") for one in fields.tables(call, "content")]
    found = {
        "name": kind,
        "kind": _KINDS.get(kind, events.OTHER),
        "paths": list(dict.fromkeys(path for path in paths if path))[:_MOST_PATHS],
    }
    command = fields.text(fields.table(call, "rawInput"), "command")
    return {**found, "command": command} if command and kind == "execute" else found
