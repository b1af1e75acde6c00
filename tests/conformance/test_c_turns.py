"""C. Turns and sessions: what a person remembers, and where each change belongs (38 to 42, 47)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.cli import Cli
from tests.support.host import Host, turns
from tests.support.journey import paths, rewind, write_files
from tests.support.trees import tree_state


@pytest.fixture
def host(cli: Cli, workspace: Path, tmp_path: Path) -> Host:
    write_files(workspace, {"kept.txt": b"kept\n", "doomed.txt": b"doomed\n"})
    folder = tmp_path / "transcripts"
    folder.mkdir()
    made = Host(cli, folder)
    made.tell("session_start")
    return made


def test_38_a_checkpoint_before_each_prompt_and_one_after_each_turn(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """One before, one after; a turn that changed nothing adds no snapshot."""
    host.turn("write a", {"a.txt": b"a\n"})
    before = cli.ok("--json", "status").json
    host.turn("what is in a?", {})
    after = cli.ok("--json", "status").json
    assert after["checkpoints"] == before["checkpoints"] + 2
    assert after["snapshots"] == before["snapshots"]
    kinds = [line["kind"] for line in cli.ok("--json", "log", "--all").json_lines]
    assert kinds == ["turn end", "prompt", "turn end", "prompt", "session start"]
    assert "◆ 5 checkpoints / 2 snapshots" in cli.ok("status").stdout
    rewind(cli, "turn:1.end", "--files")
    assert (workspace / "a.txt").read_bytes() == b"a\n"
    rewind(cli, "turn:1", "--files")
    assert not (workspace / "a.txt").exists()


def test_39_the_interrupted_turn_is_there_too(cli: Cli, host: Host, workspace: Path) -> None:
    """What a turn changed that never ended is in the next prompt's checkpoint, as that turn's."""
    host.prompt("write a and crash")
    write_files(workspace, {"a.txt": b"a\n"})
    (workspace / "doomed.txt").unlink()
    host.prompt("go on")
    first, second = turns(cli)
    assert (first["state"], second["state"]) == ("unfinished", "running")
    assert paths(first["changed"]) == {b"a.txt", b"doomed.txt"}
    assert {change["who"] for change in first["changed"]} == {"unfinished turn"}
    assert second["outside"] == []
    host.end()
    rewind(cli, "turn:1", "--files")
    assert not (workspace / "a.txt").exists()
    assert (workspace / "doomed.txt").read_bytes() == b"doomed\n"


def test_40_a_late_subagent_and_a_prompt_that_nobody_typed(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """A subagent that writes after the end, and its notification, belong to the turn."""
    host.prompt("let a subagent write d")
    host.round(("Agent", "subagent", ()))
    host.end(background=True)
    write_files(workspace, {"d.txt": b"d\n"})
    host.round(("Bash", "shell", ()), subagent="sub1")
    host.tell("prompt", turn="notified", prompt="<task-notification>", human=False)
    host.tell("turn_end", turn="notified")
    host.turn("next", {"e.txt": b"e\n"})
    first, second = turns(cli)
    assert (first["turn"], second["turn"]) == (1, 2)
    assert [(c["path"], c["who"]) for c in first["changed"]] == [("d.txt", "subagent")]
    assert paths(second["changed"]) == {b"e.txt"}
    assert second["outside"] == []


def test_41_what_a_turn_shows(cli: Cli, host: Host, workspace: Path) -> None:
    """Prompt, time, tools, files with counts, who changed each, outside edits before it."""
    write_files(workspace, {"mine.txt": b"by hand\n"})
    host.prompt("change things")
    write_files(workspace, {"kept.txt": b"kept\nand more\n", "shell.txt": b"1\n2\n"})
    host.round(("Edit", "edit", [str(workspace / "kept.txt")]), ("Bash", "shell", ()))
    write_files(workspace, {"late.txt": b"?\n"})
    host.end()
    shown = cli.ok("--json", "show", "turn:1").json
    assert shown["prompt"] == "change things"
    assert shown["time"].endswith("Z")
    assert shown["tools"] == [{"name": "Edit", "times": 1}, {"name": "Bash", "times": 1}]
    assert [(c["path"], c["added"], c["deleted"], c["who"]) for c in shown["changed"]] == [
        ("kept.txt", 1, 0, "tool Edit"),
        ("late.txt", 1, 0, "unknown"),
        ("shell.txt", 2, 0, "shell"),
    ]
    assert paths(shown["outside"]) == {b"mine.txt"}
    text = cli.ok("show", "turn:1").stdout
    for expected in ("change things", "Edit x1, Bash x1", "tool Edit", "outside"):
        assert expected in text
    line = cli.ok("log").stdout.splitlines()
    assert '"change things"  kept.txt, late.txt, shell.txt  +4 -0' in line[0]
    assert "outside edits before it: mine.txt" in line[1]


def test_42_identical_prompts_and_repeated_starts_keep_their_turns(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """Anchors are the agent's ids: the same words again are another turn, a resume is none."""
    for number in (1, 2, 3):
        host.turn("continue", {"n.txt": b"%d\n" % number})
        host.tell("session_start", reason="resume")
        host.tell("session_start", reason="resume")
    host.tell("compact")
    assert [(t["turn"], t["prompt"]) for t in turns(cli)] == [
        (1, "continue"),
        (2, "continue"),
        (3, "continue"),
    ]
    rewind(cli, "turn:2", "--files")
    assert (workspace / "n.txt").read_bytes() == b"1\n"


def test_42_two_prompts_under_one_id_are_one_turn_and_a_step(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """Typed while a turn runs: own checkpoint, indented, not counted."""
    host.prompt("first")
    write_files(workspace, {"a.txt": b"a\n"})
    host.tell("prompt", turn=f"{host.session}-t1", prompt="and quickly")
    write_files(workspace, {"b.txt": b"b\n"})
    host.end()
    host.turn("second", {"c.txt": b"c\n"})
    assert [(t["kind"], t["turn"], t["prompt"]) for t in turns(cli)] == [
        ("prompt", 1, "first"),
        ("steer", 1, "and quickly"),
        ("prompt", 2, "second"),
    ]
    steer = next(t for t in turns(cli) if t["kind"] == "steer")
    rewind(cli, steer["id"], "--files")
    assert sorted(os.listdir(workspace)) == [".git", "a.txt", "doomed.txt", "kept.txt"]


def test_42_an_end_whose_id_was_never_announced_is_a_command(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """``!command``: a turn of kind shell, not counted, its files its own."""
    host.turn("first", {"a.txt": b"a\n"})
    write_files(workspace, {"by-command.txt": b"x\n"})
    host.tell("turn_end", turn="never-announced")
    host.turn("second", {"b.txt": b"b\n"})
    first, command, second = turns(cli)
    assert [t["turn"] for t in (first, second)] == [1, 2]
    assert command["kind"] == "shell"
    assert [(c["path"], c["who"]) for c in command["changed"]] == [("by-command.txt", "shell")]
    assert second["outside"] == []


def test_47_compaction_clear_resume_and_switch_keep_their_places(
    cli: Cli, host: Host, workspace: Path, tmp_path: Path
) -> None:
    """Each keeps a place to go back to, and none is taken for another."""
    host.turn("one", {"a.txt": b"1\n"})
    host.tell("compact", reason="manual")
    compacted = cli.ok("--json", "log").json_lines[0]
    assert compacted["kind"] == "compaction"
    host.turn("two", {"a.txt": b"2\n"})
    host.tell("session_end", reason="clear")
    cleared = Host(cli, host.folder, "s2")
    cleared.tell("session_start", reason="clear")
    cleared.turn("three", {"a.txt": b"3\n"})
    host.tell("session_start", reason="resume")  # switched back
    host.turn("four", {"a.txt": b"4\n"})
    host.tell("before_tree", entry="x")
    host.tell("tree", leaf="y", reason="summary")
    assert cli.ok("--json", "log").json_lines[0]["kind"] == "branch"
    by_session = {
        name: [(t["turn"], t["prompt"]) for t in turns(cli, "--session", name)]
        for name in ("mine-s1", "mine-s2")
    }
    assert by_session == {
        "mine-s1": [(1, "one"), (2, "two"), (3, "four")],
        "mine-s2": [(1, "three")],
    }
    for name, content in (
        (compacted["id"], b"1\n"),
        ("mine-s2/turn:1", b"2\n"),
        ("mine-s2/turn:1.end", b"3\n"),
        ("mine-s1/turn:3", b"3\n"),
    ):
        rewind(cli, name, "--files", "--overwrite-others")
        assert (workspace / "a.txt").read_bytes() == content


def test_49_places_survive_a_moved_or_deleted_transcript(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """The bytes are in the store: the conversation is written anew although its file is gone.

    Where another directory has taken the place of its own, they are printed and not written.
    """
    host.turn("one", {"a.txt": b"1\n"})
    host.turn("two", {"a.txt": b"2\n"})
    kept = host.transcript.read_bytes()
    host.transcript.unlink()
    assert cli.ok("cat", "turn:2.end", "--conversation").stdout_bytes == kept
    done = rewind(cli, "turn:2", "--both")
    assert host.resumed(done["resume"]["argv"]).remembers() == ["one", "done"]
    assert (workspace / "a.txt").read_bytes() == b"1\n"
    host.folder.rename(host.folder.with_name("moved"))
    host.folder.mkdir()
    refused = cli.run("--json", "rewind", "turn:2.end", "--conversation", "--yes")
    assert refused.status == 13
    assert "--conversation" in refused.error["hint"]
    assert list(host.folder.iterdir()) == []
    assert cli.ok("cat", "turn:2.end", "--conversation").stdout_bytes == kept


def test_events_in_any_order_from_any_program_are_survived(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """Ends without beginnings, garbage, events of an unknown session: nothing fails or is lost."""
    stranger = Host(cli, host.folder, "stranger")
    for event in ("turn_end", "round_end", "interrupted", "session_end", "tool_after", "tree"):
        stranger.tell(event)
    state = tree_state(workspace)
    host.turn("one", {"a.txt": b"1\n"})
    for stdin in (b"", b"{", b"[]", b'{"event": "prompt"}', b'{"event": "x", "session": "s"}'):
        answer = cli.run("hook", "generic", stdin=stdin)
        assert (answer.status, answer.stdout, answer.stderr) == (0, "", "")
    rewind(cli, "mine-s1/turn:1", "--files")
    assert tree_state(workspace) == state
    assert len(cli.ok("--json", "status").json["failures"]) == 5


def test_outside_files_and_ignored_ones_are_saved_before_a_tool(
    cli: Cli, host: Host, workspace: Path, tmp_path: Path
) -> None:
    """A file outside the workspace is kept and handed out, and never written by a rewind."""
    outside = tmp_path / "outside.conf"
    outside.write_bytes(b"theirs\n")
    write_files(workspace, {".gitignore": b"build/\n", "build/out.bin": b"built\n"})
    host.prompt("edit both")
    tools = [
        {"name": "Edit", "kind": "edit", "paths": [str(outside), str(workspace / "build/out.bin")]}
    ]
    host.tell("tool_before", turn="s1-t1", tools=tools)
    outside.write_bytes(b"changed\n")
    write_files(workspace, {"build/out.bin": b"rebuilt\n"})
    host.end()
    assert cli.ok("cat", "turn:1", str(outside)).stdout_bytes == b"theirs\n"
    rewind(cli, "turn:1", "--both")
    assert (workspace / "build/out.bin").read_bytes() == b"built\n"
    assert outside.read_bytes() == b"changed\n"
    assert json.loads(cli.ok("--json", "undo", "--yes").stdout)["verified"]
    assert (workspace / "build/out.bin").read_bytes() == b"rebuilt\n"


def test_42_the_words_of_a_command_are_kept_unless_conversations_are_not(
    cli: Cli, host: Host, workspace: Path
) -> None:
    """An agent may say them with the end; ``show`` and ``search`` know them."""
    host.turn("first", {"a.txt": b"a\n"})
    host.tell("turn_end", turn="never-announced", prompt="make all")
    assert turns(cli)[-1]["prompt"] == "make all"
    assert "make all" in cli.ok("show", "@").stdout
    cli.ok("config", "conversation", "off")
    host.tell("turn_end", turn="neither", prompt="curl -H token")
    assert turns(cli)[-1]["prompt"] is None
