"""The adapter for Claude Code: its hooks, and its sessions as files of JSON lines.

A hook's input names the session, the turn (``prompt_id``) and the transcript. The transcript itself
is read and cut in ``conversation.py``, which no hook imports.

Other agents speak as Claude Code does: what differs in their names is a ``Manner``, what differs in
their files is how a line is read (``lines.py``).
"""

from __future__ import annotations

import os

from takeback.adapters import fields
from takeback.adapters.fields import Usual, config_directory
from takeback.model import event as events
from takeback.model import json_text
from takeback.model.checkpoint import Anchor, NewSession, Resume
from takeback.model.event import AgentEvent, ToolCall
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from takeback.adapters.claude.lines import LineReader

_KINDS: dict[str, events.EventKind] = {
    "SessionStart": events.SESSION_START,
    "UserPromptSubmit": events.PROMPT,
    "PreToolUse": events.TOOL_BEFORE,
    "PostToolUse": events.ROUND_END,
    "PostToolUseFailure": events.ROUND_END,
    "PostToolBatch": events.ROUND_END,
    "SubagentStop": events.ROUND_END,
    "Stop": events.TURN_END,
    "StopFailure": events.INTERRUPTED,
    "PreCompact": events.COMPACT,
    "SessionEnd": events.SESSION_END,
}
TOOLS: dict[str, events.ToolKind] = {
    "Write": events.EDIT,
    "Edit": events.EDIT,
    "MultiEdit": events.EDIT,
    "NotebookEdit": events.EDIT,
    "Bash": events.SHELL,
    "PowerShell": events.SHELL,
    "Monitor": events.SHELL,
    "Agent": events.SUBAGENT,
    "Task": events.SUBAGENT,
    "Read": events.READ,
    "Glob": events.READ,
    "Grep": events.READ,
    "LS": events.READ,
    "NotebookRead": events.READ,
    "ToolSearch": events.READ,
    "WebFetch": events.READ,
    "WebSearch": events.READ,
}
_REASONS = {"SessionStart": "source", "SessionEnd": "reason", "PreCompact": "trigger"}
_EXIT = "Exit code "
_FARTHEST = 20_000
_NEAREST = 8
"""So many entries are gone up at most, and so many turns of those on the way are told."""
_NO_END = frozenset(("backgroundTaskId", "timedOutAfterMs", "returnCodeInterpretation"))
"""Details of a command that goes on in the background, or whose status is no error and not 0."""
_NOTIFICATION = "<task-notification>"
"""How a prompt begins with which a finished task, not a person, wakes the model."""


class Manner(Value):
    """What an agent calls things that Claude Code has too.

    ``name`` is also its program's. ``folder`` is its directory at home, unless ``variable`` names
    another, and in a project. Sessions are below it, unless ``runtime`` names another place.
    ``shell`` is the tool whose commands are noted. ``project`` and ``process`` are variables of a
    hook: the directory that the agent works in, and its process. ``paths`` are the fields of a
    tool's input that name files. ``batches`` says that calls made side by side are announced once
    more, when all have ended.
    """

    name: str
    folder: str
    variable: str
    tools: Mapping[str, events.ToolKind]
    shell: str
    project: str
    process: str = ""
    runtime: str = ""
    paths: tuple[str, ...] = ("file_path", "notebook_path")
    batches: bool = True


class Claude(Usual):
    """Claude Code, whose hooks call ``takeback hook claude``, or an agent of its manner."""

    mute_on_esc = True
    command = "/takeback"

    def __init__(self, manner: Manner) -> None:
        self._manner = manner
        self.name = manner.name

    @property
    def folder(self) -> str:
        """The name of its directory, at home and in a project."""
        return self._manner.folder

    def home(self, environ: Mapping[str, str]) -> str:
        """Returns the agent's own directory."""
        return config_directory(environ, self._manner.variable, self.folder)

    def parse(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> AgentEvent | None:
        said = fields.required(payload, "hook_event_name")
        kind = _KINDS.get(said)
        if kind is None:
            return None
        tools = self._tools(payload)
        subagent = fields.text(payload, "agent_id")
        if kind == events.TOOL_BEFORE and tools[0].kind == events.READ:
            return None
        only_read = bool(tools) and tools[0].kind == events.READ
        is_end = said in ("PostToolUse", "PostToolUseFailure") and subagent is None
        if is_end and (self._manner.batches or only_read):
            return None  # the end of the whole batch is announced too, and once is enough
        prompt = fields.text(payload, "prompt") if kind == events.PROMPT else None
        process = environ.get(self._manner.process, "")
        return AgentEvent(
            kind=kind,
            agent=self.name,
            session=fields.required(payload, "session_id"),
            directory=environ.get(self._manner.project) or fields.required(payload, "cwd"),
            transcript=fields.text(payload, "transcript_path"),
            turn=fields.text(payload, "prompt_id"),
            prompt=prompt,
            human=prompt is None or not prompt.startswith(_NOTIFICATION),
            tools=tools,
            subagent=subagent,
            background=bool(fields.tables(payload, "background_tasks")),
            continues=fields.flag(payload, "stop_hook_active"),
            reason=fields.text(payload, _REASONS[said]) if said in _REASONS else None,
            process=int(process) if process.isdecimal() else None,
        )

    def sessions_root(self, environ: Mapping[str, str]) -> str:
        base = environ.get(self._manner.runtime) or self.home(environ)
        return os.path.join(base, "projects")

    def cut(self, parts: Sequence[bytes], anchor: Anchor, later: Sequence[bytes]) -> bytes:
        from takeback.adapters.claude.conversation import cut

        return cut(b"".join(parts), anchor, b"".join(later), self._as_line)

    def new_session(
        self, history: bytes, *, native: str, transcript: str, title: str, now: float
    ) -> NewSession:
        from takeback.adapters.claude.conversation import new_session

        return new_session(history, native=native, transcript=transcript, title=title)

    def resume(self, native: str, directory: str, moved: str | None = None) -> Resume:
        if not fields.is_uuid(native):
            return Resume((), directory)
        inside = None if moved else f"/resume {native}"  # it stays in its present directory
        return Resume((self.name, f"--resume={native}"), directory, inside)

    def is_over(self, tail: bytes, turn: str | None) -> bool:
        from takeback.adapters.claude.conversation import is_interrupted

        return is_interrupted(tail, turn, self._as_line)

    def command_in(self, tail: bytes, turn: str | None) -> str | None:
        from takeback.adapters.claude.conversation import command_in

        return command_in(tail, turn, self._as_line)

    def status_in(self, tail: bytes, call: str) -> int | None:
        for record in fields.records_with(tail, call):
            results = fields.tables(fields.table(record, "message"), "content")
            if len(results) == 1 and results[0].get("tool_use_id") == call:
                return _status(results[0], fields.table(record, "toolUseResult"))
        return None

    def follows(self, said: bytes, turn: str) -> tuple[str, ...]:
        return _follows(said, turn)

    def answer(self, text: str) -> str:
        return json_text.dumps({"decision": "block", "reason": text})

    def note(self, text: str, warning: str = "") -> str:
        # Bare text would do too, but one that begins with a brace would be read as JSON.
        return fields.told("UserPromptSubmit", text, warning)

    @property
    def _as_line(self) -> LineReader:
        from takeback.adapters.claude.lines import as_line

        return as_line

    def _tools(self, payload: Mapping[str, Any]) -> tuple[ToolCall, ...]:
        """Returns the calls that an event is about: its own, or those of a whole batch."""
        if "tool_calls" in payload:
            return tuple(self._tool(call) for call in fields.tables(payload, "tool_calls"))
        if "tool_name" in payload or payload["hook_event_name"] == "PreToolUse":
            return (self._tool(payload),)
        return ()

    def _tool(self, call: Mapping[str, Any]) -> ToolCall:
        name = fields.required(call, "tool_name")
        given = fields.table(call, "tool_input")
        paths = tuple(path for key in self._manner.paths if (path := fields.text(given, key)))
        tool = ToolCall(name, self._manner.tools.get(name, events.OTHER), paths)
        if name != self._manner.shell:
            return tool
        command, known = fields.text(given, "command"), fields.text(call, "tool_use_id")
        return tool.replace(command=command, call=known)


def _follows(said: bytes, turn: str) -> tuple[str, ...]:
    """Returns the turns on the way up from the first entry of a turn; see the port.

    If it leads to the turn that was written last before it, as it does unless somebody has used
    the agent's own /rewind, nothing is read but the ends of the two.
    """
    begin, record = _entry_of_turn(said, turn)
    if record is None:
        return ()
    newest = _newest_turn(said, begin)
    found: list[str] = []
    for _ in range(_FARTHEST):
        above = fields.text(record, "parentUuid") or fields.text(record, "logicalParentUuid")
        if above is None:
            return (*found, "") if newest is not None else ()
        begin, record = _entry(said, above, begin)
        if record is None:
            return ()
        of = fields.text(record, "promptId")
        if of is None or of == turn or of in found:
            continue
        if of == newest:
            return ()
        found.append(of)
        if len(found) == _NEAREST:
            break
    return tuple(found)


def _entry_of_turn(said: bytes, turn: str) -> tuple[int, Mapping[str, Any] | None]:
    """Returns where the first entry of a turn begins, and what it says."""
    for begin, record in fields.lines_with(said, turn, first=True):
        if record.get("promptId") == turn and _is_entry(record):
            return begin, record
    return 0, None


def _newest_turn(said: bytes, end: int) -> str | None:
    """Returns the turn of the last entry before a place that names one."""
    for _, record in fields.lines_with(said, "promptId", before=end):
        if _is_entry(record) and (of := fields.text(record, "promptId")) is not None:
            return of
    return None


def _entry(said: bytes, id: str, end: int) -> tuple[int, Mapping[str, Any] | None]:
    """Returns where an entry begins that was written before a place, and what it says."""
    for begin, record in fields.lines_with(said, id, before=end):
        if record.get("uuid") == id and _is_entry(record):
            return begin, record
    return 0, None


def _is_entry(record: Mapping[str, Any]) -> bool:
    return "parentUuid" in record and record.get("isSidechain") is not True


def _status(result: Mapping[str, Any], details: Mapping[str, Any]) -> int | None:
    """Returns the exit status of a command; None if it was stopped or goes on.

    ``result`` is what the model is given. That of a failure begins with a line ``Exit code 1``, and
    no field has the number. A success has ``details``, which say what else it may have been.
    """
    failed = result.get("is_error")
    if failed is False:
        ended = details.get("interrupted") is False and _NO_END.isdisjoint(details)
        return 0 if ended else None
    first = (fields.text(result, "content") or "").partition("\n")[0]
    number = first.removeprefix(_EXIT)
    is_status = first.startswith(_EXIT) and number.isdecimal() and len(number) < 10
    return int(number) if failed is True and is_status and int(number) else None


adapter = Claude(
    Manner(
        "claude",
        ".claude",
        "CLAUDE_CONFIG_DIR",
        TOOLS,
        "Bash",
        "CLAUDE_PROJECT_DIR",
        "CLAUDE_PID",
    )
)
