"""The adapter for GitHub Copilot CLI, as version 1.0 works.

Its hooks, if they are put down under Claude Code's names for them, are told what Claude Code tells.
What it does otherwise: turns have no id, each call of a tool is announced by itself, only the end
of a turn names the transcript, and the event of a command's end has its exit status.
"""

from __future__ import annotations

import os

from takeback.adapters import fields
from takeback.adapters.claude import TOOLS, Claude, Manner
from takeback.model import event as events
from takeback.model import json_text
from takeback.model.checkpoint import Anchor, NewSession, Resume

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from takeback.model.event import AgentEvent, ToolCall

EVENTS = "events.jsonl"
"""The file of a session, in a directory that is named after it."""
_ENDED = " completed with exit code "
_MOST_DIGITS = 9


class Copilot(Claude):
    """Copilot CLI, in the terminal and as ``copilot -p``."""

    command = "takeback"

    def parse(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> AgentEvent | None:
        event = super().parse(payload, environ)
        if event is not None and event.kind == events.SESSION_START:
            return None  # told beside the first prompt, in no order: that one begins the session
        if event is None or event.transcript is not None or not fields.is_uuid(event.session):
            return event
        root = self.sessions_root(environ)
        return event.replace(transcript=os.path.join(root, event.session, EVENTS))

    def sessions_root(self, environ: Mapping[str, str]) -> str:
        return os.path.join(self.home(environ), "session-state")

    def cut(self, parts: Sequence[bytes], anchor: Anchor, later: Sequence[bytes]) -> bytes:
        from takeback.adapters.copilot.conversation import cut

        return cut(b"".join(parts), anchor, b"".join(later))

    def new_session(
        self, history: bytes, *, native: str, transcript: str, title: str, now: float
    ) -> NewSession:
        from takeback.adapters.copilot.conversation import new_session

        return new_session(history, transcript=transcript)

    def resume(self, native: str, directory: str, moved: str | None = None) -> Resume:
        return Resume(super().resume(native, directory, moved).argv, directory)

    def is_over(self, tail: bytes, turn: str | None) -> bool:
        from takeback.adapters.copilot.conversation import is_aborted

        return is_aborted(tail)

    def command_in(self, tail: bytes, turn: str | None) -> str | None:
        """Returns None: nothing reports a command."""
        return None

    def status_in(self, tail: bytes, call: str) -> int | None:
        """Returns None: the event of a command's end has its status."""
        return None

    def note(self, text: str, warning: str = "") -> str:
        """Returns what the model is told; it shows no warning, so that is left to ``status``."""
        return json_text.dumps({"additionalContext": text}) if text else ""

    def _tool(self, call: Mapping[str, Any]) -> ToolCall:
        tool = super()._tool(call)
        return tool if tool.command is None else tool.replace(call=None, status=_status(call))


def _status(call: Mapping[str, Any]) -> int | None:
    """Returns the exit status of a command, which the text for the model ends with:

        ...                      what the command wrote, any number of lines
        <shellId: 1 completed with exit code 3>

    Whatever has another form is not known to have ended. The last line is Copilot's own, so no
    output can turn a failure into 0.
    """
    said = fields.text(fields.table(call, "tool_result"), "text_result_for_llm") or ""
    shell, _, rest = said.rpartition("\n")[2].partition(_ENDED)
    number = rest.removesuffix(">")
    ended = shell.startswith("<shellId: ") and rest != number
    return int(number) if ended and number.isdecimal() and len(number) <= _MOST_DIGITS else None


adapter = Copilot(
    Manner(
        "copilot",
        ".copilot",
        "COPILOT_HOME",
        TOOLS,
        "Bash",
        "COPILOT_PROJECT_DIR",
        paths=("path",),
        batches=False,
    )
)
