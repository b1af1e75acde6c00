"""The adapter for pi, as version 0.87 works.

pi has no hooks; an extension of ours runs inside it (integrations/pi) and forwards pi's own events,
with the session, its file, and the leaf: the entry of the conversation's tree that pi is at. pi
calls a round of the model a turn; the person's turn is from ``before_agent_start`` to
``agent_settled``.
"""

from __future__ import annotations

import os

from takeback.adapters import fields
from takeback.adapters.fields import Usual, config_directory
from takeback.model import event as events
from takeback.model.checkpoint import Anchor, NewSession, Resume
from takeback.model.event import AgentEvent, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

ROOT = "root"
"""The leaf before the first entry, for which pi itself has no id."""

_KINDS: dict[str, events.EventKind] = {
    "session_start": events.SESSION_START,
    "before_agent_start": events.PROMPT,
    "input": events.PROMPT,
    "tool_call": events.TOOL_BEFORE,
    "turn_end": events.ROUND_END,
    "agent_settled": events.TURN_END,
    "session_compact": events.COMPACT,
    "session_before_fork": events.BEFORE_FORK,
    "session_before_tree": events.BEFORE_TREE,
    "session_tree": events.TREE,
    "session_shutdown": events.SESSION_END,
}
_TOOLS: dict[str, events.ToolKind] = {
    **dict.fromkeys(("edit", "write"), events.EDIT),
    **dict.fromkeys(("bash", "powershell"), events.SHELL),
    **dict.fromkeys(("read", "grep", "find", "ls"), events.READ),
    "subagent": events.SUBAGENT,
}


class Pi(Usual):
    """pi, whose extension calls ``takeback hook pi --stdio``."""

    name = "pi"

    def parse(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> AgentEvent | None:
        said = fields.required(payload, "hook_event_name")
        kind = _KINDS.get(said)
        steer = fields.text(payload, "behavior") is not None
        if kind is None or (said == "input" and not steer):
            return None  # what is typed while pi is idle comes again when pi processes it
        tools = tuple(_tool(call) for call in fields.tables(payload, "tools"))
        if kind == events.TOOL_BEFORE and not any(tool.kind == events.EDIT for tool in tools):
            return None
        if kind == events.ROUND_END and not tools:
            return None  # an answer changes no file, and if it is the last, the end comes too
        parent = fields.text(payload, "parent_session") if said == "session_start" else None
        return AgentEvent(
            kind=kind if parent is None else events.FORKED,
            agent=self.name,
            session=fields.required(payload, "session_id"),
            directory=fields.required(payload, "cwd"),
            transcript=fields.text(payload, "transcript_path"),
            prompt=fields.text(payload, "prompt") if kind == events.PROMPT else None,
            steer=steer,
            leaf=fields.text(payload, "leaf") or ROOT,
            tools=tools,
            reason=fields.text(payload, "reason"),
            parent=None if parent is None else session_in(parent),
            entry=_forked_at(payload) if said == "session_before_fork" else _entry(payload),
            process=fields.number(payload, "pid"),
        )

    def sessions_root(self, environ: Mapping[str, str]) -> str | None:
        own = environ.get("PI_CODING_AGENT_SESSION_DIR")
        return own or os.path.join(config_home(environ), "sessions")

    def cut(self, parts: Sequence[bytes], anchor: Anchor, later: Sequence[bytes]) -> bytes:
        from takeback.adapters.pi.conversation import cut

        return cut(b"".join(parts), anchor, b"".join(later))

    def new_session(
        self, history: bytes, *, native: str, transcript: str, title: str, now: float
    ) -> NewSession:
        from takeback.adapters.pi.conversation import new_session

        return new_session(history, transcript=transcript, title=title, now=now)

    def resume(self, native: str, directory: str, moved: str | None = None) -> Resume:
        how = "--fork" if moved else "--session"  # which asks in another directory
        return Resume(("pi", how, native) if fields.is_uuid(native) else (), directory)

    def is_over(self, tail: bytes, turn: str | None) -> bool:
        from takeback.adapters.pi.conversation import is_over

        return is_over(tail)


def session_in(path: str) -> str:
    """Returns the id in a session file's name: ``2026-11-15T07-01-34-070Z_ID.jsonl``."""
    stem = os.path.basename(path).removesuffix(".jsonl")
    return stem.partition("_")[2] or stem


def tool_kind(name: str) -> events.ToolKind:
    """Returns what kind of thing a tool does."""
    return _TOOLS.get(name, events.OTHER)


def _tool(call: Mapping[str, Any]) -> ToolCall:
    name = fields.text(call, "name") or events.OTHER
    path = fields.text(call, "path")
    kind = tool_kind(name)
    if kind == events.SHELL and isinstance(failed := call.get("failed"), bool):
        # a command that ends with another status than 0 is an error of the tool
        return ToolCall(name, kind, (), fields.text(call, "command"), int(failed))
    return ToolCall(name, kind, (path,) if kind == events.EDIT and path is not None else ())


def _entry(payload: Mapping[str, Any]) -> str | None:
    return fields.text(payload, "entry")


def _forked_at(payload: Mapping[str, Any]) -> str | None:
    """Returns the leaf that pi was at when the prompt came before which a fork begins.

    ``path`` leads from the prompt's entry to the root.
    """
    if payload.get("position") != "before":
        return _entry(payload)
    return leaf_before(fields.tables(payload, "path")[1:])


def leaf_before(path: Sequence[Mapping[str, Any]]) -> str | None:
    """Returns the leaf that pi was at when a prompt came; ``path`` leads from it to the root.

    pi writes a system message before a prompt when its tools or its own prompt changed, and
    takeback its note to the model: those do not count.
    """
    before = (node for node in path if node.get("role") not in ("system", "note"))
    return next((fields.text(node, "id") for node in before), ROOT)


def config_home(environ: Mapping[str, str]) -> str:
    """Returns the agent's own directory."""
    return config_directory(environ, "PI_CODING_AGENT_DIR", os.path.join(".pi", "agent"))


adapter = Pi()
