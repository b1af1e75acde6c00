"""The adapter for Codex, as version 0.166 works.

A thread is one rollout file, or a chain of them: after a rewind inside Codex, and in a fork, a new
file continues from a place in an older one, which its first line names:

    rollout-T-A.jsonl     task 1 ─ task 2 ─ task 3
                                  └─ history_base: A, the place before task 3
    rollout-T-A_B.jsonl            task 4 ─ task 5
                                           └─ history_base: B, the place before task 5
    rollout-T-A_C.jsonl                    task 6
"""

from __future__ import annotations

import os

from takeback.adapters import fields
from takeback.adapters.fields import Usual, config_directory
from takeback.model import event as events
from takeback.model import json_text
from takeback.model.checkpoint import Anchor, NewSession, Resume
from takeback.model.event import AgentEvent, ToolCall
from takeback.turns.said import first_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

_NAME = "codex"
_SHELL = "Bash"
_PATCH = "apply_patch"
_KINDS: dict[str, events.ToolKind] = {
    _SHELL: events.SHELL,
    _PATCH: events.EDIT,
    "spawn_agent": events.SUBAGENT,
    "view_image": events.READ,
}
_PATCHED = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
_LONGEST_FIRST_LINE = 8 << 20
_LONGEST_CHAIN = 1000


class Codex(Usual):
    """Codex, in the terminal and as ``codex exec``."""

    name = _NAME
    command = "takeback"

    def parse(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> AgentEvent | None:
        read = _EVENTS.get(fields.required(payload, "hook_event_name"))
        return None if read is None else read(payload)

    def transcript_files(self, path: str) -> tuple[str, ...]:
        chain = [path]
        while len(chain) < _LONGEST_CHAIN:
            base = _base_of(chain[-1])
            if base is None or base in chain:
                break
            chain.append(base)
        return tuple(reversed(chain))

    def sessions_root(self, environ: Mapping[str, str]) -> str | None:
        return os.path.join(config_home(environ), "sessions")

    def cut(self, parts: Sequence[bytes], anchor: Anchor, later: Sequence[bytes]) -> bytes:
        from takeback.adapters.codex import conversation

        return conversation.cut(parts, anchor, later)

    def new_session(
        self, history: bytes, *, native: str, transcript: str, title: str, now: float
    ) -> NewSession:
        """See the port; a rollout has no place for a title, Codex keeps those elsewhere."""
        from takeback.adapters.codex import conversation

        return conversation.new_session(history, native=native, transcript=transcript, now=now)

    def resume(self, native: str, directory: str, moved: str | None = None) -> Resume:
        if not fields.is_uuid(native):
            return Resume((), directory)
        where = ("-C", directory) if moved else ()  # else it asks, with the old one as the default
        return Resume(("codex", "resume", *where, native), directory)

    def is_over(self, tail: bytes, turn: str | None) -> bool:
        from takeback.adapters.codex import conversation

        return conversation.is_over(tail, turn)

    def answer(self, text: str) -> str:
        return json_text.dumps({"decision": "block", "reason": text})

    def status_in(self, tail: bytes, call: str) -> int | None:
        for record in fields.records_with(tail, call):
            item = fields.table(fields.table(record, "payload"), "item")
            if item.get("type") == "CommandExecution" and item.get("id") == call:
                ended = item.get("status") in ("completed", "failed")
                return fields.number(item, "exit_code") if ended else None
        return None

    def note(self, text: str, warning: str = "") -> str:
        """Returns JSON: Codex drops plain words that begin like JSON, with ``[`` or ``{``."""
        return fields.told("UserPromptSubmit", text, warning)


def _event(payload: Mapping[str, Any], kind: events.EventKind, **more: Any) -> AgentEvent:
    return AgentEvent(
        **{
            "kind": kind,
            "agent": _NAME,
            "session": fields.required(payload, "session_id"),
            "directory": fields.required(payload, "cwd"),
            "transcript": fields.text(payload, "transcript_path"),
            "turn": fields.text(payload, "turn_id"),
            **more,
        }
    )


def _session_start(payload: Mapping[str, Any]) -> AgentEvent:
    return _event(payload, events.SESSION_START, reason=fields.text(payload, "source"))


def _prompt(payload: Mapping[str, Any]) -> AgentEvent | None:
    if _subagent(payload) is not None:
        return None
    return _event(payload, events.PROMPT, prompt=fields.text(payload, "prompt"))


def _tool_before(payload: Mapping[str, Any]) -> AgentEvent | None:
    tool = _tool(payload)
    if tool.kind == events.READ:
        return None
    event = _event(payload, events.TOOL_BEFORE, tools=(tool,), subagent=_subagent(payload))
    return event if event.subagent is None else event.replace(transcript=None, turn=None)


def _tool_after(payload: Mapping[str, Any]) -> AgentEvent | None:
    tool = _tool(payload)
    if _subagent(payload) is not None:
        return None
    return _event(payload, events.ROUND_END, tools=(tool,))


def _turn_end(payload: Mapping[str, Any]) -> AgentEvent:
    return _event(payload, events.TURN_END, continues=fields.flag(payload, "stop_hook_active"))


def _interrupted(payload: Mapping[str, Any]) -> AgentEvent:
    return _event(payload, events.INTERRUPTED, reason=events.BY_PERSON)


def _compact(payload: Mapping[str, Any]) -> AgentEvent | None:
    if _subagent(payload) is not None:
        return None
    return _event(payload, events.COMPACT, reason=fields.text(payload, "trigger"))


def _subagent_end(payload: Mapping[str, Any]) -> AgentEvent | None:
    subagent = _subagent(payload)
    if subagent is None:
        return None
    return _event(payload, events.ROUND_END, subagent=subagent, turn=None)


def _session_end(payload: Mapping[str, Any]) -> AgentEvent:
    return _event(payload, events.SESSION_END, reason=fields.text(payload, "reason"))


_EVENTS: dict[str, Callable[[Mapping[str, Any]], AgentEvent | None]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _tool_before,
    "PostToolUse": _tool_after,
    "Stop": _turn_end,
    "Interrupt": _interrupted,
    "PreCompact": _compact,
    "SubagentStop": _subagent_end,
    "SessionEnd": _session_end,
}


def _subagent(payload: Mapping[str, Any]) -> str | None:
    """Returns the id of the subagent that an event comes from.

    Such an event has the session of the parent but the transcript and the turn of the subagent
    (only SubagentStop has the parent's transcript): a checkpoint made from it would keep the wrong
    conversation, and a subagent's task is not a prompt. What it changed is found at its end.
    """
    return fields.text(payload, "agent_id")


def _tool(payload: Mapping[str, Any]) -> ToolCall:
    name = fields.required(payload, "tool_name")
    command = fields.text(fields.table(payload, "tool_input"), "command")
    paths = tuple(dict.fromkeys(_patched(command or ""))) if name == _PATCH else ()
    tool = ToolCall(name, _KINDS.get(name, events.OTHER), paths)
    if name != _SHELL:
        return tool
    return tool.replace(command=command, call=fields.text(payload, "tool_use_id"))


def _patched(patch: str) -> Iterator[str]:
    """Yields the paths that a patch names; its lines of content begin with ``+``, ``-``, space."""
    for line in patch.split("\n"):
        for mark in _PATCHED:
            if line.startswith(mark):
                yield line[len(mark) :].strip()


def _base_of(path: str) -> str | None:
    """Returns the file that a rollout continues, None if it has its own beginning.

    ``history_base`` calls it a thread, but it is the last id in the name of a file: that of a
    thread, or that of an earlier continuation.
    """
    first = first_line(path, _LONGEST_FIRST_LINE)
    if first is None or b'"history_base"' not in first:
        return None
    try:
        meta = json_text.loads(first.decode("utf-8", "surrogateescape"))
    except ValueError:
        return None
    if not isinstance(meta, dict):
        return None
    base = fields.table(fields.table(meta, "payload"), "history_base")
    known = fields.text(base, "thread_id")
    return None if known is None else _rollout(os.path.dirname(path), known)


def _rollout(folder: str, known: str) -> str | None:
    """Finds the rollout of an id: in the same folder, else in one of another day."""
    endings = (f"-{known}.jsonl", f"_{known}.jsonl")
    for place in _folders(folder):
        try:
            names = os.listdir(place)
        except OSError:
            continue
        for name in names:
            if name.startswith("rollout-") and name.endswith(endings):
                return os.path.join(place, name)
    return None


def _folders(folder: str) -> Iterator[str]:
    """Yields the folder, then every sessions/YYYY/MM/DD beside it, the newest first."""
    yield folder
    places = [os.path.dirname(os.path.dirname(os.path.dirname(folder)))]
    for _ in ("year", "month", "day"):
        below = []
        for place in places:
            try:
                names = sorted(os.listdir(place), reverse=True)
            except OSError:
                continue
            below += [os.path.join(place, name) for name in names if name.isdecimal()]
        places = below
    yield from places


def config_home(environ: Mapping[str, str]) -> str:
    """Returns the agent's own directory."""
    return config_directory(environ, "CODEX_HOME", ".codex")


adapter = Codex()
