"""Undo and redo among turns: as careful as a rewind, and the conversation goes back too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from takeback import rooms
from takeback.app.engine import Engine
from takeback.app.session import AgentSession
from takeback.errors import Refused
from takeback.ledger.ledger import Ledger
from takeback.model.coverage import Overrides
from takeback.model.event import AgentEvent
from takeback.model.operation import CONVERSATION
from takeback.store.store import Store
from takeback.words.outcomes import outcome_lines
from takeback.words.plans import plan_lines
from takeback.words.text import Paint


@pytest.fixture
def tb(workspace: Path) -> Iterator[Engine]:
    (workspace / "a.txt").write_text("0\n")
    with Engine.open(workspace) as opened:
        yield opened


class Talk:
    """A session of the Python agent ``mine`` whose conversation is what was asked of it."""

    def __init__(self, tb: Engine, workspace: Path, native: str = "s") -> None:
        self._tb = tb
        self._workspace = workspace
        self.session: AgentSession = tb.session(agent="mine", native=native)
        self.note: str | None = None

    def turn(self, text: str, *files: str) -> None:
        """Asks for something; writes the files with the text of it."""
        with self.session.turn(text, conversation=f"{text}\n".encode()) as turn:
            for name in files:
                (self._workspace / name).write_text(text)
        self.note = turn.note


@pytest.fixture
def talk(tb: Engine, workspace: Path) -> Talk:
    made = Talk(tb, workspace)
    for number in range(1, 5):
        made.turn(f"turn {number}", "a.txt", f"f{number}")
    return made


def names(workspace: Path) -> list[str]:
    return sorted(path.name for path in workspace.iterdir() if path.name != ".git")


# -- the conversation's place


def test_undo_of_the_second_rewind_goes_on_with_the_session_of_the_first(
    tb: Engine, talk: Talk
) -> None:
    whole = talk.session.id
    first = tb.rewind(f"{whole}/turn:4")
    second = tb.rewind(f"{whole}/turn:3")
    assert len({whole, first.session, second.session}) == 3
    assert tb.plan_undo().goes_on == first.session
    undone = tb.undo()
    assert undone.session == first.session
    assert undone.resume is not None
    assert tb.undo().session == whole
    assert tb.redo().session == first.session
    assert tb.redo().session == second.session
    assert tb.undo().session == first.session


def test_after_the_undo_the_whole_old_session_disagrees_and_is_told(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    whole = talk.session.id
    child = tb.rewind(f"{whole}/turn:4").session
    tb.rewind(f"{whole}/turn:3")
    tb.undo()
    assert [entry.session.id for entry in tb.status().disagree] == [whole]
    assert child is not None
    of_the_child = Talk(tb, workspace, child.removeprefix("mine-"))
    of_the_child.turn("go on")
    assert of_the_child.note is None
    talk.turn("turn 5")
    assert talk.note is not None
    assert '"f4"' in talk.note
    assert '"f3"' not in talk.note


def test_undo_goes_on_with_the_session_that_was_gone_on_with(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    whole = talk.session.id
    tb.rewind(f"{whole}/turn:4")
    talk.turn("turn 5", "f5")  # its child was not wanted after all
    tb.rewind(f"{whole}/turn:5")
    assert tb.undo().session == whole
    assert tb.redo().session != whole


def test_undo_after_turns_in_the_child_goes_back_to_the_old_session_and_redo_to_the_child(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    whole = talk.session.id
    child = tb.rewind(f"{whole}/turn:4").session
    assert child is not None
    Talk(tb, workspace, child.removeprefix("mine-")).turn("another 4", "g4")
    assert tb.undo().session == whole
    assert names(workspace) == ["a.txt", "f1", "f2", "f3", "f4"]
    assert tb.redo().session == child
    assert names(workspace) == ["a.txt", "f1", "f2", "f3", "g4"]


def test_undo_back_to_a_conversation_that_had_just_begun_says_how_to_begin(
    tb: Engine, talk: Talk
) -> None:
    fresh = tb.rewind(f"{talk.session.id}/turn:1")
    assert fresh.session != talk.session.id
    tb.rewind(f"{talk.session.id}/turn:3")
    assert tb.undo().session == fresh.session


def test_a_fork_beside_the_line_is_not_what_undo_goes_on_with(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    beside = tb.fork(f"{talk.session.id}/turn:3").session
    assert beside is not None
    tb.rewind(f"{talk.session.id}/turn:4")
    Talk(tb, workspace, beside.removeprefix("mine-")).turn("beside")
    assert tb.undo(overrides=Overrides.all()).session == talk.session.id


def test_undo_of_a_rewind_that_changed_no_file_changes_none(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    tb.rewind(f"{talk.session.id}/turn:4", scope="files")
    done = tb.rewind(f"{talk.session.id}/turn:4", scope="both")
    assert (done.files, done.scope) == (0, "both")
    (workspace / "late.txt").write_text("made since")
    assert tb.plan_undo().is_empty
    undone = tb.undo()
    assert (undone.written, undone.deleted) == ((), ())
    assert undone.session == talk.session.id
    assert undone.whole, "nothing of the files was asked for"
    assert (workspace / "late.txt").exists()
    redone = tb.redo()
    assert redone.whole
    assert (redone.written, redone.deleted, redone.session) == ((), (), done.session)


# -- as careful as a rewind


def test_undo_refuses_over_what_another_session_made_since(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    tb.rewind(f"{talk.session.id}/turn:4")
    Talk(tb, workspace, "other").turn("mine too", "x.txt")
    plan = tb.plan_undo()
    assert plan.others == (b"x.txt",)
    assert [(one.code, one.waivers[-1]) for one in plan.refused] == [("others", "overwrite_others")]
    with pytest.raises(Refused, match=r"x\.txt"):
        tb.undo()
    assert names(workspace) == ["a.txt", "f1", "f2", "f3", "x.txt"]
    kept = tb.undo(overrides=Overrides(keep_others=True))
    assert kept.whole
    assert names(workspace) == ["a.txt", "f1", "f2", "f3", "f4", "x.txt"]
    Talk(tb, workspace, "other").turn("again", "y.txt")
    with pytest.raises(Refused, match=r"y\.txt"):
        tb.redo()
    tb.redo(overrides=Overrides(overwrite_others=True))
    assert names(workspace) == ["a.txt", "f1", "f2", "f3", "x.txt"]
    tb.undo(overrides=Overrides(overwrite_others=True))
    assert names(workspace) == ["a.txt", "f1", "f2", "f3", "f4", "x.txt", "y.txt"]


def test_the_plan_of_an_undo_names_later_turns_and_own_edits(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    tb.rewind(f"{talk.session.id}/turn:4", scope="files")
    talk.turn("turn 5", "f5")
    (workspace / "mine.txt").write_text("by hand")
    talk.turn("turn 6", "f6")
    (workspace / "late.txt").write_text("by hand, since")
    plan = tb.plan_undo()
    assert plan.outside == (b"late.txt", b"mine.txt")
    assert [(turn.number, turn.prompt) for turn in plan.turns] == [(5, "turn 5"), (6, "turn 6")]


# -- whatever hands out a session is an operation


def test_a_conversation_rewind_after_its_undo_is_an_operation_again(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    target = f"{talk.session.id}/turn:3"
    tb.rewind(f"{talk.session.id}/turn:4", scope="files")
    talk.turn("turn 5", "f5")
    first = tb.rewind(target, scope=CONVERSATION)
    tb.undo()
    again = tb.rewind(target, scope=CONVERSATION)
    assert again.operation is not None
    assert (again.session, again.scope) == (first.session, CONVERSATION)
    before = names(workspace)
    of = tb.next_undo().operation
    undone = tb.undo()
    assert undone.session == talk.session.id
    assert names(workspace) == before
    said = next(iter(outcome_lines(undone, of)))
    assert said == "Undid the rewind to before turn 3: turn 3 (the conversation)."


def test_a_second_identical_conversation_rewind_says_that_its_session_is_there(
    tb: Engine, talk: Talk
) -> None:
    target = f"{talk.session.id}/turn:3"
    for scope in ("conversation", "both"):
        first = tb.rewind(target, scope=scope)
        again = tb.rewind(target, scope=scope)
        assert again.operation is None
        assert (again.session, again.scope) == (first.session, scope)
        assert again.resume == first.resume
        said = "\n".join(outcome_lines(again, None))
        assert f"its session is there: {first.session}" in said
        assert ("the files are already at" in said) == (scope == "both")


# -- every own edit since the target


def test_a_plan_names_every_own_edit_since_its_target(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    (workspace / "mine.txt").write_text("by hand\n")
    (workspace / "f1").write_text("by hand, over turn 1")
    talk.turn("turn 5", "f5", "both.txt")
    (workspace / "both.txt").write_text("by hand, over turn 5")
    plan = tb.plan(f"{talk.session.id}/turn:4")
    assert plan.outside == (b"both.txt", b"f1", b"mine.txt")
    assert plan.lines[b"mine.txt"] == (0, 1)
    assert [turn.number for turn in plan.turns] == [4, 5]
    later = tb.plan(f"{talk.session.id}/turn:5")
    assert later.outside == (b"both.txt",)
    lines = list(plan_lines(plan, Paint(on=False), whole=False))
    assert "  delete mine.txt  +0 -1  your own edit" in lines
    assert "  delete f5  +0 -1" in lines
    assert sum("mine.txt" in line for line in lines) == 1
    assert "3 of these are your own edits since then, taken back too" in lines


def test_what_a_running_turn_did_since_the_last_look_is_no_own_edit(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    with talk.session.turn("turn 5"):
        (workspace / "f5").write_text("half of it")
        plan = tb.plan(f"{talk.session.id}/turn:5")
        assert [change.path for change in plan.deletes] == [b"f5"]
        assert plan.outside == ()


def test_a_turn_whose_end_still_waits_is_another_sessions_too(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    """Its hook did not get the lock in time, as while another operation runs."""
    tb.rewind(f"{talk.session.id}/turn:4")
    prompt = AgentEvent("prompt", "mine", "other", str(workspace), turn="t", prompt="me too")
    for go in (tb.undo, tb.redo):
        tb.receive(prompt)
        (workspace / "x.txt").write_text(f"theirs {go}")
        tb.leave(prompt.replace(kind="turn_end"), came=tb.now)
        with pytest.raises(Refused, match=r"x\.txt"):
            go()
        go(overrides=Overrides(keep_others=True))
        assert (workspace / "x.txt").exists()


def test_two_undos_at_once_do_not_take_back_one_operation_twice(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    tb.rewind(f"{talk.session.id}/turn:4", scope="files")
    tb.rewind(f"{talk.session.id}/turn:3", scope="files")
    shown = tb.plan_undo()
    with Engine.open(workspace) as another:
        another.undo()
    with pytest.raises(Refused, match="changed since the plan was shown"):
        tb.undo(shown=shown)
    assert names(workspace) == ["a.txt", "f1", "f2", "f3"]


def test_what_another_session_is_just_writing_is_not_taken_back_unasked(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    tb.rewind(f"{talk.session.id}/turn:4")
    with tb.session(agent="mine", native="other").turn("at work"):
        (workspace / "x.txt").write_text("half of it")
        plan = tb.plan_undo()
        assert [refusal.code for refusal in plan.refused] == ["during_turn", "others"]
        assert (plan.others, plan.outside) == ((b"x.txt",), ())
        with pytest.raises(Refused, match=r"x\.txt"):
            tb.undo(overrides=Overrides(during_turn=True))
        tb.undo(overrides=Overrides(during_turn=True, keep_others=True))
        assert (workspace / "x.txt").exists()
        assert names(workspace) == ["a.txt", "f1", "f2", "f3", "f4", "x.txt"]


def test_going_to_a_checkpoint_made_by_hand_takes_back_the_one_that_works(
    tb: Engine, workspace: Path
) -> None:
    start = tb.checkpoint().checkpoint
    with tb.session(agent="mine", native="other").turn("at work"):
        (workspace / "x.txt").write_text("half of it")
        tb.rewind(start, overrides=Overrides(during_turn=True))
        assert not (workspace / "x.txt").exists()


def test_redo_of_what_undo_could_not_do_does_nothing_and_does_not_fail(
    tb: Engine, workspace: Path
) -> None:
    """The path is nowhere by then: it was not asked for now, but by the operation."""
    start = tb.checkpoint().checkpoint
    (workspace / "d").mkdir()
    (workspace / "d" / "f").write_text("x")
    tb.rewind(start, [str(workspace / "d" / "f")])
    (workspace / "d").rmdir()
    os.mkfifo(workspace / "d")
    undone = tb.undo()
    assert [left.path for left in undone.left_alone] == [b"d"]
    (workspace / "d").unlink()
    redone = tb.redo()
    assert (redone.written, redone.deleted) == ((), ())
    assert names(workspace) == ["a.txt"]


def test_decisions_under_the_lock_need_one_look_at_the_refs(
    tb: Engine, talk: Talk, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[bool] = []
    look = rooms.follow.catch_up

    def counted(store: Store, ledger: Ledger, reporter: Any) -> None:
        looks.append(store.lock.held)
        look(store, ledger, reporter)

    monkeypatch.setattr(rooms.follow, "catch_up", counted)
    for act in (
        lambda: tb.rewind("turn:2", scope="both"),
        tb.undo,
        tb.redo,
        lambda: tb.fork("turn:1", files=True, overrides=Overrides.all()),
    ):
        looks.clear()
        act()
        assert looks.count(True) == 1
    assert names(workspace) == ["a.txt"]
