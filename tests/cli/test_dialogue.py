"""Rewind, undo and redo as a script calls them and as a person does."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.cli.conftest import FIRST, NOW, SECOND, Story
from tests.cli.transcript import settled
from tests.cli.typing_person import at_a_terminal
from tests.support.called import done
from tests.support.cli import Cli
from tests.support.git import git

# -- without a terminal


def test_a_transcript(story: Story) -> None:
    calls = [
        ("rewind", "start", "--dry-run"),
        ("rewind", "start", "--yes"),
        ("rewind", "start", "--yes"),
        ("undo", "--yes"),
        ("redo", "--yes"),
        ("undo", "--yes"),
        ("rewind", "--yes"),
        ("log", "--operations"),
    ]
    text = ""
    for words in calls:
        answer = story.cli.ok(*words)
        text += f"$ takeback {' '.join(words)}\n{answer.stdout}{answer.stderr}"
    assert settled(text, first=story.first, second=story.second) == snapshot("""\
$ takeback rewind start --dry-run
Plan: rewind 4 files to FIRST ("start").
  write a  +1 -1
  create b  +1 -0
  delete c  +0 -1
  delete d  +0 -1
all of these are your own edits since then, taken back too
(undo brings them back; --keep-edits keeps them)
$ takeback rewind start --yes
Rewound 4 files to FIRST ("start").
Take it back: takeback undo
$ takeback rewind start --yes
Nothing to do: the files are already at FIRST ("start").
$ takeback undo --yes
Undid the rewind to "start" (4 files).
Take it back: takeback redo
$ takeback redo --yes
Redid the rewind to "start" (4 files).
Take it back: takeback undo
$ takeback undo --yes
Undid the rewind to "start" (4 files).
Take it back: takeback redo
$ takeback rewind --yes
Rewound 1 file to SECOND (made by hand, HH:MM).
Take it back: takeback undo
$ takeback log --operations
ID   now  rewind  to made by hand, HH:MM  0 written, 1 deleted  <- undo takes this back
ID   now  undo  of the rewind to "start"  3 written, 1 deleted
ID   now  redo  of the rewind to "start"  2 written, 2 deleted
ID   now  undo  of the rewind to "start"  3 written, 1 deleted
ID   now  rewind  to "start"  2 written, 2 deleted
""")


def test_the_json_of_a_rewind(story: Story) -> None:
    done = story.cli.ok("--json", "rewind", "start", "--yes").json
    assert done == {
        "type": "rewind",
        "v": 1,
        "operation": done["operation"],
        "undo": done["undo"],
        "written": [{"path": "a"}, {"path": "b"}],
        "deleted": [{"path": "c"}, {"path": "d"}],
        "left_alone": [],
        "verified": True,
        "recovered": False,
        "session": "workspace",
        "resume": None,
        "prompt": None,
        "target": story.first,
        "scope": "files",
        "conversation_error": None,
        "directory": None,
        "commit": None,
        "beyond": [],
        "edits": [],
    }
    assert story.files() == FIRST
    nothing = story.cli.ok("--json", "rewind", "start", "--yes").json
    assert (nothing["operation"], nothing["undo"], nothing["written"]) == (None, None, [])
    undone = story.cli.ok("--json", "undo", "--yes").json
    assert (undone["type"], undone["target"]) == ("undo", done["undo"])
    assert story.files() == NOW
    assert story.cli.ok("--json", "redo", "--yes").json["type"] == "redo"
    assert story.files() == FIRST


def test_the_json_of_a_plan(story: Story) -> None:
    plan = story.cli.ok("--json", "rewind", "start", "--dry-run").json
    assert plan == {
        "type": "plan",
        "v": 1,
        "target": story.first,
        "written": [
            {"path": "a", "kind": "modified", "added": 1, "deleted": 1},
            {"path": "b", "kind": "added", "added": 1, "deleted": 0},
        ],
        "deleted": [
            {"path": "c", "kind": "deleted", "added": 0, "deleted": 1},
            {"path": "d", "kind": "deleted", "added": 0, "deleted": 1},
        ],
        "left_alone": [],
        "outside": [{"path": name} for name in "abcd"],
        "others": [],
        "warnings": [],
        "refused": [],
        "saved": [],
        "scope": "files",
        "about": '"start"',
        "prompt": None,
        "session": None,
        "turns": [],
        "goes_on": None,
        "beyond": [],
        "kind": "rewind",
        "conflicts": [],
        "edits": [],
        "sending": None,
        "whose": None,
    }
    assert story.files() == NOW


def test_without_a_checkpoint_it_goes_to_the_newest(story: Story) -> None:
    assert story.cli.ok("--json", "rewind", "--yes", "--files").json["target"] == story.second
    assert story.files() == SECOND


@pytest.mark.parametrize(
    "words",
    [
        ["rewind", "", "--yes"],
        ["rewind", " ", "--yes"],
        ["show", ""],
        ["cat", "", "a"],
        ["diff", ""],
        ["diff", "@", ""],
        ["fork", "", "--yes"],
        ["label", "", "x"],
    ],
    ids=" ".join,
)
def test_an_empty_name_is_no_checkpoint(story: Story, words: list[str]) -> None:
    """A script's variable that was never set must not take back the newest turn."""
    answer = story.cli.run(*words)
    assert answer.status == 12, str(answer)
    assert story.files() == NOW


def test_paths_limit_it(story: Story) -> None:
    story.cli.ok("rewind", "start", "--yes", "--", "a", "c")
    assert story.files() == {"a": "a\n", "d": "mine\n"}


def test_nobody_to_ask_is_a_refusal(story: Story) -> None:
    for words in (("rewind", "start"), ("--json", "rewind", "start")):
        answer = story.cli.run(*words, stdin=b"y\n")
        assert answer.status == 13
        assert "--yes" in answer.stderr
    assert story.files() == NOW


def test_silence(story: Story) -> None:
    for words in (("rewind", "start"), ("undo",), ("redo",)):
        answer = story.cli.ok(*words, "--yes", "-q")
        assert (answer.stdout, answer.stderr) == ("", "")


@pytest.mark.parametrize("flag", ["--allow-mass-delete", "--force"])
def test_a_refusal_names_the_flag_and_the_flag_answers_it(
    cli: Cli, workspace: Path, flag: str
) -> None:
    cli.ok("checkpoint", "-m", "empty")
    (workspace / "a").write_text("a")
    refused = cli.run("--json", "rewind", "empty", "--yes")
    assert (refused.status, refused.error["flag"]) == (13, "--allow-mass-delete")
    assert "--allow-mass-delete" in refused.error["hint"]
    plan = cli.ok("--json", "rewind", "empty", "--dry-run").json
    assert [(item["code"], item["flag"]) for item in plan["refused"]] == [
        ("mass_delete", "--allow-mass-delete")
    ]
    assert (
        "refused: this would delete 1 of 1 files" in cli.ok("rewind", "empty", "--dry-run").stdout
    )
    cli.ok("rewind", "empty", "--yes", flag)
    assert not (workspace / "a").exists()


def test_a_path_that_was_meant_and_left_makes_it_3(cli: Cli, workspace: Path) -> None:
    (workspace / "a").write_text("a")
    cli.ok("checkpoint", "-m", "start")
    (workspace / "a").unlink()
    (workspace / "a").mkdir()
    git(workspace / "a", "init", "--quiet")  # takeback neither reads nor removes a .git
    answer = cli.run("--json", "rewind", "start", "--yes")
    assert answer.status == 3, str(answer)
    assert [item["path"] for item in answer.json["left_alone"]] == ["a"]
    human = cli.run("rewind", "start", "--yes", "-q")
    assert human.status == 3
    assert human.stdout.startswith("Left alone:\n  a: ")


def test_ignored_files_that_nobody_asked_for_leave_it_0(cli: Cli, workspace: Path) -> None:
    (workspace / ".gitignore").write_text("*.log\n")
    (workspace / "x.log").write_text("1")
    cli.ok("checkpoint", "-m", "start")
    (workspace / "x.log").write_text("2")
    (workspace / "new").write_text("")
    done = cli.ok("--json", "rewind", "start", "--yes").json
    assert [item["path"] for item in done["left_alone"]] == ["x.log"]
    assert (workspace / "x.log").read_text() == "2"
    cli.ok("rewind", "start", "--yes", "--ignored")
    assert (workspace / "x.log").read_text() == "1"


# -- after a kill

KILLED = """
import os, sys
from takeback import durable
from takeback.cli.main import run

class Kill:
    def step(self, name):
        if name == "exchange":
            os._exit(9)

durable.faults = Kill()
sys.exit(run(["rewind", "start", "--yes"]))
"""


@pytest.fixture
def killed(story: Story) -> Story:
    """The story, in the middle of a rewind to its start."""
    argv = [sys.executable, "-c", KILLED]
    assert subprocess.run(argv, cwd=story.workspace, check=False).returncode == 9
    return story


def test_undo_after_a_kill_recovers_and_says_so(killed: Story) -> None:
    assert killed.cli.ok("--json", "status").json["interrupted"] is True
    assert "takeback undo" in killed.cli.ok("status").stdout
    dry = killed.cli.run("--json", "rewind", "start", "--dry-run")
    assert '"type": "note"' in dry.stderr
    assert killed.cli.run("--json", "undo").status == 13
    answer = killed.cli.run("--json", "undo", "--yes")
    assert (answer.status, answer.error["code"]) == (4, "recovered"), str(answer)
    assert killed.files() in (FIRST, NOW)
    assert killed.cli.ok("--json", "status").json["interrupted"] is False
    (done,) = killed.cli.ok("--json", "log", "--operations").json_lines
    assert done["recovered"] is True
    killed.cli.ok("undo", "--yes")
    assert killed.files() == NOW


def test_rewind_after_a_kill_recovers_first(killed: Story) -> None:
    answer = killed.cli.ok("--json", "rewind", "@", "--yes")
    assert "An interrupted rewind was found and finished." in answer.stderr
    assert killed.files() == SECOND


def test_undo_at_a_terminal_after_a_kill(killed: Story) -> None:
    seen = at_a_terminal(killed.cli, "undo", env={"NO_COLOR": "1"})
    assert seen.status == 4
    assert "An interrupted rewind was found and finished." in seen.screen
    assert "[y/N]" not in seen.screen


# -- at a terminal


def test_yes_at_a_terminal(story: Story) -> None:
    seen = at_a_terminal(story.cli, "rewind", "start", answers=("y\n",), env={"NO_COLOR": "1"})
    assert seen.status == 0
    assert settled(seen.screen, first=story.first) == snapshot("""\
  write a  +1 -1
  create b  +1 -0
  delete c  +0 -1
  delete d  +0 -1
all of these are your own edits since then, taken back too
(undo brings them back; --keep-edits keeps them)
Rewind 4 files to FIRST ("start")? [y/N] y
Rewound 4 files to FIRST ("start").
Take it back: takeback undo
""")
    assert story.files() == FIRST


@pytest.mark.parametrize("answer", ["n\n", "\n", "nonsense\n", "\x04"])
def test_anything_else_is_no(story: Story, answer: str) -> None:
    seen = at_a_terminal(story.cli, "rewind", "start", answers=(answer,))
    assert seen.status == 1
    assert seen.screen.endswith("Nothing was changed.\n")
    assert story.files() == NOW


def test_control_c_at_the_question(story: Story) -> None:
    def a_moment_later() -> str:
        # Between the question and the reading of the answer lie microseconds in which Python
        # notes a signal and reads all the same. No person is that quick; a test is.
        time.sleep(0.5)
        return "\x03"

    seen = at_a_terminal(story.cli, "rewind", "start", answers=(a_moment_later,))
    assert seen.status == 130
    assert seen.screen.endswith("^C\nNothing was changed.\n"), seen.screen
    assert "Error" not in seen.screen
    assert story.files() == NOW


def test_yes_is_not_asked(story: Story) -> None:
    seen = at_a_terminal(story.cli, "rewind", "start", "--yes", env={"NO_COLOR": "1"})
    assert (seen.status, "?" in seen.screen) == (0, False)
    assert story.files() == FIRST


def test_undo_and_redo_ask_too(story: Story) -> None:
    story.cli.ok("rewind", "start", "--yes")
    seen = at_a_terminal(story.cli, "undo", answers=("y\n",), env={"NO_COLOR": "1"})
    assert 'Undo the rewind to "start" (4 files)? [y/N] ' in seen.screen
    assert story.files() == NOW
    seen = at_a_terminal(story.cli, "redo", answers=("y\n",), env={"NO_COLOR": "1"})
    assert 'Redo the rewind to "start" (4 files)? [y/N] ' in seen.screen
    assert story.files() == FIRST


def test_files_that_changed_at_the_question_are_asked_about_again(story: Story) -> None:
    def edit_and_agree() -> str:
        (story.workspace / "e").write_text("late\n")
        return "y\n"

    seen = at_a_terminal(story.cli, "rewind", "start", answers=(edit_and_agree, "n\n"))
    assert seen.screen.count("[y/N]") == 2
    assert "The files changed meanwhile; this is the new plan." in seen.screen
    assert seen.status == 1
    assert story.files() == {**NOW, "e": "late\n"}
    seen = at_a_terminal(story.cli, "rewind", "start", answers=("y\n",))
    assert story.files() == FIRST


@pytest.fixture
def refused(cli: Cli, workspace: Path) -> Cli:
    """Going to ``empty`` is refused for two reasons: another branch, and all files deleted."""
    git(workspace, "commit", "-q", "--allow-empty", "-m", "one")
    cli.ok("checkpoint", "-m", "empty")
    git(workspace, "switch", "-q", "-c", "other")
    (workspace / "a").write_text("a")
    return cli


ONE_BY_ONE = (b"or q: ", b"to go on: ")


def test_refusals_at_a_terminal_are_asked_about_one_by_one(refused: Cli, workspace: Path) -> None:
    answers = ("delete\n", "1\n", "y\n")
    seen = at_a_terminal(
        refused, "rewind", "empty", answers=answers, asks=ONE_BY_ONE, env={"NO_COLOR": "1"}
    )
    assert seen.status == 0, seen.screen
    screen = re.sub(r"then main@.* stay\b", "BRANCHES", seen.screen)
    assert settled(screen, empty=refused.ok("--json", "show", "empty").json["id"]) == (
        snapshot("""\
  delete a  +0 -1
this is your own edit since then, taken back too
(undo brings it back; --keep-edits keeps it)
BRANCHES
It can be done all the same; 2 questions first.
This would delete 1 of 1 files.
Each is saved first, and undo brings it back.
Type the word delete to go on: delete
Another branch is checked out: BRANCHES.
The files of then come onto the branch of now; branch and commits stay as they are.
   1  Go on all the same
number, or q: 1
Rewind 1 file to EMPTY ("empty")? [y/N] y
Rewound 1 file to EMPTY ("empty").
Take it back: takeback undo
""")
    )
    assert not (workspace / "a").exists()


@pytest.mark.parametrize(
    "answers", [("q\n",), ("delete\n", "b\n"), ("delete\n", "1\n", "n\n"), ("\x04",)]
)
def test_a_refusal_that_is_not_answered_changes_nothing(
    refused: Cli, workspace: Path, answers: tuple[str, ...]
) -> None:
    seen = at_a_terminal(refused, "rewind", "empty", answers=answers, asks=ONE_BY_ONE)
    assert seen.status == 1, seen.screen
    assert seen.screen.endswith("Nothing was changed.\n")
    assert (workspace / "a").exists()


def test_yes_at_a_terminal_waives_no_refusal(refused: Cli, workspace: Path) -> None:
    seen = at_a_terminal(refused, "rewind", "empty", "--yes", env={"NO_COLOR": "1"})
    assert seen.status == 13
    assert "--other-branch" in seen.screen
    assert (workspace / "a").exists()


def test_nothing_to_do_is_not_asked(story: Story) -> None:
    (story.workspace / "d").unlink()
    seen = at_a_terminal(story.cli, "rewind", "@")
    said = settled(seen.screen, second=story.second)
    assert (seen.status, said) == (
        0,
        "Nothing to do: the files are already at SECOND (made by hand, HH:MM).\n",
    )


def test_json_never_asks(story: Story) -> None:
    seen = at_a_terminal(story.cli, "--json", "rewind", "start")
    assert (seen.status, "[y/N]" in seen.screen) == (13, False)


def test_a_file_for_a_file_is_no_mass_deletion(workspace: Path) -> None:
    (workspace / "notes").write_text("mine\n")
    done(workspace, "checkpoint", "-m", "start")
    (workspace / "notes").unlink()
    (workspace / "junk").write_text("x\n")
    done(workspace, "rewind", "start", "--yes")
    assert [path.name for path in workspace.iterdir() if path.is_file()] == ["notes"]
