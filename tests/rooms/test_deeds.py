"""What a turn did, where two sessions were at work at once: the sum of its rounds, no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.agents import ToolCall
from takeback.app.session import AgentTurn
from takeback.errors import Refused
from takeback.model.conflicts import ConflictChoices
from takeback.model.coverage import Overrides
from takeback.rewind.request import ALL_OTHERS, Keeping
from tests.rooms.test_refolding import prune

SHELL = ToolCall("Bash", "shell")
LINES = [f"line {number}" for number in range(1, 13)]
MINE = {2: "first's 2", 6: "first's 6"}
THEIRS = {4: "second's 4", 10: "second's 10"}


class Two:
    """Two sessions with a turn each, which change one file by turns, round for round."""

    def __init__(self, workspace: Path, tb: Takeback, *, told: bool, there: bool) -> None:
        self.workspace, self.tb, self.told = workspace, tb, told
        self.text = workspace / "text"
        self.first, self.second = (tb.session(name, "s") for name in ("first", "second"))
        self.added = [f"{who} {number}\n" for number in (1, 2) for who in ("first", "second")]
        if there:
            self.write(LINES)
        tb.checkpoint()
        with self.first.turn("first's") as one, self.second.turn("second's") as other:
            turns = (one, other, one, other)
            changes = ({2: MINE[2]}, {4: THEIRS[4]}, {6: MINE[6]}, {10: THEIRS[10]})
            for turn, change, line in zip(turns, changes, self.added, strict=True):
                if there:
                    self.change(change)
                else:
                    with self.text.open("a") as file:
                        file.write(line)
                self.ran(turn)

    def write(self, lines: list[str]) -> None:
        self.text.write_text("".join(f"{line}\n" for line in lines))

    def change(self, lines: dict[int, str]) -> None:
        now = self.text.read_text().splitlines()
        self.write([lines.get(number, line) for number, line in enumerate(now, 1)])

    def ran(self, turn: AgentTurn) -> None:
        if self.told:
            turn.round([ToolCall("Edit", "edit", (str(self.text),))])
        else:
            turn.round([SHELL])

    def now(self) -> str:
        return self.text.read_text()


@pytest.fixture
def tb(workspace: Path) -> Iterator[Takeback]:
    with Takeback.open(workspace) as found:
        yield found


def of(lines: dict[int, str]) -> str:
    return "".join(f"{lines.get(number, line)}\n" for number, line in enumerate(LINES, 1))


@pytest.mark.parametrize("told", [True, False], ids=["edit", "shell"])
@pytest.mark.parametrize("mine", [False, True], ids=["revert", "mine"])
@pytest.mark.parametrize("whose", ["first", "second"])
def test_what_the_other_session_did_to_the_file_meanwhile_stays(
    workspace: Path, tb: Takeback, told: bool, mine: bool, whose: str
) -> None:
    two = Two(workspace, tb, told=told, there=True)
    target = f"{whose}-s/turn:1"
    if mine:
        done = tb.rewind(target, scope="files", keeping=Keeping(ALL_OTHERS))
    else:
        done = tb.revert([target])
    assert two.now() == of(THEIRS if whose == "first" else MINE)
    assert done.verified
    tb.undo()
    assert two.now() == of(MINE | THEIRS)


@pytest.mark.parametrize("told", [True, False], ids=["edit", "shell"])
@pytest.mark.parametrize("mine", [False, True], ids=["revert", "mine"])
@pytest.mark.parametrize("whose", ["first", "second"])
def test_of_a_new_file_what_the_other_session_wrote_into_it_stays(
    workspace: Path, tb: Takeback, told: bool, mine: bool, whose: str
) -> None:
    (workspace / "keep").write_text("so that it is not all\n")
    two = Two(workspace, tb, told=told, there=False)
    target = f"{whose}-s/turn:1"
    if mine:
        done = tb.rewind(target, scope="files", keeping=Keeping(ALL_OTHERS))
    else:
        done = tb.revert([target])
    other = "second" if whose == "first" else "first"
    assert two.now() == "".join(line for line in two.added if line.startswith(other))
    assert done.verified
    tb.undo()
    assert two.now() == "".join(two.added)


def test_who_replaced_a_line_of_a_new_file_and_who_made_it_are_in_conflict(
    workspace: Path, tb: Takeback
) -> None:
    text = workspace / "text"
    with tb.session("first", "s").turn("one") as one, tb.session("second", "s").turn("two") as two:
        text.write_text("a\nb\nc\n")
        one.round([SHELL])
        text.write_text("a\nB\nc\n")
        two.round([SHELL])
    with pytest.raises(Refused):
        tb.revert(["first-s/turn:1"])
    assert text.read_text() == "a\nB\nc\n"
    tb.revert(["second-s/turn:1"])
    assert text.read_text() == "a\nb\nc\n"


def test_both_sessions_taken_back_leave_nothing_of_either(workspace: Path, tb: Takeback) -> None:
    (workspace / "keep").write_text("so that it is not all\n")
    two = Two(workspace, tb, told=True, there=False)
    tb.revert(["first-s/turn:1", "second-s/turn:1"])
    assert not two.text.exists()


def test_what_two_edits_did_before_one_capture_is_a_conflict_that_names_both(
    workspace: Path, tb: Takeback
) -> None:
    text = workspace / "text"
    text.write_text(of({}))
    tb.checkpoint()
    edit = [ToolCall("Edit", "edit", (str(text),))]
    with tb.session("first", "s").turn("one") as one, tb.session("second", "s").turn("two") as two:
        text.write_text(of({2: "first's 2"}))
        text.write_text(of({2: "first's 2", 10: "second's 10"}))
        two.round(edit)
        one.round(edit)
    for whose in ("first", "second"):
        turn = f"{whose}-s/turn:1"
        [found] = tb.plan_revert([turn]).conflicts
        assert (found.path, found.kind) == (b"text", "shared")
        assert found.sessions == ("first-s", "second-s")
        with pytest.raises(Refused):
            tb.revert([turn])
        tb.revert([turn], choices=ConflictChoices(otherwise="ours"))
        assert text.read_text() == of({2: "first's 2", 10: "second's 10"})
        tb.revert([turn], choices=ConflictChoices(otherwise="theirs"))
        assert text.read_text() == of({})
        tb.undo()
    assert not tb.plan_revert(["first-s/turn:1", "second-s/turn:1"]).conflicts
    tb.revert(["first-s/turn:1", "second-s/turn:1"])
    assert text.read_text() == of({})


def test_where_the_rounds_have_expired_the_file_is_a_conflict_that_names_both(
    workspace: Path, tb: Takeback
) -> None:
    two = Two(workspace, tb, told=True, there=True)
    kept = tb.checkpoints(everything=True)
    rounds = [one.checkpoint.id for one in kept if one.checkpoint.kind == "round"]
    prune(tb.engine, rounds, ())
    for whose in ("first", "second"):
        [found] = tb.plan_revert([f"{whose}-s/turn:1"]).conflicts
        assert (found.kind, found.sessions) == ("shared", ("first-s", "second-s"))
        with pytest.raises(Refused):
            tb.revert([f"{whose}-s/turn:1"])
    assert two.now() == of(MINE | THEIRS)


def test_an_edit_does_not_claim_what_anothers_shell_did_before_it(
    workspace: Path, tb: Takeback
) -> None:
    text = workspace / "text"
    text.write_text(of({}))
    tb.checkpoint()
    with tb.session("first", "s").turn("one") as one, tb.session("second", "s").turn("two") as two:
        text.write_text(of({10: "second's 10"}))
        two.round([SHELL])
        text.write_text(of({2: "first's 2", 10: "second's 10"}))
        one.round([ToolCall("Edit", "edit", (str(text),))])
    tb.revert(["first-s/turn:1"])
    assert text.read_text() == of({10: "second's 10"})


def test_what_a_rewind_changed_in_the_middle_of_a_turn_is_not_the_turns(
    workspace: Path, tb: Takeback
) -> None:
    for name in ("text", "other"):
        (workspace / name).write_text(of({}))
    start = tb.checkpoint()
    (workspace / "other").write_text("by hand\n")
    with tb.session("first", "s").turn("one") as one:
        (workspace / "text").write_text(of({2: "first's 2"}))
        one.round()
        tb.rewind(start.checkpoint, paths=["other"], overrides=Overrides.all())
        (workspace / "text").write_text(of({2: "first's 2", 6: "first's 6"}))
    tb.revert(["first-s/turn:1"])
    assert (workspace / "text").read_text() == of({})
    assert (workspace / "other").read_text() == of({}), "the rewind stays"


def test_a_turn_shows_the_lines_of_its_own_rounds(workspace: Path, tb: Takeback) -> None:
    Two(workspace, tb, told=True, there=True)
    for whose in ("first", "second"):
        [change] = tb.show(f"{whose}-s/turn:1").entry.done
        assert (change.path, change.kind) == (b"text", "modified")
        assert (change.added, change.deleted) == (2, 2), whose


def test_a_turn_shows_the_lines_of_its_own_rounds_and_no_others(
    workspace: Path, tb: Takeback
) -> None:
    two = Two(workspace, tb, told=True, there=True)
    for whose, lines in (("first", MINE), ("second", THEIRS)):
        place = tb.find(f"{whose}-s/turn:1")
        _, patch = tb.engine.show_files(place, ["text"])
        plus = [
            line
            for line in patch.decode().splitlines()
            if line.startswith("+") and "b/" not in line
        ]
        assert plus == [f"+{line}" for line in lines.values()]
        ends = f"{whose}-s/turn:1", f"{whose}-s/turn:1.end"
        assert tb.diff(*ends) == patch
        assert [one.added for one in tb.engine.changes_and_diff(*ends)[0]] == [2]
        assert tb.engine.file_diff(tb.engine.states(place), b"text").patch == patch
        made = tb.engine.review(place)
        assert [(one.change.path, one.counted.added) for one in made] == [(b"text", 1)] * 2
    assert two.now() == of(MINE | THEIRS)


def test_what_only_the_other_session_changed_is_not_in_what_a_turn_shows(
    workspace: Path, tb: Takeback
) -> None:
    with tb.session("first", "s").turn("one") as one, tb.session("second", "s").turn("two") as two:
        (workspace / "mine").write_text("first's\n")
        one.round([SHELL])
        (workspace / "theirs").write_text("second's\n")
        two.round([SHELL])
    place = tb.find("first-s/turn:1")
    assert [one.change.path for one in tb.engine.review(place)] == [b"mine"]
    _, patch = tb.engine.show_files(place, ["mine", "theirs"])
    assert b"first's" in patch
    assert b"second's" not in patch
