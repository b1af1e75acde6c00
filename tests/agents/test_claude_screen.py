"""The real Claude Code at a terminal: what a person does there, and takes back."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude import Claude, shell
from tests.agents.flow import ONE, THREE, TWO, changed, check_the_newer_is_meant
from tests.agents.script import Script, Step
from tests.agents.terminal import Terminal, need_tmux
from tests.agents.world import World
from tests.support.trees import differences, tree_state

NEW = "TURN-FOUR another way"


@pytest.fixture
def claude(world: World, installed: Callable[[str], Path]) -> Claude:
    """Claude Code, connected."""
    need_tmux()
    driver = Claude(world, installed("claude"))
    world.model.script = driver.script()
    world.cli.ok("init", "claude", "--yes")
    return driver


def add(claude: Claude, turns: Script) -> None:
    claude.world.model.script = {**turns, **claude.world.model.script}


def turn(claude: Claude, terminal: Terminal, prompt: str) -> None:
    """Sends a prompt and waits until takeback has heard of its end."""
    terminal.say(prompt)

    def ended() -> bool:
        turns = claude.world.log()
        return bool(turns) and (turns[-1]["prompt"], turns[-1]["state"]) == (prompt, "ended")

    terminal.until(ended, f"hear the end of {prompt!r}")


def leave(terminal: Terminal) -> None:
    terminal.say("/exit")
    terminal.closes()


def rewound(claude: Claude, *words: str) -> dict[str, Any]:
    return claude.world.cli.ok("--json", "rewind", *words, "--yes").json


def remembers(claude: Claude, resume: list[str], prompt: str) -> tuple[str, ...]:
    """Goes on with a session and returns what the model was told that a person had said."""
    claude.go_on(resume, prompt)
    return claude.world.model.first_of(prompt).humans


def test_after_clear_and_a_session_in_which_nothing_was_said_the_newest_turn_is_taken_back(
    claude: Claude,
) -> None:
    world = claude.world
    with claude.at_a_terminal() as terminal:
        turn(claude, terminal, ONE)
        after_one = tree_state(world.repo)
        terminal.say("/clear")
        turn(claude, terminal, TWO)
        leave(terminal)
    with claude.at_a_terminal() as terminal:  # says that it started, and no more
        leave(terminal)
    [_, newer] = (one["session"] for one in world.log())
    assert len(world.cli.ok("--json", "sessions").json_lines) == 3
    check_the_newer_is_meant(world, newer, after_one)


def test_a_turn_stopped_by_esc_is_taken_back(claude: Claude) -> None:
    world = claude.world
    slow, long = "SLOW think", "LONG command"
    add(
        claude,
        {
            "SLOW": [Step("", [shell("echo x > early.txt")]), Step("late", delay=60)],
            "LONG": [Step("", [shell("echo y > shell.txt; sleep 60")])],
        },
    )
    with claude.at_a_terminal() as terminal:
        turn(claude, terminal, ONE)
        after_one = tree_state(world.repo)
        terminal.say(slow)
        terminal.until(lambda: world.model.played()[-1].label == "SLOW.1", "see it think")
        assert world.cli.run("rewind", "turn:2", "--yes").status == 13, "it is working"
        terminal.press("Escape")
        terminal.shows("Interrupted")
        plan = ("--json", "rewind", "turn:2", "--dry-run")
        terminal.until(lambda: not world.cli.ok(*plan).json["refused"], "see that it stopped")
        terminal.press("C-u")
        terminal.say(long)
        terminal.until((world.repo / "shell.txt").exists, "see the command run")
        terminal.press("Escape")
        terminal.until(lambda: terminal.screen.count("Interrupted") == 2, "see it stop")
        terminal.press("C-u")
        turn(claude, terminal, NEW)
        leave(terminal)
    first, second, third, fourth = world.log()
    assert [t["prompt"] for t in (second, third)] == [slow, long]
    assert [t["state"] for t in (first, second, third, fourth)] == [
        "ended",
        "unfinished",
        "unfinished",
        "ended",
    ]
    assert (changed(second), changed(third)) == ({"early.txt": "added"}, {"shell.txt": "added"})
    done = rewound(claude, "turn:2", "--both")
    assert differences(after_one, tree_state(world.repo)) == []
    assert remembers(claude, done["resume"]["argv"], "TURN-FOUR go on") == (ONE, "TURN-FOUR go on")


@pytest.mark.long
def test_what_a_background_task_writes_belongs_to_its_turn(claude: Claude) -> None:
    """In -p mode: a subagent writes after the turn's own end, and its end wakes the model."""
    world = claude.world
    delegated = "DELEGATE it"
    task = {"description": "sub job", "prompt": "SUB-JOB", "subagent_type": "general-purpose"}
    add(
        claude,
        {
            "DELEGATE": [Step("", [claude.tool("Agent", **task)]), Step("Delegated.")],
            "SUB-JOB": [Step("", [shell("sleep 1; echo sub > d.txt")]), Step("Written.")],
        },
    )
    session = claude.begin(ONE)
    after_one = tree_state(world.repo)
    claude.go_on(claude.resume_line(session), delegated)
    first, second = world.log()
    assert (first["prompt"], second["prompt"]) == (ONE, delegated)
    assert changed(second) == {"d.txt": "added"}
    done = rewound(claude, "turn:2", "--both")
    assert differences(after_one, tree_state(world.repo)) == []
    assert remembers(claude, done["resume"]["argv"], NEW) == (ONE, NEW)


@pytest.mark.long
def test_a_prompt_typed_into_a_running_turn_is_a_step_of_it(claude: Claude) -> None:
    world = claude.world
    work, also, go_on = "WORK on it", "ALSO this", world.home / "go-on"
    add(
        claude,
        {
            "WORK": [
                Step("", [shell(f"echo 1 > one.txt; until [ -e {go_on} ]; do sleep 0.1; done")]),
                Step("", [shell("echo 2 > two.txt")]),
                Step("Done."),
            ],
            "ALSO": [Step("", [shell("echo 2 > two.txt")]), Step("Done.")],
        },
    )
    with claude.at_a_terminal() as terminal:
        turn(claude, terminal, ONE)
        terminal.say(work)
        terminal.until((world.repo / "one.txt").exists, "see the command run")
        terminal.say(also)
        terminal.shows("Press up to edit queued messages")
        go_on.touch()
        terminal.until(lambda: world.log()[-1]["kind"] == "steer", "hear of the step")
        terminal.until((world.repo / "two.txt").exists, "see it go on")
        terminal.until(lambda: world.log()[-2]["state"] == "ended", "hear the end")
        leave(terminal)
    first, second, step = world.log()
    assert [(t["turn"], t["kind"], t["prompt"]) for t in (first, second, step)] == [
        (1, "prompt", ONE),
        (2, "prompt", work),
        (2, "steer", also),
    ]
    assert changed(second) == {"one.txt": "added", "two.txt": "added"}
    done = rewound(claude, step["id"], "--both")
    assert (world.repo / "one.txt").exists()
    assert not (world.repo / "two.txt").exists()
    assert remembers(claude, done["resume"]["argv"], NEW) == (ONE, work, NEW)


@pytest.mark.long
def test_a_turn_before_and_one_after_a_compaction_are_taken_back(claude: Claude) -> None:
    world = claude.world
    with claude.at_a_terminal() as terminal:
        turn(claude, terminal, ONE)
        after_one = tree_state(world.repo)
        turn(claude, terminal, TWO)
        after_two = tree_state(world.repo)
        terminal.say("/compact")
        terminal.shows("Compacted")
        turn(claude, terminal, THREE)
        leave(terminal)
    [session] = {entry["session"] for entry in world.log()}
    done = rewound(claude, f"{session}/turn:3", "--both")
    assert differences(after_two, tree_state(world.repo)) == []
    humans = remembers(claude, done["resume"]["argv"], NEW)
    assert humans[:-1] == world.model.first_of(THREE).humans[:-1]
    assert humans[0].startswith("This session is being continued")
    assert not {ONE, TWO, THREE}.intersection(humans)
    done = rewound(claude, f"{session}/turn:2", "--both")
    assert differences(after_one, tree_state(world.repo)) == []
    humans = remembers(claude, done["resume"]["argv"], "TURN-FOUR go on")
    assert humans == (ONE, "TURN-FOUR go on")


def test_a_running_claude_takes_the_new_session(claude: Claude) -> None:
    world = claude.world
    with claude.at_a_terminal() as terminal:
        turn(claude, terminal, ONE)
        after_one = tree_state(world.repo)
        turn(claude, terminal, TWO)
        done = rewound(claude, "turn:2", "--both")
        assert differences(after_one, tree_state(world.repo)) == []
        terminal.say(done["resume"]["in_tui"])
        terminal.until(lambda: "Edited one" not in terminal.screen, "see the new session")
        terminal.settles()
        turn(claude, terminal, NEW)
        leave(terminal)
    assert world.model.first_of(NEW).humans == (ONE, NEW)
    [newest] = [entry for entry in world.log() if entry["prompt"] == NEW]
    assert (newest["session"], newest["turn"]) == (done["session"], 2)


@pytest.mark.long
def test_a_turn_abandoned_by_claudes_own_rewind_is_never_sent(claude: Claude) -> None:
    world = claude.world
    slow = [Step("Nothing to do.", delay=1)]  # as any model: Claude writes its prompt meanwhile
    world.model.script = {**world.model.script, "TURN-FOUR": slow}
    with claude.at_a_terminal() as terminal:
        turn(claude, terminal, ONE)
        turn(claude, terminal, TWO)
        terminal.say("/rewind")
        terminal.shows("❯ (current)")
        terminal.press("Up")
        terminal.until(lambda: "❯ (current)" not in terminal.screen, "see the turn chosen")
        terminal.press("Enter")
        terminal.shows("1. Restore code and conversation")
        terminal.press("Enter")
        terminal.until(lambda: "Edited one" not in terminal.screen, "see the turn go")
        terminal.press("C-u")
        turn(claude, terminal, NEW)
        leave(terminal)
    assert world.model.first_of(NEW).humans == (ONE, NEW)
    log = world.log()
    assert [(one["prompt"], one["abandoned"]) for one in log] == [
        (ONE, False),
        (TWO, True),
        (NEW, False),
    ]
    (drawn,) = world.cli.ok("--json", "tree").json["sessions"]
    first, third = drawn["children"]
    assert [one["prompt"] for one in (first, third, first["children"][0])] == [ONE, NEW, TWO]
    assert "outside edits" not in world.cli.ok("log").stdout, "Claude put the files back"
    kept = ("--json", "rewind", "turn:1", "--files", "--keep-edits", "--dry-run")
    assert world.cli.ok(*kept).json["edits"] == []
    done = rewound(claude, "turn:3", "--conversation")
    assert remembers(claude, done["resume"]["argv"], "TURN-FOUR go on") == (ONE, "TURN-FOUR go on")
    assert TWO not in world.model.first_of("TURN-FOUR go on").body


def test_takeback_is_asked_inside_and_no_model_hears_of_it(claude: Claude) -> None:
    world = claude.world
    with claude.at_a_terminal() as terminal:
        turn(claude, terminal, ONE)
        after_one = tree_state(world.repo)
        turn(claude, terminal, TWO)
        after_two = tree_state(world.repo)
        terminal.say("/takeback")
        terminal.shows("Go back to before one: /takeback N")
        terminal.say("/takeback 2")
        terminal.shows("To do it: /takeback 2 yes")
        assert differences(after_two, tree_state(world.repo)) == []
        terminal.say("/takeback revert 2 yes")
        terminal.shows("Original prompt: /takeback revert 2 yes")
        assert differences(after_one, tree_state(world.repo)) == []
        terminal.say("/takeback undo yes")
        terminal.shows("Undid the revert of turn 2")
        assert differences(after_two, tree_state(world.repo)) == []
        mine = world.repo / "mine.txt"
        mine.write_text("typed by me")
        terminal.say("/takeback 2 files keep-edits yes")
        terminal.shows("Original prompt: /takeback 2 files keep-edits yes")
        mine.unlink()
        assert differences(after_one, tree_state(world.repo)) == []
        terminal.say("/takeback undo yes")
        terminal.shows("Undid the rewind to before turn 2")
        mine.unlink()
        terminal.say("/takeback 2 yes")
        terminal.shows("Original prompt: /takeback 2 yes")
        assert differences(after_one, tree_state(world.repo)) == []
        terminal.say(
            terminal.finds(
                lambda screen: next(
                    iter(re.findall(r"or, inside it: (/resume \S+)", screen)), None
                ),
                "see the line that goes on",
            )
        )
        terminal.until(lambda: "Edited one" not in terminal.screen, "see the new session")
        terminal.settles()
        turn(claude, terminal, NEW)
        terminal.say("/takeback undo yes")
        terminal.shows("Undid the rewind")
        assert differences(after_two, tree_state(world.repo)) == []
        leave(terminal)
    assert world.model.first_of(NEW).humans == (ONE, NEW)
    known = [r for r in world.model.requests if "/takeback" in r.body or "Take back any" in r.body]
    assert known == [], "it is no skill of the model's either"
    assert [entry["prompt"] for entry in world.log()] == [ONE, TWO, NEW]
