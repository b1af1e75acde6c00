"""The real pi against a scripted model."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import takeback
from tests.agents.elsewhere import go_on_elsewhere
from tests.agents.flow import (
    AGAIN,
    LATER,
    ONE,
    THREE,
    TWO,
    go_back_to_green,
    take_back_the_second_turn,
)
from tests.agents.pi import Pi, shell, write
from tests.agents.pi_rpc import EXTENSION, Rpc
from tests.agents.script import Step
from tests.agents.summaries import summarise_some_turns
from tests.agents.terminal import Terminal, need_tmux
from tests.agents.world import World
from tests.support.processes import wait_for
from tests.support.trees import differences, tree_state


@pytest.fixture
def pi(world: World, installed: Callable[[str], Path]) -> Pi:
    return Pi(world, installed("pi"), installed("node"))


def test_a_turn_is_taken_back_with_its_files_and_its_conversation(pi: Pi) -> None:
    take_back_the_second_turn(pi)


@pytest.mark.long
def test_turns_become_a_summary_in_a_new_session(pi: Pi) -> None:
    summarise_some_turns(pi)


@pytest.mark.long
def test_green_is_where_the_tests_of_its_shell_passed(pi: Pi) -> None:
    go_back_to_green(pi, shell)


# Inside pi


class Played:
    """Three turns played in one running pi, and what the project looked like around each."""

    def __init__(self, pi: Pi, rpc: Rpc) -> None:
        self.pi, self.rpc, self.model, self.repo = pi, rpc, pi.world.model, pi.world.repo
        self.before_one = tree_state(self.repo)
        rpc.prompt(ONE)
        self.after_one = tree_state(self.repo)
        rpc.prompt(TWO)
        self.after_two = tree_state(self.repo)
        rpc.prompt(THREE)
        self.after_three = tree_state(self.repo)
        self.file = rpc.file

    def files_are(self, state: object) -> bool:
        return differences(state, tree_state(self.repo)) == []  # type: ignore[arg-type]

    def remembered(self, prompt: str = AGAIN) -> tuple[str, ...]:
        """Returns the prompts that the model is sent with one more."""
        self.rpc.prompt(prompt)
        return self.model.first_of(prompt).humans


@pytest.fixture
def rpc(pi: Pi) -> Iterator[Rpc]:
    pi.world.model.script = pi.script()
    pi.world.cli.ok("init", "pi", "--yes")
    extension = pi.world.home / "tree.ts"
    extension.write_text(EXTENSION)
    with Rpc(pi, "--extension", str(extension)) as running:
        yield running
    assert pi.world.cli.ok("--json", "status").json["failures"] == []


@pytest.fixture
def played(pi: Pi, rpc: Rpc) -> Played:
    return Played(pi, rpc)


@pytest.mark.long
def test_the_footer_counts(played: Played) -> None:
    status = played.pi.world.cli.ok("--json", "status").json
    last = f"◆ {status['checkpoints']} checkpoints / {status['snapshots']} snapshots"
    played.rpc.call("get_state")
    assert played.rpc.footers[-1] == last


def test_takeback_goes_back_with_files_and_conversation(played: Played) -> None:
    rpc, written = played.rpc, played.file.read_bytes()
    rpc.command("/takeback", "now  turn 2", "files + conversation")
    assert played.files_are(played.after_one)
    assert rpc.editor == TWO
    assert rpc.file != played.file
    assert played.remembered() == (ONE, AGAIN)
    assert played.file.read_bytes() == written
    rpc.command("/takeback undo", "yes")
    assert rpc.file == played.file
    assert played.files_are(played.after_three)
    assert played.remembered(LATER) == (ONE, TWO, THREE, LATER)


@pytest.mark.long
def test_what_is_typed_in_words_is_answered_in_words(played: Played) -> None:
    rpc = played.rpc
    rpc.command("/takeback fork 2")
    assert rpc.notices[-1].endswith("To do it: /takeback fork 2 yes")
    rpc.command("/takeback fork 2 yes")
    assert played.files_are(played.after_three)
    assert (rpc.editor, rpc.file != played.file) == (TWO, True)
    assert played.remembered() == (ONE, AGAIN)
    rpc.command("/takeback 0s")
    assert rpc.notices[-1].startswith("Nothing to do: ")
    rpc.command("/takeback nonsense yes")
    assert rpc.notices[-1].startswith("takeback: there is no checkpoint 'nonsense'")
    rpc.command("/takeback help")
    assert "/takeback fork 3 yes" in rpc.notices[-1]


@pytest.mark.long
def test_a_very_long_prompt_comes_back_whole_and_steers_nothing(pi: Pi, rpc: Rpc) -> None:
    rpc.prompt(ONE)
    rpc.prompt("TURN-FOUR \x1b]0;owned\x07\n\t" + "long " * 20_000 + "end")
    rpc.command("/takeback 2 yes")
    assert rpc.editor == "TURN-FOUR \\x1b]0;owned\\x07\n\t" + "long " * 20_000 + "end"
    assert len(rpc.notices[-1]) < 9_000
    assert "\x1b" not in rpc.notices[-1]


@pytest.mark.long
def test_takeback_to_the_first_turn_begins_a_new_session(played: Played) -> None:
    rpc = played.rpc
    rpc.command("/takeback 1", "files + conversation")
    assert played.files_are(played.before_one)
    assert rpc.editor == ONE
    assert rpc.file != played.file
    assert played.remembered() == (AGAIN,)


@pytest.mark.long
def test_takeback_of_the_conversation_or_of_the_files_alone(played: Played) -> None:
    rpc = played.rpc
    rpc.command("/takeback 3", "files only")
    assert (played.files_are(played.after_two), rpc.file) == (True, played.file)
    played.model.script = {}
    rpc.prompt(AGAIN)
    *said, note, last = played.model.requests[-1].humans
    assert [*said, last] == [ONE, TWO, THREE, AGAIN]
    assert note.startswith("Note from takeback: since your last turn the user took back changes")
    played.model.script = played.pi.script()
    rpc.command("/takeback 2", "conversation only")
    assert played.files_are(played.after_two)
    assert played.remembered(LATER) == (ONE, LATER)


def test_one_turn_alone_is_reverted_and_what_is_disputed_is_asked(played: Played) -> None:
    rpc, repo = played.rpc, played.repo
    revert = "revert this turn only"
    rpc.command("/takeback 2", revert, "no")
    rpc.command("/takeback 2", revert, "yes", None)
    assert played.files_are(played.after_three), "whoever leaves a question changes nothing"
    rpc.command("/takeback 2", revert, "yes", "Leave it as it is now", "yes")
    asked = [title for title in rpc.titles() if title.startswith("takeback: 1 of 1: ")]
    assert asked[-1].startswith("takeback: 1 of 1: c.txt, now sub/d.txt: it is to go")
    assert (repo / "a.txt").read_text() == "alpha\n"
    assert (repo / "b.txt").exists()
    assert (repo / "sub" / "d.txt").exists(), "what turn 3 made of it stays"
    assert rpc.file == played.file, "the conversation stays"
    played.model.script = {}
    rpc.prompt(AGAIN)
    note = played.model.requests[-1].humans[-2]
    assert note.startswith("Note from takeback: ")
    assert "a.txt" in note
    rpc.command("/takeback undo", "yes")
    assert played.files_are(played.after_three)


def test_own_edits_are_kept_where_the_plan_would_take_them_back(played: Played) -> None:
    rpc, repo = played.rpc, played.repo
    rpc.command("/takeback 2", None)
    assert not [one for one in rpc.options() if "keep your own edits" in one]
    (repo / "mine.txt").write_text("typed by me\n")
    rpc.command("/takeback 2", "files only, keep your own edits", "no")
    assert (repo / "sub" / "d.txt").exists()
    rpc.command("/takeback 2", "files only, keep your own edits", "yes")
    assert (repo / "mine.txt").read_text() == "typed by me\n"
    (repo / "mine.txt").unlink()
    assert played.files_are(played.after_one)


@pytest.mark.long
def test_the_fork_and_the_tree_offer_to_revert_and_to_keep_own_edits(played: Played) -> None:
    rpc, repo = played.rpc, played.repo
    revert = ("revert this turn only", "yes", "Leave it as it is now", "yes")
    assert not rpc.fork(TWO, *revert), "the conversation stays"
    reverted = tree_state(repo)
    assert (repo / "a.txt").read_text() == "alpha\n"
    assert (repo / "sub" / "d.txt").exists(), "what turn 3 made stays"
    rpc.command("/takeback undo", "yes")
    rpc.tree(rpc.entry(TWO), *revert)
    assert rpc.notices[-1] == "navigation cancelled"
    assert played.files_are(reverted)
    rpc.command("/takeback undo", "yes")
    assert played.files_are(played.after_three)
    rpc.tree(rpc.entry("Edited one", "assistant"), None)
    assert not [one for one in rpc.options() if "revert" in one], "no turn begins there"
    (repo / "mine.txt").write_text("typed by me\n")
    rpc.tree(rpc.entry(THREE), "restore files, keep your own edits", "yes")
    assert rpc.fork(TWO, "files + conversation, keep your own edits", "yes")
    assert (repo / "mine.txt").read_text() == "typed by me\n"
    (repo / "mine.txt").unlink()
    assert played.files_are(played.after_one)
    assert played.remembered() == (ONE, AGAIN)


@pytest.mark.long
def test_another_sessions_work_is_left_where_the_plan_would_take_it_back(played: Played) -> None:
    rpc, repo = played.rpc, played.repo
    other = {"session": "o", "agent": "other", "prompt": "me too", "turn": "1"}
    cli = played.pi.world.cli
    cli.ok("hook", "generic", stdin=json.dumps({**other, "event": "prompt"}).encode())
    (repo / "theirs.txt").write_text("theirs\n")
    cli.ok("hook", "generic", stdin=json.dumps({**other, "event": "turn_end"}).encode())
    rpc.command("/takeback 2", "files only, only what its session changed", "yes")
    assert (repo / "theirs.txt").read_text() == "theirs\n"
    (repo / "theirs.txt").unlink()
    assert played.files_are(played.after_one)


@pytest.mark.long
def test_takeback_can_be_left_at_each_question(played: Played) -> None:
    rpc = played.rpc
    rpc.command("/takeback", None)
    rpc.command("/takeback", "now  turn 2", None)
    rpc.command("/takeback 9")
    rpc.command("/takeback 2", "files only")
    rpc.command("/takeback undo", "no")
    assert played.files_are(played.after_one)
    rpc.command("/takeback", "undo the last rewind", "yes")
    assert played.files_are(played.after_three)
    rpc.command("/takeback redo", "yes")
    assert played.files_are(played.after_one)


@pytest.mark.long
def test_the_plan_is_shown_before_anything_is_done(played: Played) -> None:
    played.rpc.command("/takeback 2", None)
    title = played.rpc.titles()[-1]
    assert title.startswith("Rewind 5 files and the conversation to")
    assert "  create doomed.bin" in title.splitlines()
    assert played.rpc.options()[0].startswith("files + conversation (4 written, 1 deleted)")


@pytest.mark.long
def test_a_fork_of_the_conversation_leaves_the_files(played: Played) -> None:
    assert played.rpc.fork(TWO, "conversation only")
    assert played.files_are(played.after_three)
    assert played.remembered() == (ONE, AGAIN)


def test_a_fork_with_files_brings_them_back(played: Played) -> None:
    rpc, written = played.rpc, played.file.read_bytes()
    assert rpc.fork(TWO, "files + conversation")
    assert played.files_are(played.after_one)
    assert rpc.file != played.file
    assert played.remembered() == (ONE, AGAIN)
    assert "Note from takeback" not in played.model.first_of(AGAIN).body
    assert played.file.read_bytes() == written
    forked = played.pi.world.log()[-1]
    assert (forked["prompt"], forked["turn"]) == (AGAIN, 2)
    assert not rpc.fork(ONE, "undo the last rewind", "yes")
    assert played.files_are(played.after_three)


@pytest.mark.long
def test_a_fork_for_the_files_alone_does_not_fork(played: Played) -> None:
    assert not played.rpc.fork(TWO, "files only")
    assert played.files_are(played.after_one)
    assert played.rpc.file == played.file
    *said, note, last = played.remembered()
    assert [*said, last] == [ONE, TWO, THREE, AGAIN]
    assert note.startswith("Note from takeback: ")
    assert played.rpc.fork(AGAIN, "conversation only")
    assert played.rpc.titles()[-1].startswith("takeback: before turn 4"), "the note is no place"
    assert played.remembered(LATER) == (ONE, TWO, THREE, note, LATER), "it went with its prompt"


@pytest.mark.long
def test_a_fork_that_is_left_at_the_question_does_not_happen(played: Played) -> None:
    assert not played.rpc.fork(TWO, None)
    assert (played.files_are(played.after_three), played.rpc.file) == (True, played.file)


@pytest.mark.long
def test_a_fork_whose_files_cannot_be_brought_back_does_not_happen(played: Played) -> None:
    def meddle() -> str:
        (played.repo / "keep.txt").write_text("changed while the question was on the screen\n")
        return "files + conversation"

    assert not played.rpc.fork(TWO, meddle)
    assert played.rpc.file == played.file
    assert (played.repo / "sub" / "d.txt").exists()
    assert "the workspace changed since the plan was shown" in played.rpc.notices[-1]


@pytest.mark.long
def test_a_place_that_cannot_be_read_is_said_before_the_fork_goes_on(played: Played) -> None:
    store = Path(played.pi.world.cli.ok("--json", "status").json["store"])
    packs = store / "store.git" / "objects" / "pack"
    for pack in packs.iterdir():
        pack.rename(store / pack.name)  # as an expired snapshot
    assert played.rpc.fork(TWO)
    said = [line for line in played.rpc.notices if "cannot be brought back" in line]
    assert len(said) == 1, played.rpc.notices
    played.pi.world.cli.ok("status", "--seen")


@pytest.mark.long
def test_takeback_to_an_expired_turn_offers_the_conversation_alone(played: Played) -> None:
    played.pi.world.cli.ok("prune", "turn:2", "--yes")
    played.rpc.command("/takeback 2", "conversation only")
    assert "have expired" in played.rpc.titles()[-1]
    assert played.files_are(played.after_three)
    assert played.remembered() == (ONE, AGAIN)


@pytest.mark.long
def test_a_fork_from_an_expired_turn_goes_on_with_a_warning(played: Played) -> None:
    played.pi.world.cli.ok("prune", "turn:2", "--yes")
    assert played.rpc.fork(TWO)
    [said] = [line for line in played.rpc.notices if "cannot be brought back" in line]
    assert "have expired" in said
    assert played.files_are(played.after_three)


@pytest.mark.long
def test_what_speaks_against_it_is_asked(played: Played) -> None:
    (played.repo / ".git" / "MERGE_HEAD").write_text("0" * 40 + "\n")
    assert not played.rpc.fork(TWO, "files + conversation", "do nothing")
    assert played.files_are(played.after_three)
    assert "a git merge is in progress here" in played.rpc.titles()[-1]
    assert played.rpc.fork(TWO, "files + conversation", "do it all the same")
    assert played.files_are(played.after_one)


def test_before_most_files_are_deleted_the_word_has_to_be_typed(played: Played) -> None:
    for number in range(40):
        (played.repo / f"new{number}").write_text("x\n")
    there = tree_state(played.repo)
    assert not played.rpc.fork(TWO, "files + conversation", "do it all the same", "yes")
    assert played.files_are(there)
    assert "delete was not typed" in played.rpc.notices[-1]
    assert played.rpc.fork(TWO, "files + conversation", "do it all the same", "delete")
    assert played.files_are(played.after_one)


def test_the_tree_keeps_or_restores_files(played: Played) -> None:
    rpc = played.rpc
    rpc.tree(rpc.entry(THREE), "keep files")
    assert played.files_are(played.after_three)
    rpc.tree(rpc.entry(TWO), "restore files")
    assert played.files_are(played.after_one)
    assert rpc.file == played.file
    assert played.remembered() == (ONE, AGAIN)
    log = played.pi.world.cli.ok("--json", "log").json_lines
    assert {one["prompt"] for one in log if one.get("abandoned")} == {TWO, THREE}


@pytest.mark.long
def test_each_step_of_the_tree_has_its_own_place(played: Played) -> None:
    rpc = played.rpc
    rpc.tree(rpc.entry("Editing.", "assistant"), "restore files")
    assert "no place here" not in rpc.titles()[-1]
    assert (played.repo / "a.txt").read_text() == "ALPHA\n"
    assert (played.repo / "doomed.bin").exists()
    rpc.tree(rpc.entry("Reading.", "assistant"), "restore files")
    assert "no place here" not in rpc.titles()[-1]
    assert played.files_are(played.after_one)
    rpc.tree(rpc.entry("Moved one.", "assistant"), "restore files")
    assert played.files_are(played.after_three)
    rpc.tree(rpc.entry("Edited one", "assistant"), "restore files")
    assert played.files_are(played.after_two)


@pytest.mark.long
def test_another_node_offers_the_nearest_earlier_place(played: Played) -> None:
    rpc = played.rpc
    rpc.tree(rpc.entry("Successfully", "toolResult"), "restore files")
    assert "no place here; the nearest earlier one is" in rpc.titles()[-1]
    rpc.tree(rpc.entry(TWO), "undo the last rewind, then navigate", "yes")
    assert played.files_are(played.after_three)


@pytest.mark.long
def test_navigation_does_not_happen_if_the_files_cannot_be_brought_back(played: Played) -> None:
    def meddle() -> str:
        (played.repo / "keep.txt").write_text("changed while the question was on the screen\n")
        return "restore files"

    played.rpc.tree(played.rpc.entry(TWO), meddle)
    assert played.rpc.notices[-1] == "navigation cancelled"
    assert played.remembered() == (ONE, TWO, THREE, AGAIN)


@pytest.mark.long
def test_summaries_are_places(played: Played) -> None:
    rpc = played.rpc
    rpc.command(f"/goto {rpc.entry(TWO)} summarize", "restore files")
    [summary] = [e["id"] for e in rpc.entries() if e["type"] == "branch_summary"]
    rpc.prompt(TWO)
    rpc.call("compact")
    [compaction] = [e["id"] for e in rpc.entries() if e["type"] == "compaction"]
    rpc.tree(summary, "restore files")
    assert "no place here" not in rpc.titles()[-1]
    assert played.files_are(played.after_one)
    rpc.tree(compaction, "restore files")
    assert "no place here" not in rpc.titles()[-1]
    assert played.files_are(played.after_two)


def test_a_label_of_pi_pins_a_checkpoint(played: Played) -> None:
    rpc = played.rpc
    rpc.command(f"/mark {rpc.entry(TWO)} good")
    rpc.prompt(AGAIN)
    cli = played.pi.world.cli
    [shown] = [line for line in cli.ok("--json", "log").json_lines if line["label"]]
    assert (shown["label"], shown["prompt"]) == ("good", TWO)
    cli.ok("rewind", "good", "--files", "--yes")
    assert played.files_are(played.after_one)
    rpc.command(f"/mark {rpc.entry(TWO)}")
    rpc.prompt(LATER)
    assert not [line for line in cli.ok("--json", "log").json_lines if line["label"]]


@pytest.mark.long
def test_a_prompt_typed_into_a_turn_is_a_step_of_it(pi: Pi, rpc: Rpc) -> None:
    pi.world.model.script = {
        "FIRST": [Step("Working.", [shell("sleep 1; echo 1 > one.txt")]), Step("One.")],
        "SECOND": [Step("", [write("two.txt", "2\n")]), Step("Two.")],
    }
    rpc.call("prompt", message="FIRST")
    rpc.until(lambda heard: heard["type"] == "tool_execution_start")
    rpc.call("prompt", message="SECOND", streamingBehavior="steer")
    rpc.until(lambda heard: heard["type"] == "agent_settled")
    [turn, steer] = pi.world.log()
    assert [(one["kind"], one["prompt"]) for one in (turn, steer)] == [
        ("prompt", "FIRST"),
        ("steer", "SECOND"),
    ]
    rpc.tree(rpc.entry("SECOND"), "restore files")
    assert "no place here" not in rpc.titles()[-1]
    assert ((pi.world.repo / "one.txt").exists(), (pi.world.repo / "two.txt").exists()) == (
        True,
        False,
    )


@pytest.mark.long
def test_an_aborted_turn_has_an_end(pi: Pi, rpc: Rpc) -> None:
    pi.world.model.script = {"LONG": [Step("", [shell("echo 1 > one.txt; sleep 60")])]}
    rpc.call("prompt", message="LONG")
    rpc.until(lambda heard: heard["type"] == "tool_execution_start")
    wait_for((pi.world.repo / "one.txt").exists)
    rpc.abort()
    [turn] = pi.world.log()
    assert (turn["state"], [change["path"] for change in turn["changed"]]) == (
        "ended",
        ["one.txt"],
    )
    rpc.command("/takeback 1", "files + conversation")
    assert not (pi.world.repo / "one.txt").exists()


def test_the_model_may_not_rewind_by_its_own_tool(pi: Pi, rpc: Rpc) -> None:
    home = os.environ["TAKEBACK_HOME"]
    takeback = shlex.join(["env", f"TAKEBACK_HOME={home}", sys.executable, "-m", "takeback"])
    pi.world.model.script = {
        "MAKE": [Step("", [write("one.txt", "1\n")]), Step("Made.")],
        "CALL": [Step("", [shell(f"{takeback} rewind turn:1 --files --yes")]), Step("Called.")],
    }
    rpc.prompt("MAKE")
    rpc.prompt("CALL")
    assert (pi.world.repo / "one.txt").exists()
    assert "called from inside a running turn of pi" in pi.world.model.requests[-1].body


@pytest.mark.long
def test_a_takeback_that_dies_is_started_again(played: Played) -> None:
    [process] = desks(played.pi)
    os.kill(process, signal.SIGKILL)
    assert played.remembered() == (ONE, TWO, THREE, AGAIN)
    [again] = desks(played.pi)
    assert again != process
    assert played.pi.world.log()[-1]["prompt"] == AGAIN


@pytest.mark.long
def test_no_process_is_left_when_pi_ends(pi: Pi) -> None:
    pi.world.model.script = pi.script()
    pi.world.cli.ok("init", "pi", "--yes")
    with Rpc(pi) as rpc:
        rpc.prompt(ONE)
        assert len(desks(pi)) == 1
    assert desks(pi) == []


@pytest.mark.long
def test_a_silent_takeback_shows_nothing_unasked(pi: Pi) -> None:
    pi.world.model.script = pi.script()
    pi.world.cli.ok("init", "pi", "--yes")
    (pi.folder / "takeback.json").write_text('{"silent": true}')
    with Rpc(pi) as rpc:
        rpc.prompt(ONE)
        rpc.command("/takeback 1", "files only")
        assert (rpc.footers, rpc.notices) == ([], [])
    assert not (pi.world.repo / "a.txt").exists()


@pytest.mark.long
def test_without_a_person_nothing_is_asked_or_shown(pi: Pi) -> None:
    pi.world.model.script = pi.script()
    pi.world.cli.ok("init", "pi", "--yes")
    done = pi.world.run(pi.command("-p", ONE), pi.env)
    assert (done.stdout, done.stderr) == ("Created a.txt and b.txt.\n", "")
    done = pi.world.run(pi.command("-p", "/takeback"), pi.env)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.long
@pytest.mark.parametrize("broken", [None, "exit 1", "cat", "echo nonsense", "exec sleep 20"])
def test_pi_works_with_a_takeback_that_is_gone_or_broken(pi: Pi, broken: str | None) -> None:
    pi.world.model.script = pi.script()
    pi.world.cli.ok("init", "pi", "--yes")
    program = pi.world.bin / "broken"
    if broken is not None:
        program.write_text(f"#!/bin/sh\n{broken}\n")
        program.chmod(0o755)
    env = {**pi.env, "TAKEBACK_COMMAND": str(program)}
    done = pi.world.run(pi.command("-p", ONE), env)
    assert (done.stdout, done.stderr) == ("Created a.txt and b.txt.\n", "")
    assert (pi.world.repo / "a.txt").exists()


@pytest.mark.long
def test_a_takeback_that_is_gone_is_named_in_the_footer(pi: Pi) -> None:
    pi.world.model.script = pi.script()
    pi.world.cli.ok("init", "pi", "--yes")
    pi.env["TAKEBACK_COMMAND"] = str(pi.world.bin / "gone")
    with Rpc(pi) as rpc:
        rpc.prompt(ONE)
        rpc.prompt(TWO)
        assert rpc.fork(TWO)
        rpc.command("/takeback")
        assert str(rpc.footers[-1]).startswith("takeback is not there: spawn")
        assert rpc.notices[-1].startswith("takeback: spawn")


@pytest.mark.long
def test_takeback_off_keeps_nothing(pi: Pi) -> None:
    pi.world.model.script = pi.script()
    pi.world.cli.ok("init", "pi", "--yes")
    pi.world.run(pi.command("-p", ONE), {**pi.env, "TAKEBACK": "off"})
    assert pi.world.cli.run("--json", "log").error["code"] == "not_a_workspace"
    pi.world.cli.ok("off")
    with Rpc(pi) as rpc:
        rpc.prompt(TWO)
        assert rpc.fork(TWO)
    assert pi.world.log() == []


@pytest.mark.long
def test_it_installs_as_a_package_of_pi_too(pi: Pi) -> None:
    pi.world.model.script = pi.script()
    package = Path(takeback.__file__).parent / "integrations" / "pi"
    pi.world.run(["pi", "install", str(package)], pi.env)
    env = {
        **pi.env,
        "TAKEBACK_COMMAND": f"{sys.executable} -m takeback",
        "TAKEBACK_HOME": os.environ["TAKEBACK_HOME"],
    }
    pi.world.run(pi.command("-p", ONE), env)
    assert [turn["prompt"] for turn in pi.world.log()] == [ONE]


@pytest.mark.long
def test_connected_for_one_project(pi: Pi) -> None:
    pi.world.model.script = pi.script()
    pi.world.cli.ok("init", "pi", "--here", "--yes")
    before = tree_state(pi.folder)
    pi.world.run(pi.command("--approve", "-p", ONE), pi.env)
    assert [turn["prompt"] for turn in pi.world.log()] == [ONE]
    pi.world.cli.ok("uninstall", "pi", "--here", "--yes")
    assert not (pi.world.repo / ".pi").exists()
    assert b"extensions" not in before


# On the screen


def test_pi_on_the_screen(pi: Pi) -> None:
    need_tmux()
    world = pi.world
    world.model.script = pi.script()
    world.cli.ok("init", "pi", "--yes")
    env = world.environment({**pi.env, "PS1": "shell> "})
    with Terminal(["bash", "--norc", "--noprofile"], cwd=world.repo, env=env) as terminal:
        terminal.say("stty -g > ../before")
        terminal.say(shlex.join(pi.command()))
        terminal.shows("◆ 1 checkpoint / 1 snapshot")
        terminal.say(ONE)
        terminal.shows("◆ 4 checkpoints / 2 snapshots")
        after_one = tree_state(world.repo)
        terminal.say(TWO)
        terminal.shows("◆ 8 checkpoints / 4 snapshots")

        terminal.insist("takeback: go back to before which turn?", "Escape", "Escape")
        terminal.shows(f'→ now  turn 2  "{TWO}"  a.txt, b.txt, c.txt +1 more')
        terminal.press("Enter")
        terminal.shows("create doomed.bin")
        terminal.shows("→ files + conversation (3 written, 1 deleted)")
        terminal.press("Enter")
        terminal.shows("Rewound 4 files and the conversation to")
        terminal.until(lambda: in_editor(terminal) == TWO, "see the prompt again")
        assert "Edited one" not in terminal.screen
        assert differences(after_one, tree_state(world.repo)) == []

        terminal.press("C-u")
        terminal.until(lambda: in_editor(terminal) == "", "see an empty editor")
        terminal.say("/fork")
        terminal.shows("Fork from Message")
        terminal.press("Enter")
        terminal.shows("takeback: before turn 1: TURN-ONE create")
        terminal.press("Down")
        terminal.shows("→ files + conversation")
        terminal.press("Enter")
        terminal.shows("Forked to new session")
        terminal.until(lambda: in_editor(terminal) == ONE, "see the prompt again")
        assert not (world.repo / "a.txt").exists()

        terminal.press("C-u")
        terminal.until(lambda: in_editor(terminal) == "", "see an empty editor")
        terminal.say("/quit")
        terminal.until(lambda: terminal.screen.rstrip().endswith("shell>"), "be at the shell")
        terminal.say("stty -g | diff ../before - && echo the terminal is as it was")
        terminal.shows("shell> stty -g | diff ../before - && echo the terminal is as it was the")
    assert pi.world.cli.ok("--json", "status").json["failures"] == []


def in_editor(terminal: Terminal) -> str:
    """Returns what stands between the lines that pi draws around its editor."""
    lines = terminal.screen.splitlines()
    drawn = [number for number, line in enumerate(lines) if line.startswith("─" * 20)]
    return "\n".join(lines[drawn[-2] + 1 : drawn[-1]]).strip() if len(drawn) > 1 else ""


def desks(pi: Pi) -> list[int]:
    """Returns the processes that talk with the pi of a world."""
    mark = f"HOME={pi.world.home}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"--stdio" in words and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.long
def test_the_line_of_a_fork_goes_on_in_its_directory(pi: Pi) -> None:
    go_on_elsewhere(pi, shell)
