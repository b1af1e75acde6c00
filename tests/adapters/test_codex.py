"""The Codex adapter, against a thread that Codex itself wrote (recorded/codex/README.md)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from takeback.adapters.codex import adapter
from takeback.model import event as events
from takeback.model.checkpoint import Anchor, NewSession
from takeback.model.event import AgentEvent, ToolCall

RECORDED = Path(__file__).parent / "recorded" / "codex"
THREAD = "01a1df2b-0420-78a1-860a-be5a27fc401a"
FORK = "01a1df2c-22fe-76a1-85b9-5bcb212477b8"
NOW = 1794745800.5


class Told:
    """One hook call: what it was given, and what the transcript held at that moment."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.payload: dict[str, Any] = row["payload"]
        self.size: int = row.get("size") or 0

    @property
    def name(self) -> str:
        return str(self.payload["hook_event_name"])

    @property
    def event(self) -> AgentEvent | None:
        return adapter.parse(self.payload, {})

    @property
    def files(self) -> tuple[str, ...]:
        return adapter.transcript_files(here(self.payload["transcript_path"]))

    @property
    def parts(self) -> list[bytes]:
        *older, newest = (Path(file).read_bytes() for file in self.files)
        return [*older, newest[: self.size]]


def here(path: str) -> str:
    return path.replace("/home/dev/.codex", str(RECORDED))


def told(file: str = "hooks.jsonl") -> list[Told]:
    return [Told(json.loads(line)) for line in (RECORDED / file).read_text().splitlines()]


def at(prompt: str) -> Told:
    """Returns the prompt hook's call for a prompt."""
    return next(one for one in told() if one.payload.get("prompt", "").startswith(prompt))


def before(one: Told) -> Anchor:
    return Anchor(before=True, turn=one.payload["turn_id"], prompt=one.payload["prompt"])


def cut_before(prompt: str) -> bytes:
    one = at(prompt)
    return adapter.cut(one.parts, before(one), ())


def as_new(history: bytes, native: str = THREAD) -> NewSession:
    return adapter.new_session(
        history,
        native=native,
        transcript="/home/dev/.codex/sessions/2026/11/15/rollout-x.jsonl",
        title="↶ turn 2",
        now=NOW,
    )


def records(history: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in history.splitlines()]


def prompts(history: bytes) -> list[str]:
    """Returns the first words of what a person typed, in the order of the history."""
    return [
        record["payload"]["item"]["content"][0]["text"].split()[0]
        for record in records(history)
        if record["payload"].get("item", {}).get("type") == "UserMessage"
    ]


# What the hooks say


def test_each_hook_of_a_thread_becomes_its_event() -> None:
    kinds = [(one.name, None if one.event is None else one.event.kind) for one in told()]
    assert set(kinds) == {
        ("SessionStart", events.SESSION_START),
        ("UserPromptSubmit", events.PROMPT),
        ("PreModelRequest", None),
        ("PreToolUse", events.TOOL_BEFORE),
        ("PostToolUse", events.ROUND_END),
        ("Stop", events.TURN_END),
        ("Interrupt", events.INTERRUPTED),
        ("PreCompact", events.COMPACT),
        ("PostCompact", None),
        ("SessionEnd", events.SESSION_END),
    }


def test_a_prompt_has_its_words_turn_directory_and_transcript() -> None:
    one = at("TURN-ONE")
    assert one.event == AgentEvent(
        kind=events.PROMPT,
        agent="codex",
        session=THREAD,
        directory="/home/dev/project",
        transcript=one.payload["transcript_path"],
        turn=one.payload["turn_id"],
        prompt="TURN-ONE create files",
    )


def test_a_prompt_typed_into_a_turn_has_the_turn_of_the_first() -> None:
    first, second = at("LONG").event, at("STEERED").event
    assert first is not None
    assert second is not None
    assert first.turn == second.turn


def test_a_start_tells_whether_the_thread_is_new_resumed_compacted_or_forked() -> None:
    starts = [one.event for one in told() if one.name == "SessionStart"]
    assert [start.reason for start in starts if start is not None] == [
        "startup",
        "resume",
        "resume",
        "compact",
        "fork",
    ]


def test_the_tools_of_each_round() -> None:
    rounds = [one.event for one in told() if one.name == "PostToolUse"]
    tools = [tool for one in rounds if one is not None for tool in one.tools][:3]
    assert [(tool.name, tool.kind, tool.paths) for tool in tools] == [
        ("Bash", events.SHELL, ()),
        ("apply_patch", events.EDIT, ("a.txt", "d.txt")),
        ("Bash", events.SHELL, ()),
    ]
    assert tools[2].command == "rm doomed.txt b.txt && echo made > c.txt"


def test_before_a_patch_every_file_that_it_names_is_told() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: src/old.py\n*** Move to: src/new name.py\n@@\n"
        "-*** Delete File: no.py\n+*** Add File: no.py\n"
        "*** Delete File: gone.py\n*** Add File: /tmp/made.py\n+x\n*** End Patch\n"
    )
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": "/p",
        "tool_name": "apply_patch",
        "tool_input": {"command": patch},
    }
    event = adapter.parse(payload, {})
    assert event is not None
    assert event.kind == events.TOOL_BEFORE
    assert event.tools[0].paths == ("src/old.py", "src/new name.py", "gone.py", "/tmp/made.py")


@pytest.mark.parametrize("name", ["Bash", "spawn_agent", "mcp__db__query"])
def test_before_every_tool_that_may_change_files_it_is_told(name: str) -> None:
    payload = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": name}
    event = adapter.parse(payload, {})
    assert event is not None
    assert (event.kind, event.tools[0].paths) == (events.TOOL_BEFORE, ())
    assert adapter.parse({**payload, "tool_name": "view_image"}, {}) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Bash", events.SHELL),
        ("spawn_agent", events.SUBAGENT),
        ("view_image", events.READ),
        ("mcp__db__query", events.OTHER),
    ],
)
def test_kinds_of_tools(name: str, kind: Any) -> None:
    payload = {"hook_event_name": "PostToolUse", "session_id": "s", "cwd": "/p", "tool_name": name}
    event = adapter.parse(payload, {})
    assert event is not None
    assert event.tools == (ToolCall(name, kind),)


def test_an_end_after_another_end_continues_the_turn() -> None:
    stop = next(one for one in told() if one.name == "Stop").payload
    for active in (False, True):
        event = adapter.parse({**stop, "stop_hook_active": active}, {})
        assert event is not None
        assert event.continues is active


def test_the_task_of_a_subagent_is_no_prompt_and_its_end_is_a_round_of_its_parent() -> None:
    heard = [one.event for one in told("subagent.jsonl") if "agent_id" in one.payload]
    *before, end = (event for event in heard if event is not None)
    assert {(event.kind, event.transcript) for event in before} == {(events.TOOL_BEFORE, None)}
    main = told("subagent.jsonl")[0].payload
    assert end.kind == events.ROUND_END
    assert end.session == main["session_id"]
    assert end.subagent is not None
    assert end.transcript == main["transcript_path"]
    assert end.turn is None


def test_a_patch_by_a_subagent_is_saved_under_its_parent() -> None:
    patch = next(one for one in told() if one.payload.get("tool_name") == "apply_patch").payload
    event = adapter.parse({**patch, "agent_id": "child", "transcript_path": "/child.jsonl"}, {})
    assert event is not None
    assert event.kind == events.TOOL_BEFORE
    assert (event.session, event.subagent, event.transcript) == (THREAD, "child", None)


def test_a_thread_that_is_not_kept_has_no_transcript() -> None:
    event = adapter.parse({**at("TURN-ONE").payload, "transcript_path": None}, {})
    assert event is not None
    assert event.transcript is None


@pytest.mark.parametrize("field", ["hook_event_name", "session_id", "cwd"])
def test_a_payload_that_lacks_what_it_must_have(field: str) -> None:
    payload = {k: v for k, v in at("TURN-ONE").payload.items() if k != field}
    with pytest.raises(ValueError, match=field):
        adapter.parse(payload, {})


# Which files hold the conversation


def test_a_thread_that_was_never_rewound_is_one_file() -> None:
    one = at("TURN-ONE")
    assert one.files == (here(one.payload["transcript_path"]),)


def test_a_rewound_thread_and_its_fork_are_a_chain_of_files() -> None:
    files = at("TURN-EIGHT").files
    assert [Path(file).stem[-8:] for file in files] == [
        "27fc401a",
        "d0103afd",
        "d4dbafad",
        "212477b8",
    ]


def test_a_base_that_lies_in_the_folder_of_another_day_is_found(tmp_path: Path) -> None:
    *_, base, newest = (Path(file) for file in at("TURN-SIX").files)
    for file, day in ((base, "14"), (newest, "15")):
        folder = tmp_path / "sessions" / "2026" / "11" / day
        folder.mkdir(parents=True)
        shutil.copy(file, folder)
    moved = tmp_path / "sessions" / "2026" / "11" / "15" / newest.name
    assert Path(adapter.transcript_files(str(moved))[-2]).parent.name == "14"


def test_a_file_that_goes_on_from_itself_ends_the_chain(tmp_path: Path) -> None:
    file = tmp_path / "rollout-2026-11-15T00-00-00-x.jsonl"
    meta = {"type": "session_meta", "payload": {"history_base": {"thread_id": "x"}}}
    file.write_text(json.dumps(meta) + "\n")
    assert adapter.transcript_files(str(file)) == (str(file),)


@pytest.mark.parametrize("content", [None, b"", b'{"history_base"', b'["history_base"]\n'])
def test_a_transcript_that_is_missing_or_odd_is_a_file_by_itself(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "rollout.jsonl"
    if content is not None:
        file.write_bytes(content)
    assert adapter.transcript_files(str(file)) == (str(file),)


# The history before a place


def test_nothing_comes_before_the_first_turn() -> None:
    assert cut_before("TURN-ONE") == b""


def test_before_the_second_turn_there_is_the_first_and_nothing_of_the_second() -> None:
    one = at("TURN-TWO")
    whole = Path(one.files[0]).read_bytes()
    begins = whole.index(b'"type":"task_started"', whole.index(b'"task_complete"'))
    assert cut_before("TURN-TWO") == whole[: whole.rindex(b"\n", 0, begins) + 1]
    assert prompts(cut_before("TURN-TWO")) == ["TURN-ONE"]
    assert one.payload["turn_id"].encode() not in cut_before("TURN-TWO")


def test_before_a_prompt_typed_into_a_turn_the_turn_stays_as_far_as_it_was() -> None:
    one = at("STEERED")
    assert cut_before("STEERED") == one.parts[0]
    assert prompts(cut_before("STEERED")) == ["TURN-ONE", "TURN-TWO", "LONG"]


def with_prompt(one: Told) -> bytes:
    """Returns the transcript as it was after the prompt itself was written."""
    whole = Path(one.files[0]).read_bytes()
    return whole[: whole.index(b"\n", whole.index(b'"UserMessage"', one.size)) + 1]


def test_a_prompt_that_is_there_already_is_left_out_by_its_text() -> None:
    steer, first = at("STEERED"), at("TURN-TWO")
    assert adapter.cut([with_prompt(steer)], before(steer), ()) == steer.parts[0]
    note = (
        b'{"type":"response_item","payload":{"type":"message","role":"developer","content":[]}}\n'
    )
    for written in (with_prompt(first), with_prompt(first) + note):
        assert adapter.cut([written], before(first), ()) == cut_before("TURN-TWO")


def test_a_prompt_repeated_into_its_own_turn_leaves_the_turn_in_place() -> None:
    one = at("STEERED")
    again = before(one).replace(prompt="LONG job")
    assert adapter.cut(one.parts, again, ()) == one.parts[0]


def test_what_was_abandoned_by_a_rewind_inside_codex_is_left_out() -> None:
    assert prompts(cut_before("TURN-FOUR")) == ["TURN-ONE", "TURN-TWO"]
    assert prompts(cut_before("TURN-SIX")) == ["TURN-ONE", "TURN-TWO", "TURN-FOUR"]


def test_a_chain_of_files_becomes_one_with_one_beginning_and_ordinals_from_zero() -> None:
    history = records(cut_before("TURN-EIGHT"))
    assert [record["ordinal"] for record in history] == list(range(len(history)))
    assert [record["type"] for record in history].count("session_meta") == 1
    meta = history[0]["payload"]
    assert meta["id"] == FORK
    assert not {"history_base", "forked_from_id", "forked_from_ordinal_exclusive"} & set(meta)


def test_a_compaction_is_kept() -> None:
    history = cut_before("TURN-SEVEN")
    assert prompts(history) == ["TURN-ONE", "TURN-TWO", "TURN-FOUR", "TURN-SIX"]
    assert [record["type"] for record in records(history)].count("compacted") == 1


def test_at_the_end_of_a_turn_the_whole_turn_is_there() -> None:
    end = [one for one in told() if one.name == "Stop"][1]
    assert adapter.cut(end.parts, Anchor(before=False), ()) == end.parts[0]


def test_at_the_start_of_a_session_a_turn_that_has_only_begun_is_left_out() -> None:
    first, resumed = [one for one in told() if one.name == "SessionStart"][:2]
    assert adapter.cut(first.parts, Anchor(before=False), ()) == b""
    history = adapter.cut(resumed.parts, Anchor(before=False), ())
    assert history == cut_before("TURN-FOUR")


def test_a_torn_last_line_is_dropped() -> None:
    one = at("TURN-TWO")
    for torn in (b'{"timestamp":"2026-11-15T12:2', b'{"type":"event_msg","payload":{}}'):
        assert adapter.cut([one.parts[0] + torn], before(one), ()) == cut_before("TURN-TWO")
        at_end = adapter.cut([cut_before("TURN-TWO") + torn], Anchor(before=False), ())
        assert at_end == cut_before("TURN-TWO")


def test_a_line_of_garbage_stays_where_it_is() -> None:
    one = at("TURN-TWO")
    first, rest = one.parts[0].split(b"\n", 1)
    for garbage in (b"\xff\x00{not json", b"[1]", b'{"type":5,"payload":[]}', b""):
        history = adapter.cut([first + b"\n" + garbage + b"\n" + rest], before(one), ())
        assert history.split(b"\n")[1] == garbage
        assert prompts(history.replace(garbage + b"\n", b"", 1)) == ["TURN-ONE"]


def test_a_line_of_garbage_in_a_chain_of_files_stays_too() -> None:
    one = at("TURN-FOUR")
    base, newest = one.parts
    history = adapter.cut([base, newest.replace(b"\n", b"\ngarbage\n", 1)], before(one), ())
    assert b"\ngarbage\n" in history
    assert prompts(history.replace(b"garbage\n", b"")) == ["TURN-ONE", "TURN-TWO"]


def test_a_turn_that_is_only_in_the_later_transcript_comes_after_all_that_is_there() -> None:
    one = at("TURN-TWO")
    early = cut_before("TURN-TWO")
    assert adapter.cut([early], before(one), one.parts) == early


def test_a_turn_that_is_nowhere_is_refused() -> None:
    one = at("TURN-TWO")
    with pytest.raises(ValueError, match="is not in the transcript"):
        adapter.cut(one.parts, before(one).replace(turn="elsewhere"), one.parts)


def test_a_chain_that_lacks_its_beginning_is_refused() -> None:
    one = at("TURN-SIX")
    for parts in (one.parts[-1:], one.parts[-2:]):
        with pytest.raises(ValueError, match="is missing"):
            adapter.cut(parts, before(one), ())


def test_a_chain_with_another_file_in_it_is_refused() -> None:
    one = at("TURN-SIX")
    for base in (b"", one.parts[0], one.parts[1][:500], b"x" + one.parts[1]):
        with pytest.raises(ValueError, match="is another one"):
            adapter.cut([one.parts[0], base, one.parts[2]], before(one), ())


def test_no_transcript_is_an_empty_conversation() -> None:
    assert adapter.cut((), Anchor(before=False), ()) == b""
    assert adapter.cut((b"",), Anchor(before=False), ()) == b""


# The history as a session of its own


def test_a_new_thread_has_its_id_in_its_name_and_wherever_a_thread_is_named() -> None:
    new = as_new(cut_before("TURN-SEVEN"))
    assert new.native != THREAD
    assert new.path.startswith("/home/dev/.codex/sessions/2026/11/15/rollout-20")
    assert new.path.endswith(f"-{new.native}.jsonl")
    meta, *rest = records(new.data)
    assert (meta["payload"]["id"], meta["payload"]["session_id"]) == (new.native, new.native)
    assert sum(_names(record, new.native) for record in rest) > 10
    assert not any(_names(record, THREAD) for record in rest)


def test_a_new_thread_made_of_a_fork_names_neither_the_fork_nor_its_parent() -> None:
    new = as_new(cut_before("TURN-EIGHT"), FORK)
    for record in records(new.data):
        assert not _names(record, FORK)
        assert not _names(record, THREAD)


def _names(value: Any, thread: str) -> int:
    """Counts the fields that are a thread's id, apart from the words of the conversation."""
    if isinstance(value, dict):
        return sum(_names(one, thread) for name, one in value.items() if name != "output")
    if isinstance(value, list):
        return sum(_names(one, thread) for one in value)
    return int(value == thread)


def test_words_that_name_the_old_thread_stay_as_they_were() -> None:
    (said,) = (
        record["payload"]["output"]
        for record in records(as_new(cut_before("TURN-TWO")).data)
        if record["payload"].get("type") == "function_call_output"
    )
    assert THREAD in said


def test_lines_that_name_no_thread_keep_their_bytes() -> None:
    history = cut_before("TURN-TWO")
    kept = [line for line in history.splitlines() if THREAD.encode() not in line]
    assert len(kept) > 5
    assert not set(kept) - set(as_new(history).data.splitlines())


def test_a_line_of_garbage_and_half_a_character_survive_a_new_thread() -> None:
    half = json.dumps({"type": "event_msg", "payload": {"thread_id": THREAD, "text": "\ud83d"}})
    new = as_new(cut_before("TURN-TWO") + b"garbage\xff\n" + half.encode() + b"\n")
    *_, garbage, last = new.data.splitlines()
    assert garbage == b"garbage\xff"
    assert json.loads(last)["payload"] == {"thread_id": new.native, "text": "\ud83d"}


def test_the_id_of_a_new_thread_is_of_the_form_that_codex_gives() -> None:
    first, second = (as_new(b"").native for _ in range(2))
    assert first != second
    assert first.replace("-", "")[:12] == f"{int(NOW * 1000):012x}"
    assert first[14] == "7"
    assert first[19] in "89ab"
    assert [len(word) for word in first.split("-")] == [8, 4, 4, 4, 12]


def test_a_new_thread_can_be_cut_again() -> None:
    one = at("LONG")
    new = as_new(adapter.cut(one.parts, before(one), ()))
    turn = at("TURN-TWO").payload["turn_id"]
    again = adapter.cut([new.data], Anchor(before=True, turn=turn, prompt="other"), ())
    assert prompts(again) == ["TURN-ONE", "TURN-TWO"]


# Going on


def test_how_to_go_on() -> None:
    new = "0f1e2d3c-4b5a-4678-9abc-def012345678"
    resume = adapter.resume(new, "/p")
    assert (resume.argv, resume.cwd) == (("codex", "resume", new), "/p")
    assert adapter.start("/p").argv == ("codex",)


def test_the_end_of_a_transcript_tells_whether_a_turn_is_over() -> None:
    interrupted = next(one for one in told() if one.name == "Interrupt")
    turn = interrupted.payload["turn_id"]
    whole = Path(interrupted.files[-1]).read_bytes()
    assert adapter.is_over(whole[-4000:], turn)
    assert adapter.is_over(whole[-4000:], None)
    assert not adapter.is_over(interrupted.parts[-1], turn)
    assert not adapter.is_over(interrupted.parts[-1], None)
    assert adapter.is_over(whole, at("TURN-TWO").payload["turn_id"])
    assert not adapter.is_over(b"", turn)


def test_a_note_is_what_codex_gives_to_the_model() -> None:
    answer = json.loads(adapter.note('[two "files" changed]'))
    assert answer == {
        "hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit",
            "additionalContext": '[two "files" changed]',
        }
    }
