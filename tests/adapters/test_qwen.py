"""Qwen Code: what its hooks tell, and how its conversations are cut (recorded/qwen)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from takeback.adapters import message_reader
from takeback.adapters.qwen import adapter
from takeback.model import event as events
from takeback.model.checkpoint import Anchor, NewSession
from takeback.model.event import AgentEvent

RECORDED = Path(__file__).parent / "recorded" / "qwen"
CHATS = "/home/dev/.qwen/projects/-home-dev-project/chats"
NOW = 1794993000.5


class Told:
    """One hook call: what it was given, and what the transcript held then and at the end."""

    def __init__(self, row: dict[str, Any], whole: bytes) -> None:
        self.payload: dict[str, Any] = row["payload"]
        self.environ: dict[str, str] = row["environ"]
        self.held = whole[: row["size"] or 0]
        self.whole = whole

    @property
    def event(self) -> AgentEvent | None:
        return adapter.parse(self.payload, self.environ)

    def history(self) -> list[str]:
        """Returns the conversation at this place, as a person reads it."""
        event = self.event
        assert event is not None
        anchor = Anchor(event.kind == events.PROMPT, event.turn, None, event.prompt)
        return said(adapter.cut([self.held], anchor, [self.whole]))


def told(session: str) -> list[Told]:
    whole = (RECORDED / f"{session}.jsonl").read_bytes()
    lines = (RECORDED / f"{session}-hooks.jsonl").read_text().splitlines()
    return [Told(json.loads(line), whole) for line in lines]


def said(history: bytes) -> list[str]:
    reader = message_reader("qwen")
    assert reader is not None
    return [one.text if one.tool is None else one.tool.name for one in reader(history)]


def kinds(session: str) -> list[tuple[str, str | None]]:
    heard = [one.event for one in told(session)]
    return [(event.kind, event.prompt) for event in heard if event is not None]


ONE = ["TURN-ONE create", "Creating.", "write_file", "write_file", "Created a.txt and b.txt."]
SLOW = ["SLOW work", "Working.", "run_shell_command"]


def test_results_that_are_sent_on_are_no_prompt() -> None:
    prompts = [prompt for kind, prompt in kinds("headless") if kind == events.PROMPT]
    assert prompts == ["TURN-ONE create", "TURN-TWO change", "TURN-THREE more"]


def test_a_command_of_ours_is_a_prompt_as_it_was_typed() -> None:
    prompts = [prompt for kind, prompt in kinds("terminal") if kind == events.PROMPT]
    assert prompts == [
        "TURN-ONE create",
        "/takeback 2 yes",
        "SLOW work",
        "mind the SPELLING",
        "WAIT long",
    ]
    [expanded] = [o for o in told("terminal") if "command_name" in o.payload]
    other = {**expanded.payload, "command_name": "init"}
    assert adapter.parse(other, {}) is None


def test_an_event_names_its_session_turn_directory_and_process() -> None:
    one = next(one for one in told("terminal") if one.payload.get("submitted_prompt"))
    event = one.event
    assert event is not None
    assert (event.agent, event.directory) == ("qwen", "/home/dev/project")
    assert event.session == one.environ["QWEN_CODE_SESSION_ID"]
    assert event.turn == f"{event.session}########0"
    assert event.transcript == f"{CHATS}/{event.session}.jsonl"
    assert event.process == int(one.environ["QWEN_CODE_LAUNCHER_PID"])


def test_esc_while_a_tool_runs_ends_the_turn() -> None:
    assert kinds("stopped")[:4] == [
        (events.SESSION_START, None),
        (events.PROMPT, "WAIT long"),
        (events.TOOL_BEFORE, None),
        (events.INTERRUPTED, None),
    ]
    second = next(one for one in told("stopped") if one.payload.get("prompt") == "THINK now")
    assert adapter.is_over(second.held, None), "the transcript tells it too"
    assert not adapter.is_over(second.held[: second.held.rindex(b'{"uuid"')], None)


def test_a_call_that_only_failed_ends_no_round() -> None:
    payload = next(o.payload for o in told("stopped") if "is_interrupt" in o.payload)
    assert adapter.parse({**payload, "is_interrupt": False}, {}) is None


@pytest.mark.parametrize(
    ("session", "prompt", "history"),
    [
        ("headless", "TURN-ONE", []),
        ("headless", "TURN-TWO", ONE),
        ("terminal", "SLOW", ONE),
        ("terminal", "mind", [*ONE, *SLOW]),
        ("terminal", "WAIT", [*ONE, *SLOW, "mind the SPELLING", "run_shell_command", "Done slow."]),
        ("stopped", "THINK", ["WAIT long", "run_shell_command", "Interrupted by the person."]),
    ],
)
def test_the_conversation_before_a_prompt(session: str, prompt: str, history: list[str]) -> None:
    at = next(o for o in told(session) if o.payload.get("prompt", "").startswith(prompt))
    assert at.history() == history


def test_a_prompt_that_is_written_before_its_hook_is_no_history() -> None:
    """So it is behind an editor; words that stand there twice are two prompts."""
    lines = (RECORDED / "headless.jsonl").read_bytes().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b"TURN-TWO change" in line)
    held, whole, again = b"".join(lines[: at + 1]), b"".join(lines), b"".join(lines[: at + 1])
    anchor = Anchor(True, "t", None, "TURN-TWO change")
    for later in (whole, held):
        assert said(adapter.cut([held], anchor, [later])) == ONE
    second = {
        **json.loads(lines[at]),
        "uuid": "second",
        "parentUuid": json.loads(lines[at])["uuid"],
    }
    again += json.dumps(second).encode() + b"\n"
    assert said(adapter.cut([held], anchor, [again])) == [*ONE, "TURN-TWO change"]
    first = next(n for n, line in enumerate(lines) if b"TURN-ONE create" in line)
    begun = Anchor(True, "t", None, "TURN-ONE create")
    assert adapter.cut([b"".join(lines[: first + 1])], begun, [whole]) == b""


def test_the_answer_that_is_written_after_the_end_of_a_turn_belongs_to_it() -> None:
    end = next(one for one in told("terminal") if one.payload["hook_event_name"] == "Stop")
    assert b"Created a.txt and b.txt." not in end.held.rpartition(b'"parts"')[2]
    assert end.history() == ONE


def test_a_round_has_its_results_and_not_the_next_round() -> None:
    reads = [o for o in told("headless") if "tool_calls" in o.payload]
    assert reads[2].history() == [*ONE, "TURN-TWO change", "Reading.", "read_file"]


def as_new(history: bytes, title: str = "↶ turn 2") -> NewSession:
    return adapter.new_session(
        history, native="old", transcript=f"{CHATS}/old.jsonl", title=title, now=NOW
    )


def test_a_new_session_is_one_line_of_entries_under_its_own_id() -> None:
    history = adapter.cut([(RECORDED / "terminal.jsonl").read_bytes()], Anchor(False), [])
    made = as_new(history)
    assert made.path == f"{CHATS}/{made.native}.jsonl"
    records = [json.loads(line) for line in made.data.splitlines()]
    assert {record["sessionId"] for record in records} == {made.native}
    assert [record["parentUuid"] for record in records] == [
        None,
        *(record["uuid"] for record in records[:-1]),
    ]
    assert said(made.data) == said(history)
    assert records[-1]["systemPayload"] == {"customTitle": "↶ turn 2", "titleSource": "manual"}
    assert b"file_history_snapshot" in history
    assert b"file_history_snapshot" not in made.data, "its backups are the old session's"


def test_what_its_own_rewind_abandoned_is_left_out() -> None:
    lines = [
        entry("1", None, "user", "one"),
        entry("2", "1", "assistant", "done one"),
        entry("3", "2", "user", "two"),
        entry("4", "3", "assistant", "done two"),
        entry("5", "2", "system", "", subtype="rewind"),
    ]
    assert said(adapter.cut([b"".join(lines)], Anchor(True, "t", None, "x"), [])) == [
        "one",
        "done one",
    ]


def test_a_note_of_a_hook_is_no_word_of_the_person() -> None:
    note = {"displayText": "one", "hookContext": "Note from takeback"}
    first = entry("1", None, "user", "one\nNote from takeback", systemPayload=note)
    cron = entry("2", "1", "user", "wake up", subtype="cron")
    assert said(first + cron + entry("3", "2", "assistant", "done")) == ["one", "done"]


def entry(id: str, parent: str | None, kind: str, words: str, **more: Any) -> bytes:
    message = {"message": {"parts": [{"text": words}]}} if words else {}
    record = {"uuid": id, "parentUuid": parent, "sessionId": "s", "type": kind, **message, **more}
    return json.dumps(record).encode() + b"\n"


def test_a_session_moved_to_another_directory_is_where_that_ones_are_and_names_it() -> None:
    history = entry("1", None, "user", "one", cwd="/old") + entry("2", "1", "assistant", "done")
    new = adapter.new_session(
        history, native="s", transcript=f"{CHATS}/s.jsonl", title="back", now=0.0
    )
    moved = adapter.moved_to(new, "/home/dev/some project-2")
    folder = CHATS.replace("-home-dev-project", "-home-dev-some-project-2")
    assert (moved.native, moved.path) == (new.native, f"{folder}/{new.native}.jsonl")
    assert {record["cwd"] for record in records(moved.data)} == {"/home/dev/some project-2"}
    assert [one["uuid"] for one in records(moved.data)] == [
        one["uuid"] for one in records(new.data)
    ]
    assert said(moved.data) == ["one", "done"]


@pytest.mark.parametrize(
    ("directory", "folder", "named"),
    [
        ("/w/caf\u00e9", "-w-caf-", "/w/caf\u00e9"),
        ("/w/\N{SNAKE}", "-w---", "/w/\N{SNAKE}"),  # two units of UTF-16
        (os.fsdecode(b"/w/\xff"), "-w--", "/w/\ufffd"),
    ],
)
def test_a_directory_is_called_as_the_agent_calls_it(
    directory: str, folder: str, named: str
) -> None:
    new = NewSession("n", f"{CHATS}/n.jsonl", entry("1", None, "user", "one"))
    moved = adapter.moved_to(new, directory)
    assert moved.path.split("/")[-3] == folder
    [record] = records(moved.data)
    assert record["cwd"] == named


def records(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def test_an_answer_has_nothing_that_qwen_would_write_as_an_entity() -> None:
    said = json.loads(adapter.answer("cd /a && qwen --resume=1\n<- here & there"))["reason"]
    assert said == "takeback\ncd /a; qwen --resume=1\n\uff1c- here \uff06 there"
