"""What a project's own files say to keep an agent from being heard."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from takeback.adapters import BUILT_IN
from takeback.adapters.silencing import silencers

AGENTS = {agent.name: agent for agent in BUILT_IN}
HOME = "/home/dev/tb"


def found(folder: Path, agent: str) -> list[tuple[str, bool]]:
    """Returns the files that are named, and whether each stops the hooks."""
    silent = silencers(AGENTS[agent], [str(folder)], HOME)
    return [(os.path.relpath(one.path, folder), one.stops) for one in silent]


def put(folder: Path, name: str, content: object) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return name


HOOKS_OFF = {"disableAllHooks": True}
OFF = {"env": {"TAKEBACK": "off"}}


@pytest.mark.parametrize(
    ("agent", "name", "content", "stops"),
    [
        ("claude", ".claude/settings.json", HOOKS_OFF, True),
        ("claude", ".claude/settings.local.json", HOOKS_OFF, True),
        ("claude", ".claude/settings.json", {"disableAllHooks": "yes"}, True),
        ("claude", ".claude/settings.json", '{"disable\\u0041llHooks": true}', True),
        ("claude", ".claude/settings.json", OFF, False),
        ("claude", ".claude/settings.json", {"env": {"TAKEBACK_AGENT": "x"}}, False),
        ("claude", ".claude/settings.json", {"env": {"XDG_CONFIG_HOME": ".cfg"}}, False),
        ("claude", ".claude/settings.json", {"env": {"HOME": "/x"}}, False),
        ("claude", ".claude/settings.json", " " * (1 << 20) + json.dumps(HOOKS_OFF), False),
        ("qwen", ".qwen/settings.local.json", HOOKS_OFF, True),
        ("qwen", ".qwen/settings.json", '// mine\n{"disableAllHooks": true,}', True),
        ("qwen", ".env", "TAKEBACK=off\n", False),
        ("gemini", ".gemini/settings.json", {"hooksConfig": {"enabled": False}}, True),
        ("gemini", ".gemini/settings.json", {"hooksConfig": {"disabled": ["takeback"]}}, True),
        ("gemini", ".gemini/.env", "export TAKEBACK=off", False),
        ("copilot", ".github/copilot/settings.json", HOOKS_OFF, True),
        ("copilot", ".github/copilot/settings.local.json", {"disabledHooks": ["takeback"]}, True),
        ("codex", ".codex/config.toml", "[features]\nhooks = false\n", True),
        ("codex", ".codex/config.toml", "features = {codex_hooks = false}\n", True),
        ("pi", ".pi/settings.json", {"extensions": ["-extensions/takeback/index.ts"]}, True),
        ("opencode", ".env", "TAKEBACK=off", False),
        ("kilo", ".env", "TAKEBACK = off", False),
    ],
)
def test_a_file_that_silences_is_named(
    tmp_path: Path, agent: str, name: str, content: object, stops: bool
) -> None:
    assert found(tmp_path, agent) == []
    put(tmp_path, name, content)
    assert found(tmp_path, agent) == [(name, stops)]


@pytest.mark.parametrize(
    ("agent", "name", "content"),
    [
        ("claude", ".claude/settings.json", {"disableAllHooks": False}),
        ("claude", ".claude/settings.json", {"env": {"JAVA_HOME": "/j"}}),
        ("claude", ".claude/settings.json", {"permissions": {"allow": ["Bash(takeback log:*)"]}}),
        ("claude", ".claude/settings.json", {"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}),
        ("claude", ".claude/settings.json", {"hooks": {"Stop": "takeback", "x": 1}, "env": []}),
        ("claude", ".claude/settings.json", '["disableAllHooks"]'),
        ("claude", ".claude/settings.json", '{"disableAllHooks": tru'),
        ("codex", ".codex/config.toml", "[features\nhooks = false"),
        ("gemini", ".env", "# TAKEBACK is on\nTOKEN=takeback\n"),
        ("pi", ".pi/settings.json", {"extensions": ["extensions/takeback"]}),
    ],
)
def test_what_silences_nobody_is_not_named(
    tmp_path: Path, agent: str, name: str, content: object
) -> None:
    put(tmp_path, name, content)
    assert found(tmp_path, agent) == []


def test_a_hook_that_calls_takeback_in_a_way_of_its_own_is_named(tmp_path: Path) -> None:
    ours = {"type": "command", "command": f"{HOME}/bin/hook", "args": ["claude"]}
    forged = {"type": "command", "command": f"echo '{{}}' | {HOME}/bin/hook claude"}
    hooks = {"Stop": [{"hooks": [ours]}], "PreToolUse": [{"matcher": "*", "hooks": [forged]}]}
    name = put(tmp_path, ".claude/settings.json", {"hooks": hooks})
    assert found(tmp_path, "claude") == [(name, False)]


def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    os.mkfifo(tmp_path / ".claude" / "settings.json")
    (tmp_path / ".claude" / "settings.local.json").mkdir()
    assert found(tmp_path, "claude") == []
