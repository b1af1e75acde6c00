"""Conflicts as questions, and what becomes of the answers when a choice brings up another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from takeback.app import proposal as proposals
from takeback.app.engine import Engine
from takeback.app.proposal import Disputes
from takeback.model.conflicts import Chooser, Conflict, ConflictChoices
from takeback.model.lines import Disputed
from tests.support.journey import write_files

if TYPE_CHECKING:
    from takeback.model.conflicts import ConflictChoice, ConflictKind

STRETCH = Disputed(1, b"base\n", b"ours\n", b"theirs\n")


def conflict(path: bytes, hunks: int) -> Conflict:
    kind: ConflictKind = "text" if hunks else "binary"
    return Conflict(path, kind, None, None, None, hunks=(STRETCH,) * hunks)


def test_each_stretch_is_a_question_and_a_skipped_file_has_no_others() -> None:
    disputes = Disputes([conflict(b"a", 3), conflict(b"b", 0), conflict(b"c", 1)], "revert")
    asked = []
    choices: list[ConflictChoice] = ["theirs", "skip", "ours", "markers"]
    for choice in choices:
        dispute = disputes.next
        assert dispute is not None
        asked.append((dispute.conflict.path, dispute.number, dispute.of))
        disputes.settle(choice)
    assert asked == [(b"a", 1, 5), (b"a", 2, 5), (b"b", 4, 5), (b"c", 5, 5)]
    assert disputes.next is None
    assert disputes.chosen.by_path == {
        b"a": ("skip", "skip", "skip"),
        b"b": ("ours",),
        b"c": ("markers",),
    }
    assert [disputes.step_back() for _ in range(5)] == [True, True, True, True, False]
    first = disputes.next
    assert first is not None
    assert first.number == 1


def test_a_file_that_is_disputed_again_keeps_what_was_chosen_before() -> None:
    chooser = Chooser(ConflictChoices(otherwise="markers"))
    chooser.choose(conflict(b"a", 2))
    chooser.choose(conflict(b"a", 0))  # of these there are no markers
    [left] = chooser.unsettled
    assert left.first == 2
    disputes = Disputes([left], "revert", ConflictChoices(otherwise="markers"))
    disputes.settle("theirs")
    again = Chooser(disputes.chosen)
    assert again.choose(conflict(b"a", 2)) == ("markers", "markers")
    assert again.choose(conflict(b"a", 0)) == ("theirs",)
    assert again.choose(conflict(b"other", 1)) == ("markers",)
    assert again.choose(conflict(b"a", 1)) is None, "a new one, which nobody was asked about"


def test_what_markers_cannot_settle_is_asked_once(workspace: Path) -> None:
    """Answers to the second round must not withdraw those to the first, and so on for ever."""
    write_files(workspace, {"text": b"0\n", "image": b"\0zero"})
    with Engine.open(workspace) as tb:
        session = tb.session(agent="mine", native="s1")
        for number in (1, 2):
            with session.turn(f"make it {number}"):
                write_files(workspace, {"text": b"%d\n" % number, "image": b"\0%d" % number})
        chosen = ConflictChoices(otherwise="markers")
        proposal = proposals.revert([tb.turn("turn:1")], choices=chosen)
        [asked] = proposal.plan(tb).conflicts
        assert asked.path == b"image"
        disputes = Disputes([asked], proposal.kind, proposal.choices)
        disputes.settle("ours")
        proposal = proposal.choosing(disputes.chosen)
        assert proposal.plan(tb).conflicts == ()
        proposal.carry_out(tb)
    assert b"<<<<<<<" in (workspace / "text").read_bytes()
    assert (workspace / "image").read_bytes() == b"\x002"


def test_a_plan_of_conflicts_alone_is_not_nothing(workspace: Path) -> None:
    write_files(workspace, {"text": b"0\n"})
    with Engine.open(workspace) as tb:
        session = tb.session(agent="mine", native="s1")
        for number in (1, 2):
            with session.turn(f"make it {number}"):
                write_files(workspace, {"text": b"%d\n" % number})
        plan = tb.plan_revert(["turn:1"])
        assert plan.is_empty
        assert not plan.does_nothing
