"""Connects Codex: a file of hooks that the person has to trust once."""

from __future__ import annotations

import os

from takeback.adapters import hook_settings
from takeback.adapters.codex import config_home
from takeback.adapters.fields import files_in, on_path
from takeback.adapters.hook_settings import Hook
from takeback.handover import BESIDE
from takeback.model.agent import Capabilities, FileEdit
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_HOOKS = (
    Hook("SessionStart", 15),
    Hook("UserPromptSubmit", 15),
    Hook("PreToolUse", 10, None, (BESIDE,), "apply_patch"),
    Hook("PostToolUse", 15, words=(BESIDE,)),
    Hook("SubagentStop", 15),
    Hook("Stop", 15),
    Hook("PreCompact", 15),
    Hook("Interrupt", 3),
    Hook("SessionEnd", 3),
)
"""Before every tool: at the end of one nobody waits for the capture, and the next waits for it.

Codex warns about more than three seconds for the last two.
"""
_RECENT_DAYS = 3


class CodexConnection:
    name = "codex"
    title = "Codex"
    program = "codex"
    capabilities = Capabilities(
        inside="`!takeback ...`, or a prompt that is exactly `takeback ...`",
        resumes="`codex resume NEW`",
        tested="0.166.0",
    )

    def is_there(self, environ: Mapping[str, str]) -> bool:
        return on_path("codex", environ) or os.path.isdir(config_home(environ))

    def connect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        return (hook_settings.connected(_settings(environ, here), _HOOKS, self.name, home),)

    def disconnect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        return (hook_settings.disconnected(_settings(environ, here), self.name, home),)

    def is_connected(self, environ: Mapping[str, str], home: str, here: str | None) -> bool:
        return hook_settings.is_connected(_settings(environ, here), _HOOKS, self.name, home)

    def advice(self) -> str:
        return 'Say "Trust all" when codex asks about hooks: until then none runs.'

    def hindrance(self, environ: Mapping[str, str], here: str | None) -> str | None:
        return None

    def transcripts(self, environ: Mapping[str, str], root: str) -> tuple[tuple[str, float], ...]:
        """Looks at the first line of the rollouts of the last days, which names the directory."""
        base = os.path.join(config_home(environ), "sessions")
        found = [one for folder in _day_folders(base) for one in files_in(folder, ".jsonl")]
        return tuple(one for one in found if _is_of(one[0], root))


def _settings(environ: Mapping[str, str], here: str | None) -> str:
    if here is not None:
        return os.path.join(here, ".codex", "hooks.json")
    return os.path.join(config_home(environ), "hooks.json")


def _day_folders(base: str) -> list[str]:
    """Returns the newest folders of ``sessions/YYYY/MM/DD``."""
    days = [
        os.path.join(base, year, month, day)
        for year in _names(base)
        for month in _names(os.path.join(base, year))
        for day in _names(os.path.join(base, year, month))
    ]
    return sorted(days)[-_RECENT_DAYS:]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _is_of(path: str, root: str) -> bool:
    from json import dumps

    try:
        with open(path, encoding="utf-8", errors="replace", opener=ordinary) as file:
            first = file.readline(1 << 16)
    except OSError:
        return False
    return f'"cwd":{dumps(root)}' in first.replace('": ', '":')


connection = CodexConnection()
