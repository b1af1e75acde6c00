"""The Gemini CLI adapter, against sessions that it wrote itself (recorded/gemini/README.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from takeback.adapters.gemini import adapter
from takeback.model import event as events
from takeback.model.checkpoint import Anchor, NewSession
from takeback.model.event import AgentEvent, ToolCall

RECORDED = Path(__file__).parent / "recorded" / "gemini"
SESSION = "d5eff84b-a7ac-4867-9bef-7922f7e81395"
CHATS = "/home/dev/.gemini/tmp/repo/chats"
NOW = 1794746700.25
END = Anchor(before=False)


class Told:
    """One hook call: what it was given, and what the transcript held at that moment."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.payload: dict[str, Any] = row["payload"]
        self.size: int = row["size"]

    @property
    def name(self) -> str:
        return str(self.payload["hook_event_name"])

    @property
    def event(self) -> AgentEvent | None:
        return adapter.parse(self.payload, {})

    @property
    def files(self) -> tuple[str, ...]:
        path = self.payload["transcript_path"].replace(CHATS, str(RECORDED / "chats"))
        return adapter.transcript_files(path)

    @property
    def parts(self) -> list[bytes]:
        *older, newest = (Path(file).read_bytes() for file in self.files)
        return [*older, newest[: self.size]]

    @property
    def history(self) -> bytes:
        before = self.name == "BeforeAgent"
        return adapter.cut(self.parts, Anchor(before=before, prompt=self.payload.get("prompt")), ())


def told(session: str = "terminal") -> list[Told]:
    lines = (RECORDED / f"{session}.jsonl").read_text().splitlines()
    return [Told(json.loads(line)) for line in lines]


def at(prompt: str, session: str = "terminal") -> Told:
    """Returns the prompt hook's call for a prompt."""
    return next(one for one in told(session) if one.payload.get("prompt", "").startswith(prompt))


def as_new(history: bytes, title: str = "↶ turn 2: edit") -> NewSession:
    return adapter.new_session(
        history, native=SESSION, transcript=f"{CHATS}/session-old.jsonl", title=title, now=NOW
    )


def records(history: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in history.splitlines()]


def messages(history: bytes) -> list[dict[str, Any]]:
    """Returns every message that a history holds, whether or not a later line replaces it."""
    found: list[dict[str, Any]] = []
    for record in records(history):
        found += [record] if "id" in record else record.get("$set", {}).get("messages", [])
    return found


def prompts(history: bytes) -> list[str]:
    """Returns the first words of what was typed, in the order of the history."""
    texts = [
        part["text"]
        for message in messages(history)
        if message["type"] == "user"
        for part in message["content"]
        if "text" in part
    ]
    return [text.split()[0] for text in texts if not text.startswith("<session_context>")]


def line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def message(name: str, text: str, kind: Any = "user") -> dict[str, Any]:
    return {"id": name, "type": kind, "content": [{"text": text}]}


HEADER = line({"sessionId": "s", "projectHash": "h", "kind": "main"})


# What the hooks say


def test_each_hook_of_a_session_becomes_its_event() -> None:
    heard = {(one.name, None if one.event is None else one.event.kind) for one in told()}
    assert heard == {
        ("SessionStart", events.SESSION_START),
        ("BeforeAgent", events.PROMPT),
        ("PreCompress", None),
        ("BeforeModel", None),
        ("BeforeTool", events.TOOL_BEFORE),
        ("BeforeTool", None),
        ("AfterTool", events.ROUND_END),
        ("AfterAgent", events.TURN_END),
        ("SessionEnd", events.SESSION_END),
    }


def test_a_prompt_has_its_words_directory_and_transcript() -> None:
    assert at("TURN-ONE").event == AgentEvent(
        kind=events.PROMPT,
        agent="gemini",
        session=SESSION,
        directory="/home/dev/repo",
        transcript=f"{CHATS}/session-2026-11-15T12-42-d5eff84b.jsonl",
        prompt="TURN-ONE create files",
    )


def test_the_project_directory_is_the_one_that_gemini_was_started_for() -> None:
    payload = {**at("TURN-ONE").payload, "cwd": "/home/dev/repo/deep"}
    event = adapter.parse(payload, {"GEMINI_PROJECT_DIR": "/home/dev/repo"})
    assert event is not None
    assert event.directory == "/home/dev/repo"


def test_a_prompt_that_gemini_sends_itself_is_nobodys() -> None:
    nudge = (
        "[System: You successfully executed a tool but returned an empty response. "
        "Please analyze the tool output and explain your progress or final answer.]"
    )
    for prompt, human in ((nudge, False), ("[System: You", True), ("[urgent] fix it]", True)):
        event = adapter.parse({**at("TURN-ONE").payload, "prompt": prompt}, {})
        assert event is not None
        assert event.human is human


def test_a_start_and_an_end_tell_why() -> None:
    heard = [one.event for one in told() if one.name.startswith("Session")]
    assert [event.reason for event in heard if event is not None] == [
        "startup",
        "exit",
        "exit",
        "exit",
        "resume",
        "exit",
    ]


def shell(command: str, status: int | None) -> ToolCall:
    return ToolCall("run_shell_command", events.SHELL, (), command, status)


def test_the_tools_of_each_round() -> None:
    rounds = [one.event for one in told() if one.name == "AfterTool"]
    assert [tool for event in rounds if event is not None for tool in event.tools] == [
        ToolCall("write_file", events.EDIT, ("/home/dev/repo/a.txt",)),
        shell("echo beta > b.txt; echo $GEMINI_SESSION_ID", 0),
        ToolCall("read_file", events.READ),
        ToolCall("replace", events.EDIT, ("/home/dev/repo/a.txt",)),
        shell("rm doomed.txt b.txt && echo made > c.txt", 0),
        shell("echo s1 > s1.txt; sleep 5", None),  # ended by Esc
    ]


def test_only_before_an_edit_are_files_told() -> None:
    tools = [one.event for one in told() if one.name == "BeforeTool"]
    assert [event.tools[0].name for event in tools if event is not None] == [
        "write_file",
        "replace",
    ]


def test_what_a_subagent_does_is_told_in_the_session_that_started_it() -> None:
    *_, ran, agent = (one.event for one in told("headless") if one.name == "AfterTool")
    assert ran is not None
    assert agent is not None
    assert ran.tools == (shell("echo child > child.txt", 0),)
    assert agent.tools == (ToolCall("invoke_agent", events.SUBAGENT),)
    assert (ran.session, ran.transcript) == (agent.session, agent.transcript)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("list_directory", events.READ),
        ("glob", events.READ),
        ("grep_search", events.READ),
        ("search_file_content", events.READ),
        ("write_todos", events.OTHER),
        ("mcp_db_query", events.OTHER),
    ],
)
def test_kinds_of_tools(name: str, kind: Any) -> None:
    payload = {"hook_event_name": "AfterTool", "session_id": "s", "cwd": "/p", "tool_name": name}
    event = adapter.parse(payload, {})
    assert event is not None
    assert event.tools == (ToolCall(name, kind),)


def test_an_end_after_another_end_continues_the_turn() -> None:
    end = next(one for one in told() if one.name == "AfterAgent").payload
    for active in (False, True):
        event = adapter.parse({**end, "stop_hook_active": active}, {})
        assert event is not None
        assert event.continues is active


@pytest.mark.parametrize("field", ["hook_event_name", "session_id", "cwd"])
def test_a_payload_that_lacks_what_it_must_have(field: str) -> None:
    payload = {k: v for k, v in at("TURN-ONE").payload.items() if k != field}
    with pytest.raises(ValueError, match=field):
        adapter.parse(payload, {})


# Which files hold the conversation


def test_a_session_is_one_file() -> None:
    assert [Path(file).name for file in at("AGAIN").files] == [
        "session-2026-11-15T12-42-d5eff84b.jsonl"
    ]


def test_the_file_that_a_resumed_session_first_names_comes_after_the_one_it_was_begun_in() -> None:
    resumed = next(one for one in told() if one.payload.get("source") == "resume")
    assert [Path(file).name for file in resumed.files] == [
        "session-2026-11-15T12-42-d5eff84b.jsonl",
        "session-2026-11-15T12-44-d5eff84b.jsonl",
    ]


def test_a_file_of_another_session_with_the_same_short_id_is_not_taken(tmp_path: Path) -> None:
    old = tmp_path / "session-2026-11-15T12-42-d5eff84b.jsonl"
    new = tmp_path / "session-2026-11-15T12-44-d5eff84b.jsonl"
    old.write_bytes(line({"sessionId": "d5eff84b-other", "projectHash": "h"}))
    new.write_bytes(line({"sessionId": SESSION, "projectHash": "h"}))
    assert adapter.transcript_files(str(new)) == (str(new),)


@pytest.mark.parametrize("content", [None, b"", b"{torn", b"[1]\n"])
def test_a_transcript_that_is_missing_or_odd_is_a_file_by_itself(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "session-2026-11-15T12-42-d5eff84b.jsonl"
    if content is not None:
        file.write_bytes(content)
    assert adapter.transcript_files(str(file)) == (str(file),)


# The history before a place


def test_nothing_comes_before_the_first_turn() -> None:
    assert at("TURN-ONE").history == b""
    assert told()[0].history == b""


def test_before_the_second_turn_there_is_the_first_byte_for_byte() -> None:
    one = at("TURN-TWO")
    assert one.history == one.parts[0]
    assert prompts(one.history) == ["TURN-ONE"]


def test_at_the_end_of_a_turn_the_whole_turn_is_there() -> None:
    second = [one for one in told() if one.name == "AfterAgent"][1]
    assert second.history == second.parts[0]
    assert prompts(second.history) == ["TURN-ONE", "TURN-TWO"]


def test_what_was_abandoned_by_a_rewind_inside_gemini_is_left_out() -> None:
    history = at("TURN-FOUR").history
    assert prompts(history) == ["TURN-ONE", "TURN-TWO"]
    assert b"Three done." not in history
    assert b"$rewindTo" not in history


def test_a_compaction_is_kept_and_what_it_replaced_is_not() -> None:
    assert prompts(at("TURN-SIX").history) == ["SUMMARY:", "TURN-FOUR", "LONG", "TURN-FIVE"]


def test_a_session_that_was_resumed_holds_each_prompt_once() -> None:
    assert prompts(at("SPAWN", "headless").history) == ["TURN-ONE"]
    assert prompts(at("AGAIN").history)[-2:] == ["TURN-FIVE", "TURN-SIX"]


def test_at_the_start_of_a_resumed_session_its_history_is_there() -> None:
    """Although at that moment the file ends with a header and no messages."""
    start = next(one for one in told("headless") if one.payload.get("source") == "resume")
    end = next(one for one in told("headless") if one.name == "AfterAgent")
    assert start.size > end.size
    assert start.history == end.history


def test_at_the_start_of_a_session_resumed_in_another_minute_its_history_is_there_too() -> None:
    start = next(one for one in told() if one.payload.get("source") == "resume")
    assert prompts(start.parts[-1]) == []
    assert prompts(start.history)[-1] == "AGAIN"


def test_a_session_rewound_to_its_beginning_is_empty_even_after_it_was_resumed() -> None:
    opened = line({"$set": {"messages": [message("1", "one")]}})
    rewound = HEADER + line(message("1", "one")) + HEADER + opened + line({"$rewindTo": "1"})
    assert adapter.cut([rewound], END, ()) == b""


def test_a_rewind_forgets_a_message_wherever_it_stands() -> None:
    one, two, three = (message(name, f"m{name}") for name in "123")
    transcript = (
        HEADER
        + line({"$set": {"messages": [one, two], "summary": "kept"}})
        + line(three)
        + line({"$rewindTo": "2"})
        + line(message("4", "m4"))
    )
    history = records(adapter.cut([transcript], END, ()))
    assert history[1:] == [{"$set": {"messages": [one], "summary": "kept"}}, message("4", "m4")]


def test_a_rewind_to_what_is_not_there_forgets_everything() -> None:
    transcript = HEADER + line(message("1", "one")) + line({"$rewindTo": "?"})
    history = adapter.cut([transcript + line(message("2", "two"))], END, ())
    assert [one["id"] for one in messages(history)] == ["2"]


def test_a_later_version_of_a_message_stays_after_the_earlier() -> None:
    kept = HEADER + line(message("1", "draft")) + line(message("1", "final"))
    assert adapter.cut([kept], END, ()) == kept


def test_commands_and_context_alone_are_no_conversation() -> None:
    said = [message("1", "/help"), message("2", "<session_context>..."), message("3", " ")]
    said += [message("4", "Request cancelled.", "info"), {"id": "5", "type": "gemini"}]
    assert adapter.cut([HEADER + b"".join(line(one) for one in said)], END, ()) == b""


def test_a_torn_last_line_is_dropped() -> None:
    one = at("TURN-TWO")
    for torn in (b'{"id":"4f586d63-db9b', line(message("9", "not ended"))[:-1]):
        assert adapter.cut([one.parts[0] + torn], END, ()) == one.history


def test_a_line_of_garbage_stays_where_it_is() -> None:
    one = at("TURN-TWO")
    first, rest = one.parts[0].split(b"\n", 1)
    for garbage in (b"\xff\x00{not json", b"[1]", b'{"$set":{"messages":7}}', b"", b"{}"):
        whole = first + b"\n" + garbage + b"\n" + rest
        assert adapter.cut([whole], END, ()) == whole


def test_a_file_without_a_header_is_refused() -> None:
    with pytest.raises(ValueError, match="header"):
        adapter.cut([line(message("1", "one"))], END, ())


def test_no_transcript_is_an_empty_conversation() -> None:
    assert adapter.cut((), END, ()) == b""
    assert adapter.cut((b"",), END, ()) == b""
    assert adapter.cut((b"garbage\n",), END, ()) == b""


# The history as a session of its own


def test_a_new_session_has_its_id_in_its_name_and_wherever_the_session_is_named() -> None:
    new = as_new(at("AGAIN").history)
    assert new.path == f"{CHATS}/session-2026-11-15T12-45-{new.native[:8]}.jsonl"
    named = [
        found["sessionId"]
        for record in records(new.data)
        for found in (record, record.get("$set", {}))
        if "sessionId" in found
    ]
    assert len(named) > 1
    assert set(named) == {new.native} != {SESSION}


def test_words_that_name_the_old_session_stay_as_they_were() -> None:
    said = line(message("1", f"resume {SESSION} later"))
    assert said in as_new(at("TURN-TWO").history + said).data


def test_messages_keep_their_bytes_in_a_new_session() -> None:
    history = at("TURN-TWO").history
    assert history.splitlines()[1:] == as_new(history).data.splitlines()[1:-1]


def test_a_new_session_has_a_title_and_is_not_old() -> None:
    *_, last = records(as_new(at("AGAIN").history).data)
    assert last == {
        "$set": {"lastUpdated": "2026-11-15T12:45:00.250Z", "summary": "↶ turn 2: edit"}
    }
    *_, last = records(as_new(at("AGAIN").history, title="").data)
    assert "summary" not in last["$set"]


def test_the_id_of_a_new_session_is_of_the_form_that_gemini_gives() -> None:
    first, second = (as_new(b"").native for _ in range(2))
    assert first != second
    assert [len(word) for word in first.split("-")] == [8, 4, 4, 4, 12]
    assert first[14] == "4"


def test_an_empty_history_is_an_empty_file() -> None:
    assert as_new(b"").data == b""


def test_a_line_of_garbage_and_half_a_character_survive_a_new_session() -> None:
    half = line({"$set": {"sessionId": SESSION, "summary": "\ud83d"}})
    *_, garbage, patch, _ = as_new(at("TURN-TWO").history + b"garbage\xff\n" + half).data.split(
        b"\n"
    )[:-1]
    assert garbage == b"garbage\xff"
    assert json.loads(patch)["$set"]["summary"] == "\ud83d"


def test_a_new_session_can_be_cut_again() -> None:
    new = as_new(at("TURN-FOUR").history)
    assert adapter.cut([new.data], END, ()) == new.data


# Going on


def test_how_to_go_on() -> None:
    new = "0f1e2d3c-4b5a-4678-9abc-def012345678"
    resume = adapter.resume(new, "/p")
    assert (resume.argv, resume.cwd) == (("gemini", f"--resume={new}"), "/p")
    assert resume.in_tui == "/resume", "its list has the new session at once"
    answer = json.loads(adapter.answer("two\nlines"))
    assert answer == {"continue": False, "stopReason": "takeback\ntwo\nlines"}
    assert adapter.start("/p").argv == ("gemini",)


def test_the_end_of_a_transcript_tells_whether_a_turn_was_cancelled() -> None:
    """Esc while a tool runs has no hook of its own."""
    running, cancelled = at("LONG"), at("TURN-FIVE")
    whole = Path(running.files[0]).read_bytes()
    prompt_written = whole[: whole.index(b"\n", running.size) + 1]
    assert not adapter.is_over(prompt_written, None)
    assert adapter.is_over(cancelled.parts[0], None)
    assert adapter.is_over(cancelled.parts[0][-1500:], None)
    next_prompt = whole[: whole.index(b"\n", cancelled.size) + 1]
    assert not adapter.is_over(next_prompt, None)
    assert not adapter.is_over(b"", None)


def test_a_note_is_what_gemini_gives_to_the_model() -> None:
    answer = json.loads(adapter.note('[two "files" changed]'))
    assert answer == {
        "hookSpecificOutput": {
            "hookEventName": "BeforeAgent",
            "additionalContext": '[two "files" changed]',
        }
    }
