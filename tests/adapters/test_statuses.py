"""How a shell command ended, as agents themselves say it (recorded/*/shell.jsonl)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from takeback.adapters import adapter_named
from takeback.model.event import SHELL, ToolCall

RECORDED = Path(__file__).parent / "recorded"


def rows(agent: str) -> list[dict[str, Any]]:
    text = (RECORDED / agent / "shell.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def shells(agent: str, payload: dict[str, Any]) -> list[ToolCall]:
    event = adapter_named(agent).parse(payload, {})
    return [] if event is None else [tool for tool in event.tools if tool.kind == SHELL]


def lines(row: dict[str, Any]) -> bytes:
    return "".join(f"{line}\n" for line in row["said"]).encode()


def test_claude_writes_a_moment_later_how_a_command_ended() -> None:
    at_once, said, called = {}, b"", []
    for row in rows("claude"):
        said += lines(row)
        for tool in shells("claude", row["payload"]):
            called.append(tool)
            at_once[tool.call] = adapter_named("claude").status_in(said, tool.call or "")
    assert at_once[called[0].call] is None
    found = [
        (tool.command, adapter_named("claude").status_in(said, tool.call or "")) for tool in called
    ]
    assert found == [
        ("printf 'x\\n' > a.txt", 0),
        ("./runtests.sh", 0),
        ("./failtests.sh", 1),
        ("./runtests.sh", 0),
        ("./failtests.sh; exit 3", 3),
        ("sleep 1 && ./runtests.sh", None),  # in the background
        ("sleep 4 && ./runtests.sh", 143),  # it took too long
        ("grep nothing a.txt", None),  # 1, which is no failure of grep
        ("kill -9 $$", 1),
    ]


def test_codex_has_written_it_when_it_says_that_the_command_ended() -> None:
    said, found = b"", []
    for row in rows("codex"):
        said += lines(row)
        for tool in shells("codex", row["payload"]):
            found.append((tool.command, adapter_named("codex").status_in(said, tool.call or "")))
    assert found == [
        ("printf 'x\\n' > a.txt", 0),
        ("./runtests.sh", 0),
        ("./failtests.sh", 1),
        ("./runtests.sh", 0),
        ("./failtests.sh; exit 3", 3),
        ("kill -9 $$", 137),
        ("sleep 2", 0),
    ]


def test_qwen_says_it_in_the_text_for_the_model() -> None:
    found = [(t.command, t.status) for row in rows("qwen") for t in shells("qwen", row["payload"])]
    assert found == [
        ("true", 0),
        ("exit 3", 3),
        ("echo hi; false", 1),
        ("kill -9 $$", None),
        ("nosuchcommand", 127),
        ("printf 'Exit Code: 0\\n'; exit 4", 4),
    ]


def test_what_qwen_says_otherwise_is_not_known_to_have_ended() -> None:
    payload = rows("qwen")[0]["payload"]
    for said in (
        "",
        "Exit Code: 0",
        "Exit Code: 0\nSignal: (none)\nx",
        "Exit Code: 0\nSignal: 9\n",
    ):
        answer = {"functionResponse": {"response": {"output": f"{said}Process Group PGID: 1"}}}
        call = {**payload["tool_calls"][0], "tool_response": {"response_parts": [answer]}}
        [tool] = shells("qwen", {**payload, "tool_calls": [call]})
        assert tool.status is None, said


def test_gemini_says_it_in_the_text_for_the_model() -> None:
    tools = [tool for row in rows("gemini") for tool in shells("gemini", row["payload"])]
    assert [(tool.command, tool.status, tool.call) for tool in tools] == [
        ("printf 'x\\n' > a.txt", 0, None),
        ("./runtests.sh", 0, None),
        ("./failtests.sh", 1, None),
        ("./runtests.sh", 0, None),
        ("./failtests.sh; exit 3", 3, None),
        ("sleep 1 && ./runtests.sh", None, None),  # in the background
        ("kill -9 $$", None, None),
        ("sleep 5 & ./failtests.sh", 1, None),
        ("printf 'Exit Code: 0' && exit 4", 4, None),
    ]


def of_gemini(text: Any, **more: Any) -> int | None:
    payload = rows("gemini")[0]["payload"] | {"tool_response": {"llmContent": text, **more}}
    [tool] = shells("gemini", payload)
    return tool.status


def test_of_another_form_of_text_nothing_is_known() -> None:
    good = "<untrusted_context>\nOutput: x\nProcess Group PGID: 1\n</untrusted_context>"
    assert of_gemini(good) == 0
    assert of_gemini(good, error={"message": "no"}) is None
    for text in (
        None,
        7,
        "",
        "\n\n\n",
        "Output: x\nProcess Group PGID: 1",
        good.replace("Output: x\n", ""),
        good.replace("\nProcess Group PGID: 1", ""),
        good.replace("Output", "Command was cancelled"),
        good.replace("x\n", "x\nSignal: 15\n"),
        good.replace("x\n", "x\nError: it could not be started\n"),
        good.replace("x\n", "x\nExit Code: -1\n"),
        good.replace("x\n", "x\nExit Code: 1 or so\n"),
        good.replace("x\n", f"x\nExit Code: {'9' * 5000}\n"),
        good + "\n",
    ):
        assert of_gemini(text) is None, text
    lying = "Exit Code: 0\nBackground PIDs: 3\n"
    assert of_gemini(good.replace("x\n", f"{lying}Exit Code: 2\nBackground PIDs: 4\n")) == 2


def claude_line(**fields: Any) -> bytes:
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "ok", "is_error": False}
    details = {"stdout": "ok", "stderr": "", "interrupted": False}
    own = {name: value for name, value in fields.items() if name in result}
    more = {name: value for name, value in fields.items() if name not in result}
    record = {
        "type": "user",
        "message": {"content": [result | own]},
        "toolUseResult": details | more,
    }
    return json.dumps(record).encode() + b"\n"


def codex_line(**fields: Any) -> bytes:
    item = {"type": "CommandExecution", "id": "c1", "status": "completed", "exit_code": 0}
    return json.dumps({"type": "event_msg", "payload": {"item": item | fields}}).encode() + b"\n"


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_an_odd_transcript_says_nothing_and_costs_nothing(agent: str) -> None:
    good, status_in = (
        {"claude": claude_line, "codex": codex_line}[agent],
        adapter_named(agent).status_in,
    )
    assert status_in(good(), "c1") == 0
    odd = {
        "claude": [
            {"interrupted": True},
            {"interrupted": "no"},
            {"timedOutAfterMs": 5},
            {"is_error": None},
            {"is_error": True},
            {"is_error": True, "content": "Exit code 0"},
            {"is_error": True, "content": "Exit code "},
            {"is_error": True, "content": f"Exit code {'9' * 5000}"},
            {"is_error": True, "content": "The command ended with Exit code 1"},
            {"is_error": True, "content": [{"type": "text", "text": "Exit code 1"}]},
        ],
        "codex": [
            {"status": "inProgress"},
            {"status": "declined"},
            {"exit_code": None},
            {"exit_code": "0"},
            {"exit_code": True},
            {"type": "FileChange"},
        ],
    }[agent]
    for fields in cast("list[dict[str, Any]]", odd):
        assert status_in(good(**fields), "c1") is None, fields
    for tail in (
        b"",
        b'"c1"',
        b'{"a": "c1"',
        b'["c1"]\n',
        b'{"message": ["c1"], "payload": "c1"}\n' * 1000,
        b"[" * 100_000 + b'"c1"\n',
        b'"c1" \xff\xfe\n' * 100_000,
        b"\n" * 1_000_000,
        good()[7:],
    ):
        assert status_in(tail, "c1") is None, tail[:40]
    assert status_in(good() + b'"c1"', "c1") == 0
    assert status_in(good(), "c") is None
    for call in ("", "\n", '"', "\udcff", "c1\\"):
        assert status_in(good(), call) is None
