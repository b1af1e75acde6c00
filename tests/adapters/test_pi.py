"""The pi adapter, against a session that pi wrote itself (recorded/pi/README.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from takeback.adapters.pi import adapter, session_in
from takeback.adapters.pi.connection import connection
from takeback.adapters.pi.entries import match_entry
from takeback.model import event as events
from takeback.model.agent import EntryMatch, FileEdit
from takeback.model.checkpoint import Anchor, Checkpoint, NewSession
from takeback.model.event import AgentEvent, ToolCall
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.model.turn import BRANCH, COMPACTION, PROMPT, ROUND, STEER, TURN_END

RECORDED = Path(__file__).parent / "recorded" / "pi"
FOLDER = "/home/dev/.pi/agent/sessions/--home-dev-repo--"
SESSION = "01a1df6f-aa4c-748d-8d00-31224fbe8afa"
FILE = f"2026-11-15T13-39-59-693Z_{SESSION}.jsonl"
FORK = "01a1df6f-c804-748d-8d00-312a489f1033"
NOW = 1794746700.25
TITLE = "↶ before turn 2: TURN-TWO change"


class Told:
    """One event: what takeback was told, and what the session's file held at that moment."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.payload: dict[str, Any] = row["payload"]
        self.size: int | None = row["size"]

    @property
    def name(self) -> str:
        return str(self.payload["hook_event_name"])

    @property
    def event(self) -> AgentEvent | None:
        return adapter.parse(self.payload, {})

    @property
    def parts(self) -> list[bytes]:
        name = os.path.basename(self.payload["transcript_path"])
        data = (RECORDED / "sessions" / name).read_bytes()
        return [] if self.size is None else [data[: self.size]]

    @property
    def history(self) -> bytes:
        event = self.event
        assert event is not None
        anchor = Anchor(event.kind == events.PROMPT, leaf=event.leaf, prompt=event.prompt)
        return adapter.cut(self.parts, anchor, ())


def told() -> list[Told]:
    lines = (RECORDED / "events.jsonl").read_text().splitlines()
    return [Told(json.loads(line)) for line in lines]


def at(prompt: str) -> Told:
    """Returns the event of a prompt."""
    return next(one for one in told() if one.payload.get("prompt") == prompt)


def whole() -> bytes:
    return (RECORDED / "sessions" / FILE).read_bytes()


def records(history: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in history.splitlines()]


def prompts(history: bytes) -> list[str]:
    """Returns the first words of what was typed."""
    said = [r["message"] for r in records(history) if r.get("message", {}).get("role") == "user"]
    return [message["content"][0]["text"].split()[0] for message in said]


def entry(text: str, role: str = "user") -> dict[str, Any]:
    """Returns the entry of the recorded session that holds a text."""
    for record in records(whole()):
        message = record.get("message", {})
        if message.get("role") == role and text in json.dumps(message["content"]):
            return record
    raise AssertionError(text)


# What the extension tells


def test_each_event_becomes_one_of_takeback() -> None:
    heard = {(one.name, None if one.event is None else one.event.kind) for one in told()}
    assert heard == {
        ("session_start", events.SESSION_START),
        ("session_start", events.FORKED),
        ("before_agent_start", events.PROMPT),
        ("input", events.PROMPT),
        ("tool_call", events.TOOL_BEFORE),
        ("turn_end", events.ROUND_END),
        ("turn_end", None),  # no tool was called
        ("agent_settled", events.TURN_END),
        ("session_compact", events.COMPACT),
        ("session_before_tree", events.BEFORE_TREE),
        ("session_tree", events.TREE),
        ("session_before_fork", events.BEFORE_FORK),
        ("session_shutdown", events.SESSION_END),
    }


def test_a_prompt_has_its_words_and_the_leaf_before_it() -> None:
    assert at("TURN-TWO change").event == AgentEvent(
        kind=events.PROMPT,
        agent="pi",
        session=SESSION,
        directory="/home/dev/repo",
        transcript=f"{FOLDER}/{FILE}",
        prompt="TURN-TWO change",
        leaf=entry("Created a.txt", "assistant")["id"],
        process=4711,
    )


def test_only_a_prompt_typed_into_a_turn_is_told_at_once() -> None:
    steer = at("STEER it").event
    assert steer is not None
    assert (steer.steer, steer.prompt) == (True, "STEER it")
    idle = {**at("STEER it").payload, "behavior": None}
    assert adapter.parse(idle, {}) is None


def test_a_round_names_its_answer_and_its_tools() -> None:
    first = next(one.event for one in told() if one.name == "turn_end")
    assert first is not None
    assert first.entry == entry("Creating.", "assistant")["id"]
    assert first.leaf == entry("wrote to b.txt", "toolResult")["id"]
    assert first.tools == (
        ToolCall("write", events.EDIT, ("a.txt",)),
        ToolCall("write", events.EDIT, ("b.txt",)),
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("edit", events.EDIT),
        ("bash", events.SHELL),
        ("powershell", events.SHELL),
        ("read", events.READ),
        ("grep", events.READ),
        ("subagent", events.SUBAGENT),
        ("deploy", events.OTHER),
    ],
)
def test_tools_are_of_a_kind(name: str, kind: Any) -> None:
    payload = {**told()[-2].payload, "hook_event_name": "turn_end", "tools": [{"name": name}]}
    event = adapter.parse(payload, {})
    assert event is not None
    assert event.tools == (ToolCall(name, kind),)


def test_a_shell_says_what_it_ran_and_whether_that_failed() -> None:
    for said, known in ((False, 0), (True, 1)):
        tool = {"name": "bash", "command": "make test", "failed": said}
        payload = {**told()[-2].payload, "hook_event_name": "turn_end", "tools": [tool]}
        event = adapter.parse(payload, {})
        assert event is not None
        assert event.tools == (ToolCall("bash", events.SHELL, (), "make test", known),)


def test_only_edits_are_told_before_they_run() -> None:
    payload = {**told()[2].payload, "tools": [{"name": "bash", "path": None}]}
    assert adapter.parse(payload, {}) is None


def test_a_fork_says_where_it_goes_and_whose_it_is() -> None:
    before = next(one.event for one in told() if one.name == "session_before_fork")
    assert before is not None
    assert before.entry == at("TURN-THREE more").payload["leaf"]
    started = next(one.event for one in told() if one.payload["session_id"] == FORK)
    assert started is not None
    assert (started.kind, started.parent) == (events.FORKED, SESSION)


def test_a_fork_before_the_first_prompt_goes_to_the_root() -> None:
    payload = next(one.payload for one in told() if one.name == "session_before_fork")
    event = adapter.parse({**payload, "path": [{"id": "u", "role": "user"}]}, {})
    assert event is not None
    assert event.entry == "root"


def test_a_clone_is_a_fork_at_the_leaf() -> None:
    payload = next(one.payload for one in told() if one.name == "session_before_fork")
    event = adapter.parse({**payload, "position": "at", "entry": "e1"}, {})
    assert event is not None
    assert event.entry == "e1"


@pytest.mark.parametrize(
    ("path", "id"),
    [
        (f"{FOLDER}/{FILE}", SESSION),
        ("2026-11-15T13-39-59-693Z_my_own_id.jsonl", "my_own_id"),
        ("/home/dev/talk.jsonl", "talk"),
    ],
)
def test_a_session_is_known_by_its_file(path: str, id: str) -> None:
    assert session_in(path) == id


@pytest.mark.parametrize(
    "change",
    [
        {"hook_event_name": "a future event"},
        {"hook_event_name": "agent_end"},
        {"hook_event_name": "user_bash"},
    ],
)
def test_other_events_are_of_no_concern(change: dict[str, Any]) -> None:
    assert adapter.parse({**told()[0].payload, **change}, {}) is None


@pytest.mark.parametrize("missing", ["hook_event_name", "session_id", "cwd"])
def test_what_must_be_there_is_named_if_it_is_not(missing: str) -> None:
    payload = {name: value for name, value in told()[0].payload.items() if name != missing}
    with pytest.raises(ValueError, match=missing):
        adapter.parse(payload, {})


def test_fields_of_other_shapes_and_of_the_future_are_passed_over() -> None:
    odd = {"tools": "all", "path": 3, "leaf": None, "pid": True, "entry": [], "new": {"x": 1}}
    event = adapter.parse({**at("TURN-TWO change").payload, **odd}, {})
    assert event is not None
    assert (event.tools, event.leaf, event.process, event.entry) == ((), "root", None, None)


# The conversation


@pytest.mark.parametrize(
    ("prompt", "before"),
    [
        ("TURN-ONE create", []),
        ("TURN-TWO change", ["TURN-ONE"]),
        ("TURN-THREE more", ["TURN-ONE"]),
        ("LONG work", ["TURN-ONE", "TURN-THREE"]),
        ("STEER it", ["TURN-ONE", "TURN-THREE", "LONG"]),
        ("TURN-FOUR again", ["TURN-ONE", "TURN-THREE", "LONG", "STEER"]),
        ("TURN-FOUR after the summary", ["TURN-ONE"]),
        ("TURN-FOUR in the fork", ["TURN-ONE"]),
    ],
)
def test_the_history_before_a_prompt_has_no_abandoned_branch(
    prompt: str, before: list[str]
) -> None:
    assert prompts(at(prompt).history) == before


def test_what_is_kept_is_kept_byte_for_byte() -> None:
    history = at("TURN-TWO change").history
    assert history == b"".join(whole().splitlines(keepends=True)[:9])


def test_each_round_and_each_end_can_be_gone_to() -> None:
    for one in told():
        if one.name in ("turn_end", "agent_settled", "session_compact", "session_tree"):
            if one.event is None:
                continue
            kept = [record["id"] for record in records(one.history)[1:]]
            assert kept[-1] == one.payload["leaf"]


def test_summaries_stay_with_what_they_stand_for() -> None:
    kinds = [record["type"] for record in records(at("TURN-FOUR again").history)]
    assert kinds[-2:] == ["label", "compaction"]
    kinds = [record["type"] for record in records(at("TURN-FOUR after the summary").history)]
    assert kinds[-2:] == ["message", "branch_summary"]


def test_a_label_that_stands_beside_the_path_goes_to_its_end() -> None:
    leaf = entry("Moved one.", "assistant")["id"]
    kept = records(adapter.cut([whole()], Anchor(False, leaf=leaf), ()))
    assert (kept[-1]["type"], kept[-1]["label"], kept[-1]["parentId"]) == ("label", "good", leaf)
    assert kept[-1]["targetId"] == entry("TURN-THREE")["id"]


def test_before_the_first_word_there_is_no_conversation() -> None:
    assert adapter.cut([whole()], Anchor(True, leaf="root"), ()) == b""
    assert adapter.cut([whole()], Anchor(True, leaf=records(whole())[3]["id"]), ()) == b""
    assert adapter.cut([], Anchor(True), ()) == b""


def test_without_a_leaf_it_is_where_pi_opens_the_file() -> None:
    last = records(adapter.cut([whole()], Anchor(False), ()))[-1]
    assert last["id"] == records(whole())[-1]["id"]


def test_a_leaf_that_was_written_later_is_found() -> None:
    lines = whole().splitlines(keepends=True)
    leaf = json.loads(lines[8])["id"]
    anchor = Anchor(False, leaf=leaf)
    assert adapter.cut([b"".join(lines[:6])], anchor, [whole()]) == b"".join(lines[:9])
    with pytest.raises(ValueError, match=leaf):
        adapter.cut([b"".join(lines[:6])], anchor, ())


def test_damage_is_passed_over_as_pi_does() -> None:
    lines = whole().splitlines(keepends=True)
    torn = b"".join([*lines[:9], b"\xff\xfe no JSON\n", b"[]\n", lines[9][:40]])
    leaf = json.loads(lines[8])["id"]
    assert adapter.cut([torn], Anchor(True, leaf=leaf), ()) == b"".join(lines[:9])
    with pytest.raises(ValueError, match="no header"):
        adapter.cut([b"".join(lines[1:9])], Anchor(True, leaf=leaf), ())


def as_new(history: bytes, title: str = TITLE) -> NewSession:
    return adapter.new_session(
        history, native=SESSION, transcript=f"{FOLDER}/{FILE}", title=title, now=NOW
    )


def test_a_new_session_lies_beside_the_old_under_its_own_id() -> None:
    new = as_new(at("TURN-TWO change").history)
    assert new.native != SESSION
    assert new.path == f"{FOLDER}/2026-11-15T12-45-00-250Z_{new.native}.jsonl"
    assert session_in(new.path) == new.native
    header, *_, last = records(new.data)
    assert header == {
        "type": "session",
        "version": 3,
        "id": new.native,
        "timestamp": "2026-11-15T12:45:00.250Z",
        "cwd": "/home/dev/repo",
        "parentSession": f"{FOLDER}/{FILE}",
    }
    assert (last["type"], last["name"]) == ("session_info", TITLE)
    assert last["parentId"] == at("TURN-TWO change").payload["leaf"]


def test_a_new_session_is_the_old_one_but_for_its_header_and_title() -> None:
    history = at("TURN-TWO change").history
    lines = as_new(history).data.splitlines(keepends=True)
    assert b"".join(lines[1:-1]) == b"".join(history.splitlines(keepends=True)[1:])
    assert len(as_new(history, "").data.splitlines()) == len(history.splitlines())


def test_half_a_character_in_the_transcript_stays_what_it_was() -> None:
    header = '{"type":"session","id":"s","cwd":"/home/dev/\\ud83d"}\n'
    said = '{"type":"message","id":"u","parentId":null,"message":{"role":"user","content":"x"}}\n'
    new = as_new((header + said).encode())
    assert records(new.data)[0]["cwd"] == "/home/dev/\ud83d"


def test_how_a_person_goes_on() -> None:
    new = "0f1e2d3c-4b5a-4678-9abc-def012345678"
    resumed = adapter.resume(new, "/home/dev/repo")
    assert (resumed.argv, resumed.cwd) == (("pi", "--session", new), "/home/dev/repo")
    assert adapter.start("/home/dev/repo").argv == ("pi",)
    assert (adapter.note("words"), adapter.answer("words")) == ("words", "words")


@pytest.mark.parametrize(
    ("reason", "over"),
    [("stop", True), ("aborted", True), ("length", True), ("toolUse", False), ("error", False)],
)
def test_a_turn_is_over_when_the_model_has_said_its_last_word(reason: str, over: bool) -> None:
    answer = {"type": "message", "message": {"role": "assistant", "stopReason": reason}}
    label = {"type": "label", "id": "l"}
    tail = b'e":"torn"}\n' + b"".join(json.dumps(r).encode() + b"\n" for r in (answer, label))
    assert adapter.is_over(tail, None) is over
    result = {"type": "message", "message": {"role": "toolResult"}}
    assert not adapter.is_over(tail + json.dumps(result).encode(), None)
    assert not adapter.is_over(b"", None)


# Places in the tree
#
#   u1 ── a1 (write) ── r1 ── a2 ┬─ u2 ── a3 (read) ── r3 ── a4 (bash) ── r4 ── s ── a5
#                                ├─ u3 ── a6
#                                └─ b ── c


def node(id: str, role: str | None = None, time: int = 0, **more: Any) -> dict[str, Any]:
    type = more.pop("type", "message")
    return {"id": id, "type": type, "role": role, "time": f"2026-11-15T12:00:{time:02}Z", **more}


U1 = node("u1", "user", 1, text="one")
A1 = node("a1", "assistant", 2, tools=["write"])
R1 = node("r1", "toolResult", 3)
A2 = node("a2", "assistant", 4)
U2 = node("u2", "user", 11, text="two")
A3 = node("a3", "assistant", 12, tools=["read"])
R3 = node("r3", "toolResult", 13)
A4 = node("a4", "assistant", 14, tools=["bash"])
R4 = node("r4", "toolResult", 15)
S = node("s", "user", 16, text="meanwhile")
A5 = node("a5", "assistant", 17)
U3 = node("u3", "user", 21, text="three")
A6 = node("a6", "assistant", 22, tools=["bash"])
B = node("b", time=31, type="branch_summary")
C = node("c", time=32, type="compaction")
SYSTEM = node("sys", "system", 0)
LABEL = node("l", time=33, type="label")
ONE = [A2, R1, A1, U1, SYSTEM]


def made(kind: Any, second: int, leaf: str, entry: str | None = None, **more: Any) -> Checkpoint:
    return Checkpoint(
        id=CheckpointId(f"{kind} {second}"),
        session=SessionId("pi-s"),
        kind=kind,
        time=1794744000.0 + second,
        snapshot=SnapshotId("0" * 40),
        commit=b"",
        complete=True,
        files=0,
        leaf=leaf,
        entry=entry,
        **more,
    )


CHECKPOINTS = [
    made(PROMPT, 0, "root", prompt="one"),
    made(ROUND, 3, "r1", "a1"),
    made(TURN_END, 5, "a2"),
    made(PROMPT, 10, "a2", prompt="two"),
    made(STEER, 14, "a4", prompt="meanwhile"),
    made(ROUND, 15, "r4", "a4"),
    made(TURN_END, 18, "a5"),
    made(BRANCH, 19, "a2"),
    made(PROMPT, 20, "a2", prompt="three"),
    made(BRANCH, 31, "b"),
    made(COMPACTION, 32, "c"),
    made(BRANCH, 40, "b"),
    made(BRANCH, 41, "c"),
][::-1]


def place_of(path: Sequence[dict[str, Any]]) -> tuple[str | None, str | None]:
    found = match_entry(path, CHECKPOINTS)
    exact = None if found.exact is None else found.exact.id
    return exact, None if found.nearest is None else found.nearest.id


@pytest.mark.parametrize(
    ("path", "exact"),
    [
        ([U1, SYSTEM], "prompt 0"),
        (ONE[2:], "round 3"),
        (ONE, "turn end 5"),
        ([U2, *ONE], "prompt 10"),
        ([A3, U2, *ONE], "prompt 10"),  # it only read
        ([A4, R3, A3, U2, *ONE], "round 15"),
        ([S, R4, A4, R3, A3, U2, *ONE], "round 15"),  # typed into the turn, taken in after it
        ([A5, S, R4, A4, R3, A3, U2, *ONE], "turn end 18"),
        ([U3, *ONE], "prompt 20"),  # from the same leaf as the prompt before it
        ([B, *ONE], "branch 31"),
        ([C, B, *ONE], "compaction 32"),
    ],
)
def test_a_step_has_a_place_of_its_own(path: list[dict[str, Any]], exact: str) -> None:
    assert place_of(path) == (exact, exact)


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ([R4, A4, R3, A3, U2, *ONE], "round 15"),
        ([R3, A3, U2, *ONE], "prompt 10"),
        ([LABEL, C, B, *ONE], "compaction 32"),
        ([A6, U3, *ONE], "prompt 20"),  # its shell command ran without takeback
        ([node("u9", "user", 50, text="nine"), LABEL, C, B, *ONE], "compaction 32"),
    ],
)
def test_another_node_has_the_nearest_earlier_one(path: list[dict[str, Any]], nearest: str) -> None:
    assert place_of(path) == (None, nearest)


def test_where_nothing_was_kept_there_is_no_place() -> None:
    nothing = EntryMatch(None, None)
    assert (
        match_entry([SYSTEM], CHECKPOINTS)
        == match_entry([], CHECKPOINTS)
        == match_entry(ONE, ())
        == nothing
    )


def test_what_was_recorded_late_does_not_have_the_files_of_its_place() -> None:
    late = [c.replace(late=c.id == "prompt 10") for c in CHECKPOINTS]
    found = match_entry([U2, *ONE], late)
    assert found.exact is None
    assert found.nearest is not None
    assert found.nearest.id == "turn end 5"


def test_a_session_of_many_rounds_is_searched_at_once() -> None:
    path = [node(f"a{n}", "assistant", tools=["read"]) for n in range(3000)]
    assert match_entry([*path, *ONE], CHECKPOINTS).exact is not None


# Connecting


def connected(environ: dict[str, str], home: str, here: str | None = None) -> None:
    for edit in connection.connect(environ, home, here):
        write(edit)


def write(edit: FileEdit) -> None:
    path = Path(edit.path)
    if edit.after is None:
        path.unlink()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(edit.after)


@pytest.mark.parametrize("project", [False, True])
def test_the_extension_is_put_there_and_taken_away(tmp_path: Path, project: bool) -> None:
    environ = {"HOME": str(tmp_path / "home")}
    here = str(tmp_path / "project") if project else None
    base = tmp_path / ("project/.pi" if project else "home/.pi/agent")
    home = str(tmp_path / 'a "home"')
    assert not connection.is_connected(environ, home, here)
    connected(environ, home, here)
    found = {path.name for path in (base / "extensions" / "takeback").iterdir()}
    assert found == {"index.ts", "client.ts", "menus.ts", "settings.ts", "travel.ts"}
    settings = (base / "extensions" / "takeback" / "settings.ts").read_text()
    assert f"const LAUNCHER = {json.dumps(home + '/bin/hook')};" in settings
    assert connection.is_connected(environ, home, here)
    assert not any(edit.changes for edit in connection.connect(environ, home, here))
    for edit in connection.disconnect(environ, home, here):
        write(edit)
    assert list((base / "extensions" / "takeback").iterdir()) == []
    assert not connection.is_connected(environ, home, here)


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    own = tmp_path / ".pi" / "agent" / "extensions" / "takeback" / "index.ts"
    own.parent.mkdir(parents=True)
    own.write_text("export default () => {};\n")
    assert not any(edit.changes for edit in connection.disconnect(environ, "/home/dev/t", None))


def test_pi_is_found_by_its_folder_or_its_program(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}
    assert not connection.is_there(environ)
    program = tmp_path / "bin" / "pi"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert connection.is_there(environ)
    (tmp_path / "elsewhere").mkdir()
    other = {"HOME": "/nowhere", "PI_CODING_AGENT_DIR": str(tmp_path / "elsewhere")}
    assert connection.is_there(other)


def test_the_sessions_of_a_project_are_found(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    folder = tmp_path / ".pi" / "agent" / "sessions" / "--home-dev-my-repo--"
    folder.mkdir(parents=True)
    assert connection.transcripts(environ, "/home/dev/my-repo") == ()
    (folder / "x.jsonl").write_text("")
    os.utime(folder / "x.jsonl", (5, 5))
    [found] = connection.transcripts(environ, "/home/dev/my-repo")
    assert found == (str(folder / "x.jsonl"), 5)
    elsewhere = {**environ, "PI_CODING_AGENT_SESSION_DIR": str(tmp_path)}
    assert connection.transcripts(elsewhere, "/home/dev/my-repo") == ()


def test_the_package_names_what_pi_loads() -> None:
    import takeback

    package = Path(takeback.__file__).parent / "integrations" / "pi"
    manifest = json.loads((package / "package.json").read_text())
    [folder] = manifest["pi"]["extensions"]
    assert (package / folder / "takeback" / "index.ts").exists()
    assert "dependencies" not in manifest
