"""The conversation with an agent's extension: one process, one JSON document a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from takeback.adapters import adapter_named
from takeback.app.engine import Engine
from takeback.stdio.server import StdioServer
from tests.support.cli import Cli
from tests.support.journey import write_files
from tests.support.warm import Child
from tests.tui.stage import files_of


class Talk:
    """An extension's side of the talk."""

    def __init__(self, process: Child) -> None:
        self._process = process
        self._number = 0

    def line(self, data: bytes) -> dict[str, Any]:
        """Sends one line and returns the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(data + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert isinstance(answer, dict)
        return answer

    def ask(self, call: str, **fields: Any) -> dict[str, Any]:
        self._number += 1
        answer = self.line(json.dumps({"id": self._number, "call": call, **fields}).encode())
        assert answer["id"] == self._number
        return answer

    def ok(self, call: str, **fields: Any) -> dict[str, Any]:
        answer = self.ask(call, **fields)
        assert answer["ok"], answer
        result = answer["result"]
        assert isinstance(result, dict)
        return result

    def tell(self, event: str, **fields: Any) -> dict[str, Any]:
        return self.ok("event", event={"event": event, "session": "s1", **fields})


@pytest.fixture
def talk(cli: Cli, workspace: Path) -> Iterator[Talk]:
    write_files(workspace, {"a.txt": b"0\n"})
    with cli.start_hook("generic", "--stdio") as process:
        yield Talk(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=60) == 0


@pytest.fixture
def played(talk: Talk, workspace: Path) -> Talk:
    for number in (1, 2):
        told = talk.tell("prompt", turn=f"t{number}", prompt=f"make it {number}", leaf=f"l{number}")
        assert told["checkpoint"]
        write_files(workspace, {"a.txt": b"%d\n" % number})
        talk.tell("turn_end", turn=f"t{number}", leaf=f"e{number}")
    return talk


def test_an_empty_name_is_an_error_whatever_is_asked(played: Talk) -> None:
    for call in ("plan", "rewind", "fork", "label"):
        answer = played.ask(call, checkpoint="", scope="files")
        assert (answer["ok"], answer["error"]["code"]) == (False, "no_such_checkpoint"), call


def test_events_become_turns(played: Talk) -> None:
    entries = played.ok("log", session="s1")["entries"]
    assert [(e["turn"], e["prompt"]) for e in entries] == [(2, "make it 2"), (1, "make it 1")]
    assert played.ok("status")["checkpoints"] == 4


@pytest.mark.parametrize("session", ["thread 42", "a/b:c", "日本", "..", "x" * 10_000, "a\0b"])
def test_any_text_is_a_session(talk: Talk, session: str) -> None:
    told = talk.ok("event", event={"event": "prompt", "session": session, "prompt": "go"})
    assert told["checkpoint"]
    [entry] = talk.ok("log", session=session)["entries"]
    assert entry["prompt"] == "go"
    assert talk.ok("turns", session=session)["turns"]


def test_places_are_found_by_the_agents_own_ids(played: Talk) -> None:
    by_prompt = played.ok("at", session="s1", entry="t2")
    assert (by_prompt["exact"]["turn"], by_prompt["exact"]["kind"]) == (2, "prompt")
    by_leaf = played.ok("at", session="s1", entry="e1")
    assert by_leaf["exact"]["kind"] == "turn end"
    elsewhere = played.ok("at", session="s1", entry="tool", before=["unknown", "e1", "t1"])
    assert elsewhere["exact"] is None
    assert elsewhere["nearest"]["id"] == by_leaf["exact"]["id"]
    assert played.ok("at", session="s1", entry="nowhere") == {"exact": None, "nearest": None}


def test_plan_rewind_undo_redo(played: Talk, workspace: Path) -> None:
    target = played.ok("at", session="s1", entry="t2")["exact"]["id"]
    plan = played.ok("plan", checkpoint=target, scope="files")
    assert [change["path"] for change in plan["written"]] == ["a.txt"]
    done = played.ok("rewind", checkpoint=target, scope="files")
    assert done["verified"]
    assert (workspace / "a.txt").read_bytes() == b"1\n"
    assert played.ok("plan_undo")["written"]
    undone = played.ok("undo", command="/takeback")
    assert undone["lines"][-1] == "Take it back: /takeback redo"
    assert (workspace / "a.txt").read_bytes() == b"2\n"
    played.ok("redo")
    assert (workspace / "a.txt").read_bytes() == b"1\n"


def test_labels_pin_and_forks_fork(played: Talk) -> None:
    target = played.ok("at", session="s1", entry="t1")["exact"]["id"]
    assert played.ok("label", checkpoint=target, label="good")["label"] == "good"
    assert played.ok("label", checkpoint=target)["label"] is None
    done = played.ok("fork", checkpoint=target)
    assert done["session"].startswith("generic-s1.")


def test_what_is_refused_is_an_answer(played: Talk, workspace: Path) -> None:
    played.tell("prompt", turn="t3", prompt="think")
    target = played.ok("at", session="s1", entry="t1")["exact"]["id"]
    answer = played.ask("rewind", checkpoint=target, scope="files")
    assert (answer["ok"], answer["error"]["flag"]) == (False, "--during-turn")
    (question,) = played.ok("plan", checkpoint=target, scope="files")["questions"]
    assert question["answers"] == [{"waiver": "during_turn", "words": "Go on all the same"}]
    assert (question["title"][-1], question["paths"], question["word"]) == (".", [], None)
    played.ok("rewind", checkpoint=target, scope="files", overrides=["during_turn"])
    assert (workspace / "a.txt").read_bytes() == b"0\n"


@pytest.mark.parametrize("line", [b"nonsense", b"[]", b"{}", b'{"id": 7, "call": "x"}', b"\xff"])
def test_garbage_is_answered_and_the_talk_goes_on(talk: Talk, line: bytes) -> None:
    answer = talk.line(line)
    assert (answer["ok"], answer["error"]["code"]) == (False, "usage")
    assert talk.ok("status")["checkpoints"] == 0


def test_missing_and_wrong_fields(played: Talk) -> None:
    for call, fields in (
        ("rewind", {}),
        ("rewind", {"checkpoint": "nosuch"}),
        ("plan", {"checkpoint": "@", "scope": "odd"}),
        ("plan", {"checkpoint": "@", "overrides": ["during_tern"]}),
        ("plan", {"checkpoint": "@", "overrides": "during_turn"}),
        ("plan", {"checkpoint": "@", "overrides": [3]}),
        ("event", {"event": []}),
        ("event", {"event": {"event": "odd", "session": "s"}}),
        ("at", {"session": "s1"}),
        ("status", {"cwd": 3}),
        ("status", {"cwd": "/nowhere/at/all"}),
    ):
        answer = played.ask(call, **fields)
        assert not answer["ok"], (call, fields)
        assert answer["error"]["code"] != "bug", answer


def test_the_newest_turns_come_with_words(played: Talk) -> None:
    two, one = played.ok("turns", session="s1")["turns"]
    assert (two["turn"], two["line"]) == (2, 'now  turn 2  "make it 2"  a.txt  +1 -1')
    assert one["line"].startswith("now  turn 1")
    assert [t["turn"] for t in played.ok("turns", session="s1", limit=1)["turns"]] == [2]
    assert played.ok("turns", session="unknown") == {"turns": []}


def test_the_count_is_one_line(played: Talk) -> None:
    assert played.ok("counts") == {
        "line": "◆ 4 checkpoints / 3 snapshots",
        "can_undo": 0,
        "can_redo": 0,
    }


def test_what_was_shown_is_done_or_nothing_is(played: Talk, workspace: Path) -> None:
    target = played.ok("at", session="s1", entry="t1")["exact"]["id"]
    plan = played.ok("plan", checkpoint=target, scope="files")
    assert plan["lines"] == ["  write a.txt  +1 -1"]
    assert plan["question"].startswith("Rewind 1 file to ")
    assert plan["counts"] == "1 written, 0 deleted"
    write_files(workspace, {"b.txt": b"mine\n"})
    answer = played.ask("rewind", checkpoint=target, scope="files", plan=plan["plan"])
    assert answer["error"]["message"] == "the workspace changed since the plan was shown"
    again = played.ok("plan", checkpoint=target, scope="files")
    done = played.ok("rewind", checkpoint=target, scope="files", plan=again["plan"])
    assert (done["whole"], done["transcript"], done["fresh"]) == (True, None, False)
    assert done["lines"][0].startswith("Rewound 2 files to ")
    undo = played.ok("plan_undo")
    assert undo["question"].startswith("Undo the rewind to before turn 1")
    played.ok("undo", plan=undo["plan"])
    assert (workspace / "b.txt").read_bytes() == b"mine\n"
    played.ok("redo", plan=played.ok("plan_redo")["plan"])
    assert not (workspace / "b.txt").exists()


def test_refusals_are_waived_by_their_flags(played: Talk, workspace: Path) -> None:
    played.tell("prompt", turn="t3", prompt="think")
    target = played.ok("at", session="s1", entry="t1")["exact"]["id"]
    [refusal] = played.ok("plan", checkpoint=target, scope="files")["refused"]
    flags = [refusal["flag"]]
    assert played.ok("plan", checkpoint=target, scope="files", overrides=flags)["refused"] == []
    played.ok("rewind", checkpoint=target, scope="files", overrides=flags)
    assert (workspace / "a.txt").read_bytes() == b"0\n"


def test_a_fork_whose_files_were_brought_back_descends_from_its_place(
    played: Talk, workspace: Path
) -> None:
    played.tell("before_fork", entry="t2")
    target = played.ok("at", session="s1", entry="t2")["exact"]["id"]
    played.ok("rewind", checkpoint=target, scope="files")
    played.tell("forked", session="s2", parent="s1")
    played.tell("prompt", session="s2", turn="u1", prompt="another way")
    turns = played.ok("turns", session="s2")["turns"]
    assert [(turn["turn"], turn["prompt"]) for turn in turns] == [
        (2, "another way"),
        (1, "make it 1"),
    ]


def test_a_tree_is_asked_of_agents_that_have_one(played: Talk) -> None:
    answer = played.ask("at", session="s1", path=[{"id": "e1"}])
    assert answer["error"]["message"] == "generic has no tree; ask by entry"


def test_nothing_is_heard_where_nothing_is_to_be_kept(talk: Talk, cli: Cli) -> None:
    assert talk.ok("counts")["line"] is None
    cli.ok("off")
    heard = talk.tell("prompt", turn="t1", prompt="make it")
    assert (heard["heard"], heard["checkpoint"]) == (False, None)
    assert talk.ok("counts")["line"] is None
    cli.ok("on")
    assert talk.tell("prompt", turn="t1", prompt="make it")["checkpoint"]


def test_others_change_the_store_meanwhile(played: Talk, cli: Cli, workspace: Path) -> None:
    write_files(workspace, {"a.txt": b"by hand\n"})
    made = cli.ok("--json", "checkpoint", "-m", "by hand").json
    write_files(workspace, {"a.txt": b"later\n"})
    cli.ok("config", "hook_seconds", "7")
    played.ok("rewind", checkpoint=made["id"], scope="files")
    assert (workspace / "a.txt").read_bytes() == b"by hand\n"
    cli.ok("undo", "--yes")
    assert played.ok("counts")["can_redo"] == 1


def ask(server: StdioServer, call: str, **fields: Any) -> dict[str, Any]:
    """Asks in this process; returns the result, or the error."""
    answer = server.answer(json.dumps({"id": 1, "call": call, **fields}).encode())
    found = answer["result"] if answer["ok"] else answer["error"]
    assert isinstance(found, dict)
    return found


@pytest.fixture
def server(workspace: Path) -> StdioServer:
    """A server of the host ``mine``, which has played two turns."""
    write_files(workspace, {"a.txt": b"0\n"})
    server = StdioServer(adapter_named("generic"), str(workspace))
    for number in (1, 2):
        event = {"session": "s1", "agent": "mine", "turn": f"t{number}", "cwd": str(workspace)}
        ask(server, "event", event={**event, "event": "prompt", "prompt": f"make it {number}"})
        write_files(workspace, {"a.txt": b"%d\n" % number})
        ask(server, "event", event={**event, "event": "turn_end"})
    return server


def test_a_plan_that_is_not_known_is_not_agreed_to(server: StdioServer, workspace: Path) -> None:
    first, second = (turn["id"] for turn in ask(server, "turns", session="s1")["turns"][::-1])
    shown = ask(server, "plan", checkpoint=first, scope="files")["plan"]
    for number in (shown + 7, "1", True, -1):
        refused = ask(server, "rewind", checkpoint=first, scope="files", plan=number)
        assert (refused["code"], "plan" in refused["message"]) == ("refused", True)
    other = ask(server, "rewind", checkpoint=second, scope="files", plan=shown)
    assert "is of something else" in other["message"]
    assert (workspace / "a.txt").read_bytes() == b"2\n"
    assert ask(server, "rewind", checkpoint=first, scope="files", plan=shown)["whole"]
    undo = ask(server, "plan_undo")["plan"]
    assert "is of something else" in ask(server, "rewind", checkpoint=first, plan=undo)["message"]
    assert "is of something else" in ask(server, "undo", plan=shown)["message"]
    assert ask(server, "undo", plan=undo)["whole"]
    assert (workspace / "a.txt").read_bytes() == b"2\n"


def test_a_generic_host_is_known_by_its_own_name(server: StdioServer, workspace: Path) -> None:
    assert [turn["turn"] for turn in ask(server, "turns", session="s1")["turns"]] == [2, 1]
    assert len(ask(server, "log", session="s1")["entries"]) == 2
    assert ask(server, "at", session="s1", entry="t2")["exact"]["turn"] == 2
    anew = StdioServer(adapter_named("generic"), str(workspace))
    assert ask(anew, "turns", session="s1")["turns"] == []
    assert len(ask(anew, "turns", session="s1", agent="mine")["turns"]) == 2


def test_an_event_that_fails_is_a_line_of_status(server: StdioServer, workspace: Path) -> None:
    for event in ({"event": "prompt", "session": 7}, {"event": "no such event", "session": "s1"}):
        assert ask(server, "event", event={**event, "agent": "mine"})["code"] == "usage"
    assert len([line for line in ask(server, "status")["failures"] if "hook generic" in line]) == 2


def test_what_a_prompt_made_takeback_do_is_answered_as_data(workspace: Path) -> None:
    server = StdioServer(adapter_named("claude"), str(workspace))

    def prompt(text: str) -> dict[str, Any]:
        said = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(workspace)}
        return ask(server, "event", event={**said, "prompt": text, "prompt_id": text})

    write_files(workspace, {"a.txt": b"0\n"})
    assert prompt("make it")["outcome"] is None
    write_files(workspace, {"a.txt": b"1\n"})
    assert prompt("/takeback 1")["outcome"] is None
    done = prompt("/takeback 1 files yes --during-turn")
    assert done["answer"].startswith("Rewound 1 file to ")
    assert (done["outcome"]["kind"], done["outcome"]["resume"]) == ("rewind", None)
    stays = [done["outcome"][name] for name in ("transcript", "fresh", "editor")]
    assert stays == [None, False, None], "the conversation does"
    assert (workspace / "a.txt").read_bytes() == b"0\n"


def test_an_expired_place_is_said_and_goes_on_without_its_files(
    played: Talk, workspace: Path
) -> None:
    target = played.ok("at", session="s1", entry="t1")["exact"]["id"]
    with Engine.open(workspace) as tb:
        tb.prune(tb.plan_prune([target]))
    [first] = [turn for turn in played.ok("turns", session="s1")["turns"] if turn["turn"] == 1]
    assert first["expired"] is not None
    assert "expired" in first["line"]
    answer = played.ask("plan", checkpoint=target, scope="files")
    assert (answer["ok"], answer["error"]["code"]) == (False, "expired")
    plan = played.ok("plan", checkpoint=target, scope="conversation")
    assert "have expired" in plan["lines"][0]
    assert played.ok("fork", checkpoint=target)["session"].startswith("generic-s1.")


def test_one_turn_is_planned_and_reverted(server: StdioServer, workspace: Path) -> None:
    event = {"session": "s1", "agent": "mine", "turn": "t3", "cwd": str(workspace)}
    ask(server, "event", event={**event, "event": "prompt", "prompt": "make b"})
    write_files(workspace, {"b.txt": b"b\n"})
    ask(server, "event", event={**event, "event": "turn_end"})
    newest = ask(server, "turns", session="s1")["turns"][0]["id"]
    for name in (newest, "turn:3"):
        plan = ask(server, "plan_revert", session="s1", turns=[name])
        assert plan["question"] == 'Revert 1 file of turn 3 "make b"?'
        assert plan["disputes"] == []
    done = ask(server, "revert", session="s1", turns=["turn:3"], plan=plan["plan"])
    assert done["lines"][0] == 'Reverted 1 file of turn 3 "make b".'
    assert (done["whole"], done["transcript"], done["fresh"]) == (True, None, False)
    assert not (workspace / "b.txt").exists()
    assert ask(server, "undo", plan=ask(server, "plan_undo")["plan"])["whole"]


def test_disputes_are_asked_by_the_host(server: StdioServer, workspace: Path) -> None:
    plan = ask(server, "plan_revert", session="s1", turns=["turn:1"])
    assert plan["disputes"] == [
        {
            "path": "a.txt",
            "first": 0,
            "question": "1 of 1: a.txt: the same lines were changed again since",
            "lines": ["line 1", "  now  2", "  then 0"],
            "choices": [
                {"choice": "ours", "words": "Leave it as it is now"},
                {"choice": "theirs", "words": "Change it all the same"},
                {"choice": "markers", "words": "Write both, between conflict markers"},
                {"choice": "skip", "words": "Leave the whole file as it is"},
            ],
        }
    ]
    refused = ask(server, "revert", session="s1", turns=["turn:1"])
    assert refused["code"] == "refused"
    chosen = [{"path": "a.txt", "choices": ["theirs"]}]
    settled = ask(server, "plan_revert", session="s1", turns=["turn:1"], conflicts=chosen)
    assert (settled["disputes"], settled["refused"]) == ([], [])
    done = ask(
        server,
        "revert",
        session="s1",
        turns=["turn:1"],
        conflicts=[{"path_b64": "YS50eHQ=", "choices": ["theirs"]}],
        plan=settled["plan"],
    )
    assert done["whole"]
    assert (workspace / "a.txt").read_bytes() == b"0\n"


def test_own_edits_are_kept_if_the_host_asks_for_it(server: StdioServer, workspace: Path) -> None:
    second, _ = (turn["id"] for turn in ask(server, "turns", session="s1")["turns"])
    about = {"checkpoint": second, "scope": "files"}
    assert ask(server, "plan", **about)["can_keep_edits"] is False
    write_files(workspace, {"mine.txt": b"mine\n"})
    plan = ask(server, "plan", **about)
    assert plan["can_keep_edits"] is True
    assert "(undo brings it back)" in plan["lines"], "how to keep it is the host's to say"
    kept = ask(server, "plan", **about, keep="edits")
    assert ([one["path"] for one in kept["edits"]], kept["can_keep_edits"]) == (["mine.txt"], False)
    assert ask(server, "rewind", **about, keep="edits", plan=plan["plan"])["code"] == "refused"
    assert ask(server, "rewind", **about, keep="edits", plan=kept["plan"])["whole"]
    assert (workspace / "a.txt").read_bytes() == b"1\n"
    assert (workspace / "mine.txt").exists()


def test_only_what_the_session_changed_is_taken_back_if_the_host_asks_for_it(
    server: StdioServer, workspace: Path
) -> None:
    event = {"session": "o", "agent": "other", "turn": "1", "cwd": str(workspace)}
    ask(server, "event", event={**event, "event": "prompt", "prompt": "me too"})
    write_files(workspace, {"theirs.txt": b"theirs\n"})
    ask(server, "event", event={**event, "event": "turn_end"})
    newest = ask(server, "turns", session="s1")["turns"][0]["id"]
    about = {"checkpoint": newest, "scope": "files"}
    plan = ask(server, "plan", **about)
    assert (plan["can_keep"], plan["can_keep_edits"]) == (["all others"], False)
    same = ask(server, "plan", **about, keep="mine")
    kept = ask(server, "plan", **about, keep="all others")
    assert same["written"] == kept["written"]
    assert ([one["path"] for one in kept["written"]], kept["can_keep"]) == (["a.txt"], [])
    assert ask(server, "rewind", **about, keep="all others", plan=kept["plan"])["whole"]
    assert files_of(workspace) == {"a.txt": b"1\n", "theirs.txt": b"theirs\n"}
    assert ask(server, "plan", **about, keep="nonsense")["code"] == "usage"


def test_a_revert_that_cannot_be_meant_is_an_error(server: StdioServer, workspace: Path) -> None:
    one = {"turns": ["turn:1"]}
    wrong: list[dict[str, Any]] = [
        {},
        {"turns": "turn:1"},
        {"turns": []},
        {**one, "conflicts": "maybe"},
        {**one, "conflicts": 7},
        {**one, "conflicts": ["a.txt"]},
        {**one, "conflicts": [{"path": "a.txt"}]},
        {**one, "conflicts": [{"path": "a.txt", "choices": ["maybe"]}]},
        {**one, "conflicts": [{"path_b64": "?", "choices": []}]},
        {**one, "conflicts": [{"choices": ["ours"]}]},
    ]
    for fields in wrong:
        assert ask(server, "revert", session="s1", **fields)["code"] == "usage", fields
    assert (workspace / "a.txt").read_bytes() == b"2\n"


def test_a_host_that_sees_prompts_first_has_them_answered(played: Talk, workspace: Path) -> None:
    asked = {"session": "s1", "command": "/tb"}
    listed = played.ok("command", words=[], **asked)
    assert "make it 2" in listed["answer"]
    assert (listed["outcome"], "/tb revert N" in listed["answer"]) == (None, True)
    done = played.ok("command", words=["2", "files", "yes"], **asked)
    assert "Take it back: /tb undo yes" in done["answer"]
    assert done["outcome"]["kind"] == "rewind"
    assert (workspace / "a.txt").read_bytes() == b"1\n"
    for words in (None, "2", [2]):
        assert played.ask("command", words=words, **asked)["error"]["code"] == "usage"


def test_a_host_learns_who_has_recorded_a_session(played: Talk) -> None:
    played.tell("prompt", agent="mine", prompt="another name")
    assert played.ok("recorded", session="s1") == {"agents": ["generic", "mine"]}
    assert played.ok("recorded", session="s2") == {"agents": []}
    assert played.ask("recorded")["error"]["code"] == "usage"
