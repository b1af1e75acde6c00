"""Connects Claude Code, and agents of its manner: hooks in their settings."""

from __future__ import annotations

import os

from takeback.adapters import hook_settings
from takeback.adapters.claude import Claude, adapter
from takeback.adapters.connecting import read
from takeback.adapters.fields import files_in, on_path
from takeback.adapters.hook_settings import Hook, Off
from takeback.handover import BESIDE
from takeback.model.agent import Capabilities, FileEdit
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
"""The agent passes on only commands that it knows; a hook answers this one."""


class House(Value):
    """Where an agent has its settings and its sessions, and which hooks they get.

    ``local`` are the settings in its directory of a project. The sessions of a project are in
    ``chats``. ``by_itself`` says that it starts hooks without a shell, ``strict`` that it reads no
    JSON with comments.
    """

    agent: Claude
    title: str
    local: str
    chats: str
    hooks: tuple[Hook, ...]
    capabilities: Capabilities
    by_itself: bool = False
    strict: bool = False


class ClaudeConnection:
    """Claude Code, or an agent of its manner, by the data of its house."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.name = self.program = house.agent.name
        self.title = house.title
        self.capabilities = house.capabilities

    def is_there(self, environ: Mapping[str, str]) -> bool:
        return on_path(self.program, environ) or os.path.isdir(self.home(environ))

    def connect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        settings, by_itself = self._settings(environ, here), self._house.by_itself
        hooks = hook_settings.connected(
            settings, self._house.hooks, self.name, home, off=_OFF, by_itself=by_itself
        )
        path = self._command(environ, here)
        found = read(path)
        theirs = found is not None and _OURS not in found
        return (hooks, FileEdit(path, found, found if theirs else _COMMAND))

    def disconnect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        hooks = hook_settings.disconnected(self._settings(environ, here), self.name, home)
        path = self._command(environ, here)
        found = read(path)
        ours = found is not None and _OURS in found
        return (hooks, FileEdit(path, found, None if ours else found))

    def is_connected(self, environ: Mapping[str, str], home: str, here: str | None) -> bool:
        path = self._settings(environ, here)
        return hook_settings.is_connected(path, self._house.hooks, self.name, home, off=_OFF)

    def advice(self) -> str:
        return "Sessions that are open now hear of it when they are started again."

    def hindrance(self, environ: Mapping[str, str], here: str | None) -> str | None:
        path = self._settings(environ, here)
        line = hook_settings.line_of_no_json(path) if self._house.strict else None
        if line is None:
            return None
        return (
            f"{self.title} does not read {path}: line {line} is no plain JSON (it takes neither"
            " comments nor a comma at the end of a list), and so no hook runs"
        )

    def transcripts(self, environ: Mapping[str, str], root: str) -> tuple[tuple[str, float], ...]:
        sessions = self._house.agent.sessions_root(environ)
        return files_in(os.path.join(sessions, project_folder(root), self._house.chats), ".jsonl")

    def home(self, environ: Mapping[str, str]) -> str:
        """Returns the agent's own directory."""
        return self._house.agent.home(environ)

    def _settings(self, environ: Mapping[str, str], here: str | None) -> str:
        if here is not None:
            return os.path.join(here, self._house.agent.folder, self._house.local)
        return os.path.join(self.home(environ), "settings.json")

    def _command(self, environ: Mapping[str, str], here: str | None) -> str:
        folder = (
            self.home(environ) if here is None else os.path.join(here, self._house.agent.folder)
        )
        return os.path.join(folder, "commands", "takeback.md")


def project_folder(directory: str) -> str:
    """Returns the name of the folder in which the sessions of a directory are kept.

    The agent counts UTF-16 units, and has another sign for each byte that is no UTF-8.
    """
    seen = os.fsencode(directory).decode(errors="replace")
    return "".join(
        c if c.isascii() and c.isalnum() else "-" * (len(c.encode("utf-16-le")) // 2) for c in seen
    )


def all_but(reading: str) -> str:
    """Returns the matcher of all tools but those that only read, whose names are given.

    At the end of a round nobody waits for the capture; whatever may change files waits for it.
    """
    return f"^(?!({reading})$).*$"


_MAY_WRITE = all_but("Read|Glob|Grep|LS|NotebookRead|ToolSearch|WebFetch|WebSearch|TodoWrite")

connection = ClaudeConnection(
    House(
        adapter,
        "Claude Code",
        local="settings.local.json",
        chats="",
        # Read-only tools have no hook: a batch is announced once, at its end.
        hooks=(
            Hook("SessionStart", 15),
            Hook("UserPromptSubmit", 15),
            Hook("PreToolUse", 10, _MAY_WRITE, (BESIDE,), "Write|Edit|MultiEdit|NotebookEdit"),
            Hook("PostToolBatch", 15, words=(BESIDE,)),
            Hook("SubagentStop", 15),
            Hook("Stop", 15),
            Hook("StopFailure", 15),
            Hook("PreCompact", 15),
            Hook("SessionEnd", 10),
        ),
        capabilities=Capabilities(
            inside="`/takeback`",
            resumes="`/resume NEW` in the running TUI, or `claude --resume=NEW`",
            tested="2.1.325",
        ),
        by_itself=True,
        strict=True,
    )
)
