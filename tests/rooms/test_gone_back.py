"""An agent that goes back by itself: what it left is a branch, what it put back is its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.ledger.follow import rebuild_ledger
from takeback.model.entries import Turn
from takeback.rewind.request import EDITS, Keeping
from takeback.timeline.sessions import Node
from takeback.words import documents
from takeback.words.sessions import tree_lines
from takeback.words.text import Paint
from tests.support.cli import Cli

NATIVE = "0f1e2d3c-4b5a-4678-9abc-def012345678"


class Claude:
    """Claude Code as its hooks and its transcript tell it, with its own /rewind."""

    def __init__(self, tb: Takeback, workspace: Path, transcript: Path) -> None:
        self.tb = tb
        self.workspace = workspace
        self.session = tb.session(agent="claude", native=NATIVE)
        self.transcript = transcript
        self.leaf: str | None = None
        self.lines = 0
        transcript.touch()

    def turn(
        self, name: str, *, stopped: bool = False, leaf: bool | str | None = True, **files: str
    ) -> str | None:
        """Runs a turn that writes files; returns its leaf. ``leaf`` is what it follows."""
        if not isinstance(leaf, bool):
            self.leaf = leaf
        told = {"turn": name, "transcript": str(self.transcript)}
        self.session.tell("prompt", prompt=f"do {name}", **told)
        self.say("user", name)
        for file, text in files.items():
            (self.workspace / f"{file}.txt").write_text(text)
            self.say("assistant")
            self.say("user", name)
            self.session.tell("round_end", **told)
        self.say("assistant")
        if not stopped:
            self.session.tell("turn_end", **told)
        return self.leaf

    def say(self, kind: str, turn: str | None = None) -> None:
        self.lines += 1
        id = f"entry-{self.lines}"
        words = [{"type": "text", "text": f"words {self.lines}"}]
        entry: dict[str, object] = {"parentUuid": self.leaf, "isSidechain": False, "uuid": id}
        entry |= {"type": kind, "message": {"role": kind, "content": words}, "sessionId": NATIVE}
        entry |= {"promptId": turn} if turn is not None else {}
        with self.transcript.open("a") as file:
            file.write(json.dumps(entry, separators=(",", ":")) + "\n")
        self.leaf = id

    def drawn(self) -> list[tuple[int | None, bool, list[int | None]]]:
        """Returns the turns on the line: number, whether abandoned, those beside it."""
        [root] = self.tb.tree()
        return [
            (one.turn.number, one.abandoned, [turn.number for turn in _turns(one.children)])
            for one in root.children
            if one.turn is not None
        ]

    def owners(self) -> dict[str, str | None]:
        """Returns who is said to have changed what was found at the newest prompt."""
        newest = max(
            (one for one in self.tb.checkpoints() if one.checkpoint.kind == "prompt"),
            key=lambda one: one.checkpoint.sequence,
        )
        return {change.path.decode(): change.who for change in newest.changes}

    def kept(self, turn: int) -> set[str]:
        """Returns the files that would be kept as the person's own."""
        name, keeping = f"claude-{NATIVE}/turn:{turn}", Keeping(EDITS)
        plan = self.tb.plan(name, scope="files", keeping=keeping)
        return {path.decode() for path in plan.edits}


def _turns(nodes: Iterable[Node]) -> Iterator[Turn]:
    return (node.turn for node in nodes if node.turn is not None)


def test_a_prompt_that_claude_writes_down_late_is_known_with_the_next_event(claude: Claude) -> None:
    leaf = claude.turn("one", a="1\n")
    claude.turn("two", a="2\n")
    (claude.workspace / "a.txt").write_text("1\n")
    before = claude.transcript.read_bytes()
    claude.turn("three", leaf=leaf, stopped=True)
    written = claude.transcript.read_bytes()
    claude.transcript.write_bytes(before)
    told = {"transcript": str(claude.transcript)}
    claude.session.tell("turn_end", turn="three", **told)
    assert claude.drawn() == [(1, False, []), (2, False, []), (3, False, [])]
    claude.transcript.write_bytes(written)
    assert claude.owners() == {"a.txt": "outside"}
    claude.session.tell("prompt", prompt="do four", turn="four", **told)
    assert claude.drawn() == [(1, False, [2]), (3, False, []), (4, False, [])]
    [row] = [one for one in claude.tb.checkpoints() if one.checkpoint.prompt == "do three"]
    assert [change.who for change in row.changes] == ["its own rewind"]


@pytest.fixture
def claude(workspace: Path, tmp_path: Path) -> Iterator[Claude]:
    with Takeback.open(workspace) as tb:
        yield Claude(tb, workspace, tmp_path / f"{NATIVE}.jsonl")


def _goes_back(claude: Claude) -> None:
    """Two turns, of which the second is abandoned with its files; the person edits one, too."""
    leaf = claude.turn("one", a="1\n")
    claude.turn("two", a="2\n", b="2\n")
    (claude.workspace / "a.txt").write_text("1\n")  # as Claude itself puts them back
    (claude.workspace / "b.txt").unlink()
    (claude.workspace / "mine.txt").write_text("by the person\n")
    claude.turn("three", leaf=leaf, c="3\n")


def test_what_claude_puts_back_by_itself_is_its_own_and_no_edit_of_the_person(
    claude: Claude,
) -> None:
    _goes_back(claude)
    assert claude.owners() == {
        "a.txt": "its own rewind",
        "b.txt": "its own rewind",
        "mine.txt": "outside",
    }
    assert claude.kept(2) == {"mine.txt"}


def test_the_turn_that_claude_went_back_before_is_drawn_as_a_branch(claude: Claude) -> None:
    _goes_back(claude)
    assert claude.drawn() == [(1, False, [2]), (3, False, [])]
    [root] = claude.tb.tree()
    text = "\n".join(tree_lines([root], Paint(on=False), now=0))
    [line] = [line for line in text.splitlines() if '"do two"' in line]
    assert line.startswith("|  `- turn 2")
    assert "abandoned" in line
    assert documents.node(root)["children"][0]["children"][0]["abandoned"] is True
    marked = [one.checkpoint.turn for one in claude.tb.checkpoints() if one.abandoned]
    assert marked == [2]


def test_the_command_line_draws_what_claude_abandoned(claude: Claude, cli: Cli) -> None:
    _goes_back(claude)
    log, drawn = cli.ok("log").stdout, cli.ok("tree").stdout
    [line] = [line for line in log.splitlines() if '"do two"' in line]
    assert "abandoned" in line
    assert "outside edits before it: mine.txt\n" in log
    assert [line[:12] for line in drawn.splitlines() if "abandoned" in line] == ["|  `- turn 2"]
    assert [one["abandoned"] for one in cli.ok("--json", "log").json_lines] == [False, True, False]


def test_before_its_first_turn_and_twice_over_the_line_is_what_is_left(claude: Claude) -> None:
    leaf = claude.turn("one", a="1\n")
    claude.turn("two", leaf=None, a="2\n")
    assert claude.drawn() == [(1, True, []), (2, False, [])]
    leaf = claude.turn("three")
    claude.turn("four")
    claude.turn("five", leaf=leaf)
    claude.turn("six")
    claude.turn("seven", leaf=leaf)
    line = [(1, True, []), (2, False, []), (3, False, [4, 5, 6]), (7, False, [])]
    assert claude.drawn() == line


def test_a_turn_that_esc_ended_is_known_as_a_branch_with_the_next_prompt(claude: Claude) -> None:
    leaf = claude.turn("one", a="1\n")
    claude.turn("two")
    claude.turn("three", leaf=leaf, stopped=True)
    claude.turn("four")
    assert claude.drawn() == [(1, False, [2]), (3, False, []), (4, False, [])]


def test_turns_one_after_another_are_a_line_and_nothing_is_recorded_of_them(
    claude: Claude,
) -> None:
    for name in ("one", "two", "three"):
        claude.turn(name, a=f"{name}\n")
    (claude.workspace / "a.txt").write_text("one\n")
    claude.turn("four")
    assert claude.owners() == {"a.txt": "outside"}
    assert [branch for _, branch, _ in claude.drawn()] == [False] * 4
    assert not [one for one in claude.tb.checkpoints(everything=True) if one.checkpoint.follows]


def test_what_a_forged_transcript_makes_the_agents_is_planned_and_comes_back_with_undo(
    claude: Claude,
) -> None:
    leaf = claude.turn("one", a="1\n")
    claude.turn("two", a="2\n")
    (claude.workspace / "other.txt").write_text("1\n")
    (claude.workspace / "a.txt").write_text("1\n")  # by the person
    claude.turn("three", leaf=leaf)
    name, keeping = f"claude-{NATIVE}/turn:1", Keeping(EDITS)
    plan = claude.tb.plan(name, scope="files", keeping=keeping)
    assert [change.path for change in plan.deletes] == [b"a.txt"]
    claude.tb.rewind(name, scope="files", keeping=keeping)
    assert not (claude.workspace / "a.txt").exists()
    claude.tb.undo()
    assert (claude.workspace / "a.txt").read_text() == "1\n"


def test_a_ledger_made_anew_says_the_same_of_what_was_put_back(claude: Claude) -> None:
    _goes_back(claude)
    before = claude.owners(), claude.drawn()
    claude.tb.close()
    context = claude.tb.engine._context
    rebuild_ledger(context.store, context.reporter).close()
    with Takeback.open(claude.workspace) as claude.tb:
        assert before == (claude.owners(), claude.drawn())


def test_the_turns_that_pi_left_in_its_tree_are_drawn_as_a_branch(workspace: Path) -> None:
    with Takeback.open(workspace) as tb:
        pi = tb.session(agent="mine", native="s1")

        def turn(name: str, leaf: str, end: str) -> None:
            pi.tell("prompt", prompt=name, leaf=leaf)
            (workspace / "a.txt").write_text(name)
            pi.tell("round_end", leaf=f"{end}-called")
            pi.tell("turn_end", leaf=end)

        def goes_to(leaf: str, here: str) -> None:
            pi.tell("before_tree", leaf=here)
            pi.tell("tree", leaf=leaf)

        turn("one", "root", "e1")
        turn("two", "e1", "e2")
        turn("three", "e2", "e3")
        goes_to("e1", "e3")  # the prompt of the second turn: it is in the editor
        turn("four", "e1", "e4")
        goes_to("e2-called", "e4")  # an answer amid a turn that was left
        turn("five", "e2-called", "e5")
        goes_to("e5", "e5")
        turn("six", "e5", "e6")
        [root] = tb.tree()
        drawn = {
            one.turn.prompt: [turn.prompt for turn in _turns(one.children)]
            for one in root.children
            if one.turn is not None
        }
        left = {one.checkpoint.prompt for one in tb.checkpoints() if one.abandoned}
    assert drawn == {"one": ["four"], "two": ["three"], "five": [], "six": []}
    assert left == {"three", "four"}


def test_a_place_in_a_tree_that_nobody_told_of_draws_nothing(workspace: Path) -> None:
    with Takeback.open(workspace) as tb:
        pi = tb.session(agent="mine", native="s1")
        for name in ("one", "two", "three"):
            pi.tell("prompt", prompt=name, leaf=name)
            pi.tell("turn_end", leaf=f"{name}-end")
            pi.tell("tree", leaf=None if name == "one" else "never told")
        assert not any(one.abandoned for one in tb.checkpoints())
