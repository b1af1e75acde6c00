"""The adapter for opencode, as version 1.18 works.

opencode keeps its history in a database of its own and has no transcript. Its plugin
(integrations/opencode) hands the conversation over with each event, and that is kept:

    {"info": {...}, "parts": [...]}     a message; one line each, oldest first
    {"session": {...}}                  the session, last since it changes with every message

A conversation that was cut becomes a file that opencode imports (importer.py).

Kilo is a fork of opencode: it differs in its name alone.
"""

from __future__ import annotations

from takeback.adapters import fields
from takeback.adapters.fields import Usual
from takeback.model import event as events
from takeback.model import json_text
from takeback.model.checkpoint import Anchor, NewSession, Resume
from takeback.model.event import AgentEvent, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from takeback.adapters.opencode.importer import OpencodeImporter

_KINDS: dict[str, events.ToolKind] = {
    **dict.fromkeys(("edit", "write", "multiedit", "apply_patch", "patch"), events.EDIT),
    "bash": events.SHELL,
    "task": events.SUBAGENT,
    **dict.fromkeys(
        (
            "read",
            "glob",
            "grep",
            "list",
            "lsp",
            "webfetch",
            "websearch",
            "codesearch",
            "todoread",
            "todowrite",
            "question",
            "skill",
        ),
        events.READ,
    ),
}
_PATCHED = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


class OpenCode(Usual):
    """opencode or a fork of it, in the terminal, as ``opencode run`` and as a server."""

    command = "/takeback"

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def importer(self) -> OpencodeImporter:
        from takeback.adapters.opencode.importer import OpencodeImporter

        return OpencodeImporter(self.name)

    def parse(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> AgentEvent | None:
        read = _EVENTS.get(fields.required(payload, "event"))
        event = None if read is None else read(payload)
        return None if event is None else event.replace(agent=self.name)

    def cut(self, parts: Sequence[bytes], anchor: Anchor, later: Sequence[bytes]) -> bytes:
        from takeback.adapters.opencode import conversation

        return conversation.cut(parts, anchor, later)

    def new_session(
        self, history: bytes, *, native: str, transcript: str, title: str, now: float
    ) -> NewSession:
        """See the port; the only file is one to be imported."""
        from takeback.adapters.opencode import conversation
        from takeback.adapters.opencode.importer import MARK

        new = conversation.new_id(now, MARK)
        data = conversation.exported(history, new=new, title=title, now=now)
        return NewSession(new, "", data)

    def resume(self, native: str, directory: str, moved: str | None = None) -> Resume:
        known = fields.is_prefixed(native, "ses_")
        return Resume((self.name, f"--session={native}") if known else (), directory)


def _event(payload: Mapping[str, Any], kind: events.EventKind, **more: Any) -> AgentEvent:
    conversation = fields.text(payload, "conversation")
    return AgentEvent(
        kind=kind,
        agent="",  # whose plugin it is, says the adapter
        session=fields.required(payload, "sessionID"),
        directory=fields.required(payload, "directory"),
        messages=None if conversation is None else conversation.encode(errors="replace"),
        subagent=fields.text(payload, "subagent"),
        process=fields.number(payload, "pid"),
        **more,
    )


def _prompt(payload: Mapping[str, Any]) -> AgentEvent:
    """Reads a prompt; parts that opencode or a plugin has added are synthetic."""
    texts = fields.tables(payload, "texts")
    typed = [text for part in texts if (text := fields.text(part, "text")) and not _added(part)]
    return _event(
        payload,
        events.PROMPT,
        turn=fields.required(payload, "message"),
        prompt="\n".join(typed) or None,
        human=bool(typed) or not texts,
        steer=fields.flag(payload, "steer"),
    )


def _forked(payload: Mapping[str, Any]) -> AgentEvent:
    parent, entry = fields.text(payload, "parent"), fields.text(payload, "entry")
    return _event(payload, events.FORKED, parent=parent, entry=entry)


def _tool_before(payload: Mapping[str, Any]) -> AgentEvent | None:
    tool = _tool(payload)
    return _event(payload, events.TOOL_BEFORE, tools=(tool,)) if tool.kind == events.EDIT else None


def _tool_after(payload: Mapping[str, Any]) -> AgentEvent:
    """Reads the end of a tool; the conversation is at its call."""
    leaf = fields.text(payload, "call")
    return _event(payload, events.ROUND_END, tools=(_tool(payload),), leaf=leaf)


def _turn_end(payload: Mapping[str, Any]) -> AgentEvent:
    """Reads an end, which may be the second of a turn: after Esc, or when a summary is made.

    A ``!command`` has no prompt event; its end is known by the message that it leaves.
    """
    command, words = _command_in(fields.text(payload, "conversation") or "")
    return _event(payload, events.TURN_END, turn=command, prompt=words, continues=command is None)


def _compact(payload: Mapping[str, Any]) -> AgentEvent:
    return _event(payload, events.COMPACT)


def _reverted(payload: Mapping[str, Any]) -> AgentEvent:
    """Reads that the person went back, or forward again, with opencode's own commands."""
    return _event(payload, events.TREE, entry=fields.text(payload, "entry"))


def _session_end(payload: Mapping[str, Any]) -> AgentEvent:
    return _event(payload, events.SESSION_END)


_EVENTS: dict[str, Callable[[Mapping[str, Any]], AgentEvent | None]] = {
    "chat.message": _prompt,
    "session.forked": _forked,
    "tool.execute.before": _tool_before,
    "tool.execute.after": _tool_after,
    "session.idle": _turn_end,
    "session.compacted": _compact,
    "session.updated": _reverted,
    "dispose": _session_end,
}


def _tool(payload: Mapping[str, Any]) -> ToolCall:
    name = fields.required(payload, "tool")
    kind = _KINDS.get(name, events.OTHER)
    args = fields.table(payload, "args")
    if kind == events.SHELL:
        status = fields.number(payload, "exit")
        return ToolCall(name, kind, (), fields.text(args, "command"), status)
    if kind != events.EDIT:
        return ToolCall(name, kind)
    path = fields.text(args, "filePath")
    paths = [] if path is None else [path]
    for line in (fields.text(args, "patchText") or "").splitlines():
        paths += [line.removeprefix(mark).strip() for mark in _PATCHED if line.startswith(mark)]
    return ToolCall(name, kind, tuple(paths))


def _added(part: Mapping[str, Any]) -> bool:
    return fields.flag(part, "synthetic")


def _command_in(conversation: str) -> tuple[str | None, str | None]:
    """Returns the id of the message that a ``!command`` leaves, if that was the last thing said.

    It is a message in the person's name that the person did not write, and one with the result,
    which has the command's words.
    """
    lines = conversation.rstrip("\n").rsplit("\n", 3)[-3:]
    try:
        asked, answered, _ = (json_text.loads(line) for line in lines)
    except ValueError:
        return None, None
    if not isinstance(asked, dict) or not isinstance(answered, dict):
        return None, None
    message, parts = fields.table(asked, "info"), fields.tables(asked, "parts")
    tools = [p for p in fields.tables(answered, "parts") if p.get("type") == "tool"]
    if message.get("role") != "user" or len(fields.tables(answered, "parts")) != len(tools):
        return None, None
    if not (parts and all(map(_added, parts)) and tools):
        return None, None
    given = fields.table(fields.table(tools[0], "state"), "input")
    return fields.text(message, "id"), fields.text(given, "command")


adapter = OpenCode("opencode")
