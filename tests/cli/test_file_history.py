"""The history of single files at the command line: log -- PATH, blame, show -- PATH."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from takeback import Takeback
from takeback.model.event import EDIT, ToolCall
from tests.support.called import called, done


class Story:
    """A text that two agents and a person wrote, one after the other, and renamed."""

    def __init__(self, workspace: Path, tb: Takeback) -> None:
        self.workspace = workspace
        self.text = workspace / "text"
        self.text.write_text("".join(f"line {number}\n" for number in range(1, 9)))
        (workspace / "src").mkdir()
        session = tb.session(agent="mine", native="s1")
        with session.turn("make one") as turn:
            self.change("line 1", "one")
            turn.round([ToolCall("Edit", EDIT, (str(self.text),))])
        with session.turn("make four, and a new file"):
            self.change("line 4", "four")
            (workspace / "src/new").write_text("new\n")
        self.change("line 6", "six, by me")
        with tb.session(agent="other", native="s2").turn("make eight"):
            self.change("line 8", "eight")
        (workspace / "binary").write_bytes(b"\0\1")

    def change(self, old: str, new: str) -> None:
        self.text.write_text(self.text.read_text().replace(old, new))

    def said(self, *words: str) -> str:
        answer = called(self.workspace, *words)
        end = f"(exit {answer.status})\n" if answer.status else ""
        said = f"$ takeback {' '.join(words)}\n{answer.stdout}{answer.stderr}{end}"
        said = re.sub(r"^[a-z0-9]{12} ", "CHECKPOINT ", said, flags=re.MULTILINE)
        return re.sub(r"\b(now|[0-9]+s)\b", "now", said)


@pytest.fixture
def story(workspace: Path) -> Iterator[Story]:
    with Takeback.open(workspace) as tb:
        yield Story(workspace, tb)


def test_the_history_of_a_file_and_of_a_directory(story: Story) -> None:
    assert story.said("log", "--", "text") == snapshot("""\
$ takeback log -- text
CHECKPOINT   now  other  turn 1  "make eight"  <- here
                    modified text  +1 -1
                    before it: modified text  +1 -1  by hand
CHECKPOINT   now  mine   turn 2  "make four, and a new file"
                    modified text  +1 -1
CHECKPOINT   now  mine   turn 1  "make one"
                    modified text  +1 -1  by tool Edit
""")
    assert story.said("log", "--", "src") == snapshot("""\
$ takeback log -- src
CHECKPOINT   now  mine  turn 2  "make four, and a new file"
                    added src/new  +1 -0
""")
    assert story.said("log", "-n", "1", "--", "text").count("CHECKPOINT") == 1


def test_json_has_the_named_paths_only(story: Story) -> None:
    lines = done(story.workspace, "--json", "log", "--", "src/new").json_lines
    assert [(one["prompt"], [c["path"] for c in one["changed"]]) for one in lines] == [
        ("make four, and a new file", ["src/new"])
    ]


def test_blame_tells_turns_and_the_person_apart(story: Story) -> None:
    assert story.said("blame", "text") == snapshot("""\
$ takeback blame text
mine turn 1      "make one"                   tool Edit  now  1  one
before takeback                                               2  line 2
before takeback                                               3  line 3
mine turn 2      "make four, and a new file"             now  4  four
before takeback                                               5  line 5
by hand                                                  now  6  six, by me
before takeback                                               7  line 7
other turn 1     "make eight"                            now  8  eight
""")
    found = done(story.workspace, "--json", "blame", "text").json
    authors = [found["authors"][line["author"]] for line in found["lines"]]
    assert [(one["kind"], one["turn"], one["agent"]) for one in authors] == [
        ("a turn", 1, "mine"),
        ("before takeback", None, None),
        ("before takeback", None, None),
        ("a turn", 2, "mine"),
        ("before takeback", None, None),
        ("by hand", None, None),
        ("before takeback", None, None),
        ("a turn", 1, "other"),
    ]


def kinds(story: Story, *words: str) -> list[str]:
    """Returns who wrote each line: the prompt of the turn, else what kind of author it is."""
    found = done(story.workspace, "--json", "blame", *words).json
    authors = [found["authors"][line["author"]] for line in found["lines"]]
    return [one["prompt"] or one["kind"] for one in authors]


BEFORE, HAND = "before takeback", "by hand"
AT_LAST = [
    *("make one", BEFORE, BEFORE, "make four, and a new file"),
    *(BEFORE, HAND, BEFORE, "make eight"),
]


def test_what_a_rewind_brought_back_belongs_to_who_wrote_it_first(story: Story) -> None:
    done(story.workspace, "rewind", "s1/turn:2", "--files", "--yes", "--force")
    assert kinds(story, "text") == ["make one", *[BEFORE] * 7]
    done(story.workspace, "undo", "--yes")
    assert kinds(story, "text") == AT_LAST
    done(story.workspace, "revert", "s1/turn:1", "--yes")
    assert kinds(story, "text") == [BEFORE, *AT_LAST[1:]]
    done(story.workspace, "rewind", "s1/turn:2", "--files", "--yes", "--keep-edits", "--force")
    assert kinds(story, "text") == ["make one", *[BEFORE] * 4, HAND, BEFORE, BEFORE]


def test_what_no_checkpoint_has_yet_and_a_checkpoint_in_the_past(story: Story) -> None:
    story.change("line 2", "two, just now")
    assert kinds(story, "text")[:3] == ["make one", "unseen", BEFORE]
    assert kinds(story, "text", "s1/turn:2") == ["make one", *[BEFORE] * 7]
    story.text.unlink()
    gone = called(story.workspace, "blame", "text")
    assert gone.status == 12, str(gone)
    assert "takeback log -- text" in gone.stderr
    assert kinds(story, "text", "s2/turn:1.end") == AT_LAST


def test_a_renamed_file_is_followed(story: Story) -> None:
    with Takeback.open(story.workspace) as tb, tb.session("mine", "s1").turn("rename it"):
        story.text.rename(story.workspace / "src/moved")
        story.text = story.workspace / "src/moved"
        story.change("line 2", "two")
    assert kinds(story, "src/moved") == ["make one", "rename it", *AT_LAST[2:]]
    prompts = [
        one["prompt"]
        for one in done(story.workspace, "--json", "log", "--", "src/moved").json_lines
    ]
    assert prompts == ["rename it", "make eight", "make four, and a new file", "make one"]


def test_what_has_no_lines_is_said(story: Story) -> None:
    (story.workspace / "large").write_bytes(b"x\n" * (9 << 20))
    for path, status in (("binary", 2), ("large", 2), ("src", 2), (".", 2), ("nowhere", 12)):
        answer = called(story.workspace, "blame", path)
        assert answer.status == status, str(answer)
        assert answer.stdout == ""
    assert called(story.workspace, "log", "--", "nowhere").status == 2
    assert called(story.workspace, "log", "--operations", "--", "text").status == 2


def test_an_empty_file_has_no_lines_to_blame(story: Story) -> None:
    (story.workspace / "empty").touch()
    assert done(story.workspace, "blame", "empty").stdout == ""


def test_a_turn_limited_to_a_file_has_its_lines(story: Story) -> None:
    said = story.said("show", "s1/turn:2", "--", "text")
    assert said[said.index("changed by it:") :] == snapshot("""\
changed by it:
  modified  text  +1 -1  unknown

diff --git a/text b/text
index ec8d497..a495b60 100644
--- a/text
+++ b/text
@@ -1,7 +1,7 @@
 one
 line 2
 line 3
-line 4
+four
 line 5
 line 6
 line 7
""")
    found = done(story.workspace, "--json", "show", "s1/turn:2", "--", "src").json
    assert [one["path"] for one in found["changed"]] == ["src/new"]
    assert "+new" in found["patch"]
    assert "four" not in found["patch"]
    assert "patch" not in done(story.workspace, "--json", "show", "s1/turn:2").json
    assert called(story.workspace, "show", "s1/turn:2", "--", "nowhere").status == 2
