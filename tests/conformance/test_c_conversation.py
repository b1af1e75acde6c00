"""C. Conversations: cut, forked, kept (43 to 46, 50), and what the model is told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent import agent
from tests.support.cli import Cli
from tests.support.host import Host, turns
from tests.support.journey import paths, plan, rewind, undo, write_files
from tests.support.trees import tree_state
from tests.support.unprivileged import unprivileged


@pytest.fixture
def host(cli: Cli, workspace: Path, tmp_path: Path) -> Host:
    """A host with three turns behind it, each with files of its own."""
    write_files(workspace, {"kept.txt": b"kept\n"})
    folder = tmp_path / "transcripts"
    folder.mkdir()
    made = Host(cli, folder)
    made.tell("session_start")
    made.turn("one", {"a.txt": b"1\n"})
    made.turn("two", {"a.txt": b"2\n", "b.txt": b"b\n"})
    made.turn("three", {"kept.txt": None, "c.txt": b"c\n"})
    return made


def redo(cli: Cli) -> dict[str, Any]:
    return cli.ok("--json", "redo", "--yes").json


def test_43_the_agent_remembers_exactly_what_was_before_the_prompt(cli: Cli, host: Host) -> None:
    """Resumed, it sends the history before that prompt and nothing later."""
    done = rewind(cli, "turn:2", "--conversation")
    child = host.resumed(done["resume"]["argv"])
    assert child.remembers() == ["one", "done"]
    assert done["prompt"] == "two"
    assert done["resume"]["cwd"] == str(cli.directory)
    again = rewind(cli, "turn:2", "--conversation")
    assert again["resume"] == done["resume"], "the same target again reuses the session"
    first = rewind(cli, "turn:1", "--conversation")
    assert first["session"] != done["session"]


def test_44_the_original_transcript_is_untouched(cli: Cli, host: Host) -> None:
    """Byte-identical afterwards, and the old conversation can still be resumed."""
    before = host.transcript.read_bytes()
    status = host.transcript.stat()
    rewind(cli, "turn:2", "--both")
    undo(cli)
    rewind(cli, "turn:3", "--conversation")
    assert host.transcript.read_bytes() == before
    assert (host.transcript.stat().st_ino, host.transcript.stat().st_mtime_ns) == (
        status.st_ino,
        status.st_mtime_ns,
    )
    host.turn("four", {"d.txt": b"d\n"})
    assert host.remembers()[-2:] == ["four", "done"]


def test_45_files_only_conversation_only_both(cli: Cli, host: Host, workspace: Path) -> None:
    """Each scope moves what it says; files only tells the model what changed under it, once."""
    now = tree_state(workspace)
    done = rewind(cli, "turn:3", "--conversation")
    assert (done["written"], done["deleted"], done["scope"]) == ([], [], "conversation")
    assert tree_state(workspace) == now
    assert undo(cli)["resume"]["argv"] == ["mine", "--resume", "s1"]
    assert redo(cli)["resume"] == done["resume"]
    undo(cli)

    done = rewind(cli, "turn:3", "--files")
    assert done["resume"] is None
    assert (workspace / "kept.txt").exists()
    status = cli.ok("--json", "status").json
    assert [entry["id"] for entry in status["disagree"]] == ["mine-s1"]
    told = host.prompt("four").stdout
    assert 'put back: "kept.txt"; deleted: "c.txt"' in told
    host.end()
    assert host.prompt("five").stdout == ""
    host.end()
    assert cli.ok("--json", "status").json["disagree"] == []

    done = rewind(cli, "turn:2")
    assert done["scope"] == "both"
    assert host.resumed(done["resume"]["argv"]).remembers() == ["one", "done"]
    assert (workspace / "a.txt").read_bytes() == b"1\n"


def test_45_paths_and_times_mean_the_files_alone(cli: Cli, host: Host, workspace: Path) -> None:
    """The default scope: both for a turn, files for paths, ignored files and times."""
    assert plan(cli, "turn:2")["scope"] == "both"
    assert plan(cli, "turn:2", "--", "a.txt")["scope"] == "files"
    assert plan(cli, "turn:2", "--ignored")["scope"] == "files"
    assert plan(cli, "0s")["scope"] == "files"


def test_45_a_rewind_without_a_name_steps_back_turn_by_turn(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """Before the newest turn, then before the one before it; undo goes forward again."""

    def step() -> str:
        return str(cli.ok("--json", "rewind", "--yes").json["prompt"])

    assert [step(), step()] == ["three", "two"]
    assert (workspace / "a.txt").read_bytes() == b"1\n"
    undo(cli)
    assert step() == "two"
    assert step() == "one"
    answer = cli.run("--json", "rewind", "--yes")
    assert answer.status == 12
    assert "no turn left" in answer.error["message"]


def test_46_a_fork_makes_a_child_and_the_tree_shows_it(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """Its checkpoints and its ancestors' are all reachable from it."""
    now = tree_state(workspace)
    done = cli.ok("--json", "fork", "turn:3").json
    assert tree_state(workspace) == now
    child = host.resumed(done["resume"]["argv"])
    assert child.remembers() == ["one", "done", "two", "done"]
    child.tell("session_start", reason="resume")
    child.turn("three again", {"d.txt": b"d\n"})
    assert [(t["turn"], t["prompt"]) for t in turns(cli, "--session", done["session"])] == [
        (3, "three again")
    ]
    for name, prompt in (("turn:1", "one"), ("turn:2", "two"), ("turn:3", "three again")):
        shown = cli.ok("--json", "show", f"{done['session']}/{name}").json
        assert shown["prompt"] == prompt
    [root] = cli.ok("--json", "tree").json["sessions"]
    assert root["id"] == "mine-s1"
    third = root["children"][2]
    assert (third["turn"], third["children"][0]["id"]) == (3, done["session"])
    assert "three again" in cli.ok("tree").stdout
    [entry] = [s for s in cli.ok("--json", "sessions").json_lines if s["id"] == done["session"]]
    assert (entry["parent"], entry["turns"]) == ("mine-s1", 3)
    rewind(cli, f"{done['session']}/turn:2", "--files", "--overwrite-others")
    assert (workspace / "a.txt").read_bytes() == b"1\n"


def test_46_a_fork_with_files_can_be_undone(cli: Cli, host: Host, workspace: Path) -> None:
    """Files and conversation of the checkpoint; undo brings the files back."""
    now = tree_state(workspace)
    done = cli.ok("--json", "fork", "turn:2", "--files", "--yes").json
    assert (workspace / "a.txt").read_bytes() == b"1\n"
    assert not (workspace / "b.txt").exists()
    assert host.resumed(done["resume"]["argv"]).remembers() == ["one", "done"]
    assert undo(cli)["resume"]["argv"] == ["mine", "--resume", "s1"]
    assert tree_state(workspace) == now


def test_46_a_fork_into_a_directory_of_its_own(
    cli: Cli, host: Host, workspace: Path, tmp_path: Path
) -> None:
    """Two approaches race: the files here stay, the new directory is a workspace by itself."""
    now = tree_state(workspace)
    there = tmp_path / "other approach"
    done = cli.ok("--json", "fork", "turn:3", "--worktree", str(there)).json
    assert tree_state(workspace) == now
    assert sorted(os.listdir(there)) == ["a.txt", "b.txt", "kept.txt"]
    assert done["resume"]["cwd"] == str(there)
    elsewhere = Cli(there)
    child = Host(elsewhere, host.folder, done["resume"]["argv"][2])
    assert child.remembers() == ["one", "done", "two", "done"]
    child.turn("three, otherwise", {"e.txt": b"e\n"})
    assert [(t["turn"], t["prompt"]) for t in turns(elsewhere)] == [(3, "three, otherwise")]
    [session] = elsewhere.ok("--json", "sessions").json_lines
    assert (session["parent"], session["origin_workspace"]) == ("mine-s1", str(workspace))
    rewind(elsewhere, "turn:3", "--files")
    assert sorted(os.listdir(there)) == ["a.txt", "b.txt", "kept.txt"]
    assert tree_state(workspace) == now
    again = cli.run("--json", "fork", "turn:3", "--worktree", str(there))
    assert (again.status, again.error["code"]) == (2, "usage")


def test_46_the_child_of_a_fork_is_another_process(cli: Cli, host: Host) -> None:
    """The parent says where the fork goes, the child takes it up when it starts."""
    host.tell("before_fork", entry="s1-t2")
    child = Host(cli, host.folder, "child")
    child.tell("forked", parent="s1")
    child.tell("session_start", parent="s1", reason="fork")
    child.turn("two, otherwise", {"x.txt": b"x\n"})
    assert [(t["turn"], t["prompt"]) for t in turns(cli, "--session", "mine-child")] == [
        (2, "two, otherwise")
    ]
    [entry] = [s for s in cli.ok("--json", "sessions").json_lines if s["id"] == "mine-child"]
    assert entry["parent"] == "mine-s1"
    assert cli.ok("--json", "show", "mine-child/turn:1").json["prompt"] == "one"


def test_50_a_conversation_that_cannot_be_written_is_not_hidden(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """The files are done and said to be done, the conversation is said not to be; exit 3."""
    host.folder.chmod(0o500)
    barred = unprivileged(cli)
    try:
        answer = barred.run("--json", "rewind", "turn:2", "--both", "--yes")
        assert answer.status == 3, str(answer)
        assert answer.json["conversation_error"]
        assert answer.json["session"] == "mine-s1"
        assert (workspace / "a.txt").read_bytes() == b"1\n"
        assert "was not moved" in barred.run("rewind", "turn:3", "--both", "--yes").stdout
    finally:
        host.folder.chmod(0o700)
    rewind(cli, "turn:2", "--both")


def test_50_a_refused_restore_makes_no_fork(cli: Cli, host: Host, workspace: Path) -> None:
    """A precondition that fails cancels the whole of it: no session, no file, exit 13."""
    with agent() as busy:
        host.cli = cli.told_by(busy)
        host.prompt("four")
        now = tree_state(workspace)
        sessions = len(cli.ok("--json", "sessions").json_lines)
        files = sorted(os.listdir(host.folder))
        answer = cli.run("--json", "fork", "turn:2", "--files", "--yes")
        assert (answer.status, answer.error["flag"]) == (13, "--during-turn")
        assert tree_state(workspace) == now
        assert sorted(os.listdir(host.folder)) == files
        assert len(cli.ok("--json", "sessions").json_lines) == sessions


def test_28_what_another_session_changed_refuses_the_rewind(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """Listed and refused until --keep-others or --overwrite-others."""
    other = Host(cli, host.folder, "other")
    other.tell("session_start")
    other.turn("theirs", {"a.txt": b"theirs\n", "theirs.txt": b"new\n"})
    answer = cli.run("--json", "rewind", "mine-s1/turn:2", "--both", "--yes")
    assert (answer.status, answer.error["flag"]) == (13, "--overwrite-others")
    assert "mine-other" in answer.error["message"]
    assert (workspace / "a.txt").read_bytes() == b"theirs\n"
    assert paths(plan(cli, "mine-s1/turn:2")["others"]) == {b"a.txt", b"theirs.txt"}
    rewind(cli, "mine-s1/turn:2", "--both", "--keep-others")
    assert (workspace / "a.txt").read_bytes() == b"theirs\n"
    assert (workspace / "theirs.txt").exists()
    assert not (workspace / "c.txt").exists()
    undo(cli)
    rewind(cli, "mine-s1/turn:2", "--both", "--overwrite-others")
    assert (workspace / "a.txt").read_bytes() == b"1\n"
    assert not (workspace / "theirs.txt").exists()


def test_70_a_rewind_while_a_turn_runs_is_refused(cli: Cli, host: Host, workspace: Path) -> None:
    """Naming agent and prompt; a model that calls it from its own tool may only read."""
    with agent() as busy:
        host.cli, model = cli.told_by(busy), cli.inside(busy)
        host.prompt("think for long")
        answer = cli.run("--json", "rewind", "turn:2", "--files", "--yes")
        assert (answer.status, answer.error["flag"]) == (13, "--during-turn")
        assert "mine" in answer.error["message"]
        assert "think for long" in answer.error["message"]
        answer = model.run("--json", "rewind", "turn:2", "--files", "--yes", "--during-turn")
        assert answer.status == 13
        assert "inside a running turn" in answer.error["message"]
        model.ok("log")
        model.ok("checkpoint")
        rewind(cli, "turn:2", "--files", "--during-turn")
    assert (workspace / "a.txt").read_bytes() == b"1\n"
    undo(cli)  # its process is gone, so nobody works here any more
