"""Only what is ticked: hunks of some files, others as a whole; the same plan and undo as ever."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.app.actions import actions, destination_of, proposal_of
from takeback.app.engine import Engine
from takeback.app.proposal import Ticked, TickedHunks, only_ticked
from takeback.errors import Refused
from takeback.model.checkpoint import Checkpoint
from takeback.words.choices import obstacle, title
from tests.support.journey import write_files
from tests.support.trees import tree_state

LINES = [b"line %d\n" % number for number in range(40)]
CHANGED = [*LINES[:3], b"three\n", *LINES[4:20], b"twenty\n", *LINES[21:38], b"end\n"]


def text(lines: list[bytes]) -> bytes:
    return b"".join(lines)


@pytest.fixture
def root(workspace: Path) -> Path:
    """A turn changed three places of a text and its bits, a small file, and made another."""
    write_files(workspace, {"a.txt": text(LINES), "b.txt": b"b\n", ".gitignore": b"*.log\n"})
    with Engine.open(workspace) as tb, tb.session(agent="mine").turn("change it"):
        write_files(workspace, {"a.txt": text(CHANGED), "b.txt": b"B\n", "new/c.txt": b"c\n"})
        os.chmod(workspace / "a.txt", 0o755)
    return workspace


def target(tb: Engine) -> Checkpoint:
    return tb.find(destination_of(tb.checkpoints()[0]).checkpoint)


def ticked(tb: Engine, numbers: set[int], *files: bytes) -> Ticked:
    """Returns hunks of a.txt as the picker finds them, and whole files."""
    plan = tb.preview(target(tb)).plan
    [change] = [one for one in plan.writes if one.path == b"a.txt"]
    return Ticked(frozenset(files), (TickedHunks(change, frozenset(numbers)),))


def test_only_the_ticked_hunks_come_back_and_undo_takes_that_back(root: Path) -> None:
    before = tree_state(root)
    with Engine.open(root) as tb:
        choice = ticked(tb, {1}, b"new/c.txt")
        asked = proposal_of("ticked", tb.choices(target(tb).id), ticked=choice.paths)
        proposal = only_ticked(tb, asked, choice.hunks)
        plan = proposal.plan(tb)
        assert [change.path for change in plan.writes] == [b"a.txt"]
        assert [change.path for change in plan.deletes] == [b"new", b"new/c.txt"]
        assert tree_state(root) == before
        assert proposal.go(tb, shown=plan) is not None
        wanted = [*CHANGED[:20], LINES[20], *CHANGED[21:]]
        assert (root / "a.txt").read_bytes() == text(wanted)
        assert (root / "a.txt").stat().st_mode & 0o777 == 0o755, "the bits are no hunk"
        assert (root / "b.txt").read_bytes() == b"B\n"
        assert not (root / "new").exists()
        tb.undo()
    assert tree_state(root) == before


@pytest.mark.parametrize("numbers", [{0}, {2}, {0, 2}])
def test_each_hunk_by_itself(root: Path, numbers: set[int]) -> None:
    wanted = list(CHANGED)
    if 0 in numbers:
        wanted[3] = LINES[3]
    if 2 in numbers:
        wanted[38:] = LINES[38:]
    with Engine.open(root) as tb:
        choice = ticked(tb, numbers)
        asked = proposal_of("ticked", tb.choices(target(tb).id), ticked=choice.paths)
        only_ticked(tb, asked, choice.hunks).carry_out(tb)
    assert (root / "a.txt").read_bytes() == text(wanted)
    assert (root / "new" / "c.txt").exists()


def test_a_file_that_changed_since_its_hunks_were_ticked_is_refused(root: Path) -> None:
    with Engine.open(root) as tb:
        choice = ticked(tb, {0})
        asked = proposal_of("ticked", tb.choices(target(tb).id), ticked=choice.paths)
        late = only_ticked(tb, asked, choice.hunks)
        write_files(root, {"a.txt": b"by hand\n" + text(CHANGED)})
        before = tree_state(root)
        with pytest.raises(Refused, match=r"hunks of a.txt are others now"):
            only_ticked(tb, asked, choice.hunks)
        with pytest.raises(Refused, match=r"you chose from another a.txt: it changed since"):
            late.carry_out(tb)
        write_files(root, {"a.txt": text(LINES)})
        os.chmod(root / "a.txt", 0o644)  # as it was: there is no change of it left
        with pytest.raises(Refused, match=r"hunks of a.txt are others now"):
            only_ticked(tb, asked, choice.hunks)
        write_files(root, {"a.txt": b"by hand\n" + text(CHANGED)})
        os.chmod(root / "a.txt", 0o755)
        assert tree_state(root) == before


def test_what_is_in_no_snapshot_is_not_left_out_silently(workspace: Path) -> None:
    write_files(workspace, {".gitignore": b"*.log\n", "x.log": b"1\n", "a.txt": text(LINES)})
    with Engine.open(workspace) as tb:
        with tb.session(agent="mine").turn("change it"):
            write_files(workspace, {"x.log": b"2\n", "a.txt": text(CHANGED)})
        choice = ticked(tb, {0}, b"x.log")
        asked = proposal_of("ticked", tb.choices(target(tb).id), ticked=choice.paths)
        assert {one.path for one in asked.plan(tb).writes} == {b"a.txt", b"x.log"}
        with pytest.raises(Refused, match=r"together with x.log, which git ignores"):
            only_ticked(tb, asked, choice.hunks)


def test_the_question_about_another_sessions_file_is_not_gone_by_a_hunk(root: Path) -> None:
    """Hunks were looked at; a whole file of another session is asked about, by itself."""
    with Engine.open(root) as tb:
        at = target(tb)
        with tb.session(agent="other").turn("the same files"):
            write_files(root, {"b.txt": b"theirs\n", "a.txt": b"theirs\n" + text(CHANGED)})
        [change] = [one for one in tb.preview(at).plan.writes if one.path == b"a.txt"]
        hunks = [TickedHunks(change, frozenset({0}))]
        alone = proposal_of("ticked", tb.choices(at.id), ticked=[b"a.txt"])
        assert only_ticked(tb, alone, hunks).plan(tb).is_possible
        both = proposal_of("ticked", tb.choices(at.id), ticked=[b"a.txt", b"b.txt"])
        with pytest.raises(Refused, match=r"together with b.txt, which another session changed"):
            only_ticked(tb, both, hunks)


def test_the_action_says_what_is_ticked(root: Path) -> None:
    with Engine.open(root) as tb:
        entry = tb.checkpoints()[0]
        place = destination_of(entry)
        for choice, words in (
            (ticked(tb, {0, 2}), "Only what is ticked: 2 hunks"),
            (ticked(tb, {1}, b"b.txt"), "Only what is ticked: 1 file, 1 hunk"),
            (Ticked(frozenset({b"b.txt"})), "Only the 1 ticked file"),
        ):
            for at, why in (
                (place, ""),
                (place.turned(), "the hunks are ticked for going to before the turn"),
            ):
                found = actions(tb.choices(at.checkpoint), entry, at, choice)
                [action] = [one for one in found if one.name == "ticked"]
                assert title(action) == words
                assert obstacle(action) == (why if choice.hunks else "")
