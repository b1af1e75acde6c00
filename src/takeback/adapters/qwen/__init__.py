"""The adapter for Qwen Code, which speaks as Claude Code does, as version 0.24 works.

What it does otherwise: it announces a prompt also when it only sends results of tools on, with no
words; a command that it knows is expanded before that, so another hook has what was typed; the
event of a command's end has its exit status; and behind an editor a prompt stands in its transcript
already when it is announced.
"""

from __future__ import annotations

from takeback.adapters import fields
from takeback.adapters.claude import Claude, Manner
from takeback.model import event as events
from takeback.model.checkpoint import NewSession, Resume

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from takeback.adapters.claude.lines import LineReader
    from takeback.model.checkpoint import Anchor
    from takeback.model.event import AgentEvent, ToolCall

_SHELL = "run_shell_command"
_TOOLS: dict[str, events.ToolKind] = {
    **dict.fromkeys(("write_file", "edit", "notebook_edit"), events.EDIT),
    _SHELL: events.SHELL,
    "monitor": events.SHELL,
    "agent": events.SUBAGENT,
    **dict.fromkeys(
        (
            "read_file",
            "read_mcp_resource",
            "list_directory",
            "glob",
            "grep_search",
            "lsp",
            "tool_search",
            "web_fetch",
            "web_search",
        ),
        events.READ,
    ),
}
_MOST_DIGITS = 9

_AS_THEY_LOOK = str.maketrans("&<>", "\uff06\uff1c\uff1e")
"""Qwen Code shows these as &amp;, &lt; and &gt;, and a line with them cannot be typed again."""


class Qwen(Claude):
    """Qwen Code, in the terminal and as ``qwen -p``."""

    def parse(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> AgentEvent | None:
        said = fields.required(payload, "hook_event_name")
        if said == "UserPromptExpansion":
            return self._expanded(payload, environ)
        if said == "PostToolUseFailure" and fields.flag(payload, "is_interrupt"):
            # Esc: no other event tells of this end.
            event = super().parse({**payload, "hook_event_name": "StopFailure"}, environ)
            return None if event is None or event.subagent else event
        if said != "UserPromptSubmit":
            return super().parse(payload, environ)
        words = fields.text(payload, "submitted_prompt") or fields.text(payload, "prompt")
        return None if words is None else super().parse({**payload, "prompt": words}, environ)

    def cut(self, parts: Sequence[bytes], anchor: Anchor, later: Sequence[bytes]) -> bytes:
        from takeback.adapters.qwen.conversation import written_early

        if anchor.before and anchor.leaf is None and anchor.prompt is not None:
            own = written_early(b"".join(parts), anchor.prompt, b"".join(later))
            if own is not None:
                if own.parent is None:
                    return b""
                anchor = anchor.replace(before=False, leaf=own.parent)
        return super().cut(parts, anchor, later)

    def new_session(
        self, history: bytes, *, native: str, transcript: str, title: str, now: float
    ) -> NewSession:
        from takeback.adapters.qwen.conversation import new_session

        return new_session(history, transcript=transcript, title=title, now=now)

    def moved_to(self, new: NewSession, directory: str) -> NewSession:
        """See the port; it looks up sessions by their directory, which each entry names too."""
        from takeback.adapters.qwen.conversation import moved_to

        return moved_to(new, directory)

    def resume(self, native: str, directory: str, moved: str | None = None) -> Resume:
        return Resume(super().resume(native, directory, moved).argv, directory)

    def status_in(self, tail: bytes, call: str) -> int | None:
        """Returns None: the event of a command's end has its status."""
        return None

    def answer(self, text: str) -> str:
        # Shown as "UserPromptExpansion blocked: ..."; on lines of its own it is readable.
        return super().answer(f"takeback\n{text.replace(' && ', '; ').translate(_AS_THEY_LOOK)}")

    @property
    def _as_line(self) -> LineReader:
        from takeback.adapters.qwen.lines import as_line

        return as_line

    def _expanded(
        self, payload: Mapping[str, Any], environ: Mapping[str, str]
    ) -> AgentEvent | None:
        """Reads that a command became a prompt: one of ours is answered now, before a model is."""
        typed = f"/{fields.text(payload, 'command_name')} {payload.get('command_args') or ''}"
        if typed.split()[0] != self.command:
            return None
        more = {"hook_event_name": "UserPromptSubmit", "prompt": typed.strip()}
        return super().parse({**payload, **more}, environ)

    def _tool(self, call: Mapping[str, Any]) -> ToolCall:
        tool = super()._tool(call)
        return tool if tool.command is None else tool.replace(call=None, status=_status(call))


def _status(call: Mapping[str, Any]) -> int | None:
    """Returns the exit status of a command, which the text for the model ends with:

        Output: ...              what the command wrote, any number of lines
        Error: (none)
        Exit Code: 1
        Signal: (none)
        Process Group PGID: 6

    Whatever has another form is not known to have ended. The last lines are Qwen's own, so no
    output can turn a failure into 0.
    """
    parts = fields.tables(fields.table(call, "tool_response"), "response_parts")
    answer = fields.table(fields.table(parts[0] if parts else {}, "functionResponse"), "response")
    said = fields.text(answer, "output") or fields.text(answer, "error") or ""
    *_, code, signal, group = ("", "", "", *said.rsplit("\n", 3))
    number = code.removeprefix("Exit Code: ")
    ended = code != number and signal == "Signal: (none)" and group.startswith("Process Group ")
    return int(number) if ended and number.isdecimal() and len(number) <= _MOST_DIGITS else None


adapter = Qwen(
    Manner(
        "qwen",
        ".qwen",
        "QWEN_HOME",
        _TOOLS,
        _SHELL,
        "QWEN_PROJECT_DIR",
        "QWEN_CODE_LAUNCHER_PID",
        "QWEN_RUNTIME_DIR",
    )
)
