"""Sessions, the tree, search and fork, as a person reads them and as a script does."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.cli.transcript import settled
from tests.cli.typing_person import at_a_terminal
from tests.support.cli import Cli
from tests.support.host import Host


@pytest.fixture
def host(cli: Cli, workspace: Path, tmp_path: Path) -> Host:
    """An agent that has worked for three turns; the person edited a file before the third."""
    folder = tmp_path / "transcripts"
    folder.mkdir()
    (workspace / "notes").write_text("mine\n")
    host = Host(cli, folder)
    host.tell("session_start")
    host.turn("write a parser", {"parser.py": b"one\ntwo\n", "test.py": b"t\n"})
    host.turn("make it faster", {"parser.py": b"one\n"})
    (workspace / "notes").write_text("edited by hand\n")
    host.prompt("clean up")
    (workspace / "test.py").unlink()
    host.round(("Delete", "edit", ["test.py"]), ("Bash", "shell", []))
    host.end()
    return host


def said(host: Host, *words: str) -> str:
    """Returns what a command says, without what is new in each run."""
    text = settled(host.cli.ok(*words).stdout, workspace=str(host.cli.directory))
    return re.sub(r"\bs1\.[0-9a-f]{8}\b", "s1.NEW", text)


def test_turns_in_the_log(host: Host) -> None:
    assert said(host, "log") == snapshot("""\
ID   now  mine  turn 3  "clean up"  test.py  +0 -1  <- here
                    outside edits before it: notes
ID   now  mine  turn 2  "make it faster"  parser.py  +0 -1
ID   now  mine  turn 1  "write a parser"  parser.py, test.py  +3 -0
""")
    newest, *_ = host.cli.ok("--json", "log").json_lines
    assert (newest["agent"], newest["session"], newest["turn"]) == ("mine", "mine-s1", 3)
    assert (newest["kind"], newest["state"], newest["late"]) == ("prompt", "ended", False)
    assert newest["outside"] == [{"path": "notes"}]
    assert [(change["path"], change["who"]) for change in newest["changed"]] == [
        ("test.py", "tool Delete")
    ]


def test_show_without_a_name_shows_the_newest_turn_in_full(host: Host) -> None:
    assert host.cli.ok("--json", "show").json == host.cli.ok("--json", "show", "turn:3").json
    assert host.cli.ok("--json", "show", "@").json["kind"] == "turn end"
    host.cli.ok("checkpoint", "-m", "mine")
    assert host.cli.ok("--json", "show").json["prompt"] == "clean up"  # it is of no session


def test_everything_in_the_log(host: Host) -> None:
    assert said(host, "log", "--all") == snapshot("""\
ID   now  mine  turn end       no changes  <- here
ID   now  mine  round          test.py  +0 -1
ID   now  mine  turn 3         "clean up"  test.py  +0 -1
                    outside edits before it: notes
ID   now  mine  turn end       parser.py  +0 -1
ID   now  mine  turn 2         "make it faster"  parser.py  +0 -1
ID   now  mine  turn end       parser.py, test.py  +3 -0
ID   now  mine  turn 1         "write a parser"  parser.py, test.py  +3 -0
ID   now  mine  session start  no changes
""")


def test_a_turn_in_full(host: Host) -> None:
    text = said(host, "show", "turn:3")
    text = re.sub(r"[0-9a-f]{40}", "SNAPSHOT", text)
    text = text.replace(text.split("(")[1].split(")")[0], "TIME")
    assert text == snapshot("""\
checkpoint ID
  made      now (TIME)
  kind      prompt
  prompt    clean up
  branch    main
  session   mine-s1
  snapshot  SNAPSHOT
  files     3
  complete  yes
  turn      3, ended
  tools     Delete x1, Bash x1
changed by it:
  deleted   test.py  +0 -1  tool Delete
changed before it:
  modified  notes  +1 -1  outside
""")
    shown = host.cli.ok("--json", "show", "turn:3").json
    assert shown["tools"] == [{"name": "Delete", "times": 1}, {"name": "Bash", "times": 1}]
    assert [step["kind"] for step in shown["steps"]] == ["round", "turn end"]
    assert shown["conversation"] == [
        {"path": str(host.transcript), "bytes": shown["conversation"][0]["bytes"]}
    ]


def test_sessions(host: Host) -> None:
    assert said(host, "sessions") == snapshot('mine-s1   now  3 turns  8 checkpoints  "clean up"\n')
    (found,) = host.cli.ok("--json", "sessions").json_lines
    newest = host.cli.ok("--json", "log", "--all", "-n", "1").json
    assert found == {
        "type": "session",
        "v": 1,
        "id": "mine-s1",
        "agent": "mine",
        "native": "s1",
        "directory": str(host.cli.directory),
        "transcript": str(host.transcript),
        "parent": None,
        "origin": None,
        "origin_workspace": None,
        "began": found["began"],
        "last": newest["time"],
        "turns": 3,
        "checkpoints": 8,
        "newest": newest["id"],
        "state": "ended",
        "prompt": "clean up",
        "disagrees": None,
        "below": None,
    }


def test_where_no_agent_worked(cli: Cli) -> None:
    cli.ok("checkpoint")
    for words in (("sessions",), ("tree",)):
        assert cli.ok(*words).stdout == "No agent has worked here yet.\n"
    assert cli.ok("--json", "sessions").stdout == ""
    assert cli.ok("--json", "tree").json == {"type": "tree", "v": 1, "sessions": []}


def test_a_fork_and_the_tree(host: Host) -> None:
    answer = host.cli.ok("--json", "fork", "turn:2").json
    assert (answer["type"], answer["scope"], answer["written"]) == ("fork", "conversation", [])
    assert answer["prompt"] == "make it faster"
    child = host.resumed(answer["resume"]["argv"])
    child.turns = 1
    child.turn("rather make it shorter", {"parser.py": b"1\n"})
    assert said(host, "tree") == snapshot("""\
mine-s1
|- turn 1   now  "write a parser"  parser.py, test.py  +3 -0  ID
|- turn 2   now  "make it faster"  parser.py  +0 -1  ID
|  `- mine-s1.NEW
|     `- turn 2   now  "rather make it shorter"  parser.py  +1 -1  ID  <- here
`- turn 3   now  "clean up"  test.py  +0 -1  ID
""")
    assert said(host, "sessions") == snapshot("""\
mine-s1.NEW   now  2 turns  3 checkpoints  "rather make it shorter"  from mine-s1
mine-s1   now  3 turns  8 checkpoints  "clean up"
""")
    (root,) = host.cli.ok("--json", "tree").json["sessions"]
    assert (root["node"], root["id"], root["here"]) == ("session", "mine-s1", None)
    first, second, third = root["children"]
    assert [turn["turn"] for turn in (first, second, third)] == [1, 2, 3]
    (fork,) = second["children"]
    assert (fork["id"], fork["here"]) == (child.id, None)
    assert fork["children"][0]["here"] == "after"
    assert [turn["prompt"] for turn in fork["children"]] == ["rather make it shorter"]
    assert [change["path"] for change in fork["children"][0]["changed"]] == ["parser.py"]


def test_what_fork_says(host: Host) -> None:
    assert said(host, "fork", "turn:3") == snapshot("""\
Forked from ID (before turn 3: clean up).
The prompt was: "clean up"
Go on with it: cd WORKSPACE && mine --resume s1.NEW
""")
    assert said(host, "fork", "turn:3", "--dry-run") == snapshot(
        "Plan: fork the conversation from ID (before turn 3: clean up).\n"
    )


def test_a_fork_is_a_place_and_no_change(host: Host) -> None:
    host.cli.ok("fork", "turn:2")
    host.turn("go on", {"new": b"1\n"})
    turn, fork, *_ = host.cli.ok("--json", "log").json_lines
    assert (fork["kind"], fork["changed"], fork["outside"]) == ("fork", [], [])
    assert ([change["path"] for change in turn["changed"]], turn["outside"]) == (["new"], [])
    finds = host.cli.ok("--json", "search", "parser").json_lines
    assert "fork" not in {found["kind"] for found in finds}


def test_the_place_of_the_files_is_marked_wherever_they_went(host: Host) -> None:
    def here() -> list[tuple[int, str]]:
        (root,) = host.cli.ok("--json", "tree").json["sessions"]
        return [(turn["turn"], turn["here"]) for turn in root["children"] if turn["here"]]

    assert here() == [(3, "after")]
    host.cli.ok("fork", "turn:2")
    assert here() == [(3, "after")]
    host.cli.ok("rewind", "mine-s1/turn:2", "--files", "--yes")
    assert here() == [(2, "before")]
    assert said(host, "tree").count("<- here, before it") == 1
    host.cli.ok("undo", "--yes")
    assert here() == [(3, "after")]
    host.cli.ok("redo", "--yes")
    assert here() == [(2, "before")]


def test_search(host: Host) -> None:
    assert said(host, "search", "parser") == snapshot("""\
ID   now  mine  turn 2  changed  parser.py
      takeback rewind ID -- parser.py
ID   now  mine  turn 1  created  parser.py
      takeback rewind ID -- parser.py
ID   now  mine  turn 1  prompt  "write a parser"
      takeback rewind ID
""")
    assert len(host.cli.ok("--json", "search", "parser", "-n", "1").json_lines) == 1
    assert said(host, "search", "test.py") == snapshot("""\
ID   now  mine  turn 3  deleted  test.py
      takeback rewind ID -- test.py
ID   now  mine  turn 1  created  test.py
      takeback rewind ID -- test.py
""")
    found = host.cli.ok("--json", "search", "PARSER", "Write").json
    assert found == {
        "type": "found",
        "v": 1,
        "id": found["id"],
        "session": "mine-s1",
        "agent": "mine",
        "turn": 1,
        "kind": "prompt",
        "time": found["time"],
        "what": "prompt",
        "text": "write a parser",
        "place": found["id"],
        "expired": None,
        "change": None,
        "command": ["takeback", "rewind", found["id"]],
    }
    nothing = host.cli.run("search", "no such thing")
    assert (nothing.status, nothing.stdout, nothing.stderr) == (1, "", "")


def test_a_rewind_of_files_and_conversation(host: Host) -> None:
    text = said(host, "rewind", "turn:2", "--dry-run") + said(host, "rewind", "turn:2", "--yes")
    assert text == snapshot("""\
Plan: rewind 3 files and the conversation to ID (before turn 2: make it faster).
  write notes  +1 -1  your own edit
  write parser.py  +1 -0
  create test.py  +1 -0
1 of these is your own edit since then, taken back too
(undo brings it back; --keep-edits keeps it)
Rewound 3 files and the conversation to ID (before turn 2: make it faster).
The prompt was: "make it faster"
Go on with it: cd WORKSPACE && mine --resume s1.NEW
Take it back: takeback undo
""")
    assert said(host, "undo", "--yes") == snapshot("""\
Undid the rewind to before turn 2: make it faster (3 files).
Go on with it: cd WORKSPACE && mine --resume s1
Take it back: takeback redo
""")


def test_the_conversation_at_a_checkpoint(host: Host) -> None:
    text = host.cli.ok("cat", "turn:2", "--conversation").stdout
    assert [json.loads(line)["text"] for line in text.splitlines()] == ["write a parser", "done"]
    document = host.cli.ok("--json", "cat", "turn:2", "--conversation").json
    assert document["type"] == "conversation"
    assert base64.b64decode(document["bytes_b64"]).decode() == text
    assert "path" not in document


def test_a_prompt_cannot_steer_the_terminal(host: Host) -> None:
    host.turn("evil \x1b]0;title\x07 \x1b[31mred", {"a": b"1\n"})
    texts = [
        host.cli.ok(*words).stdout
        for words in (
            ("log",),
            ("show", "turn:4"),
            ("tree",),
            ("sessions",),
            ("search", "evil"),
            ("rewind", "turn:4", "--dry-run"),
            ("rewind", "turn:4", "--yes"),
            ("log", "--operations"),
            ("status",),
            ("undo", "--dry-run"),
            ("undo", "--yes"),
            ("redo", "--yes"),
        )
    ]
    assert "evil" in "".join(texts)
    assert not [text for text in texts if "\x1b" in text or "\x07" in text]


# -- several sessions


@pytest.fixture
def two(host: Host) -> Host:
    """A second agent has worked here, too; returns the first."""
    other = Host(host.cli, host.folder, "s2", "yours")
    other.turn("write docs", {"docs.md": b"text\n"})
    return host


OF_YOURS = 'This is of yours-s2, "write docs", where the files stand; another: --session ID\n'


def test_beside_a_session_that_is_over_nothing_is_asked_and_the_newest_turn_is_meant(
    two: Host,
) -> None:
    two.cli.ok("label", "mine/turn:1", "mine-first")
    for words in (
        ("show", "turn:1"),
        ("show", "@"),
        ("show",),
        ("diff", "turn:1", "turn:1.end"),
        ("diff", "@", "--stat"),
        ("cat", "@", "docs.md"),
        ("label", "turn:1", "first"),
        ("fork", "turn:1"),
        ("bisect", "turn:1", "@", "--", "test", "!", "-e", "docs.md"),
        ("blame", "docs.md", "@"),
    ):
        answer = two.cli.ok(*words)
        assert answer.stderr.count(OF_YOURS) == 1, str(answer)
    for words in (("show", "mine-first"), ("show", "yours/@"), ("show", "--session", "yours")):
        assert two.cli.ok(*words).stderr == ""
    assert two.cli.ok("--json", "show", "turn:1").json["prompt"] == "write docs"
    reverted = two.cli.ok("--json", "revert", "turn:1", "--yes").json
    assert reverted["deleted"] == [{"path": "docs.md"}]
    two.cli.ok("undo", "--yes")
    done = two.cli.ok("--json", "rewind", "--yes", "--", "docs.md")
    assert (done.json["deleted"], done.json["prompt"]) == ([{"path": "docs.md"}], None)
    two.cli.ok("undo", "--yes")
    done = two.cli.ok("--json", "rewind", "--yes")
    assert done.json["prompt"] == "write docs"
    assert json.loads(done.stderr)["message"] == OF_YOURS.strip()


def test_a_plan_names_first_the_session_that_was_taken(two: Host) -> None:
    for words in (("rewind",), ("revert", "turn:1"), ("fork", "turn:1", "--files")):
        lines = two.cli.ok(*words, "--dry-run").stdout.splitlines()
        assert lines[1] == OF_YOURS.strip(), lines
        whose = two.cli.ok("--json", *words, "--dry-run").json["whose"]
        assert whose == {"session": "yours-s2", "agent": "yours", "prompt": "write docs"}
    for words in (("rewind", "10m"), ("rewind", "--session", "mine"), ("rewind", "mine/turn:2")):
        answer = two.cli.run("--json", *words, "--dry-run")
        assert answer.status == 12 or answer.json["whose"] is None, str(answer)


def test_a_session_in_which_nothing_was_said_is_never_asked_about(host: Host) -> None:
    Host(host.cli, host.folder, "s2", "yours").tell("session_start")
    for words in (("rewind",), ("revert", "turn:3"), ("fork", "turn:1")):
        answer = host.cli.ok("--json", *words, "--dry-run").json
        assert answer["whose"] is None
    assert host.cli.ok("show", "turn:1").stderr == ""
    assert host.cli.ok("--json", "rewind", "--yes").json["prompt"] == "clean up"


def test_the_session_that_a_rewind_went_to_is_meant(two: Host) -> None:
    two.cli.ok("rewind", "--session", "mine", "turn:3", "--yes", "--overwrite-others")
    assert two.cli.ok("--json", "show", "turn:2").json["prompt"] == "make it faster"
    assert two.cli.ok("--json", "rewind", "--yes").json["prompt"] == "make it faster"
    two.cli.ok("undo", "--yes")
    two.cli.ok("undo", "--yes")
    assert two.cli.ok("--json", "rewind", "--yes").json["prompt"] == "write docs"


@pytest.fixture
def beside(host: Host) -> Host:
    """Another agent is at work here, and then the first one had its turn; returns the first."""
    other = Host(host.cli, host.folder, "s2", "yours")
    other.prompt("write docs")
    host.turn("and again", {"again.py": b"text\n"})
    return host


def test_beside_a_session_at_work_a_script_has_to_say_which(beside: Host) -> None:
    for words in (("show", "turn:1"), ("rewind", "--yes"), ("diff", "turn:1"), ("fork", "turn:1")):
        answer = beside.cli.run("--json", *words)
        assert (answer.status, answer.error["code"]) == (13, "which_session"), str(answer)
        assert re.search(r'mine-s1 \(mine, now, "and again"\)', answer.error["message"])
        assert re.search(r'yours-s2 \(yours, now, running, "write docs"\)', answer.error["message"])
        assert (answer.error["hint"], answer.error["flag"]) == (
            "say which: --session ID",
            "--session",
        )
    prompts = [
        beside.cli.ok("--json", "show", *words).json["prompt"]
        for words in (
            ("turn:1", "--session", "yours"),
            ("turn:1", "--session", "s1"),
            ("yours-s2/turn:1",),
        )
    ]
    assert prompts == ["write docs", "write a parser", "write docs"]
    for name in ("@", "0m"):
        assert beside.cli.ok("--json", "show", name).json["session"] == "mine-s1"
    plan = beside.cli.ok("--json", "rewind", "@", "--dry-run", "--during-turn").json
    assert plan["whose"]["session"] == "mine-s1"
    assert len(beside.cli.ok("log", "--session", "yours").stdout.splitlines()) == 1
    Host(beside.cli, beside.folder, "s2", "yours", turns=1).end()
    assert beside.cli.ok("--json", "show", "turn:1").json["prompt"] == "write docs"


def test_beside_a_session_at_work_a_person_is_asked_and_enter_is_the_newest(beside: Host) -> None:
    seen = at_a_terminal(beside.cli, "show", "turn:1", answers=("2\n",), env={"NO_COLOR": "1"})
    assert seen.status == 0, seen.screen
    assert "Which session? [1-2, Enter: 1] " in seen.screen
    offered = re.findall(r"  [12]  (\S+) +(\w+), [^\n]*, (\".*\")", seen.screen)
    assert offered == [("mine-s1", "mine", '"and again"'), ("yours-s2", "yours", '"write docs"')]
    assert "session   yours-s2" in seen.screen
    seen = at_a_terminal(beside.cli, "show", "turn:1", answers=("\n",), env={"NO_COLOR": "1"})
    assert (seen.status, "session   mine-s1" in seen.screen) == (0, True), seen.screen
    named = at_a_terminal(
        beside.cli, "show", "turn:1", answers=("yours-s2\n",), env={"NO_COLOR": "1"}
    )
    assert "session   yours-s2" in named.screen
    for answer in ("3\n", "\x04"):
        seen = at_a_terminal(beside.cli, "show", "turn:1", answers=(answer,), env={"NO_COLOR": "1"})
        assert (seen.status, "none was chosen" in seen.screen) == (2, True)


def test_what_begins_the_ids_of_several_sessions_is_asked_about(two: Host) -> None:
    Host(two.cli, two.folder, "s9", "yours").turn("write more", {"more.md": b"text\n"})
    assert two.cli.ok("--json", "show", "yours/turn:1").json["prompt"] == "write more"
    assert "yours-s9" in two.cli.ok("show", "yours/turn:1").stderr
    refused = two.cli.run("--json", "show", "turn:1", "--session", "yours-s")
    assert (refused.status, refused.error["code"]) == (12, "no_such_checkpoint")
    words = ("show", "turn:1", "--session", "yours-s")
    seen = at_a_terminal(two.cli, *words, answers=("yours-s2\n",), env={"NO_COLOR": "1"})
    assert (seen.status, "session   yours-s2" in seen.screen) == (0, True), seen.screen
    assert '"write more"' in seen.screen
    seen = at_a_terminal(two.cli, *words, answers=("\n",), env={"NO_COLOR": "1"})
    assert (seen.status, "none was chosen" in seen.screen) == (2, True)


def test_a_rewind_of_an_agents_session_can_be_repeated(two: Host) -> None:
    prompts = [
        two.cli.ok("--json", "rewind", "--session", "mine", "--yes", "--overwrite-others").json[
            "prompt"
        ]
        for _ in range(3)
    ]
    assert prompts == ["clean up", "make it faster", "write a parser"]
    assert two.cli.ok("--json", "show", "mine/turn:3").json["prompt"] == "clean up"


def test_the_agent_that_calls_means_its_own_session(two: Host) -> None:
    own = {"TAKEBACK_SESSION_ID": "s2", "TAKEBACK_AGENT": "yours"}
    assert two.cli.ok("--json", "show", "turn:1", env=own).json["prompt"] == "write docs"
    nobody = {"TAKEBACK_SESSION_ID": "s9", "TAKEBACK_AGENT": "yours"}
    assert two.cli.ok("--json", "show", "turn:1", env=nobody).json["prompt"] == "write docs"
    answer = two.cli.ok("--json", "show", "turn:1", env={**own, "TAKEBACK_SESSION_ID": "s1"})
    assert answer.json["prompt"] == "write docs"  # an id of another agent's is not its own


def test_the_options_of_a_hook_stand_before_the_verb_too(host: Host, tmp_path: Path) -> None:
    event = {"event": "prompt", "session": "s1", "agent": "mine", "turn": "x", "prompt": "hello"}
    where = str(host.cli.directory)
    Cli(tmp_path).ok("-C", where, "hook", "generic", stdin=json.dumps(event).encode())
    assert host.cli.ok("--json", "log", "-n", "1").json["prompt"] == "hello"


def test_a_conversation_is_printed_as_messages(host: Host) -> None:
    page = host.cli.ok("--json", "cat", "@", "--conversation", "--messages").json
    prompts = [one["prompt"] for one in host.cli.ok("--json", "log").json_lines]
    assert (page["type"], page["total"], page["next"]) == ("messages", 6, None)
    asked = [one for one in page["messages"] if one["role"] == "user"]
    assert [one["text"] for one in asked] == prompts[::-1]
    assert [one["turn"] for one in asked] == [1, 2, 3]
    assert said(host, "cat", "@", "--conversation", "--messages") == snapshot("""\

user turn 1 ID
write a parser

assistant
done

user turn 2 ID
make it faster

assistant
done

user turn 3 ID
clean up

assistant
done
""")
    assert host.cli.run("cat", "@", "notes", "--messages").status == 2
