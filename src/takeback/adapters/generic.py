"""The adapter for any program: it reports in documented JSON (docs/agents/generic.md).

Its transcript is opaque: at a prompt it holds the history before that prompt, so the history
at a checkpoint is the bytes that the checkpoint keeps.
"""

from __future__ import annotations

import os

from takeback.adapters import fields
from takeback.adapters.fields import Usual
from takeback.model import event as events
from takeback.model import json_text
from takeback.model.checkpoint import Anchor, NewSession, Resume
from takeback.model.event import AgentEvent, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_LONGEST_NAME = 255


class Generic(Usual):
    """Any program that calls ``takeback hook generic``, or uses the Python API."""

    name = "generic"
    starts_by_id = True

    def parse(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> AgentEvent | None:
        kind: Any = fields.required(payload, "event")
        if kind not in events.EVENTS:
            raise ValueError(f"there is no event {kind!r}; there are: {', '.join(events.EVENTS)}")
        messages = payload.get("messages")
        said = fields.text(payload, "reason")
        return AgentEvent(
            kind=kind,
            agent=fields.text(payload, "agent") or self.name,
            session=_session(payload),
            directory=fields.text(payload, "cwd") or os.getcwd(),
            transcript=fields.text(payload, "transcript"),
            messages=_lines(messages) if isinstance(messages, list) else None,
            turn=fields.text(payload, "turn"),
            prompt=fields.text(payload, "prompt"),
            human=fields.flag(payload, "human", default=True),
            steer=fields.flag(payload, "steer"),
            leaf=fields.text(payload, "leaf"),
            tools=tuple(_tool(call) for call in fields.tables(payload, "tools")),
            subagent=fields.text(payload, "subagent"),
            background=fields.flag(payload, "background"),
            continues=fields.flag(payload, "continues"),
            reason=events.BY_PERSON if kind == events.INTERRUPTED else said,
            parent=fields.text(payload, "parent"),
            entry=fields.text(payload, "entry"),
            process=fields.number(payload, "pid"),
            resume=fields.texts(payload, "resume"),
        )

    def cut(self, parts: Sequence[bytes], anchor: Anchor, later: Sequence[bytes]) -> bytes:
        return b"".join(parts)

    def new_session(
        self, history: bytes, *, native: str, transcript: str, title: str, now: float
    ) -> NewSession:
        new = f"{native.partition('.')[0]}.{os.urandom(4).hex()}"
        folder, name = os.path.split(transcript)
        random = new.rpartition(".")[2]
        stem, ending = os.path.splitext(name)
        if native and native in name:
            name = name.replace(native, new)
        elif name:
            name = f"{stem}.{random}{ending}"
        if len(name.encode(errors="surrogateescape")) > _LONGEST_NAME:
            name = f"{random}{ending}"
        return NewSession(new, os.path.join(folder, name), history)

    def resume(self, native: str, directory: str, moved: str | None = None) -> Resume:
        return Resume((), directory)

    def start(self, directory: str) -> Resume:
        return Resume((), directory)


def _session(payload: Mapping[str, Any]) -> str:
    """Returns the id of the session: any text, the empty one too."""
    session = payload.get("session")
    return session if isinstance(session, str) else fields.required(payload, "session")


def _lines(messages: list[Any]) -> bytes:
    """Returns messages as JSON lines, so that each new message is one more line."""
    return b"".join(json_text.dumps(message).encode() + b"\n" for message in messages)


def _tool(call: Mapping[str, Any]) -> ToolCall:
    kind: Any = fields.text(call, "kind") or events.OTHER
    if kind not in events.TOOL_KINDS:
        raise ValueError(f"there is no kind of tool {kind!r}: {', '.join(events.TOOL_KINDS)}")
    name, paths = fields.text(call, "name") or kind, fields.texts(call, "paths")
    return ToolCall(name, kind, paths, fields.text(call, "command"), fields.number(call, "status"))


adapter = Generic()
