"""Connects Claude Code: hooks in its settings."""

from __future__ import annotations

import os

from takeback.adapters import hook_settings
from takeback.adapters.connecting import read
from takeback.adapters.finding import config_directory, newest_in, on_path
from takeback.adapters.hook_settings import Hook, Off
from takeback.handover import BESIDE
from takeback.model.connection import Capabilities, FileEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_READING = "Read|Glob|Grep|LS|NotebookRead|ToolSearch|WebFetch|WebSearch|TodoWrite"
_ALL_BUT_READING = f"^(?!({_READING})$).*$"
"""At the end of a round nobody waits for the capture; whatever may change files waits for it."""
_HOOKS = (
    Hook("SessionStart", 15),
    Hook("UserPromptSubmit", 15),
    Hook("PreToolUse", 10, _ALL_BUT_READING, (BESIDE,), "Write|Edit|MultiEdit|NotebookEdit"),
    Hook("PostToolBatch", 15, words=(BESIDE,)),
    Hook("SubagentStop", 15),
    Hook("Stop", 15),
    Hook("StopFailure", 15),
    Hook("PreCompact", 15),
    Hook("SessionEnd", 10),
)
"""Read-only tools have no hook: a batch is announced once, at its end."""
_OFF = Off(("disableAllHooks",), True)
_OURS = b"The hooks of takeback answer this command"
_COMMAND = (
    b"""\
---
description: Take back any turn, its files, its conversation, or both
argument-hint: "[N] [files | conversation] [yes]"
disable-model-invocation: true
---
%s, so nobody should ever read this. Do nothing about files.
Tell the person that takeback is not connected, and that `takeback doctor` says why.
"""
    % _OURS
)
"""Claude passes on only commands that it knows; the prompt hook answers this one."""


class ClaudeConnection:
    name = "claude"
    title = "Claude Code"
    program = "claude"
    capabilities = Capabilities(
        inside="`/takeback`",
        resumes="`/resume NEW` in the running TUI, or `claude --resume=NEW`",
        tested="2.1.325",
    )

    def is_there(self, environ: Mapping[str, str]) -> bool:
        return on_path("claude", environ) or os.path.isdir(config_home(environ))

    def connect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        settings = _settings(environ, here)
        hooks = hook_settings.connected(settings, _HOOKS, self.name, home, off=_OFF, by_itself=True)
        path = _command(environ, here)
        found = read(path)
        theirs = found is not None and _OURS not in found
        return (hooks, FileEdit(path, found, found if theirs else _COMMAND))

    def disconnect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        hooks = hook_settings.disconnected(_settings(environ, here), self.name, home)
        path = _command(environ, here)
        found = read(path)
        ours = found is not None and _OURS in found
        return (hooks, FileEdit(path, found, None if ours else found))

    def is_connected(self, environ: Mapping[str, str], home: str, here: str | None) -> bool:
        path = _settings(environ, here)
        return hook_settings.is_connected(path, _HOOKS, self.name, home, off=_OFF)

    def advice(self) -> str:
        return "Sessions that are open now hear of it when they are started again."

    def hindrance(self, environ: Mapping[str, str], here: str | None) -> str | None:
        path = _settings(environ, here)
        line = hook_settings.line_of_no_json(path)
        if line is None:
            return None
        return (
            f"Claude Code does not read {path}: line {line} is no plain JSON (it takes neither"
            " comments nor a comma at the end of a list), and so no hook runs"
        )

    def newest_transcript(self, environ: Mapping[str, str], root: str) -> float | None:
        folder = "".join(c if c.isascii() and c.isalnum() else "-" for c in root)
        return newest_in(os.path.join(config_home(environ), "projects", folder), ".jsonl")


def config_home(environ: Mapping[str, str]) -> str:
    """Returns the agent's own directory."""
    return config_directory(environ, "CLAUDE_CONFIG_DIR", ".claude")


def _settings(environ: Mapping[str, str], here: str | None) -> str:
    if here is not None:
        return os.path.join(here, ".claude", "settings.local.json")
    return os.path.join(config_home(environ), "settings.json")


def _command(environ: Mapping[str, str], here: str | None) -> str:
    folder = config_home(environ) if here is None else os.path.join(here, ".claude")
    return os.path.join(folder, "commands", "takeback.md")


connection = ClaudeConnection()
