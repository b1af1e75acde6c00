"""A turn brought from one branch of the tree to another, and two of them compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from takeback import Takeback
from tests.support.called import called, done

EIGHT = "".join(f"line {number}\n" for number in range(1, 9))


class Story:
    """Two branches of one text: the first changes lines 1 and 4, the second, beside it, line 8."""

    def __init__(self, workspace: Path, tb: Takeback) -> None:
        self.workspace = workspace
        self.text = workspace / "text"
        self.beside = workspace.parent / "workspace-beside"
        self.text.write_text(EIGHT)
        session = tb.session(agent="mine", native="s1")
        with session.turn("make one"):
            self.change(self.text, "line 1", "one")
        done(workspace, "fork", "s1/turn:1.end", "--worktree", str(self.beside), "--yes")
        with session.turn("make four, and a new file"):
            self.change(self.text, "line 4", "four")
            (workspace / "src").mkdir(0o750)
            (workspace / "src/new").write_text("new\n")
        there = Takeback.open(self.beside)
        with there, there.session(agent="mine", native="b1").turn("make eight"):
            self.change(self.beside / "text", "line 8", "eight")

    @staticmethod
    def change(path: Path, old: str, new: str) -> None:
        path.write_text(path.read_text().replace(old, new))


@pytest.fixture
def story(workspace: Path) -> Iterator[Story]:
    with Takeback.open(workspace) as tb:
        yield Story(workspace, tb)


def test_a_turn_goes_to_a_fork_and_back_again(story: Story) -> None:
    beside, text = story.beside, story.beside / "text"
    words = ("apply", "turn:2", "--session", "s1", "--to", str(beside))
    plan = done(story.workspace, *words, "--dry-run").stdout
    assert plan == snapshot("""\
Plan: apply 2 files of turn 2 "make four, and a new file".
  create src/
  create src/new  +1 -0
  write text  +1 -1
""")
    answer = done(story.workspace, *words, "--yes").stdout.replace(str(beside), "BESIDE")
    assert answer == snapshot("""\
Applied 2 files of turn 2 "make four, and a new file".
Take it back: takeback -C BESIDE undo
""")
    both = EIGHT.replace("line 1", "one").replace("line 4", "four").replace("line 8", "eight")
    assert text.read_text() == both
    assert (beside / "src/new").read_text() == "new\n"
    assert (beside / "src").stat().st_mode & 0o777 == 0o750
    assert story.text.read_text() == both.replace("eight", "line 8"), "those here stay"
    assert "is in the files already" in done(story.workspace, *words, "--yes").stdout
    undone = done(beside, "undo", "--yes").stdout
    assert undone == snapshot("""\
Undid the apply of turn 2 "make four, and a new file" (2 files).
Take it back: takeback redo
""")
    assert text.read_text() == both.replace("four", "line 4")
    assert not (beside / "src").exists()
    done(beside, "redo", "--yes")
    assert text.read_text() == both
    done(beside, "verify", "--read-data")


def test_what_was_changed_there_too_is_a_conflict(story: Story) -> None:
    text = story.beside / "text"
    story.change(text, "line 4", "vier")
    words = ("apply", "s1/turn:2", "--to", str(story.beside), "--yes")
    refused = called(story.workspace, *words)
    assert refused.status == 13, str(refused)
    assert refused.stderr.startswith("Error: changed here, too: text\n"), str(refused)
    plan = done(story.workspace, *words, "--dry-run").stdout
    assert "changed here, too:\n  text: the same lines were changed here, too\n" in plan
    assert "since" not in plan, "what comes from elsewhere is not earlier"
    assert "vier" in text.read_text()
    done(story.workspace, *words, "--conflicts=markers")
    assert '>>>>>>> with turn 2 "make four, and a new file"\n' in text.read_text()
    assert "<<<<<<< as it is now\nvier\n=======\nfour\n" in text.read_text()
    done(story.beside, "undo", "--yes")
    done(story.workspace, *words, "--conflicts=theirs", "--", "text")
    assert "four" in text.read_text()
    assert not (story.beside / "src").exists(), "only what was named"


def test_a_file_that_was_renamed_there_is_followed(story: Story) -> None:
    (story.beside / "text").rename(story.beside / "moved")
    done(story.workspace, "apply", "s1/turn:2", "--to", str(story.beside), "--yes")
    assert "four" in (story.beside / "moved").read_text()
    assert not (story.beside / "text").exists()


def test_a_turn_of_another_session_goes_into_the_files_here(story: Story) -> None:
    done(story.workspace, "rewind", "s1/turn:2", "--files", "--yes")
    with Takeback.open(story.workspace) as tb, tb.session("mine", "s2").turn("another way"):
        story.change(story.text, "line 6", "six")
    refused = called(story.workspace, "apply", "s1/turn:2", "--to", "s1", "--yes")
    assert refused.status == 13, str(refused)
    assert "takeback rewind mine-s1/@ --files" in refused.stderr
    done(story.workspace, "apply", "s1/turn:2", "--to", "s2", "--yes")
    expected = EIGHT.replace("line 1", "one").replace("line 4", "four").replace("line 6", "six")
    assert story.text.read_text() == expected
    found = done(story.workspace, "--json", "blame", "text").json
    assert found["authors"][found["lines"][3]["author"]]["turn"] == 2, "it stays that turn's line"
    with Takeback.open(story.workspace) as tb, tb.session("mine", "s2").turn("go on") as turn:
        assert turn.note is not None
        assert "brought changes from another session into this workspace" in turn.note
        assert '"src/new", "text"' in turn.note
    done(story.workspace, "undo", "--yes")
    assert story.text.read_text() == expected.replace("four", "line 4")


def test_some_hunks_of_it(story: Story) -> None:
    words = ("apply", "s1/turn:2", "-p", "--yes", "--to", str(story.beside))
    answer = called(story.workspace, *words, typed="n\n?\ny\n")
    assert answer.status == 0, str(answer)
    assert "Create this file [y,n,q,?]? " in answer.stderr, str(answer)
    assert "(1/1) Apply this hunk [y,n,a,d,e,q,?]? " in answer.stderr
    assert "  y, yes    bring this in\n" in answer.stderr
    assert "back" not in answer.stderr, "nothing goes back"
    assert not (story.beside / "src").exists()
    assert "four" in (story.beside / "text").read_text()


def test_a_directory_without_checkpoints_gets_them(story: Story, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "text").write_text("0\n" + EIGHT)
    words = ("apply", "s1/turn:2", "--to", str(plain))
    assert called(story.workspace, *words, "--dry-run").status == 10
    done(story.workspace, *words, "--yes")
    assert (plain / "text").read_text() == "0\n" + EIGHT.replace("line 4", "four")
    done(plain, "undo", "--yes")
    assert (plain / "text").read_text() == "0\n" + EIGHT


@pytest.mark.parametrize(
    "words",
    [
        ("apply",),
        ("apply", "s1/turn:9", "--yes"),
        ("apply", "s1/turn:2"),
        ("apply", "s1/turn:2", "--to", "nobody", "--yes"),
        ("apply", "s1/turn:2", "--yes", "-p"),
    ],
)
def test_what_cannot_be_meant_is_said_with_a_hint(story: Story, words: tuple[str, ...]) -> None:
    answer = called(story.workspace, *words)
    assert answer.status in (2, 12, 13), str(answer)
    assert "Hint: " in answer.stderr, str(answer)


def test_two_branches_side_by_side(story: Story) -> None:
    beside = "../workspace-beside"

    def said(*words: str) -> str:
        text = done(story.workspace, "compare", *words).stdout
        return re.sub(r"from [a-z0-9]{12} (.*), [0-9:]{5}", r"from CHECKPOINT \1", text)

    assert said("s1", beside) == snapshot("""\
both come from CHECKPOINT (after turn 1)
         s1         ../workspace-beside
src/new  new +1 -0  -
text     +1 -1      +1 -1                they differ
2 files  2: +2 -1   1: +1 -1
""")
    story.change(story.beside / "text", "line 4", "four")
    story.change(story.beside / "text", "eight", "line 8")
    assert said(".", beside) == snapshot("""\
both come from CHECKPOINT (after turn 1)
         .          ../workspace-beside
src/new  new +1 -0  -
text     +1 -1      +1 -1                the same
2 files  2: +2 -1   1: +1 -1
""")
    assert said("s1/turn:2", "s1/turn:1.end") == snapshot("""\
both come from CHECKPOINT (after turn 1)
nothing changed since in either
""")
    found = done(story.workspace, "--json", "compare", "s1/turn:1", "s1").json
    assert found["origin"] == found["a"]["checkpoint"]
    assert [(one["path"], one["a"], one["same"]) for one in found["paths"]] == [
        ("src/new", None, False),
        ("text", None, False),
    ]
    for words in (("compare", "s1"), ("compare", "s1", "nobody"), ("compare", "s1", "..")):
        answer = called(story.workspace, *words)
        assert answer.status in (2, 12), str(answer)
        assert "Hint: " in answer.stderr, str(answer)


def test_sessions_that_parted_by_a_rewind(story: Story) -> None:
    """Both worked in the same place, one after the other went back."""
    done(story.workspace, "rewind", "s1/turn:2", "--files", "--yes")
    with Takeback.open(story.workspace) as tb, tb.session("mine", "s2").turn("another way"):
        story.change(story.text, "line 4", "vier")
    found = done(story.workspace, "--json", "compare", "s1", "s2").json
    assert {one["path"]: (one["a"] is None, one["b"] is None) for one in found["paths"]} == {
        "src/new": (False, True),
        "text": (False, False),
    }


def test_a_session_whose_id_has_a_slash_is_compared_too(story: Story) -> None:
    with Takeback.open(story.workspace) as tb, tb.session("mine", "team/x").turn("five"):
        story.change(story.text, "line 5", "five")
    found = done(story.workspace, "--json", "compare", "s1", "team/x").json
    assert {one["path"]: one["same"] for one in found["paths"]} == {"src/new": True, "text": False}
