"""Connects Gemini CLI: hooks in its settings, whose limits are milliseconds."""

from __future__ import annotations

import os

from takeback.adapters import hook_settings
from takeback.adapters.fields import files_in, on_path
from takeback.adapters.gemini import config_home
from takeback.adapters.hook_settings import Hook, Off
from takeback.model.agent import Capabilities, FileEdit
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_HOOKS = (
    Hook("SessionStart", 15_000),
    Hook("BeforeAgent", 15_000),
    Hook("BeforeTool", 10_000, "write_file|replace"),
    Hook("AfterTool", 15_000, "write_file|replace|run_shell_command"),
    Hook("AfterAgent", 15_000),
    Hook("SessionEnd", 5_000),
)
_OFF = Off(("hooksConfig", "enabled"), False)


class GeminiConnection:
    name = "gemini"
    title = "Gemini CLI"
    program = "gemini"
    capabilities = Capabilities(
        inside="`/takeback`",
        resumes="`gemini --resume=NEW`",
        tested="0.61.0",
    )

    def is_there(self, environ: Mapping[str, str]) -> bool:
        return on_path("gemini", environ) or os.path.isdir(config_home(environ))

    def connect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        path = _settings(environ, here)
        return (hook_settings.connected(path, _HOOKS, self.name, home, off=_OFF, named=True),)

    def disconnect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        return (hook_settings.disconnected(_settings(environ, here), self.name, home),)

    def is_connected(self, environ: Mapping[str, str], home: str, here: str | None) -> bool:
        path = _settings(environ, here)
        return hook_settings.is_connected(path, _HOOKS, self.name, home, off=_OFF)

    def advice(self) -> str:
        return ""

    def hindrance(self, environ: Mapping[str, str], here: str | None) -> str | None:
        return None

    def transcripts(self, environ: Mapping[str, str], root: str) -> tuple[tuple[str, float], ...]:
        slug = _slug(os.path.join(config_home(environ), "projects.json"), root)
        if slug is None:
            return ()
        return files_in(os.path.join(config_home(environ), "tmp", slug, "chats"), ".jsonl")


def _settings(environ: Mapping[str, str], here: str | None) -> str:
    return os.path.join(
        config_home(environ) if here is None else os.path.join(here, ".gemini"), "settings.json"
    )


def _slug(path: str, root: str) -> str | None:
    """Returns the name under which Gemini keeps a project."""
    from json import load

    try:
        with open(path, encoding="utf-8", opener=ordinary) as file:
            found = load(file)
        slug = found.get("projects", found).get(root)
    except (OSError, ValueError, AttributeError):
        return None
    return slug if isinstance(slug, str) else None


connection = GeminiConnection()
