"""Hunk by hunk at the command line: rewind -p and revert -p."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from takeback import Takeback
from takeback.app import proposal
from takeback.app.engine import Engine
from takeback.errors import Refused
from takeback.model.conflicts import ConflictChoices
from takeback.model.operation import FILES
from tests.support.called import called, done
from tests.support.git import git
from tests.support.journey import write_files
from tests.support.trees import tree_state

TEXT = "".join(f"line {number}\n" for number in range(1, 21))


class Story:
    """One turn that changes a text in three places, and other things beside it."""

    def __init__(self, workspace: Path, tb: Takeback) -> None:
        self.workspace = workspace
        self.text = workspace / "text"
        self.text.write_text(TEXT)
        (workspace / "binary").write_bytes(b"\0one")
        (workspace / "gone").write_text("gone\n")
        os.symlink("text", workspace / "link")
        with tb.session(agent="mine", native="s1").turn("change it all"):
            self.text.write_text(self.after)
            (workspace / "binary").write_bytes(b"\0two")
            (workspace / "gone").unlink()
            (workspace / "link").unlink()
            os.symlink("binary", workspace / "link")
            (workspace / "text").chmod(0o700)
            (workspace / "new").mkdir(0o700)
            (workspace / "new/file").write_text("new\n")

    @property
    def after(self) -> str:
        changed = TEXT.replace("line 2\n", "two\n").replace("line 5\n", "five\n")
        return changed.replace("line 20\n", "twenty\n")

    def rewind(self, keys: str, *words: str, status: int = 0) -> str:
        """Types keys, one a line, and the yes at the end."""
        typed = "".join(f"{key}\n" for key in keys.split())
        answer = called(self.workspace, "rewind", "turn:1", "-p", *words, typed=typed)
        assert answer.status == status, str(answer)
        said = re.sub(r"to [a-z0-9]{12} \(", "to CHECKPOINT (", answer.stderr + answer.stdout)
        return re.sub(r"(\]\?|\[y/N\]) ", r"\1\n", said)


@pytest.fixture
def story(workspace: Path) -> Iterator[Story]:
    (workspace / "text").write_text(TEXT)
    (workspace / "text").chmod(0o644)
    with Takeback.open(workspace) as tb:
        yield Story(workspace, tb)


def test_a_transcript(story: Story) -> None:
    said = story.rewind("n s yes perhaps n y y", "--", "text")
    assert said == snapshot("""\
text
Change its permission bits from 0700 back to 0644 [y,n,q,?]?
@@ -1,8 +1,8 @@
 line 1
-two
+line 2
 line 3
 line 4
-five
+line 5
 line 6
 line 7
 line 8
(1/2) Take this hunk back [y,n,a,d,s,e,q,?]?
@@ -1,3 +1,3 @@
 line 1
-two
+line 2
 line 3
(1/3) Take this hunk back [y,n,a,d,e,q,?]?
@@ -4,5 +4,5 @@
 line 4
-five
+line 5
 line 6
 line 7
 line 8
(2/3) Take this hunk back [y,n,a,d,e,q,?]?
perhaps is not in the list.
  y, yes    take this back
  n, no     leave it as it is
  a, all    take it back, and all that follows in the file
  d, done   leave it, and all that follows in the file
  e, edit   change the hunk in your editor first
  q, quit   leave it, and all that follows; what you took before counts
  ?, help   say what can be answered
(2/3) Take this hunk back [y,n,a,d,e,q,?]?
@@ -17,4 +17,4 @@
 line 17
 line 18
 line 19
-twenty
+line 20
(3/3) Take this hunk back [y,n,a,d,e,q,?]?
  write text  +2 -2
Rewind 1 file to CHECKPOINT (before turn 1: change it all, only what was picked)? [y/N]
Rewound 1 file to CHECKPOINT (before turn 1: change it all, only what was picked).
Take it back: takeback undo
""")
    assert story.text.read_text() == story.after.replace("two\n", "line 2\n").replace(
        "twenty\n", "line 20\n"
    )
    assert story.text.stat().st_mode & 0o777 == 0o700, "that was answered with no"
    done(story.workspace, "undo", "--yes")
    assert story.text.read_text() == story.after
    done(story.workspace, "redo", "--yes")
    assert "line 20\n" in story.text.read_text()


def test_each_answer(story: Story) -> None:
    """The text is asked about last: binary, gone, link, new/file, its mode, two hunks."""
    others = "n n n n n"
    table = {
        f"{others} a y": TEXT,
        f"{others} n y y": story.after.replace("twenty\n", "line 20\n"),
        f"{others} s n all y": story.after.replace("five\n", "line 5\n").replace(
            "twenty\n", "line 20\n"
        ),
        f"{others} y q y": TEXT.replace("line 20\n", "twenty\n"),
        f"{others} s y done y": story.after.replace("two\n", "line 2\n"),
    }
    for keys, expected in table.items():
        story.rewind(keys)
        assert story.text.read_text() == expected, keys
        done(story.workspace, "undo", "--yes")
        assert story.text.read_text() == story.after
    for keys in ("q", f"{others} d", f"{others} y n n", f"{others} n n"):
        assert "Nothing was changed." in story.rewind(keys, status=1)
        assert story.text.read_text() == story.after


def test_what_has_no_hunks_is_one_question_each(story: Story) -> None:
    said = story.rewind("y n y y y q y")
    assert said == snapshot("""\
binary
Take this file back [y,n,q,?]?
gone
@@ -0,0 +1,1 @@
+gone
Bring this file back [y,n,q,?]?
link
Take this link back [y,n,q,?]?
new/file
@@ -1,1 +0,0 @@
-new
Delete this file [y,n,q,?]?
text
Change its permission bits from 0700 back to 0644 [y,n,q,?]?
@@ -1,8 +1,8 @@
 line 1
-two
+line 2
 line 3
 line 4
-five
+line 5
 line 6
 line 7
 line 8
(1/2) Take this hunk back [y,n,a,d,s,e,q,?]?
  write binary
  write link  +1 -1
  change mode of text
  delete new/
  delete new/file  +0 -1
Rewind 4 files to CHECKPOINT (before turn 1: change it all, only what was picked)? [y/N]
Rewound 4 files to CHECKPOINT (before turn 1: change it all, only what was picked).
Take it back: takeback undo
""")
    assert (story.workspace / "binary").read_bytes() == b"\0one"
    assert not (story.workspace / "gone").exists()
    assert os.readlink(story.workspace / "link") == "text"
    assert not (story.workspace / "new").exists(), "the directory goes with its last file"
    assert story.text.stat().st_mode & 0o777 == 0o644
    assert story.text.read_text() == story.after
    done(story.workspace, "undo", "--yes")
    assert (story.workspace / "new").stat().st_mode & 0o777 == 0o700
    assert (story.workspace / "new/file").read_text() == "new\n"
    assert story.text.stat().st_mode & 0o777 == 0o700


def test_a_file_comes_back_with_its_directory_as_it_was(workspace: Path) -> None:
    (workspace / "d").mkdir(0o750)
    (workspace / "d/one").write_text("one\n")
    (workspace / "d/two").write_text("two\n")
    with Takeback.open(workspace) as tb, tb.session(agent="mine", native="s1").turn("tidy up"):
        for path in (workspace / "d").iterdir():
            path.unlink()
        (workspace / "d").rmdir()
        (workspace / "d").write_text("a file\n")
    answer = called(workspace, "rewind", "turn:1", "-p", "--yes", typed="y\n")
    assert answer.status == 0, str(answer)
    assert (workspace / "d/two").read_text() == "two\n", "it was one question"
    with (
        Takeback.open(workspace) as tb,
        tb.session(agent="mine", native="s1").turn("tidy up again"),
    ):
        for path in (workspace / "d").iterdir():
            path.unlink()
        (workspace / "d").rmdir()
    answer = called(workspace, "rewind", "turn:2", "-p", "--yes", typed="n\ny\n")
    assert answer.status == 0, str(answer)
    assert [path.name for path in (workspace / "d").iterdir()] == ["two"]
    assert (workspace / "d").stat().st_mode & 0o777 == 0o750


@pytest.mark.slow
def test_a_hunk_is_edited_and_a_bad_edit_is_asked_about_again(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "an editor"
    editor.write_text(f'#!/bin/sh\nset -eu\n. "{tmp_path}/what"\n')
    editor.chmod(0o700)
    monkeypatch.setenv("EDITOR", f"'{editor}' --wait")
    what = tmp_path / "what"

    what.write_text('sed -i "s/^+line 2/+my own line/" "$2"')
    story.rewind("n e n y", "--", "text")
    assert story.text.read_text() == story.after.replace("two\n", "my own line\n").replace(
        "five\n", "line 5\n"
    )
    done(story.workspace, "undo", "--yes")
    for words, told in (
        ('sed -i "s/^-two/-three/" "$2"', "does not fit the file"),
        ("exit 3", "ended with status 3, so nothing was edited"),
        (': > "$2"', ""),
    ):
        what.write_text(words)
        said = story.rewind("n e y n y", "--", "text")
        assert told in said
        assert story.text.read_text() == TEXT.replace("line 20\n", "twenty\n")
        done(story.workspace, "undo", "--yes")
    inside = story.workspace / "editor"
    inside.write_text("#!/bin/sh\ntouch ran\n")
    inside.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(inside))
    assert "there is no editor to run" in story.rewind("n e q", "--", "text", status=1)
    assert not (story.workspace / "ran").exists()


def test_a_revert_hunk_by_hunk_keeps_what_came_later(story: Story) -> None:
    with Takeback.open(story.workspace) as tb, tb.session(agent="mine", native="s1").turn("more"):
        story.text.write_text(story.after.replace("line 11\n", "eleven\n"))
    typed = "n\ns\nn\ny\nn\ny\n"
    answer = called(story.workspace, "revert", "turn:1", "-p", "--", "text", typed=typed)
    assert answer.status == 0, str(answer)
    expected = story.after.replace("line 11\n", "eleven\n").replace("five\n", "line 5\n")
    assert story.text.read_text() == expected
    done(story.workspace, "undo", "--yes")


def test_what_changed_after_the_questions_is_not_overwritten(story: Story) -> None:
    with Engine.open(story.workspace) as tb:
        going = proposal.rewind(tb.find("s1/turn:1"), ["text"], scope=FILES)
        (offer,) = tb.offers(going.plan(tb))
        assert going.choosing is not None
        chosen = going.choosing(ConflictChoices(picked=offer.whole()))
        story.text.write_text("typed meanwhile\n")
        with pytest.raises(Refused, match="you chose from another text: it changed since"):
            chosen.carry_out(tb)
    assert story.text.read_text() == "typed meanwhile\n"


@pytest.mark.parametrize(
    "words",
    [
        ("rewind", "turn:1", "-p"),
        ("rewind", "turn:1", "-p", "--yes"),
        ("rewind", "turn:1", "--patch", "--both", "--yes"),
        ("rewind", "turn:1", "--patch", "--ignored", "--yes"),
        ("revert", "turn:1", "-p", "--yes"),
    ],
)
def test_without_a_terminal_it_is_refused_with_a_hint(story: Story, words: tuple[str, ...]) -> None:
    answer = called(story.workspace, *words)
    assert answer.status in (2, 13), str(answer)
    assert "Hint: " in answer.stderr, str(answer)
    assert story.text.read_text() == story.after


def test_a_dry_run_shows_the_plan_of_what_was_picked(story: Story) -> None:
    said = story.rewind("n y n", "--dry-run", "--", "text")
    assert "Plan: rewind 1 file to" in said
    assert "write text  +2 -2" in said
    assert story.text.read_text() == story.after


def test_what_git_ignores_is_named_and_stays(workspace: Path) -> None:
    (workspace / ".gitignore").write_text("*.log\n")
    (workspace / "a.log").write_text("1\n")
    (workspace / "text").write_text("1\n")
    git(workspace, "init", "-q")
    with Takeback.open(workspace) as tb, tb.session(agent="mine", native="s1").turn("change"):
        (workspace / "a.log").write_text("2\n")
        (workspace / "text").write_text("2\n")
    answer = called(workspace, "rewind", "turn:1", "-p", "--yes", typed="y\ny\n")
    assert answer.status == 0, str(answer)
    assert "a.log: git ignores it, so it stays" in answer.stderr
    assert (workspace / "text").read_text() == "1\n"
    assert (workspace / "a.log").read_text() == "2\n"


def test_directories_that_come_go_and_change_their_bits(workspace: Path) -> None:
    """A directory became a file, a file a directory, a link too; one has other bits."""
    write_files(workspace, {"d/y": b"y\n", "f": b"f\n", "bits/z": b"z\n"})
    os.symlink("f", workspace / "l")
    then = tree_state(workspace)
    with Engine.open(workspace) as tb:
        at = tb.checkpoint().checkpoint
        for name in ("d/y", "f", "l"):
            (workspace / name).unlink()
        (workspace / "d").rmdir()
        write_files(workspace, {"d": b"d\n", "f/1/2": b"2\n", "f/3": b"3\n", "l/4": b"4\n"})
        os.chmod(workspace / "bits", 0o700)
        now = tree_state(workspace)
        asked = proposal.rewind(at, scope=FILES)
        offers = tb.offers(asked.plan(tb))
        assert [one.change.path for one in offers] == [b"bits", b"d", b"f", b"l"]
        for wanted in (offers, offers[:2], offers[2:]):
            picked = {path: pick for one in wanted for path, pick in one.whole().items()}
            chosen = asked.choosing(asked.choices.replace(picked=picked))
            chosen.carry_out(tb)
            if wanted is offers:
                assert tree_state(workspace) == then
            else:
                assert (workspace / "d").is_dir() == (wanted == offers[:2])
                assert (workspace / "f").is_dir() == (wanted == offers[:2])
            tb.undo()
            assert tree_state(workspace) == now
        write_files(workspace, {"f/1/new": b"by hand\n"})
        with pytest.raises(Refused, match="you chose from another f/1: it changed since"):
            chosen.plan(tb)
