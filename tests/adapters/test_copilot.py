"""Copilot CLI: what its hooks tell, and how its conversations are cut (recorded/copilot)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from takeback.adapters import message_reader
from takeback.adapters.copilot import adapter
from takeback.adapters.copilot.connection import connection
from takeback.model import event as events
from takeback.model.checkpoint import Anchor
from takeback.model.event import AgentEvent

RECORDED = Path(__file__).parent / "recorded" / "copilot"
WHOLE = (RECORDED / "events.jsonl").read_bytes()
LINES = WHOLE.splitlines(keepends=True)
ROWS = [json.loads(line) for line in (RECORDED / "hooks.jsonl").read_text().splitlines()]
ONE = ["TURN-ONE create", "Creating.", "create", "create", "Created a.txt and b.txt."]


def heard() -> list[AgentEvent]:
    found = [adapter.parse(row["payload"], row["environ"]) for row in ROWS]
    return [event for event in found if event is not None]


def said(history: bytes) -> list[str]:
    reader = message_reader("copilot")
    assert reader is not None
    return [one.text if one.tool is None else one.tool.name for one in reader(history)]


def held_at(hook: str, number: int) -> bytes:
    """Returns what the file held when a hook was called for the nth time."""
    at = [i for i, line in enumerate(LINES) if f'"hookType":"{hook}"'.encode() in line]
    starts = [i for i in at if b'"type":"hook.start"' in LINES[i]]
    return b"".join(LINES[: starts[number] + 1])


def test_its_hooks_are_told_what_claude_code_tells() -> None:
    kinds = [(event.kind, event.prompt) for event in heard()]
    assert kinds[:4] == [
        (events.PROMPT, "TURN-ONE create"),
        (events.TOOL_BEFORE, None),
        (events.TOOL_BEFORE, None),
        (events.ROUND_END, None),
    ]
    assert [kind for kind, _ in kinds].count(events.TURN_END) == 2
    assert {event.session for event in heard()} == {heard()[0].session}


def test_every_event_names_the_transcript() -> None:
    session = heard()[0].session
    assert {event.transcript for event in heard()} == {
        f"/home/dev/.copilot/session-state/{session}/events.jsonl"
    }
    elsewhere = adapter.parse(ROWS[1]["payload"], {"COPILOT_HOME": "/else"})
    assert elsewhere is not None
    assert elsewhere.transcript == f"/else/session-state/{session}/events.jsonl"
    hostile = adapter.parse({**ROWS[1]["payload"], "session_id": "../../x"}, {})
    assert hostile is not None
    assert hostile.transcript is None


def test_each_call_that_may_change_files_ends_a_round() -> None:
    rounds = [event.tools[0] for event in heard() if event.kind == events.ROUND_END]
    assert [(tool.name, tool.paths, tool.command, tool.status) for tool in rounds] == [
        ("Write", ("/home/dev/project/a.txt",), None, None),
        ("Write", ("/home/dev/project/b.txt",), None, None),
        ("Edit", ("/home/dev/project/a.txt",), None, None),
        ("Bash", (), "rm doomed.bin b.txt && printf made > c.txt", 0),
        ("Bash", (), "exit 3", 3),
    ]


def test_a_start_that_is_told_after_the_first_prompt_ends_no_turn() -> None:
    start = next(r["payload"] for r in ROWS if r["payload"]["hook_event_name"] == "SessionStart")
    assert adapter.parse(start, {}) is None
    [edit] = connection.connect({"HOME": "/home/dev"}, "/home/dev/tb", None)
    assert b"SessionStart" not in (edit.after or b"")


@pytest.mark.parametrize(
    "text", ["", "<shellId: 1 completed with exit code 0", "completed with exit code 0>", "x\n"]
)
def test_what_it_says_otherwise_is_not_known_to_have_ended(text: str) -> None:
    payload = next(r["payload"] for r in ROWS if "exit code 3" in json.dumps(r["payload"]))
    event = adapter.parse({**payload, "tool_result": {"text_result_for_llm": text}}, {})
    assert event is not None
    assert event.tools[0].status is None


def test_the_conversation_before_a_prompt() -> None:
    first, second = held_at("userPromptSubmitted", 0), held_at("userPromptSubmitted", 1)
    assert adapter.cut([first], Anchor(True, prompt="TURN-ONE create"), [WHOLE]) == b""
    history = adapter.cut([second], Anchor(True, prompt="TURN-TWO change"), [WHOLE])
    assert said(history) == ONE
    assert WHOLE.startswith(history)
    assert json.loads(history.splitlines()[-1])["type"] == "assistant.turn_end"


def test_a_round_has_its_results_and_not_the_next_round() -> None:
    history = adapter.cut([held_at("postToolUse", 0)], Anchor(False), [WHOLE])
    assert said(history) == ONE[:-1]
    assert history.count(b'"type":"tool.execution_complete"') == 2


def test_a_new_session_has_its_own_directory_and_id() -> None:
    old = f"/home/dev/.copilot/session-state/{heard()[0].session}/events.jsonl"
    made = adapter.new_session(
        WHOLE, native=heard()[0].session, transcript=old, title="t", now=1794993000.5
    )
    assert made.path == f"/home/dev/.copilot/session-state/{made.native}/events.jsonl"
    assert json.loads(made.data.splitlines()[0])["data"]["sessionId"] == made.native
    assert said(made.data) == said(WHOLE)


def test_esc_is_in_the_transcript() -> None:
    stopped = WHOLE + line(type="abort", data={"reason": "user_initiated"})
    assert adapter.is_over(stopped + line(type="hook.end", data={}), None)
    assert not adapter.is_over(WHOLE, None)
    assert said(stopped)[-1] == "Interrupted by the person."


def test_a_subagents_words_are_its_own_and_a_summary_is_nobodys() -> None:
    history = line(type="assistant.message", agentId="a", data={"content": "inside"})
    history += line(type="session.compaction_complete", data={"summaryContent": "in short"})
    assert said(history) == ["in short"]


def line(**record: Any) -> bytes:
    return json.dumps(record).encode() + b"\n"


def test_the_model_is_told_and_no_warning_is_lost_on_it() -> None:
    assert json.loads(adapter.note("a {")) == {"additionalContext": "a {"}
    assert adapter.note("", "warned") == ""


def test_somebody_elses_file_of_that_name_is_not_taken_away(tmp_path: Path) -> None:
    environ = {"COPILOT_HOME": str(tmp_path)}
    path = tmp_path / "hooks" / "takeback.json"
    path.parent.mkdir()
    path.write_text("{}")
    [edit] = connection.disconnect(environ, "/home/dev/tb", None)
    assert not edit.changes
