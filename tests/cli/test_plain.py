"""The numbered list: ``takeback pick`` where no screen can be drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from takeback import Takeback
from tests.cli.transcript import settled
from tests.cli.typing_person import Seen, at_a_terminal
from tests.support.cli import Answer, Cli
from tests.support.faults import Faults, run
from tests.support.host import Host
from tests.support.journey import write_files
from tests.support.summariser import set_summariser

NOW = {"a.txt": b"2\n", "b.txt": b"b\n"}
BEFORE_TIDYING = {"a.txt": b"1\n", "b.txt": b"b\n", "c.txt": b"c\n"}


@pytest.fixture
def host(cli: Cli, workspace: Path, tmp_path: Path) -> Host:
    write_files(workspace, {"a.txt": b"0\n", "c.txt": b"c\n"})
    told = Host(cli, tmp_path)
    told.turn("fix the login bug", {"a.txt": b"1\n"})
    told.turn("add a page", {"b.txt": b"b\n"})
    told.turn("tidy up", {"a.txt": b"2\n", "c.txt": None})
    return told


def pick(cli: Cli, *lines: str, status: int = 0) -> Answer:
    """Answers with lines on stdin, which then ends."""
    answer = cli.run("pick", stdin="".join(f"{line}\n" for line in lines).encode())
    assert answer.status == status, str(answer)
    return answer


def files_of(workspace: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(workspace.iterdir()) if p.is_file()}


def test_a_transcript(host: Host, workspace: Path) -> None:
    answer = pick(host.cli, "1", "1", "y")
    # The new session has a random id, and lies where the test does.
    text = re.sub(r"s1\.[0-9a-f]{8}", "NEW", answer.stdout.replace(str(workspace), "$WORKSPACE"))
    assert settled(text) == snapshot("""\
   1  ID   now  mine  turn 3  "tidy up"  a.txt, c.txt  +1 -2  <- here
   2  ID   now  mine  turn 2  "add a page"  b.txt  +1 -0
   3  ID   now  mine  turn 1  "fix the login bug"  a.txt  +1 -1
Go back to before turn 3: tidy up
   1  Files and conversation
   2  The conversation only
   3  The files only
   4  Revert this turn only, keep what came later
   5  To the end of this turn instead
   6  Fork: a new session with this conversation
   7  Fork, and the files here go back too
   8  Fork into a new directory, with its files
   9  Summarise what was said from here on
  10  Summarise what was said up to here
  11  Label it
  12  Copy its id
  13  Undo the last rewind  (not possible: nothing to undo)
  14  Redo what was undone  (not possible: nothing to redo)
  15  Cancel
  write a.txt  +1 -1
  create c.txt  +1 -0
The conversation goes on as a new session; the one that it comes from stays.
The prompt is offered again: "tidy up"
Rewound 2 files and the conversation to ID (before turn 3: tidy up).
The prompt was: "tidy up"
Go on with it: cd $WORKSPACE && mine --resume NEW
Take it back: takeback undo
Written:
  a.txt
  c.txt
""")
    assert settled(answer.stderr) == snapshot(
        "number, m for more, or q: what to do, b to step back, or q: "
        "Rewind 2 files and the conversation to ID (before turn 3: tidy up)? [y/N] "
    )
    assert files_of(workspace) == BEFORE_TIDYING
    answer = pick(host.cli, "2", "13", "y")
    assert "Undid the rewind to before turn 3: tidy up (2 files)." in answer.stdout
    assert files_of(workspace) == NOW


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((), 0),
        (("q",), 0),
        (("99", "x", "q"), 0),
        (("1",), 1),
        (("1", "1"), 1),
        (("1", "1", "n"), 1),
        (("1", "1", "b", "b", "q"), 0),
        (("1", "5", "1", "n", "b", ""), 0),
        (("1", "8"), 1),
        (("1", "11"), 1),
        (("1", "13", "q"), 1),
    ],
)
def test_the_end_of_the_input_changes_nothing(
    host: Host, workspace: Path, lines: tuple[str, ...], status: int
) -> None:
    answer = pick(host.cli, *lines, status=status)
    assert ("Nothing was changed." in answer.stdout) == (status == 1)
    assert files_of(workspace) == NOW
    assert host.cli.ok("--json", "log", "--operations").stdout == ""


def test_at_a_dumb_terminal(host: Host, workspace: Path) -> None:
    seen: Seen = at_a_terminal(
        host.cli, "pick", answers=("1\n", "3\n", "y\n"), env={"TERM": "dumb"}, asks=(b": ",)
    )
    assert seen.status == 0
    assert "Rewound 2 files to" in seen.screen
    assert "\x1b" not in seen.screen
    assert files_of(workspace) == BEFORE_TIDYING


def test_an_impossible_action_says_why_and_asks_again(host: Host) -> None:
    answer = pick(host.cli, "1", "13", "b", "q")
    assert "Undo the last rewind: nothing to undo." in answer.stdout


def test_to_the_end_of_a_turn(host: Host, workspace: Path) -> None:
    pick(host.cli, "3", "5", "3", "y")
    assert files_of(workspace) == {"a.txt": b"1\n", "c.txt": b"c\n"}


def test_a_fork_into_a_directory(host: Host, workspace: Path, tmp_path: Path) -> None:
    answer = pick(host.cli, "1", "8", str(tmp_path), str(tmp_path / "race"), "y")
    assert "is there already" in answer.stdout
    assert f"The files are in {tmp_path}/race" in answer.stdout
    assert files_of(tmp_path / "race") == BEFORE_TIDYING
    assert files_of(workspace) == NOW


def test_a_summary_says_what_is_sent_before_it_is(host: Host, tmp_path: Path) -> None:
    program = set_summariser(host.cli.directory, tmp_path)
    answer = pick(host.cli, "1", "9", "y")
    said = answer.stdout + answer.stderr
    assert f"are sent to the model of: {program}" in said
    assert "Summarised a part of the conversation, in a new session; the old one stays." in said
    assert len(list(host.folder.glob("*.jsonl"))) == 2


def test_labels_and_ids(host: Host) -> None:
    answer = pick(host.cli, "2", "11", "turn:1", "good")
    assert "Labelled good:" in answer.stdout
    [entry] = [e for e in host.cli.ok("--json", "log").json_lines if e["label"] == "good"]
    assert entry["prompt"] == "add a page"
    assert entry["id"] in pick(host.cli, "2", "12").stdout.splitlines()
    assert "Took the label good off" in pick(host.cli, "2", "11", "-").stdout


def test_refusals_are_answered_one_by_one(host: Host, workspace: Path, tmp_path: Path) -> None:
    other = Host(host.cli, tmp_path, session="s2", agent="other")
    other.turn("another way", {"b.txt": b"o\n", **{f"file{n}": b"x\n" for n in range(40)}})
    answer = pick(host.cli, "2", "3", "1", "2", "yes", "delete", "y")
    said = answer.stdout + answer.stderr
    assert "It can be done all the same; 2 questions first." in said
    assert "Another session (other-s2) changed b.txt, file0, file1 and 38 more since then." in said
    assert "Type the word delete to go on:" in said
    assert '"yes" is not the word.' in said
    assert files_of(workspace) == BEFORE_TIDYING


def test_what_another_session_changed_can_stay(host: Host, workspace: Path, tmp_path: Path) -> None:
    other = Host(host.cli, tmp_path, session="s2", agent="other")
    other.turn("another way", {"theirs.txt": b"theirs\n"})
    answer = pick(host.cli, "2", "3", "b", "b", "q")
    assert files_of(workspace) == {**NOW, "theirs.txt": b"theirs\n"}
    answer = pick(host.cli, "2", "3", "2", "y")
    said = answer.stdout
    assert "(m takes back only what its own session changed)" in said
    assert "   1  Answer what speaks against it\n" in said
    assert "   2  Take back only what its own session changed\n" in said
    assert "only what its session changed" in answer.stderr
    assert files_of(workspace) == {**BEFORE_TIDYING, "theirs.txt": b"theirs\n"}


def test_a_refusal_can_be_stepped_back_from(host: Host, workspace: Path) -> None:
    Host(host.cli, host.folder, session="s3", agent="busy").prompt("work")
    answer = pick(host.cli, "2", "3", "b", "b", "q")
    assert 'busy is working on "work"; press Esc there first.' in answer.stdout
    assert files_of(workspace) == NOW


def test_what_was_interrupted_is_recovered_and_said(host: Host, workspace: Path) -> None:
    def killed() -> None:
        with Takeback.open(workspace) as tb:
            tb.rewind("turn:3", scope="files")

    assert run(killed, _KillAt("exchange")).killed
    assert "An interrupted rewind was found and finished." in pick(host.cli, "q").stdout
    assert files_of(workspace) == BEFORE_TIDYING


class _KillAt(Faults):
    """Kills the process at the step after the first of a name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def step(self, name: str) -> None:
        if self._name in self.names and not self.at:
            self.at = len(self.names) + 1
        super().step(name)


def test_more_than_a_page(cli: Cli, workspace: Path) -> None:
    for number in range(23):
        write_files(workspace, {"a.txt": f"{number}\n".encode()})
        cli.ok("checkpoint", "-m", f"state {number}")
    answer = pick(cli, "21", "m", "23", "b", "q")
    assert "21 is not in the list." in answer.stdout
    assert 'Go back to "state 0"' in answer.stdout


def test_nothing_to_choose_from(cli: Cli, workspace: Path) -> None:
    assert pick(cli, status=10).stdout == ""
    Takeback.open(workspace).close()
    assert pick(cli).stdout == "no checkpoints yet\n"


def test_one_turn_alone_is_reverted(host: Host, workspace: Path) -> None:
    answer = pick(host.cli, "2", "4", "y")
    assert "   4  Revert this turn only, keep what came later" in answer.stdout
    assert 'Reverted 1 file of turn 2 "add a page".' in answer.stdout
    assert files_of(workspace) == {"a.txt": b"2\n"}


def test_a_conflict_is_asked_about_and_can_be_stepped_back_from(
    host: Host, workspace: Path
) -> None:
    answer = pick(host.cli, "3", "4", "b", "q", status=1)
    assert "a.txt: the same lines were changed again since." in answer.stdout
    assert "You choose where both changed the same; 1 question first." in answer.stdout
    assert "number or word, b to step back, or q: " in answer.stderr
    assert files_of(workspace) == NOW
    answer = pick(host.cli, "3", "4", "none", "theirs", "y")
    assert "none is not in the list." in answer.stdout
    assert files_of(workspace) == {**NOW, "a.txt": b"0\n"}


def test_own_edits_are_kept_if_that_is_said(host: Host, workspace: Path) -> None:
    write_files(workspace, {"mine.txt": b"typed by me\n"})
    answer = pick(host.cli, "1", "3", "e", "y")
    assert "(undo brings it back; e keeps it)" in answer.stdout
    assert "[y/N, e: keep your own edit] " in answer.stderr
    assert "your own edits since then, kept:\n  mine.txt" in answer.stdout
    assert files_of(workspace) == {**BEFORE_TIDYING, "mine.txt": b"typed by me\n"}


def test_no_plan_of_a_list_names_an_option(cli: Cli, workspace: Path, tmp_path: Path) -> None:
    """Who picks from a list types no options, and the command line names its own."""
    write_files(workspace, {".gitignore": b"*.log\n", "a.log": b"1\n", "a.txt": b"1\n"})
    told = Host(cli, tmp_path)
    told.turn("change one", {"a.txt": b"2\n"})
    write_files(workspace, {"a.log": b"2\n"})
    words = pick(cli, "1", "3", "y").stdout
    assert words.count("a.log: ignored by git; restored only if asked\n") == 2, words
    assert "--ignored" not in words
    cli.ok("undo", "--yes")
    plan = cli.ok("rewind", "turn:1", "--files", "--dry-run").stdout
    assert "a.log: ignored by git; restored only if asked: --ignored\n" in plan
