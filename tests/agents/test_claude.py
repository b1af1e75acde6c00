"""The real Claude against a scripted model."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.claude import Claude, shell
from tests.agents.elsewhere import go_on_elsewhere
from tests.agents.flow import (
    connect_one_project,
    go_back_to_green,
    take_back_the_newer_of_two_sessions,
    take_back_the_second_turn,
    tell_the_model,
)
from tests.agents.hook_log import log_hooks, logged
from tests.agents.script import Script, Step, Tool
from tests.agents.summaries import summarise_some_turns
from tests.agents.world import World


@pytest.fixture
def claude(world: World, installed: Callable[[str], Path]) -> Claude:
    return Claude(world, installed("claude"))


def test_the_model_is_told_that_files_were_taken_back(claude: Claude) -> None:
    tell_the_model(claude)


def test_a_turn_is_taken_back_with_its_files_and_its_conversation(claude: Claude) -> None:
    take_back_the_second_turn(claude)


def test_one_project_alone_is_connected(claude: Claude) -> None:
    connect_one_project(claude)


def test_the_line_of_a_fork_goes_on_in_its_directory(claude: Claude) -> None:
    go_on_elsewhere(claude, shell)


def test_without_a_name_the_newer_of_two_sessions_is_taken_back(claude: Claude) -> None:
    take_back_the_newer_of_two_sessions(claude)


def test_turns_become_a_summary_in_a_new_session(claude: Claude) -> None:
    summarise_some_turns(claude, again=True)


def test_a_projects_settings_switch_recording_off_neither_unheard_nor_unsaid(
    claude: Claude,
) -> None:
    """``env`` is not followed. ``disableAllHooks`` is, by Claude: then status names the file."""
    world = claude.world
    world.model.script = {
        "TURN-ONE": [Step("Shell.", [shell("echo 1 > one.txt")]), Step("Done.")],
        "TURN-TWO": [Step("Shell.", [shell("echo 2 > two.txt")]), Step("Done.")],
        "TURN-THREE": [Step("Shell.", [shell("echo 3 > three.txt")]), Step("Done.")],
    }
    world.cli.ok("init", "claude", "--yes")
    file = world.repo / ".claude" / "settings.local.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"env": {"TAKEBACK": "off", "HOME": str(world.repo)}}))
    session = claude.begin("TURN-ONE with a switch")
    assert [turn["prompt"] for turn in world.log()] == ["TURN-ONE with a switch"]
    said = world.cli.ok("status").stdout
    assert f"{file} sets TAKEBACK: that is not followed" in said
    file.write_text(json.dumps({"disableAllHooks": True}))
    time.sleep(1.1)  # what is said within a second of the last event may be older than it
    claude.go_on(claude.resume_line(session), "TURN-TWO without hooks")
    assert len(world.log()) == 1
    said = world.cli.ok("status").stdout
    assert f"Claude Code worked here (now) without takeback: {file} turns all hooks off" in said
    file.unlink()
    claude.go_on(claude.resume_line(session), "TURN-THREE with hooks again")
    assert len(world.log()) == 2
    assert "without takeback" not in world.cli.ok("status").stdout


@pytest.mark.long
def test_green_is_where_the_tests_of_its_shell_passed(claude: Claude) -> None:
    go_back_to_green(claude, shell)


@pytest.mark.long
def test_the_second_of_four_turns_is_reverted_and_the_model_is_told(claude: Claude) -> None:
    world, lines = claude.world, [f"line {number}" for number in range(1, 10)]
    world.model.script = four_turns(claude, lines)
    world.cli.ok("init", "claude", "--yes")
    session = claude.begin("TURN-ONE write the text")
    for prompt in ("TURN-TWO change line 2", "TURN-THREE change line 5", "TURN-FOUR change line 8"):
        claude.go_on(claude.resume_line(session), prompt)
    doomed = world.repo / "doomed.bin"
    assert not doomed.exists()

    done = world.cli.ok("--json", "revert", "turn:2", "--yes").json
    assert [one["path"] for one in done["deleted"]] == ["two.txt"]
    assert [one["path"] for one in done["written"]] == ["doomed.bin", "text.txt"]
    expected = [*lines[:4], "five", *lines[5:7], "eight", lines[8]]
    assert (world.repo / "text.txt").read_text().splitlines() == expected
    assert doomed.exists()
    assert (world.repo / "four.txt").exists(), "what came later stays"

    claude.go_on(claude.resume_line(session), "TURN-FIVE go on")
    sent = world.model.first_of("TURN-FIVE go on")
    assert len(sent.humans) == 5, "the conversation stays whole"
    assert sent.body.count("Note from takeback: ") == 1
    for told in ("took back some earlier changes", "text.txt", "doomed.bin", "two.txt"):
        assert told in sent.body
    note = sent.body[sent.body.index("Note from takeback: ") :]
    assert "four.txt" not in note.partition("read files again")[0]


def four_turns(claude: Claude, lines: list[str]) -> Script:
    """The second changes a line with a tool, makes a file, and deletes one with the shell."""
    text = "".join(f"{line}\n" for line in lines)
    read = Tool("Read", {"file_path": f"{claude.world.repo}/text.txt"})
    return {
        "TURN-ONE": [Step("Writing.", [claude.write("text.txt", text)]), Step("Written.")],
        "TURN-TWO": [
            Step("Reading.", [read]),
            Step("Editing.", [claude.edit("text.txt", "line 2", "two")]),
            Step("Shell.", [shell("rm doomed.bin && printf made > two.txt")]),
            Step("Changed line 2."),
        ],
        "TURN-THREE": [
            Step("Shell.", [shell("sed -i 's/line 5/five/' text.txt")]),
            Step("Changed line 5."),
        ],
        "TURN-FOUR": [
            Step("Shell.", [shell("sed -i 's/line 8/eight/' text.txt && echo 4 > four.txt")]),
            Step("Changed line 8."),
        ],
        "TURN-FIVE": [Step("Nothing to do.")],
    }


def test_it_calls_before_each_tool_that_may_change_files_and_goes_on_after_a_batch(
    claude: Claude, tmp_path: Path
) -> None:
    world, log = claude.world, tmp_path / "hooks.log"
    world.model.script = claude.script()
    world.cli.ok("init", "claude", "--yes")
    launcher = Path(
        json.loads(claude.settings.read_text())["hooks"]["Stop"][1]["hooks"][0]["command"]
    )
    log_hooks(launcher, log)
    session = claude.begin("TURN-ONE create")
    claude.go_on(claude.resume_line(session), "TURN-TWO edit")
    heard = logged(log)
    tools = [event["tool_name"] for _, event in heard if event["hook_event_name"] == "PreToolUse"]
    assert tools == ["Write", "Write", "Edit", "Bash"], "and not before Read"
    for words, event in heard:
        beside = event["hook_event_name"] in ("PreToolUse", "PostToolBatch")
        assert words == ("claude --beside" if beside else "claude"), event["hook_event_name"]
    kinds = [one["kind"] for one in world.cli.ok("--json", "log", "--all").json_lines]
    assert kinds.count("round") == 3, "the batch that only read is none"
