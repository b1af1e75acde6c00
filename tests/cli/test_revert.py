"""Revert, and the rewinds that keep something, at the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from takeback import Takeback
from takeback.agents import ToolCall
from tests.cli.typing_person import at_a_terminal
from tests.support.called import called, done
from tests.support.cli import Cli

EIGHT = "".join(f"line {number}\n" for number in range(1, 9))


class Story:
    """Four turns on one text: one changes the first line, one the fourth, two the last."""

    def __init__(self, workspace: Path, tb: Takeback) -> None:
        self.workspace = workspace
        self.text = workspace / "text"
        self.text.write_text(EIGHT)
        session = tb.session(agent="mine", native="s1")
        with session.turn("make one"):
            self.change("line 1", "one")
        with session.turn("make four, and a new file"):
            self.change("line 4", "four")
            (workspace / "new").write_text("new\n")
        with session.turn("make eight"):
            self.change("line 8", "eight")
            (workspace / "other").write_text("other\n")
        with session.turn("make it acht"):
            self.change("eight", "acht")

    def change(self, old: str, new: str) -> None:
        self.text.write_text(self.text.read_text().replace(old, new))

    def said(self, *words: str) -> str:
        answer = called(self.workspace, *words)
        end = f"(exit {answer.status})\n" if answer.status else ""
        return f"$ takeback {' '.join(words)}\n{answer.stdout}{answer.stderr}{end}"


@pytest.fixture
def story(workspace: Path) -> Iterator[Story]:
    with Takeback.open(workspace) as tb:
        yield Story(workspace, tb)


def test_a_transcript(story: Story) -> None:
    calls = [
        ("revert", "turn:2", "--dry-run"),
        ("revert", "turn:2", "--yes"),
        ("revert", "turn:2", "--yes"),
        ("undo", "--yes"),
        ("redo", "--yes"),
        ("revert", "turn:3", "--yes"),
        ("revert", "turn:3", "--dry-run"),
        ("revert", "turn:3", "--yes", "--conflicts=markers"),
    ]
    assert "".join(story.said(*words) for words in calls) == snapshot("""\
$ takeback revert turn:2 --dry-run
Plan: revert 2 files of turn 2 "make four, and a new file".
  write text  +1 -1
  delete new  +0 -1
$ takeback revert turn:2 --yes
Reverted 2 files of turn 2 "make four, and a new file".
Take it back: takeback undo
$ takeback revert turn:2 --yes
Nothing to do: there is nothing of turn 2 "make four, and a new file" to take out of the files.
$ takeback undo --yes
Undid the revert of turn 2 "make four, and a new file" (2 files).
Take it back: takeback redo
$ takeback redo --yes
Redid the revert of turn 2 "make four, and a new file" (2 files).
Take it back: takeback undo
$ takeback revert turn:3 --yes
Error: changed again since: text
Hint: to do it all the same: --conflicts=ours|theirs|markers|skip
(exit 13)
$ takeback revert turn:3 --dry-run
Plan: revert 1 file of turn 3 "make eight".
  delete other  +0 -1
changed again since:
  text: the same lines were changed again since
refused: changed again since: text; to do it all the same: --conflicts=ours|theirs|markers|skip
$ takeback revert turn:3 --yes --conflicts=markers
Reverted 2 files of turn 3 "make eight".
Take it back: takeback undo
""")
    assert story.text.read_text() == snapshot("""\
one
line 2
line 3
line 4
line 5
line 6
line 7
<<<<<<< as it is now
acht
=======
line 8
>>>>>>> without turn 3 "make eight"
""")
    assert not (story.workspace / "new").exists()
    assert not (story.workspace / "other").exists()


def test_several_turns_one_step_and_some_paths(story: Story) -> None:
    done(story.workspace, "revert", "turn:1", "turn:2", "--yes")
    assert story.text.read_text() == EIGHT.replace("line 8", "acht")
    done(story.workspace, "undo", "--yes")
    done(story.workspace, "revert", "turn:2.1", "--yes", "--", "new")
    assert not (story.workspace / "new").exists()
    assert "four" in story.text.read_text(), "only what was named"


def test_a_step_of_a_named_session_is_that_step_and_not_its_whole_turn(
    workspace: Path,
) -> None:
    with Takeback.open(workspace) as tb:
        session = tb.session(agent="mine", native="s1")
        with session.turn("two steps") as turn:
            for name in ("one", "two"):
                (workspace / name).write_text(name)
                turn.round()
    done(workspace, "revert", "mine-s1/turn:1.2", "--yes")
    assert (workspace / "one").exists(), "the first step stays"
    assert not (workspace / "two").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("revert", "--yes"),
        ("revert", "turn:9", "--yes"),
        ("revert", "turn:2.7", "--yes"),
        ("revert", "turn:x", "--yes"),
        ("revert", "turn:2", "--yes", "--conflicts=maybe"),
        ("revert", "turn:2"),
        ("revert", "turn:2", "--yes", "--", "nowhere"),
        ("rewind", "turn:2", "--yes", "--keep-edits", "--mine"),
        ("rewind", "turn:2", "--yes", "--conflicts=ours"),
    ],
)
def test_what_cannot_be_meant_is_said_with_a_hint(story: Story, words: tuple[str, ...]) -> None:
    before = story.text.read_text()
    answer = called(story.workspace, *words)
    assert answer.status in (2, 12, 13), str(answer)
    assert "Hint: " in answer.stderr, str(answer)
    assert story.text.read_text() == before


def test_json_names_the_conflicts_and_what_can_be_chosen(story: Story) -> None:
    plan = done(story.workspace, "--json", "revert", "turn:3", "--dry-run").json
    assert (plan["kind"], plan["about"]) == ("revert", 'turn 3 "make eight"')
    assert plan["conflicts"] == [
        {
            "path": "text",
            "kind": "text",
            "choices": ["ours", "theirs", "markers", "skip"],
            "renamed_from": None,
            "sessions": [],
            "hunks": [{"line": 8, "base": "eight\n", "ours": "acht\n", "theirs": "line 8\n"}],
        }
    ]
    assert [one["code"] for one in plan["refused"]] == ["conflicts"]
    error = called(story.workspace, "--json", "revert", "turn:3", "--yes")
    assert error.status == 13
    done_ = done(story.workspace, "--json", "revert", "turn:3", "--yes", "--conflicts=theirs").json
    assert [one["path"] for one in done_["deleted"]] == ["other"]
    assert story.text.read_text().endswith("line 8\n")


def test_a_persons_edits_are_kept_and_named(story: Story) -> None:
    story.change("line 6", "six, by me")
    (story.workspace / "mine").write_text("mine\n")
    plain = story.said("rewind", "turn:1", "--files", "--dry-run")
    assert "(undo brings them back; --keep-edits keeps them)" in plain
    kept = story.said("rewind", "turn:1", "--files", "--keep-edits", "--yes")
    assert "Rewound 3 files to" in kept
    assert story.text.read_text() == EIGHT.replace("line 6", "six, by me")
    assert (story.workspace / "mine").read_text() == "mine\n"
    assert not (story.workspace / "new").exists()
    done(story.workspace, "undo", "--yes")
    assert "acht" in story.text.read_text()


def test_of_an_edit_in_dispute_ours_is_what_is_there_now(story: Story) -> None:
    """The merge goes the other way round, from the target to the edits; nobody needs to know."""
    story.change("one", "uno, by me")
    (story.workspace / "new").unlink()
    now = story.text.read_text()
    asked = ("rewind", "turn:1", "--files", "--keep-edits")
    found = done(story.workspace, "--json", *asked, "--dry-run").json["conflicts"]
    hunks = [{"line": 1, "base": "one\n", "ours": "uno, by me\n", "theirs": "line 1\n"}]
    assert [(one["path"], one["kind"], one["hunks"]) for one in found] == [("text", "text", hunks)]
    for choice, text in (
        ("ours", EIGHT.replace("line 1", "uno, by me")),
        ("theirs", EIGHT),
        ("skip", now),
    ):
        done(story.workspace, *asked, "--yes", f"--conflicts={choice}")
        assert story.text.read_text() == text, choice
        done(story.workspace, "undo", "--yes")
    done(story.workspace, *asked, "--yes", "--conflicts=markers")
    assert "<<<<<<< before turn 1" in story.text.read_text()
    assert ">>>>>>> your edits" in story.text.read_text()


def test_what_the_person_deleted_and_the_target_has_is_left_or_comes_back(story: Story) -> None:
    with Takeback.open(story.workspace) as tb, tb.session(agent="mine", native="s1").turn("more"):
        (story.workspace / "new").write_text("newer\n")
    (story.workspace / "new").unlink()
    asked = ("rewind", "turn:5", "--files", "--keep-edits")
    [found] = done(story.workspace, "--json", *asked, "--dry-run").json["conflicts"]
    assert (found["path"], found["kind"]) == ("new", "deleted_here")
    for choice, comes in (("ours", False), ("skip", False), ("theirs", True)):
        done(story.workspace, *asked, "--yes", f"--conflicts={choice}")
        assert (story.workspace / "new").exists() == comes, choice
        if comes:
            done(story.workspace, "undo", "--yes")


def test_only_what_the_session_changed_is_taken_back(story: Story) -> None:
    with Takeback.open(story.workspace) as tb, tb.session(agent="other").turn("help"):
        story.change("line 6", "six, by another")
    story.change("line 2", "two, by me")
    done(story.workspace, "rewind", "s1/turn:3", "--files", "--mine", "--yes")
    assert story.text.read_text() == "".join(
        f"{line}\n"
        for line in (
            *("one", "two, by me", "line 3", "four", "line 5"),
            *("six, by another", "line 7", "line 8"),
        )
    )
    assert (story.workspace / "new").exists()
    assert not (story.workspace / "other").exists()


def test_two_sessions_at_one_file_keep_their_lines_or_are_both_named(
    workspace: Path, story: Story
) -> None:
    with Takeback.open(workspace) as tb:
        one, two = (tb.session(agent=name, native="s") for name in ("alpha", "beta"))
        edit = [ToolCall("Edit", "edit", ("text",))]
        with one.turn("alpha's") as first, two.turn("beta's") as second:
            for turn, old, new in (
                (first, "line 2", "alpha's 2"),
                (second, "line 5", "beta's 5"),
                (first, "line 7", "alpha's 7"),
            ):
                story.change(old, new)
                turn.round(edit)
        before = story.text.read_text()
        done(workspace, "revert", "alpha-s/turn:1", "--yes")
        undone = before.replace("alpha's 2", "line 2").replace("alpha's 7", "line 7")
        assert story.text.read_text() == undone
        done(workspace, "undo", "--yes")
        done(workspace, "rewind", "beta-s/turn:1", "--files", "--mine", "--yes")
        assert story.text.read_text() == before.replace("beta's 5", "line 5")
        done(workspace, "undo", "--yes")
        with one.turn("alpha's") as first, two.turn("beta's") as second:
            story.change("beta's 5", "alpha or beta")
            second.round(edit)
            first.round(edit)
    assert story.said("revert", "alpha-s/turn:2", "--yes") == snapshot("""\
$ takeback revert alpha-s/turn:2 --yes
Error: changed by alpha-s and beta-s at once: text
Hint: to do it all the same: --conflicts=ours|theirs|skip
(exit 13)
""")
    plan = done(workspace, "revert", "alpha-s/turn:2", "--dry-run").stdout
    assert "text: alpha-s and beta-s changed it at once, and nothing tells which" in plan


@pytest.mark.slow
def test_a_person_is_asked_about_each_conflict(story: Story, workspace: Path) -> None:
    seen = at_a_terminal(
        Cli(workspace),
        "revert",
        "turn:3",
        answers=("seven\n", "2\n", "y\n"),
        asks=(b"or q: ",),
    )
    assert seen.status == 0, seen.screen
    assert "text: the same lines were changed again since" in seen.screen
    assert "seven is not in the list" in seen.screen
    assert story.text.read_text().endswith("line 8\n")
    done(workspace, "undo", "--yes")
    declined = at_a_terminal(
        Cli(workspace), "revert", "turn:3", answers=("q\n",), asks=(b"or q: ",)
    )
    assert declined.status == 1
    assert story.text.read_text().endswith("acht\n")


def test_what_was_there_before_is_kept_under_its_own_words(story: Story) -> None:
    done(story.workspace, "revert", "turn:2", "--yes")
    kept = done(story.workspace, "--json", "log", "--all").json_lines
    assert 'before revert of turn 2 "make four, and a new file"' in [one["prompt"] for one in kept]


def test_who_cannot_choose_markers_is_not_told_to(story: Story) -> None:
    binary = story.workspace / "binary"
    with Takeback.open(story.workspace) as tb:
        session = tb.session(agent="mine", native="s9")
        for number in (1, 2):
            with session.turn(f"make it {number}"):
                binary.write_bytes(b"\0%d" % number)
    refused = called(story.workspace, "revert", "s9/turn:1", "--yes", "--conflicts=markers")
    assert refused.status == 13, str(refused)
    assert "to do it all the same: --conflicts=ours|theirs|skip\n" in refused.stderr
    plan = done(story.workspace, "--json", "revert", "s9/turn:1", "--dry-run").json
    assert plan["refused"][0]["flag"] == "--conflicts=ours|theirs|skip"


def test_a_line_without_end_does_not_fill_the_terminal(story: Story) -> None:
    """A file of one line, as tools write them: what is asked about still fits a screen."""
    line = b"x" * 3_000_000
    with Takeback.open(story.workspace) as tb:
        (story.workspace / "min.js").write_bytes(line)
        session = tb.session(agent="mine", native="s9")
        for number in (1, 2):
            with session.turn(f"make it {number}"):
                (story.workspace / "min.js").write_bytes(b"%d" % number + line)
    for words in (("revert", "s9/turn:1"), ("rewind", "s9/turn:2", "-p")):
        answer = called(story.workspace, *words, typed="q\n")
        assert len(answer.stderr) < 5000, len(answer.stderr)
        assert "2,99" in answer.stderr, "how much is not shown"


def test_a_path_that_is_nowhere_is_named_with_commands_that_work(story: Story) -> None:
    for words in (("revert", "turn:2"), ("apply", "turn:2"), ("rewind", "turn:2", "--files")):
        refused = called(story.workspace, "--json", *words, "--yes", "--", "nowhere")
        assert refused.status == 2, str(refused)
        error = json.loads(refused.stderr)
        assert "nowhere is neither in the workspace nor in " in error["message"]
        shown = [one["command"] for one in error["actions"] if one["command"][0] == "show"]
        assert bool(shown) == (words[0] == "rewind")
        for command in shown:
            done(story.workspace, *command)


def test_a_file_of_the_turn_that_is_gone_since_is_no_typo(story: Story) -> None:
    with Takeback.open(story.workspace) as tb, tb.session("mine", "s1").turn("remove it"):
        (story.workspace / "new").unlink()
    plan = done(story.workspace, "--json", "revert", "turn:2", "--dry-run", "--", "new").json
    assert (plan["written"], plan["deleted"]) == ([], [])


def test_what_cannot_be_kept_now_is_not_said_to_be_deleted(story: Story) -> None:
    """It grew too large: it is there, no checkpoint can hold it, and nobody's bytes are lost."""
    large = story.workspace / "large"
    large.write_text("1\n")
    with Takeback.open(story.workspace) as tb, tb.session("mine", "s9").turn("make it two"):
        large.write_text("2\n")
    done(story.workspace, "config", "size_limit_mb", "1")
    large.write_bytes(b"x" * 2_000_000)
    plan = done(story.workspace, "revert", "s9/turn:1", "--dry-run").stdout
    assert "large: it is to change, and was deleted since or cannot be kept now" in plan
    called(story.workspace, "revert", "s9/turn:1", "--yes", "--conflicts=theirs")
    called(story.workspace, "undo", "--yes")
    assert large.read_bytes() == b"x" * 2_000_000
