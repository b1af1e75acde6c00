"""Silencing: what a project's own files say to keep an agent from being heard.

A model writes such a file, or a clone brings it. Two kinds: what turns hooks off, which takeback
can only say aloud, and variables for hooks, which takeback does not follow (``app.switches``).

``NAME.json``    "disableAllHooks": true                            Claude Code, Qwen Code, Copilot
                 "env": {"TAKEBACK": "off"}                         Claude Code, Qwen Code
                 "hooksConfig": {"enabled": false, "disabled": []}  Gemini CLI
                 "disabledHooks": ["takeback"]                      Copilot
                 "extensions": ["-extensions/takeback/index.ts"]    pi
                 "hooks": {"Stop": [a call of takeback's that ``init`` does not write]}
``config.toml``  features.hooks = false                             Codex
``.env``         TAKEBACK=off                                       whoever reads that file

Prompts come by here, so a file is only parsed if it may say such a thing.
"""

from __future__ import annotations

import os

from takeback.model.agent import Silencer
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from takeback.model.agent import Agent

    Said = tuple[str, bool, str]

_OURS = "takeback"
_LONGEST = 1 << 20
_MARKS = (_OURS.encode(), b"hooks", b"env", b"home", b"\\u")
"""What such a file has, in small letters; the last is how JSON hides a letter."""
_NOT_FOLLOWED = ("TAKEBACK", "TAKEBACK_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
"""Variables that takeback takes from nobody but the person."""
_FOLLOWED = (
    "HOME",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_SIMPLE",
    "CLAUDE_CODE_SAFE_MODE",
    "QWEN_HOME",
)
"""Those by which an agent itself goes to other settings, or past them."""
_STOPPED = "no hook runs, and nothing is recorded"


def silencers(agent: Agent, directories: Iterable[str], home: str) -> tuple[Silencer, ...]:
    """Returns what files in these directories of a project say; ``home`` is takeback's.

    Never raises, and reads no pipe.
    """
    places = (os.path.join(folder, name) for folder in directories for name in agent.project_files)
    found = (Silencer(path, *said) for path in places for said in _said(path, agent.name, home))
    return tuple(dict.fromkeys(found))


def _said(path: str, agent: str, home: str) -> Iterator[Said]:
    try:
        with open(path, "rb", opener=ordinary) as file:
            data = file.read(_LONGEST + 1)
    except (OSError, ValueError):
        return
    if len(data) > _LONGEST:
        yield "is too large to be looked through: whether hooks run is not known", False, ""
        return
    small = data.lower()
    if not any(mark in small for mark in _MARKS):
        return
    text = data.decode("utf-8-sig", "replace")
    if path.endswith(".env"):
        yield from _variables(_names(text))
        return
    settings = _parsed(text, toml=path.endswith(".toml"))
    if settings is not None:
        yield from _switches(settings)
        yield from _variables(_table(settings, "env"))
        yield from _calls(settings, agent, home)


def _parsed(text: str, *, toml: bool) -> dict[str, Any] | None:
    found: Any = None
    try:
        if toml:
            import tomllib

            return tomllib.loads(text)
        from takeback.model import json_text

        found = json_text.loads(text)
    except (ValueError, RecursionError):
        from takeback.adapters import jsonc  # only some agents take comments

        try:
            found = None if toml else jsonc.parse(text).plain()
        except ValueError:
            return None
    return found if isinstance(found, dict) else None


def _switches(settings: dict[str, Any]) -> Iterator[Said]:
    """Yields what turns hooks off, ours or all."""
    if settings.get("disableAllHooks") not in (None, False, "false"):
        yield f"turns all hooks off (disableAllHooks): {_STOPPED}", True, ""
    if _table(settings, "hooksConfig").get("enabled") is False:
        yield f"turns all hooks off (hooksConfig.enabled): {_STOPPED}", True, ""
    for name in ("hooks", "codex_hooks"):
        if _table(settings, "features").get(name) is False:
            yield f"turns all hooks off (features.{name}): {_STOPPED}", True, ""
    for where, named in (
        ("hooksConfig.disabled", _table(settings, "hooksConfig").get("disabled")),
        ("disabledHooks", settings.get("disabledHooks")),
    ):
        if any(_OURS in one for one in _texts(named)):
            yield f"turns takeback's hooks off ({where}): nothing is recorded", True, ""
    if any(one[:1] in "-!" and _OURS in one for one in _texts(settings.get("extensions"))):
        yield "turns takeback's extension off (extensions): nothing is recorded", True, ""


def _variables(names: Iterable[str]) -> Iterator[Said]:
    for name in names:
        if name in _NOT_FOLLOWED:
            yield f"sets {name}: that is not followed", False, name
        elif name in _FOLLOWED or name.startswith(_OURS.upper()):
            yield f"sets {name}: what hooks tell may not be heard", False, name


def _names(text: str) -> Iterator[str]:
    for line in text.splitlines():
        name, is_one, _ = line.strip().removeprefix("export ").partition("=")
        if is_one:
            yield name.strip()


def _calls(settings: dict[str, Any], agent: str, home: str) -> Iterator[Said]:
    """Yields the hooks that call takeback in a way that ``init`` does not write."""
    groups = _table(settings, "hooks").values()
    if not any(_OURS in str(group) or "/bin/hook" in str(group) for group in groups):
        return
    from takeback.adapters.hook_settings import calls
    from takeback.adapters.launcher import is_command

    for command in calls(settings):
        if (_OURS in command or "/bin/hook" in command) and not is_command(command, agent, home):
            yield (
                f"has a hook that calls takeback ({command}): what it tells may be made up",
                False,
                "",
            )


def _table(settings: dict[str, Any], name: str) -> dict[str, Any]:
    found = settings.get(name)
    return found if isinstance(found, dict) else {}


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
