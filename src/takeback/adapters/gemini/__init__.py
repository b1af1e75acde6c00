"""The adapter for Gemini CLI, as version 0.61 works.

A session is one chat file. A resumed session is announced (SessionStart) before Gemini has switched
to that file: at that moment it names a new file beside it, with the same id and a later minute,
which has no messages yet and is abandoned:

    session-2026-11-15T12-34-4cf0df97.jsonl    the conversation
    session-2026-11-15T12-40-4cf0df97.jsonl    what SessionStart names, 12:40
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
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_NAME = "gemini"
_EDITS = ("write_file", "replace")
_SHELL = "run_shell_command"
_KINDS: dict[str, events.ToolKind] = {
    **dict.fromkeys(_EDITS, events.EDIT),
    _SHELL: events.SHELL,
    "invoke_agent": events.SUBAGENT,
    **dict.fromkeys(
        (
            "read_file",
            "read_many_files",
            "list_directory",
            "glob",
            "grep_search",
            "search_file_content",
            "google_web_search",
            "web_fetch",
            "get_internal_docs",
            "list_background_processes",
            "read_background_output",
            "list_mcp_resources",
            "read_mcp_resource",
        ),
        events.READ,
    ),
}
_FIRST_LINE = 1 << 16


class Gemini(Usual):
    """Gemini CLI, in the terminal and as ``gemini -p``."""

    name = _NAME
    mute_on_esc = True
    command = "/takeback"

    def parse(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> AgentEvent | None:
        read = _EVENTS.get(fields.required(payload, "hook_event_name"))
        event = None if read is None else read(payload)
        project = environ.get("GEMINI_PROJECT_DIR")
        return event.replace(directory=project) if event is not None and project else event

    def transcript_files(self, path: str) -> tuple[str, ...]:
        session = _session_in(path)
        if session is None:
            return (path,)
        folder, own = os.path.split(path)
        ending = own[own.rfind("-") :]
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:
            return (path,)
        older = [
            os.path.join(folder, name)
            for name in names
            if name < own and name.startswith("session-") and name.endswith(ending)
        ]
        return (*(one for one in older if _session_in(one) == session), path)

    def sessions_root(self, environ: Mapping[str, str]) -> str | None:
        return os.path.join(config_home(environ), "tmp")

    def cut(self, parts: Sequence[bytes], anchor: Anchor, later: Sequence[bytes]) -> bytes:
        """See the port. A prompt is announced before it is written, so the file ends before it."""
        from takeback.adapters.gemini import conversation

        return conversation.cut(parts)

    def new_session(
        self, history: bytes, *, native: str, transcript: str, title: str, now: float
    ) -> NewSession:
        from takeback.adapters.gemini import conversation

        return conversation.new_session(history, transcript=transcript, title=title, now=now)

    def resume(self, native: str, directory: str, moved: str | None = None) -> Resume:
        if not fields.is_uuid(native):
            return Resume((), directory)
        if moved:  # it looks up sessions by their project
            return Resume(("gemini", f"--session-file={moved}"), directory)
        return Resume(("gemini", f"--resume={native}"), directory, "/resume")

    def is_over(self, tail: bytes, turn: str | None) -> bool:
        from takeback.adapters.gemini import conversation

        return conversation.is_over(tail)

    def answer(self, text: str) -> str:
        # Shown as "Agent execution stopped: ..."; on lines of its own it is readable.
        return json_text.dumps({"continue": False, "stopReason": f"takeback\n{text}"})

    def note(self, text: str, warning: str = "") -> str:
        """Returns JSON: plain words are shown to the person and not given to the model."""
        return fields.told("BeforeAgent", text, warning)


def _event(payload: Mapping[str, Any], kind: events.EventKind, **more: Any) -> AgentEvent:
    return AgentEvent(
        kind=kind,
        agent=_NAME,
        session=fields.required(payload, "session_id"),
        directory=fields.required(payload, "cwd"),
        transcript=fields.text(payload, "transcript_path"),
        **more,
    )


def _session_start(payload: Mapping[str, Any]) -> AgentEvent:
    return _event(payload, events.SESSION_START, reason=fields.text(payload, "source"))


def _prompt(payload: Mapping[str, Any]) -> AgentEvent:
    prompt = fields.text(payload, "prompt")
    return _event(payload, events.PROMPT, prompt=prompt, human=not _is_nudge(prompt or ""))


def _is_nudge(prompt: str) -> bool:
    """Tells whether Gemini sent the prompt itself, after a model gave an empty answer."""
    return prompt.startswith("[System: You ") and prompt.endswith("]")


def _tool_before(payload: Mapping[str, Any]) -> AgentEvent | None:
    tool = _tool(payload)
    if tool.kind != events.EDIT:
        return None
    return _event(payload, events.TOOL_BEFORE, tools=(tool,))


def _tool_after(payload: Mapping[str, Any]) -> AgentEvent:
    return _event(payload, events.ROUND_END, tools=(_tool(payload),))


def _turn_end(payload: Mapping[str, Any]) -> AgentEvent:
    return _event(payload, events.TURN_END, continues=fields.flag(payload, "stop_hook_active"))


def _session_end(payload: Mapping[str, Any]) -> AgentEvent:
    return _event(payload, events.SESSION_END, reason=fields.text(payload, "reason"))


_EVENTS: dict[str, Callable[[Mapping[str, Any]], AgentEvent | None]] = {
    "SessionStart": _session_start,
    "BeforeAgent": _prompt,
    "BeforeTool": _tool_before,
    "AfterTool": _tool_after,
    "AfterAgent": _turn_end,
    "SessionEnd": _session_end,
}
"""PreCompress is not among them: it comes before every call of the model."""


def _tool(payload: Mapping[str, Any]) -> ToolCall:
    name = fields.required(payload, "tool_name")
    path = fields.text(fields.table(payload, "tool_input"), "file_path")
    paths = (path,) if name in _EDITS and path is not None else ()
    tool = ToolCall(name, _KINDS.get(name, events.OTHER), paths)
    if name != _SHELL:
        return tool
    command = fields.text(fields.table(payload, "tool_input"), "command")
    return tool.replace(command=command, status=_status(fields.table(payload, "tool_response")))


def _status(response: Mapping[str, Any]) -> int | None:
    """Returns the exit status of a command, which only the text for the model has, in this form:

        <untrusted_context>
        Output: ...              what the command wrote, any number of lines
        Exit Code: 1             left out if it is 0
        Signal: 9                if one ended it: then there is no status
        Background PIDs: 7, 8    if it left some
        Process Group PGID: 6
        </untrusted_context>

    Whatever has another form is not known to have ended: it was stopped, or went on in the
    background. The lines after the output are Gemini's own, so no output can turn a failure into 0.
    """
    said = fields.text(response, "llmContent") or ""
    if not said.startswith("<untrusted_context>\nOutput: ") or response.get("error"):
        return None
    *lines, group, end = said.rsplit("\n", 5)
    if not group.startswith("Process Group PGID: ") or end != "</untrusted_context>":
        return None
    if lines[-1].startswith("Background PIDs: "):
        lines.pop()
    name, _, value = lines[-1].partition(": ")
    if name in ("Signal", "Error"):
        return None
    if name != "Exit Code":
        return 0
    return int(value) if value.isdecimal() and len(value) < 10 else None


def _session_in(path: str) -> str | None:
    """Returns the session that a chat file's first line names."""
    first = first_line(path, _FIRST_LINE)
    try:
        header = json_text.loads((first or b"").decode("utf-8", "surrogateescape"))
    except ValueError:
        return None
    return fields.text(header, "sessionId") if isinstance(header, dict) else None


def config_home(environ: Mapping[str, str]) -> str:
    """Returns Gemini's directory; its variable names the home directory, not this one."""
    return os.path.join(config_directory(environ, "GEMINI_CLI_HOME", ""), ".gemini")


adapter = Gemini()
