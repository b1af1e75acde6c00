"""The real Codex against a scripted model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.codex import Codex, shell
from tests.agents.elsewhere import go_on_elsewhere
from tests.agents.flow import (
    AGAIN,
    ONE,
    TWO,
    changed,
    connect_one_project,
    go_back_to_green,
    take_back_the_newer_of_two_sessions,
    take_back_the_second_turn,
    tell_the_model,
)
from tests.agents.hook_log import log_hooks, logged
from tests.agents.script import Step, Tool
from tests.agents.summaries import summarise_some_turns
from tests.agents.terminal import need_tmux
from tests.agents.world import World


@pytest.fixture
def codex(world: World, installed: Callable[[str], Path]) -> Codex:
    return Codex(world, installed("codex"))


def test_the_model_is_told_that_files_were_taken_back(codex: Codex) -> None:
    tell_the_model(codex)


def test_a_turn_is_taken_back_with_its_files_and_its_conversation(codex: Codex) -> None:
    take_back_the_second_turn(codex)


def test_without_a_name_the_newer_of_two_sessions_is_taken_back(codex: Codex) -> None:
    take_back_the_newer_of_two_sessions(codex)


def test_turns_become_a_summary_in_a_new_session(codex: Codex) -> None:
    path = codex.world.repo / "planted.txt"
    patch = f"*** Begin Patch\n*** Add File: {path}\n+planted\n*** End Patch\n"
    tries = [Tool("apply_patch", text=patch)]
    summarise_some_turns(codex, offers=("request_user_input", "apply_patch"), tries=tries)


def test_green_is_where_the_tests_of_its_shell_passed(codex: Codex) -> None:
    go_back_to_green(codex, shell)


def test_it_calls_before_each_tool_that_may_change_files_and_goes_on_after_one(
    codex: Codex, tmp_path: Path
) -> None:
    world, log = codex.world, tmp_path / "hooks.log"
    world.model.script = codex.script()
    world.cli.ok("init", "codex", "--yes")
    hooks = json.loads(codex.settings.read_text())["hooks"]
    log_hooks(Path(hooks["Stop"][0]["hooks"][0]["command"].split()[0]), log)
    codex.go_on(codex.resume_line(codex.begin(ONE)), TWO)
    heard = logged(log)
    around = [
        (event["hook_event_name"], event["tool_name"], words)
        for words, event in heard
        if "tool_name" in event
    ]
    assert around == [
        (event, tool, "codex --beside")
        for tool in ("apply_patch", "Bash", "apply_patch", "Bash")
        for event in ("PreToolUse", "PostToolUse")
    ]
    kinds = [one["kind"] for one in world.cli.ok("--json", "log", "--all").json_lines]
    assert kinds.count("round") == 4


def test_hooks_that_nobody_trusts_record_nothing_and_status_says_so(codex: Codex) -> None:
    world = codex.world
    world.model.script = codex.script()
    world.cli.ok("init", "codex", "--yes")
    world.cli.ok("checkpoint")
    before = len(world.cli.ok("--json", "log", "--all").json_lines)
    codex.trusting = []
    codex.begin(ONE)
    assert (world.repo / "a.txt").exists()
    assert len(world.cli.ok("--json", "log", "--all").json_lines) == before
    assert "Codex worked here" in world.cli.ok("status").stdout
    codex.trusting = ["--dangerously-bypass-hook-trust"]
    codex.begin(TWO)
    assert [turn["prompt"] for turn in world.log()] == [TWO]


@pytest.mark.long
def test_one_project_alone_is_connected(codex: Codex) -> None:
    connect_one_project(codex)


def test_a_terminal_takes_the_printed_line_and_answers_takeback(codex: Codex) -> None:
    need_tmux()
    world = codex.world
    world.model.script = codex.script()
    world.cli.ok("init", "codex", "--yes")
    session = codex.begin(ONE)
    codex.go_on(codex.resume_line(session), TWO)
    done = world.cli.ok("--json", "rewind", "turn:2", "--both", "--yes").json
    with codex.at_a_terminal(done["resume"]["argv"]) as terminal:
        terminal.shows("Created a.txt and b.txt.")
        terminal.say(AGAIN)
        terminal.until(lambda: terminal.screen.count("Worked for") == 2, "see the end")
        terminal.say("takeback")
        terminal.shows("Go back to before one: takeback N")
        assert not [r for r in world.model.requests if "takeback" in r.humans]
        terminal.end("C-c")
    assert world.model.first_of(AGAIN).humans == (ONE, AGAIN)
    assert [turn["prompt"] for turn in world.log()] == [ONE, TWO, AGAIN]


@pytest.mark.slow
def test_what_a_terminal_in_the_background_writes_belongs_to_its_turn(codex: Codex) -> None:
    need_tmux()
    world, build, stop = codex.world, "BUILD it", "STOP there"
    late = "until test -e go; do sleep 0.1; done; echo late > late.txt"
    long = {"cmd": f"echo now > now.txt; {late}", "yield_time_ms": 500}
    world.model.script = {
        "BUILD": [Step("", [Tool("exec_command", long)]), Step("It builds.")],
        "STOP": [Step("", [shell("echo half > half.txt; sleep 60")]), Step("Never said.")],
    }
    world.cli.ok("init", "codex", "--yes")
    with codex.at_a_terminal() as terminal:
        terminal.settles()
        terminal.say(build)
        terminal.shows("It builds.")
        terminal.until(lambda: world.log()[0]["state"] != "running", "see the turn end")
        refused = world.cli.run("rewind", "--yes")
        assert refused.status == 13
        assert f'background tasks running since "{build}"' in refused.stderr
        assert world.log()[0]["state"] == "background"
        (world.repo / "go").touch()
        terminal.until((world.repo / "late.txt").exists, "see it written")
        terminal.until(
            lambda: world.cli.run("rewind", "--dry-run").status == 0, "see the command end"
        )
        assert world.log()[0]["state"] == "ended"
        assert "late.txt" in changed(world.log()[0])
        terminal.say(stop)
        terminal.until((world.repo / "half.txt").exists, "see the command run")
        terminal.press("Escape")
        terminal.shows("interrupted")
        terminal.until(lambda: world.log()[-1]["state"] != "running", "see the turn end")
        assert world.log()[-1]["state"] == "unfinished"
        assert changed(world.log()[-1]) == {"half.txt": "added"}
        terminal.end("C-c")


@pytest.mark.long
def test_the_line_of_a_fork_goes_on_in_its_directory(codex: Codex) -> None:
    go_on_elsewhere(codex, shell)
