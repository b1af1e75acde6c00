"""Claude Code: what its hooks tell, and how its conversations are cut (recorded/claude)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from takeback.adapters import adapter_named
from takeback.adapters.claude import adapter
from takeback.model import event as events
from takeback.model.checkpoint import Anchor, NewSession, Resume
from takeback.model.event import AgentEvent, ToolCall

RECORDED = Path(__file__).parent / "recorded" / "claude"
NATIVE = "e3d0354f-9eb7-4885-8079-2aab217ce6aa"
PROJECT = "/home/dev/project"
TRANSCRIPT = f"/home/dev/.claude/projects/-home-dev-project/{NATIVE}.jsonl"
TITLE = "↶ turn 2: edit a.txt and clean up"

TURN_1 = [
    "create a.txt and b.txt",
    "Creating two files.",
    "Write",
    "Write",
    "result",
    "result",
    "Created a.txt and b.txt.",
]
TURN_2_ABANDONED = [
    "edit a.txt and clean up",
    "Reading.",
    "Read",
    "result",
    "Editing.",
    "Edit",
    "result",
    "Cleaning up.",
    "Bash",
    "result",
    "Edited a.txt, removed doomed.txt, made c.txt.",
]
TURN_2 = [
    "do it another way",
    "Working.",
    "Bash",
    "result",
    "(taken in) mind the spelling",
    "Minding it.",
    "Bash",
    "result",
    "Minded the spelling.",
]


class Recording:
    """One recorded session: its hook calls, and its transcript at any of them."""

    def __init__(self, name: str) -> None:
        self.whole = (RECORDED / f"{name}.jsonl").read_bytes()
        with open(RECORDED / f"{name}-hooks.jsonl", encoding="utf-8") as file:
            self.calls = [json.loads(line) for line in file]

    def events(self) -> list[tuple[AgentEvent | None, int]]:
        return [
            (adapter.parse(call["payload"], call["environ"]), call["size"] or 0)
            for call in self.calls
        ]

    def prompt(self, words: str) -> tuple[Anchor, bytes]:
        """Returns the place before a prompt, and the transcript when its hook was called."""
        for event, size in self.events():
            if event is not None and event.kind == events.PROMPT and event.prompt == words:
                return Anchor(True, event.turn, None, event.prompt), self.whole[:size]
        raise AssertionError(words)

    def end_of(self, words: str) -> tuple[Anchor, bytes]:
        """Returns the end of the turn that a prompt began, and the transcript at that hook."""
        turn = self.prompt(words)[0].turn
        for event, size in self.events():
            if event is not None and event.kind == events.TURN_END and event.turn == turn:
                return Anchor(False, event.turn), self.whole[:size]
        raise AssertionError(words)

    def before(self, words: str, later: bytes | None = None) -> bytes:
        anchor, held = self.prompt(words)
        return adapter.cut([held], anchor, [self.whole if later is None else later])

    def after(self, words: str, later: bytes | None = None) -> bytes:
        anchor, held = self.end_of(words)
        return adapter.cut([held], anchor, [self.whole if later is None else later])


TUI = Recording("tui-2.1.325")
HEADLESS = Recording("headless-2.1.197")


def records(history: bytes) -> list[dict[str, Any]]:
    assert history == b"" or history.endswith(b"\n")
    return [json.loads(line) for line in history.splitlines()]


def said(history: bytes) -> list[str]:
    """Returns the conversation in words: texts, tools by name, ``result`` for what one gave."""
    found = []
    for record in records(history):
        if record.get("attachment", {}).get("type") == "queued_command":
            found.append("(taken in) " + record["attachment"]["prompt"])
        if record["type"] not in ("user", "assistant"):
            continue
        content = record["message"]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            found.append(block.get("text") or block.get("name") or "result")
    return found


def entry(id_: str, parent: str | None, type_: str, text: str = "", **more: Any) -> bytes:
    """Returns a line as a transcript has it."""
    record = {"parentUuid": parent, "type": type_, "uuid": id_, "sessionId": NATIVE, **more}
    if type_ in ("user", "assistant"):
        record.setdefault("message", {"role": type_, "content": text})
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


ONE = entry("1", None, "user", "one", promptId="P1") + entry("2", "1", "assistant", "first")
TWO = entry("3", "2", "user", "two", promptId="P2") + entry("4", "3", "assistant", "second")


# -- what the hooks tell


def told(event: AgentEvent | None) -> str:
    if event is None:
        return "-"
    words: list[str] = [event.kind]
    words += [event.prompt.partition("\n")[0]] if event.prompt else []
    words += [
        f"{tool.name}/{tool.kind}" + "".join(f" {os.path.basename(path)}" for path in tool.paths)
        for tool in event.tools
    ]
    words += [event.reason] if event.reason else []
    flags = (
        ("nobody typed it", not event.human),
        ("in a subagent", event.subagent is not None),
        ("work goes on", event.background),
    )
    return ": ".join(words + [word for word, holds in flags if holds])


def test_a_session_in_the_terminal_is_understood_call_by_call() -> None:
    assert [
        f"{call['payload']['hook_event_name']} -> {told(event)}"
        for call, (event, _) in zip(TUI.calls, TUI.events(), strict=True)
    ] == [
        "SessionStart -> session_start: startup",
        "UserPromptSubmit -> prompt: create a.txt and b.txt",
        "PreToolUse -> tool_before: Write/edit a.txt",
        "PostToolUse -> -",
        "PreToolUse -> tool_before: Write/edit b.txt",
        "PostToolUse -> -",
        "PostToolBatch -> round_end: Write/edit a.txt: Write/edit b.txt",
        "Stop -> turn_end",
        "UserPromptSubmit -> prompt: edit a.txt and clean up",
        "PreToolUse -> -",
        "PostToolUse -> -",
        "PostToolBatch -> round_end: Read/read a.txt",
        "PreToolUse -> tool_before: Edit/edit a.txt",
        "PostToolUse -> -",
        "PostToolBatch -> round_end: Edit/edit a.txt",
        "PreToolUse -> tool_before: Bash/shell",
        "PostToolUse -> -",
        "PostToolBatch -> round_end: Bash/shell",
        "Stop -> turn_end",
        "UserPromptSubmit -> prompt: do it another way",
        "PreToolUse -> tool_before: Bash/shell",
        "UserPromptSubmit -> prompt: mind the spelling",
        "PostToolUse -> -",
        "PostToolBatch -> round_end: Bash/shell",
        "PreToolUse -> tool_before: Bash/shell",
        "PostToolUse -> -",
        "PostToolBatch -> round_end: Bash/shell",
        "Stop -> turn_end",
        "UserPromptSubmit -> prompt: let a subagent write d.txt",
        "PreToolUse -> tool_before: Agent/subagent",
        "SubagentStart -> -",
        "PostToolUse -> -",
        "PostToolBatch -> round_end: Agent/subagent",
        "Stop -> turn_end: work goes on",
        "PreToolUse -> tool_before: Bash/shell: in a subagent",
        "PostToolUse -> round_end: Bash/shell: in a subagent",
        "PostToolBatch -> round_end: Bash/shell: in a subagent",
        "SubagentStop -> round_end: in a subagent: work goes on",
        "UserPromptSubmit -> prompt: <task-notification>: nobody typed it",
        "Stop -> turn_end",
        "UserPromptSubmit -> prompt: wait for a long time",
        "PreToolUse -> tool_before: Bash/shell",
        "Stop -> turn_end",
        "UserPromptSubmit -> prompt: think slowly",
        "UserPromptSubmit -> prompt: then say hello",
        "Stop -> turn_end",
        "Stop -> turn_end",
        "PreCompact -> compact: manual",
        "SubagentStop -> round_end: in a subagent",
        "SubagentStop -> round_end: in a subagent",
        "SessionStart -> session_start: compact",
        "PostCompact -> -",
        "UserPromptSubmit -> prompt: say hello again",
        "Stop -> turn_end",
        "UserPromptSubmit -> prompt: fail, please",
        "StopFailure -> interrupted",
        "SessionEnd -> session_end: prompt_input_exit",
    ]


def test_an_older_version_tells_the_same() -> None:
    heard = [told(event) for event, _ in HEADLESS.events()]
    assert [one for one in heard if one != "-"] == [
        "session_start: startup",
        "prompt: create a.txt and b.txt",
        "tool_before: Write/edit a.txt",
        "tool_before: Write/edit b.txt",
        "round_end: Write/edit a.txt: Write/edit b.txt",
        "turn_end",
        "session_end: other",
        "session_start: resume",
        "prompt: edit a.txt and clean up",
        "round_end: Read/read a.txt",
        "tool_before: Edit/edit a.txt",
        "round_end: Edit/edit a.txt",
        "tool_before: Bash/shell",
        "round_end: Bash/shell",
        "turn_end",
        "session_end: other",
    ]


def test_every_event_names_its_session_and_where_it_is() -> None:
    for event, _ in TUI.events():
        if event is not None:
            assert (event.agent, event.session) == ("claude", NATIVE)
            assert (event.directory, event.transcript) == (PROJECT, TRANSCRIPT)
            assert event.process is not None


def test_a_prompt_and_all_that_it_causes_have_the_same_turn() -> None:
    turns = [event.turn for event, _ in TUI.events() if event is not None]
    assert turns[1:6] == [TUI.prompt("create a.txt and b.txt")[0].turn] * 5
    assert TUI.prompt("mind the spelling")[0].turn == TUI.prompt("do it another way")[0].turn


BASE = {"session_id": "s", "cwd": "/home/dev/sub", "transcript_path": "/t.jsonl"}


def parsed(name: str, environ: dict[str, str] | None = None, **more: Any) -> AgentEvent | None:
    return adapter.parse({**BASE, "hook_event_name": name, **more}, environ or {})


def test_the_project_directory_is_the_agents_and_not_where_a_tool_went() -> None:
    stop = parsed("Stop", {"CLAUDE_PROJECT_DIR": "/home/dev", "CLAUDE_PID": "4711"})
    assert stop is not None
    assert (stop.directory, stop.process) == ("/home/dev", 4711)
    bare = parsed("Stop", {"CLAUDE_PID": "?"})
    assert bare is not None
    assert (bare.directory, bare.process) == ("/home/dev/sub", None)


def test_an_end_that_a_stop_hook_held_up_continues_the_turn() -> None:
    stop = parsed("Stop", stop_hook_active=True, prompt_id="P1")
    assert stop == AgentEvent(
        kind=events.TURN_END,
        agent="claude",
        session="s",
        directory="/home/dev/sub",
        transcript="/t.jsonl",
        turn="P1",
        continues=True,
    )


@pytest.mark.parametrize(
    ("name", "given", "call"),
    [
        ("Write", {"file_path": "/w/a"}, ToolCall("Write", events.EDIT, ("/w/a",))),
        ("MultiEdit", {"file_path": "/w/a"}, ToolCall("MultiEdit", events.EDIT, ("/w/a",))),
        ("NotebookEdit", {"notebook_path": "n"}, ToolCall("NotebookEdit", events.EDIT, ("n",))),
        ("Edit", {"file_path": 7}, ToolCall("Edit", events.EDIT)),
        ("Bash", {"command": "rm x"}, ToolCall("Bash", events.SHELL, (), "rm x")),
        ("Task", {"prompt": "go"}, ToolCall("Task", events.SUBAGENT)),
        ("Grep", {"pattern": "x"}, ToolCall("Grep", events.READ)),
        ("mcp__files__write", {"path": "x"}, ToolCall("mcp__files__write", events.OTHER)),
    ],
)
def test_a_tool_is_told_by_what_it_does(name: str, given: Any, call: ToolCall) -> None:
    batch = parsed("PostToolBatch", tool_calls=[{"tool_name": name, "tool_input": given}])
    assert batch is not None
    assert batch.tools == (call,)
    before = parsed("PreToolUse", tool_name=name, tool_input=given)
    assert (before is not None) == (call.kind != events.READ)


def test_a_tool_of_the_main_conversation_is_told_once_with_its_batch() -> None:
    assert parsed("PostToolUse", tool_name="Bash", tool_input={}) is None
    assert parsed("PostToolUseFailure", tool_name="Bash", tool_input={}) is None
    failed = parsed("PostToolUseFailure", tool_name="Bash", tool_input={}, agent_id="a1")
    assert failed is not None
    assert (failed.kind, failed.subagent) == (events.ROUND_END, "a1")


def test_an_event_of_no_concern_is_passed_over() -> None:
    assert adapter.parse({"hook_event_name": "Notification"}, {}) is None
    assert adapter.parse({"hook_event_name": "OfNextYear", "tool_calls": 7}, {}) is None


@pytest.mark.parametrize(
    ("lacking", "missing"),
    [
        ({"session_id": "s", "cwd": "/w"}, "hook_event_name"),
        ({"hook_event_name": "Stop", "cwd": "/w"}, "session_id"),
        ({"hook_event_name": "Stop", "session_id": "s"}, "cwd"),
        ({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/w"}, "tool_name"),
    ],
)
def test_a_payload_that_lacks_what_it_must_have_is_refused(
    lacking: dict[str, str], missing: str
) -> None:
    with pytest.raises(ValueError, match=f"has no {missing}"):
        adapter.parse(lacking, {})


# -- the conversation before a prompt


def test_before_the_first_turn_there_is_no_conversation() -> None:
    assert TUI.prompt("create a.txt and b.txt")[1] == b""
    assert TUI.before("create a.txt and b.txt") == b""


def test_before_turn_2_there_is_exactly_turn_1() -> None:
    _, held = TUI.prompt("edit a.txt and clean up")
    history = TUI.before("edit a.txt and clean up")
    assert said(history) == TURN_1
    assert entries(history) == entries(held)


def entries(data: bytes) -> list[bytes]:
    """Returns the lines that are of the conversation, byte for byte."""
    return [line for line in data.splitlines() if "uuid" in json.loads(line)]


def test_an_older_versions_conversation_is_cut_alike() -> None:
    assert said(HEADLESS.before("edit a.txt and clean up")) == TURN_1
    assert said(HEADLESS.after("edit a.txt and clean up")) == TURN_1 + TURN_2_ABANDONED


def test_results_of_calls_made_side_by_side_are_all_kept() -> None:
    kept = records(TUI.before("edit a.txt and clean up"))
    calls = {block["id"] for r in kept for block in blocks(r) if block["type"] == "tool_use"}
    results = {b["tool_use_id"] for r in kept for b in blocks(r) if b["type"] == "tool_result"}
    assert len(calls) == 2
    assert results == calls


def blocks(record: dict[str, Any]) -> list[dict[str, Any]]:
    content = record.get("message", {}).get("content", [])
    return content if isinstance(content, list) else []


def test_what_hooks_noted_on_a_result_beside_the_line_stays_with_it() -> None:
    message = {"id": "m", "role": "assistant"}
    calls = [
        entry("c1", "1", "assistant", message={**message, "content": [call("t1")]}),
        entry("c2", "c1", "assistant", message={**message, "content": [call("t2")]}),
    ]
    results = [
        entry("r1", "c1", "user", message={"content": [result("t1")]}),
        entry("h1", "r1", "attachment", attachment={"type": "hook_success"}),
        entry("r2", "c2", "user", message={"content": [result("t2")]}),
        entry("h2", "r2", "attachment", attachment={"type": "hook_success"}),
    ]
    held = entry("1", None, "user", "one") + b"".join(calls + results)
    prompt = entry("p", "h2", "user", "two", promptId="P2")
    assert adapter.cut([held], Anchor(True, "P2", None, "two"), [held + prompt]) == held


def call(id_: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "Bash", "input": {}}


def result(id_: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": "done"}


def test_a_turn_that_was_abandoned_is_left_out() -> None:
    anchor, held = TUI.prompt("do it another way")
    assert b"edit a.txt and clean up" in held
    assert said(TUI.before("do it another way")) == TURN_1
    assert said(TUI.before("let a subagent write d.txt")) == TURN_1 + TURN_2
    # Only the prompt's own line tells that; where it is not known, the file's end is believed.
    assert said(adapter.cut([held], anchor, [])) == TURN_1 + TURN_2_ABANDONED


def test_which_turns_a_turn_follows_is_told_where_claude_had_gone_back() -> None:
    turn_of = {
        event.prompt: event.turn
        for event, _ in TUI.events()
        if event is not None and event.kind == events.PROMPT and event.turn is not None
    }
    another = turn_of["do it another way"]
    assert another is not None
    followed = adapter.follows(TUI.whole, another)
    assert followed[0] == turn_of[TURN_1[0]]
    assert turn_of[TURN_2_ABANDONED[0]] not in followed
    others = {one for one in turn_of.values() if one not in (None, another)}
    assert [adapter.follows(TUI.whole, one) for one in others if one] == [()] * len(others)


@pytest.mark.parametrize(
    "lines",
    [
        b"",
        b"[]\n{\n\xff\n",
        entry("1", "1", "user", promptId="P1"),
        entry("1", "2", "user", promptId="P2") + entry("2", "1", "user", promptId="P1"),
        entry("2", "gone", "user", promptId="P1"),
        entry("1", None, "user", promptId="P0") + b'{"parentUuid":["P1"],"promptId":"P1"}\n',
    ],
)
def test_what_a_turn_follows_is_not_known_where_a_transcript_was_tampered_with(
    lines: bytes,
) -> None:
    assert adapter.follows(lines, "P1") in ((), ("",))


def test_a_conversation_rewound_to_its_beginning_is_empty() -> None:
    again = entry("5", None, "user", "one again", promptId="P3")
    assert adapter.cut([ONE], Anchor(True, "P3", None, "one again"), [ONE + again]) == b""


def test_what_the_agent_noted_before_anybody_spoke_is_no_conversation() -> None:
    held = entry("0", None, "attachment", attachment={"type": "hook_additional_context"})
    prompt = entry("1", "0", "user", "one", promptId="P1")
    assert adapter.cut([held], Anchor(True, "P1", None, "one"), [held + prompt]) == b""


def test_before_a_prompt_typed_into_a_running_turn_its_call_has_no_result_yet() -> None:
    history = TUI.before("mind the spelling")
    assert said(history) == [*TURN_1, "do it another way", "Working.", "Bash"]


def test_a_prompt_typed_during_the_last_answer_follows_that_answer() -> None:
    assert said(TUI.before("then say hello"))[-3:] == ["end", "think slowly", "I have thought."]


def test_a_prompt_that_was_refused_follows_the_last_entry() -> None:
    refused = Anchor(True, "P9", None, "never sent")
    assert adapter.cut([ONE + TWO], refused, [ONE + TWO]) == ONE + TWO


def test_the_same_words_twice_are_told_apart_by_their_turn() -> None:
    again = entry("5", "4", "user", "one", promptId="P3")
    later = ONE + TWO + again
    assert adapter.cut([ONE + TWO], Anchor(True, "P3", None, "one"), [later]) == ONE + TWO
    assert adapter.cut([b""], Anchor(True, "P1", None, "one"), [later]) == b""


def test_a_prompt_that_the_agent_rewrote_is_found_by_its_turn() -> None:
    command = entry("3", "2", "user", "<command-name>/fix</command-name>", promptId="P2")
    assert adapter.cut([ONE], Anchor(True, "P2", None, "/fix"), [ONE + command]) == ONE


def test_a_prompt_that_is_in_the_file_already_is_not_part_of_what_is_before_it() -> None:
    assert adapter.cut([ONE + TWO], Anchor(True, "P2", None, "two"), [ONE + TWO]) == ONE


# -- the conversation at an end


def test_at_a_turns_end_its_answer_is_taken_from_what_was_written_later() -> None:
    for recording in (TUI, HEADLESS):
        anchor, held = recording.end_of("create a.txt and b.txt")
        assert b"Created a.txt and b.txt." not in held
        assert said(recording.after("create a.txt and b.txt")) == TURN_1
        assert said(adapter.cut([held], anchor, [])) == TURN_1[:-1]


def test_at_the_end_of_the_file_everything_but_the_abandoned_is_there() -> None:
    spoken = said(adapter.cut([TUI.whole], Anchor(False), []))
    assert spoken[: len(TURN_1 + TURN_2)] == TURN_1 + TURN_2
    assert spoken[-2:] == ["fail, please", "API Error: 400 scripted failure"]


def test_the_end_of_a_turn_holds_neither_what_was_typed_nor_what_was_done_after_it() -> None:
    assert said(TUI.after("do it another way")) == TURN_1 + TURN_2
    assert said(TUI.after("let a subagent write d.txt"))[-1] == "A subagent writes d.txt."


def test_at_the_end_of_a_round_its_results_are_there_and_the_next_round_is_not() -> None:
    rounds = [
        said(adapter.cut([TUI.whole[:size]], Anchor(False, event.turn), [TUI.whole]))[-1:]
        for event, size in TUI.events()
        if event is not None and event.kind == events.ROUND_END and event.subagent is None
    ]
    # After the last round of a turn there is only its answer, which changes no file.
    assert rounds == [
        ["Created a.txt and b.txt."],
        ["result"],
        ["result"],
        ["Edited a.txt, removed doomed.txt, made c.txt."],
        ["result"],
        ["Minded the spelling."],
        ["A subagent writes d.txt."],
    ]


def test_a_command_typed_after_a_turn_is_no_part_of_it_though_it_has_its_id() -> None:
    shell = entry("3", "2", "user", "<bash-input>ls</bash-input>", promptId="P1")
    assert adapter.cut([ONE], Anchor(False, "P1"), [ONE + shell]) == ONE


def test_an_entry_that_the_agent_stood_at_is_believed() -> None:
    assert adapter.cut([ONE + TWO], Anchor(True, "P9", "2"), []) == ONE
    with pytest.raises(ValueError, match="has no entry nowhere"):
        adapter.cut([ONE + TWO], Anchor(False, None, "nowhere"), [])


# -- compactions


def test_after_a_compaction_the_summary_and_all_that_it_stands_for_are_kept() -> None:
    history = TUI.before("say hello again")
    spoken = said(history)
    assert spoken[: len(TURN_1 + TURN_2)] == TURN_1 + TURN_2
    assert any(text.startswith("This session is being continued") for text in spoken)
    kept = {record.get("uuid") for record in records(history)}
    (boundary,) = (r for r in records(history) if r.get("subtype") == "compact_boundary")
    carried = boundary["compactMetadata"]["preservedMessages"]["uuids"]
    assert boundary["parentUuid"] is None
    assert set(carried) <= kept


def test_before_a_compaction_there_is_no_summary() -> None:
    history = TUI.after("think slowly")
    assert not any(record.get("subtype") == "compact_boundary" for record in records(history))


# -- lines that are not as they should be


def test_a_torn_last_line_is_dropped() -> None:
    torn = ONE + TWO[:40]
    assert adapter.cut([torn], Anchor(False), []) == ONE
    assert adapter.cut([ONE[:-1]], Anchor(False), []) == ONE


def test_a_damaged_line_stays_where_it_was_and_stops_nothing() -> None:
    held = ONE + b"not json\n[1]\n" + TWO + b"\0\0\0\n"
    assert adapter.cut([held], Anchor(False), []) == ONE + b"not json\n[1]\n" + TWO
    new = renewed(ONE + b"not json\n")
    assert b"\nnot json\n" in new.data


def test_an_entry_whose_parent_is_damaged_follows_the_one_written_before() -> None:
    lost = ONE + b'{"parentUuid":"2","uuid":"3","ty\n'
    held = lost + entry("4", "3", "assistant", "second")
    assert adapter.cut([held], Anchor(False), []) == held


@pytest.mark.parametrize(
    "odd",
    [
        {"parentUuid": "2", "uuid": "x", "type": "user"},
        {"parentUuid": "2", "uuid": "x", "type": "user", "message": 7},
        {"parentUuid": "2", "uuid": "x", "type": "assistant", "message": {"content": [7, {}]}},
        {"parentUuid": "2", "uuid": "x", "type": 7, "attachment": [], "compactMetadata": []},
        {"parentUuid": 7, "uuid": "x", "type": "user", "message": {"content": [{"text": 7}]}},
        {"parentUuid": "x", "uuid": "x", "type": "user", "message": {"content": "myself"}},
    ],
)
def test_an_entry_of_an_unknown_shape_is_kept_and_read_without_an_error(odd: Any) -> None:
    line = json.dumps(odd).encode()
    held = ONE + line + b"\n"
    assert adapter.cut([held], Anchor(False), []).splitlines()[-1] == line
    adapter.cut([ONE], Anchor(True, "P2", None, "two"), [held])
    adapter.cut([ONE], Anchor(False, "P1"), [held])
    adapter.is_over(held, "P1")


def test_a_subagents_entries_are_not_of_the_conversation() -> None:
    side = entry("s", "2", "assistant", "aside", isSidechain=True)
    assert adapter.cut([ONE + side], Anchor(False), []) == ONE


def test_lines_that_speak_of_what_was_cut_off_or_of_the_old_file_are_left_out() -> None:
    kinds = {record["type"] for record in records(TUI.before("do it another way"))}
    assert kinds == {
        "assistant",
        "atis-latch",
        "attachment",
        "mode",
        "permission-mode",
        "system",
        "tools-used",
        "user",
    }
    held = ONE + b"".join(
        json.dumps({"type": "summary", "summary": "s", "leafUuid": leaf}).encode() + b"\n"
        for leaf in ("2", "4")
    )
    history = adapter.cut([held + TWO], Anchor(True, "P2", None, "two"), [])
    assert [r["leafUuid"] for r in records(history) if r["type"] == "summary"] == ["2"]


# -- the new session


def renewed(history: bytes, title: str = TITLE) -> NewSession:
    return adapter.new_session(
        history, native=NATIVE, transcript=TRANSCRIPT, title=title, now=1794746250.0
    )


def test_a_new_session_lies_beside_the_old_one_under_an_id_of_its_own() -> None:
    new = renewed(TUI.before("edit a.txt and clean up"))
    assert [len(part) for part in new.native.split("-")] == [8, 4, 4, 4, 12]
    assert new.path == TRANSCRIPT.replace(NATIVE, new.native)
    assert renewed(b"").native != new.native


def test_every_line_has_the_new_id_and_nothing_else_has_changed() -> None:
    history = TUI.before("say hello again")
    new = renewed(history)
    lines = records(new.data)
    assert {line["sessionId"] for line in lines} == {new.native}
    assert {line["session_id"] for line in lines if "session_id" in line} == {new.native}
    back = [
        {k: NATIVE if k in ("sessionId", "session_id") else v for k, v in line.items()}
        for line in lines[:-1]
    ]
    assert back == records(history)


def test_words_that_name_the_old_id_stay_because_its_files_lie_there() -> None:
    output = f"saved to /home/dev/.claude/projects/p/{NATIVE}/tool-results/x.txt"
    new = renewed(entry("1", None, "user", output))
    assert said(new.data) == [output]


def test_the_new_session_has_a_title() -> None:
    new = renewed(ONE)
    assert records(new.data)[-1] == {
        "type": "custom-title",
        "customTitle": TITLE,
        "sessionId": new.native,
    }


def test_the_same_history_gives_the_same_bytes_but_for_the_id() -> None:
    one, two = renewed(ONE), renewed(ONE)
    assert one.native != two.native
    assert one.data.replace(one.native.encode(), b"") == two.data.replace(two.native.encode(), b"")


def test_text_in_any_script_and_half_a_surrogate_survive() -> None:
    odd = entry("1", None, "user", "grüße ↶ 🙂") + b'{"parentUuid":"1","uuid":"2","x":"\\ud83d"}\n'
    new = renewed(odd)
    assert "grüße ↶ 🙂".encode() in new.data
    assert records(new.data)[1]["x"] == "\ud83d"


def test_the_copy_of_a_background_session_is_not_one() -> None:
    new = renewed(entry("1", None, "user", "one", sessionKind="bg"))
    assert "sessionKind" not in records(new.data)[0]


# -- going on, and the rest


def test_a_person_goes_on_by_a_command_or_inside_the_agent() -> None:
    new = "0f1e2d3c-4b5a-4678-9abc-def012345678"
    assert adapter.resume(new, PROJECT) == Resume(
        ("claude", f"--resume={new}"), PROJECT, f"/resume {new}"
    )
    assert adapter.start(PROJECT) == Resume(("claude",), PROJECT)


def test_the_adapter_is_found_by_its_name() -> None:
    assert adapter_named("claude") is adapter
    assert adapter.transcript_files("/t.jsonl") == ("/t.jsonl",)


def test_a_turn_ended_by_esc_is_seen_in_the_transcript() -> None:
    waiting = TUI.prompt("wait for a long time")[0].turn
    mark = b"[Request interrupted by user for tool use]"
    end = TUI.whole.index(b"\n", TUI.whole.index(mark)) + 1
    for tail in (TUI.whole[:end], TUI.whole[end - 3000 : end + 300]):
        assert adapter.is_over(tail, waiting)
        assert adapter.is_over(tail, None)
        assert not adapter.is_over(tail, "another")
    assert not adapter.is_over(TUI.whole[: end - 700], waiting)
    assert not adapter.is_over(TUI.whole, waiting)
    assert not adapter.is_over(b"", waiting)


def test_esc_during_an_answer_is_seen_too() -> None:
    mark = {"content": [{"type": "text", "text": "[Request interrupted by user]"}]}
    stopped = ONE + entry("3", "2", "user", message=mark, promptId="P1")
    assert adapter.is_over(stopped, "P1")


def test_a_note_is_what_the_prompt_hook_may_say_to_the_model() -> None:
    assert json.loads(adapter.note('{"a": "↶"}')) == {
        "hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit",
            "additionalContext": '{"a": "↶"}',
        }
    }


def test_a_hook_does_not_pay_for_the_reading_of_conversations() -> None:
    slow = ("json", "re", "typing", "uuid", "pathlib", "takeback.adapters.claude.conversation")
    program = f"""
import sys
from takeback.adapters import adapter_named
adapter_named("claude").parse({{"hook_event_name": "Stop", "session_id": "s", "cwd": "/"}}, {{}})
print([name for name in {slow} if name in sys.modules])
"""
    source = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-I",
            "-c",
            f"import sys; sys.path.insert(0, {str(source)!r})\n{program}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
