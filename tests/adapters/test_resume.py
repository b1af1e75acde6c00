"""An id is whatever an event says: only one of the agent's own shape goes on a command line."""

from __future__ import annotations

import shlex

import pytest

from takeback.adapters import BUILT_IN, adapter_named

HOSTILE = [
    "--dangerously-skip-permissions",
    "-r",
    "",
    " ",
    "x",
    "ses_takeback;touch${IFS}x;",
    "ses_../../x",
    "ses_",
    "$(touch x)",
    "`touch x`",
    "0f1e2d3c-4b5a-4678-9abc-def01234567\n",
    "0f1e2d3c-4b5a-4678-9abc-def012345678 --yolo",
    "../0f1e2d3c-4b5a-4678-9abc-def012345678",
    "\x1b]0;title\x07",
    "\u0660f1e2d3c-4b5a-4678-9abc-def012345678",
    "a" * 10_000,
]


@pytest.mark.parametrize("agent", [agent.name for agent in BUILT_IN])
@pytest.mark.parametrize("native", HOSTILE, ids=range(len(HOSTILE)))
def test_no_other_text_is_put_on_a_command_line(agent: str, native: str) -> None:
    resume = adapter_named(agent).resume(native, "/home/dev/repo")
    assert resume.argv == ()
    assert resume.in_tui is None


OWN = {
    "claude": "0f1e2d3c-4b5a-4678-9abc-def012345678",
    "codex": "0f1e2d3c-4b5a-7678-9abc-def012345678",
    "copilot": "0f1e2d3c-4b5a-4678-9abc-def012345678",
    "gemini": "0f1e2d3c-4b5a-4678-9abc-def012345678",
    "kilo": "ses_1d0000000ffetakeback12345",
    "opencode": "ses_1d0000000ffetakeback12345",
    "pi": "0f1e2d3c-4b5a-4678-9abc-def012345678",
    "qwen": "0f1e2d3c-4b5a-4678-9abc-def012345678",
}


@pytest.mark.parametrize("agent", [agent.name for agent in BUILT_IN])
def test_a_line_starts_the_agent_itself_and_nothing_is_read_by_a_shell(agent: str) -> None:
    adapter = adapter_named(agent)
    for words in (adapter.resume(OWN.get(agent, "s1"), "/w").argv, adapter.start("/w").argv):
        assert words[:1] == (() if agent == "generic" else (agent,))
        for word in words:
            assert shlex.quote(word) == word, "a word that a shell would take apart"


MOVED = {
    "claude": ["claude", f"--resume={OWN['claude']}"],
    "codex": ["codex", "resume", "-C", "/new", OWN["codex"]],
    "copilot": ["copilot", f"--resume={OWN['copilot']}"],
    "gemini": ["gemini", "--session-file=/home/dev/.gemini/chat.jsonl"],
    "kilo": ["kilo", f"--session={OWN['kilo']}"],
    "opencode": ["opencode", f"--session={OWN['opencode']}"],
    "pi": ["pi", "--fork", OWN["pi"]],
    "qwen": ["qwen", f"--resume={OWN['qwen']}"],
}


@pytest.mark.parametrize("agent", MOVED)
def test_a_session_made_for_another_directory_goes_on_there_without_a_question(agent: str) -> None:
    resume = adapter_named(agent).resume(OWN[agent], "/new", "/home/dev/.gemini/chat.jsonl")
    assert (list(resume.argv), resume.cwd, resume.in_tui) == (MOVED[agent], "/new", None)
