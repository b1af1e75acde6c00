"""The contract of agents, run over every one that takeback has."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

from takeback.adapters import BUILT_IN
from takeback.model.agent import Agent
from takeback.testing import AgentContract

RECORDED = Path(__file__).parents[1] / "adapters" / "recorded"
AGENTS = {agent.name: agent for agent in BUILT_IN}


def recorded(name: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (RECORDED / name).read_text().splitlines()]
    kinds: dict[Any, dict[str, Any]] = {}
    for payload in (line["payload"] for line in lines):  # one of each kind is enough
        kind = payload.get("hook_event_name") or payload.get("event")
        kinds.setdefault((kind, payload.get("tool_name"), payload.get("tool")), payload)
    return list(kinds.values())


def transcript(name: str) -> bytes:
    return (RECORDED / name).read_bytes()


class TestGeneric(AgentContract):
    agent = AGENTS["generic"]
    payloads = (
        {
            "event": "prompt",
            "session": "s",
            "cwd": "/p",
            "turn": "1",
            "prompt": "p",
            "messages": [{"role": "user"}],
            "tools": [{"name": "W", "kind": "edit", "paths": ["a"]}],
            "resume": ["mine", "--go-on"],
            "pid": 1,
        },
        {"event": "turn_end", "session": "s", "cwd": "/p", "turn": "1", "agent": "mine"},
    )
    transcript = b"""\
{"role": "user", "content": "fix it"}
{"role": "assistant", "content": null, "tool_calls": [{"id": "1", "function": {"name": "sh"}}]}
{"role": "tool", "tool_call_id": "1", "is_error": true}
{"role": "assistant", "content": "done"}
"""
    native = "s"


class TestClaude(AgentContract):
    agent = AGENTS["claude"]
    payloads = recorded("claude/tui-2.1.325-hooks.jsonl")
    environ = MappingProxyType({"CLAUDE_PROJECT_DIR": "/home/dev/project", "CLAUDE_PID": "27"})
    transcript = transcript("claude/tui-2.1.325.jsonl")
    native = "e3d0354f-9eb7-4885-8079-2aab217ce6aa"


class TestCodex(AgentContract):
    agent = AGENTS["codex"]
    payloads = recorded("codex/hooks.jsonl")
    native = "01a1df2b-0420-78a1-860a-be5a27fc401a"
    transcript = transcript(f"codex/sessions/2026/11/15/rollout-2026-11-15T12-25-00-{native}.jsonl")


class TestCopilot(AgentContract):
    agent = AGENTS["copilot"]
    payloads = recorded("copilot/hooks.jsonl")
    environ = MappingProxyType({"COPILOT_PROJECT_DIR": "/home/dev/project"})
    transcript = transcript("copilot/events.jsonl")
    native = "1c96c38d-54ad-4b26-b947-22ddff9f6e4f"
    file = "{native}/events.jsonl"


class TestGemini(AgentContract):
    agent = AGENTS["gemini"]
    payloads = recorded("gemini/terminal.jsonl")
    transcript = transcript("gemini/chats/session-2026-11-15T12-42-d5eff84b.jsonl")
    native = "d5eff84b-a7ac-4867-9bef-7922f7e81395"


class TestKilo(AgentContract):
    """A fork of opencode, with the same plugin: it says what opencode says."""

    agent = AGENTS["kilo"]
    payloads = recorded("opencode/events.jsonl")
    transcript = transcript("opencode/lines.jsonl")
    native = "ses_e209d8a4effevk6RG38eDczRkK"


class TestOpencode(AgentContract):
    agent = AGENTS["opencode"]
    payloads = recorded("opencode/events.jsonl")
    transcript = transcript("opencode/lines.jsonl")
    native = "ses_e209d8a4effevk6RG38eDczRkK"


class TestPi(AgentContract):
    agent = AGENTS["pi"]
    payloads = recorded("pi/events.jsonl")
    native = "01a1df6f-aa4c-748d-8d00-31224fbe8afa"
    transcript = transcript(f"pi/sessions/2026-11-15T13-39-59-693Z_{native}.jsonl")


class TestQwen(AgentContract):
    agent = AGENTS["qwen"]
    payloads = recorded("qwen/terminal-hooks.jsonl")
    environ = MappingProxyType({"QWEN_PROJECT_DIR": "/home/dev/project"})
    transcript = transcript("qwen/terminal.jsonl")
    native = "75d633c5-08ec-4938-9dec-5d955d449b00"


def test_every_agent_that_there_is_has_its_contract_tested() -> None:
    tested: list[Agent] = [contract.agent for contract in AgentContract.__subclasses__()]
    assert {agent.name for agent in tested} >= set(AGENTS)
