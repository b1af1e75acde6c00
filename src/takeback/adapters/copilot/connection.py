"""Connects Copilot CLI: a file of hooks of our own, beside those that a person has."""

from __future__ import annotations

import os

from takeback.adapters.connecting import read
from takeback.adapters.copilot import adapter
from takeback.adapters.fields import on_path
from takeback.adapters.launcher import command_for
from takeback.handover import BESIDE
from takeback.model.agent import Capabilities, FileEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_HOOKS: dict[str, tuple[str, ...]] = {
    "UserPromptSubmit": (),
    "PreToolUse": (BESIDE,),
    "PostToolUse": (BESIDE,),
    "PostToolUseFailure": (BESIDE,),
    "SubagentStop": (),
    "Stop": (),
    "PreCompact": (),
    "SessionEnd": (),
}
"""By these names hooks are told what Claude Code tells its own. The start of a session is not one:
it is told beside the first prompt, in no order, and would end the turn that has just begun."""
_SECONDS = 15


class CopilotConnection:
    name = "copilot"
    title = "Copilot CLI"
    program = "copilot"
    capabilities = Capabilities(
        inside="a prompt that is exactly `takeback ...`",
        resumes="`copilot --resume=NEW`",
        tested="1.0.102",
    )

    def is_there(self, environ: Mapping[str, str]) -> bool:
        return on_path(self.program, environ) or os.path.isdir(adapter.home(environ))

    def connect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        path = _hooks(environ, here)
        return (FileEdit(path, read(path), _ours(home)),)

    def disconnect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        path = _hooks(environ, here)
        found = read(path)
        ours = found is not None and _calls(home) in found
        return (FileEdit(path, found, None if ours else found),)

    def is_connected(self, environ: Mapping[str, str], home: str, here: str | None) -> bool:
        """See the port; an older takeback's file counts, if it calls this home's launcher."""
        return _calls(home) in (read(_hooks(environ, here)) or b"")

    def advice(self) -> str:
        return "Sessions that are open now hear of it when they are started again."

    def hindrance(self, environ: Mapping[str, str], here: str | None) -> str | None:
        return None

    def transcripts(self, environ: Mapping[str, str], root: str) -> tuple[tuple[str, float], ...]:
        """Returns none: its sessions are not kept by directory."""
        return ()


def _calls(home: str) -> bytes:
    from json import dumps

    return dumps(command_for("copilot", home)).encode().removesuffix(b'"')


def _ours(home: str) -> bytes:
    from json import dumps

    def hook(*words: str) -> dict[str, Any]:
        command = command_for("copilot", home, *words)
        return {"type": "command", "bash": command, "timeoutSec": _SECONDS}

    hooks = {event: [hook(*words)] for event, words in _HOOKS.items()}
    return (dumps({"version": 1, "hooks": hooks}, indent=2) + "\n").encode()


def _hooks(environ: Mapping[str, str], here: str | None) -> str:
    folder = adapter.home(environ) if here is None else os.path.join(here, ".github")
    return os.path.join(folder, "hooks", "takeback.json")


connection = CopilotConnection()
