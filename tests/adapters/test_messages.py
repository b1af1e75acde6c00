"""Recorded conversations of every agent, as a person reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from takeback.adapters import adapter_named, message_reader
from takeback.adapters.telling import Telling, input_text, moment
from takeback.model.agent import LONGEST_TEXT, TOOL, USER, Message, ToolUse
from takeback.model.checkpoint import Anchor

RECORDED = Path(__file__).parent / "recorded"
PI = "01a1df6f-aa4c-748d-8d00-31224fbe8afa"
CODEX = "rollout-2026-11-15T12-25-00-01a1df2b-0420-78a1-860a-be5a27fc401a"


def read(agent: str, data: bytes) -> list[Message]:
    reader = message_reader(agent)
    assert reader is not None
    return list(reader(data))


def said(agent: str, file: str, anchor: Anchor | None = None) -> list[str]:
    data = (RECORDED / agent / file).read_bytes()
    history = adapter_named(agent).cut([data], anchor or Anchor(before=False), [data])
    found = []
    for one in read(agent, history):
        words = one.text[:40].replace("\n", " ")
        if one.tool is not None:
            words = f"{one.tool.name}: {one.tool.input[:40]}{' !' * one.tool.failed}"
        found.append(f"{one.role}: {words}")
    return found


def test_claude() -> None:
    assert said("claude", "tui-2.1.325.jsonl") == snapshot(
        [
            "user: create a.txt and b.txt",
            "assistant: Creating two files.",
            "tool: Write: /home/dev/project/a.txt",
            "tool: Write: /home/dev/project/b.txt",
            "assistant: Created a.txt and b.txt.",
            "user: do it another way",
            "assistant: Working.",
            "tool: Bash: echo early > early.txt; sleep 4; echo la",
            "user: mind the spelling",
            "assistant: Minding it.",
            "tool: Bash: echo spelled > spelled.txt",
            "assistant: Minded the spelling.",
            "user: let a subagent write d.txt",
            "assistant: Delegating.",
            "tool: Agent: SUB-JOB: write d.txt",
            "assistant: A subagent writes d.txt.",
            "system: <task-notification> <task-id>a15a1ca68df",
            "assistant: d.txt is there.",
            "user: wait for a long time",
            "assistant: Waiting.",
            "tool: Bash: echo begun > begun.txt; sleep 30; echo n !",
            "system: Interrupted by the person.",
            "user: !echo hi > bang.txt",
            "assistant: end",
            "user: think slowly",
            "assistant: I have thought.",
            "user: then say hello",
            "assistant: Hello.",
            "system: This session is being continued from a p",
            "user: /compact",
            "user: say hello again",
            "assistant: Hello.",
            "user: fail, please",
            "assistant: API Error: 400 scripted failure",
        ]
    )


def test_codex() -> None:
    assert said("codex", f"sessions/2026/11/15/{CODEX}.jsonl") == snapshot(
        [
            "user: TURN-ONE create files",
            "assistant: Creating two files.",
            "tool: exec_command: printf 'alpha\\n' > a.txt; printf 'beta\\n",
            "assistant: Created a.txt and b.txt.",
            "user: TURN-TWO edit",
            "assistant: Editing.",
            "tool: apply_patch: *** Begin Patch *** Update File: a.txt @",
            "assistant: Shell.",
            "tool: exec_command: rm doomed.txt b.txt && echo made > c.txt",
            "assistant: Edited a.txt, removed two files, made c.",
            "user: LONG job",
            "assistant: Sleeping.",
            "tool: exec_command: echo s1 > s1.txt; sleep 4",
            "user: STEERED now",
            "assistant: Steered.",
            "tool: exec_command: echo st > st.txt",
            "assistant: Steer done.",
            "user: SLOW now",
            "assistant: One.",
            "tool: exec_command: echo x > early.txt",
            "system: Interrupted by the person.",
        ]
    )


def test_gemini() -> None:
    assert said("gemini", "chats/session-2026-11-15T12-42-3456d4c0.jsonl") == snapshot(
        [
            "user: TURN-ONE create files",
            "assistant: Creating two files.",
            "assistant: Created a.txt and b.txt.",
            "user: SPAWN go",
            "assistant: Spawning.",
            "tool: invoke_agent: CHILDTASK make child.txt",
            "assistant: Spawned.",
        ]
    )


def test_opencode() -> None:
    assert said("opencode", "lines.jsonl")[:24] == snapshot(
        [
            "user: ONE create",
            "assistant: Creating.",
            "tool: write: /home/dev/project/a.txt",
            "tool: write: /home/dev/project/b.txt",
            "assistant: Created.",
            "user: TWO edit",
            "assistant: Reading.",
            "tool: read: /home/dev/project/a.txt",
            "assistant: Editing.",
            "tool: edit: /home/dev/project/a.txt",
            "assistant: Shell.",
            "tool: bash: rm doomed.txt b.txt && echo made > c.txt",
            "assistant: Done two.",
            "user: THREE slow",
            "assistant: Slow.",
            "tool: bash: sleep 4; echo slow > slow.txt",
            "user: STEER now",
            "assistant: Steered.",
            "tool: bash: echo s > steer.txt",
            "assistant: Done steer.",
            "user: SUBAGENT go",
            "assistant: Task.",
            "tool: task: INNER make d",
            "assistant: Sub done.",
        ]
    )


def test_pi_is_read_along_one_branch() -> None:
    file = f"sessions/2026-11-15T13-39-59-693Z_{PI}.jsonl"
    assert said("pi", file) == snapshot(
        [
            "user: TURN-ONE create",
            "assistant: Creating.",
            "tool: write: a.txt",
            "tool: write: b.txt",
            "system: The user explored a different conversati",
            "user: TURN-FOUR after the summary",
            "assistant: Nothing to do.",
        ]
    )
    assert said("pi", file, Anchor(before=False, leaf="b7e3f186")) == snapshot(
        [
            "user: TURN-ONE create",
            "assistant: Creating.",
            "tool: write: a.txt",
            "tool: write: b.txt",
            "assistant: Created a.txt and b.txt.",
            "user: TURN-THREE more",
            "tool: bash: mkdir sub && mv c.txt sub/d.txt && chmod !",
            "assistant: Moved one.",
            "user: LONG work",
            "assistant: Waiting.",
            "tool: bash: sleep 1; echo 1 > one.txt",
            "user: STEER it",
            "tool: bash: echo 2 > two.txt; sleep 30 !",
            "system: This operation was aborted",
            "system: ok  ---  **Turn Context (split turn):** ",
        ]
    )


def test_a_transcript_of_any_program_is_read_if_it_has_roles() -> None:
    lines = (
        {
            "role": "user",
            "content": [{"type": "text", "text": "a"}],
            "time": "2026-11-15T12:00:00Z",
        },
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "sh"}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "1", "is_error": True}],
        },
        {"role": "assistant", "content": "b"},
        {"turn": "of another form"},
    )
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert read("somebody's own", data) == [
        Message(USER, "a", 1_794_744_000.0),
        Message(TOOL, "", tool=ToolUse("sh", "", failed=True)),
        Message("assistant", "b"),
    ]


def test_what_is_long_is_cut_and_what_is_too_long_is_named() -> None:
    text, huge = "x" * (LONGEST_TEXT + 1), "x" * (1 << 24)
    data = b"".join(
        json.dumps({"role": "user", "content": one}).encode() + b"\n" for one in (text, huge, "c")
    )
    first, second, third = read("generic", data)
    assert (len(first.text), first.cut) == (LONGEST_TEXT, True)
    assert (second.role, second.text) == ("system", "(an entry of 16 MB is not shown)")
    assert (third.text, third.cut) == ("c", False)


def test_what_frameworks_keep_is_read() -> None:
    """The items of openai-agents, a line each; the messages of pydantic-ai, a list of them."""
    call = {"type": "function_call", "call_id": "1", "name": "write", "arguments": '{"path": "a"}'}
    items = [
        {"role": "user", "content": "write a"},
        call,
        {"type": "function_call_output", "call_id": "1", "output": "written"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ]
    parts = [
        {"part_kind": "system-prompt", "content": "Be brief."},
        {"part_kind": "user-prompt", "content": ["write a", {"kind": "image-url"}, "please"]},
    ]
    calls = [
        {"part_kind": "tool-call", "tool_name": "write", "args": {"path": name}, "tool_call_id": id}
        for id, name in (("1", "a"), ("2", "b"))
    ]
    returns = [
        {"part_kind": "tool-return", "tool_call_id": "1", "content": "written"},
        {"part_kind": "retry-prompt", "tool_call_id": "2", "content": "there is no b"},
    ]
    listed = [
        {"kind": "request", "parts": parts},
        {"kind": "response", "parts": calls},
        {"kind": "request", "parts": returns},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "done"}]},
        {"kind": "response", "parts": [3, {"part_kind": []}, {"part_kind": "text"}, {}]},
    ]
    lines = b"".join(json.dumps(item).encode() + b"\n" for item in items)
    assert [(one.role, one.text, one.tool) for one in read("generic", lines)] == [
        ("user", "write a", None),
        ("tool", "", ToolUse("write", "a")),
        ("assistant", "done", None),
    ]
    assert [
        (one.role, one.text, one.tool) for one in read("generic", json.dumps(listed).encode())
    ] == [
        ("system", "Be brief.", None),
        ("user", "write a\nplease", None),
        ("tool", "", ToolUse("write", "a")),
        ("tool", "", ToolUse("write", "b", failed=True)),
        ("assistant", "done", None),
    ]


def test_calls_without_results_hold_back_a_bounded_number_of_messages() -> None:
    telling = Telling()
    given = 0
    for number in range(5000):
        telling.call(str(number), Message(TOOL, "", tool=ToolUse("sh", "")))
        given += len(list(telling.ready()))
        assert number - given < 1001
    telling.answer("0", failed=True)  # long gone
    assert given + len(list(telling.ready(end=True))) == 5000


def test_lines_whose_parents_are_lost_cost_no_more_than_others() -> None:
    """Each used to copy all lines before it: five seconds for this many."""
    line = '{{"type":"user","uuid":"u{0}","parentUuid":"lost{0}","message":{{"content":"p"}}}}\n'
    data = "".join(line.format(number) for number in range(30_000)).encode()
    history = adapter_named("claude").cut([data], Anchor(before=False), [])
    assert len(read("claude", history)) == 30_000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"command": "a\n b", "description": "d"}, "a b"),
        ('{"cmd": "ls"}', "ls"),
        ("*** Begin\nPatch", "*** Begin Patch"),
        ({"x": [1]}, '{"x": [1]}'),
        ({}, ""),
        ("{" * 100_000, "{" * 1600),
        (None, ""),
    ],
)
def test_the_input_of_a_tool_is_one_short_line(value: object, text: str) -> None:
    assert input_text(value) == text


def test_times_are_read_in_any_form_and_no_calendar_is_broken() -> None:
    noon = 1_794_744_000.0
    assert [moment(one) for one in ("2026-11-15T12:00:00Z", noon, noon * 1000)] == [noon] * 3
    odd: list[object] = [None, True, "", "soon", "x" * 10_000, float("nan"), 1e300, 10**400, []]
    assert [moment(one) for one in odd] == [None] * len(odd)
