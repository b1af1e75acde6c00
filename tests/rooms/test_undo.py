"""Undo and redo: to what stood there, in the scope of the operation, without end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from takeback.context import Context
from takeback.errors import Refused, StoreDamaged
from takeback.model.checkpoint import Checkpoint
from takeback.model.coverage import Overrides
from takeback.model.operation import REDO, UNDO, Outcome, moves
from takeback.rewind import plan as plan_room
from takeback.rewind import rewind as rewind_room
from takeback.rewind.request import Scope
from takeback.rewind.rewind import next_step
from takeback.store.records import read_operations
from tests.support.engine import carry_out, checkpoint, clock_of, find_in, request
from tests.support.trees import tree_state


class Traveller:
    """Rewinds, undoes and redoes in one workspace."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def rewind(self, target: Checkpoint, scope: Scope | None = None) -> Outcome:
        clock_of(self.context).time += 1
        with self.context.locked() as locked:
            asked = request(locked, target, scope=scope or Scope(), overrides=Overrides.all())
            return carry_out(locked, asked)

    def step(self, kind: Any) -> Outcome:
        clock_of(self.context).time += 1
        step = next_step(self.context, kind)
        with self.context.locked() as locked:
            asked = rewind_room.request(locked, kind, step, find_in(self.context)(step.goes_to))
            return carry_out(locked, asked.replace(overrides=Overrides.all()))

    def undo(self) -> Outcome:
        return self.step(UNDO)

    def redo(self) -> Outcome:
        return self.step(REDO)


@pytest.fixture
def go(context: Context) -> Traveller:
    return Traveller(context)


def test_undo_and_redo_walk_back_and_forth_without_end(workspace: Path, go: Traveller) -> None:
    states = []
    made = []
    for number in range(4):
        (workspace / "a").write_text(str(number))
        (workspace / f"only {number}").write_text("x")
        (workspace / f"only {number - 1}").unlink(missing_ok=True)
        made.append(checkpoint(go.context))
        states.append(tree_state(workspace))
    go.rewind(made[2])
    go.rewind(made[0])
    for _ in range(2):
        go.undo()
        assert tree_state(workspace) == states[2]
        go.undo()
        assert tree_state(workspace) == states[3]
        with pytest.raises(Refused, match="nothing to undo"):
            go.undo()
        go.redo()
        assert tree_state(workspace) == states[2]
        go.redo()
        assert tree_state(workspace) == states[0]
        with pytest.raises(Refused, match="nothing to redo"):
            go.redo()


def test_a_log_that_cannot_be_read_is_not_an_empty_one(workspace: Path, go: Traveller) -> None:
    (workspace / "a").write_text("1")
    made = checkpoint(go.context)
    (workspace / "a").write_text("2")
    go.rewind(made)
    [ref] = Path(go.context.store.git_dir, "refs", "takeback", "operations").iterdir()
    ref.write_bytes(b"garbage\n")
    with pytest.raises(StoreDamaged, match="what there is to undo cannot be read"):
        go.undo()


def test_edits_between_the_moves_are_never_lost(workspace: Path, go: Traveller) -> None:
    (workspace / "a").write_text("target")
    target = checkpoint(go.context)
    (workspace / "a").write_text("edit 1")
    go.rewind(target)
    (workspace / "a").write_text("edit 2")
    go.undo()
    assert (workspace / "a").read_text() == "edit 1"
    (workspace / "a").write_text("edit 3")
    go.redo()
    assert (workspace / "a").read_text() == "edit 2"
    go.undo()
    assert (workspace / "a").read_text() == "edit 3"


def test_undo_of_a_rewind_of_some_paths_touches_only_these(workspace: Path, go: Traveller) -> None:
    for name in ("a", "b"):
        (workspace / name).write_text("1")
    target = checkpoint(go.context)
    for name in ("a", "b"):
        (workspace / name).write_text("2")
    go.rewind(target, Scope((b"a",)))
    (workspace / "b").write_text("3")
    done = go.undo()
    assert done.written == (b"a",)
    assert [(workspace / name).read_text() for name in ("a", "b")] == ["2", "3"]


def test_undo_brings_back_ignored_files_that_the_rewind_replaced(
    workspace: Path, go: Traveller
) -> None:
    (workspace / ".gitignore").write_text("*.env\n")
    (workspace / "x.env").write_text("1")
    target = checkpoint(go.context)
    (workspace / "x.env").write_text("2")
    (workspace / "new.env").write_text("new")
    before = tree_state(workspace)
    go.rewind(target, Scope(ignored=True))
    after = tree_state(workspace)
    assert (workspace / "x.env").read_text() == "1"
    assert not (workspace / "new.env").exists()
    (workspace / "later.env").write_text("no part of it")
    later = {b"later.env": tree_state(workspace)[b"later.env"]}
    go.undo()
    assert tree_state(workspace) == before | later
    go.redo()
    assert tree_state(workspace) == after | later


def test_redo_removes_a_named_ignored_file_that_was_edited_since_the_undo(
    workspace: Path, go: Traveller
) -> None:
    target = checkpoint(go.context)
    (workspace / ".gitignore").write_text("*.env\n")
    (workspace / "x.env").write_text("1")
    go.rewind(target, Scope((b"x.env",)))
    assert not (workspace / "x.env").exists()
    go.undo()
    (workspace / "x.env").write_text("edited since")
    done = go.redo()
    assert done.left_alone == ()
    assert not (workspace / "x.env").exists()
    go.undo()
    assert (workspace / "x.env").read_text() == "edited since"


def test_an_ignored_file_that_nobody_named_stays_if_it_was_edited_since_the_rewind(
    workspace: Path, go: Traveller
) -> None:
    (workspace / ".gitignore").write_text("*.env\n")
    (workspace / "x.env").write_text("then")
    target = checkpoint(go.context)
    (workspace / "x.env").unlink()
    go.rewind(target, Scope(ignored=True))
    (workspace / "x.env").write_text("edited since")
    done = go.undo()
    assert [item.path for item in done.left_alone] == [b"x.env"]
    assert (workspace / "x.env").read_text() == "edited since"


def test_undo_brings_back_a_whole_ignored_directory_that_made_way(
    workspace: Path, go: Traveller
) -> None:
    (workspace / "build").write_text("a file then")
    target = checkpoint(go.context)
    (workspace / "build").unlink()
    (workspace / "build" / "deep").mkdir(parents=True, mode=0o750)
    (workspace / "build" / "deep" / "out").write_text("never captured")
    (workspace / ".gitignore").write_text("build/\n")
    before = tree_state(workspace)
    go.rewind(target)
    assert (workspace / "build").read_text() == "a file then"
    go.undo()
    assert tree_state(workspace) == before


def test_a_plan_of_an_undo_is_what_it_does(workspace: Path, go: Traveller) -> None:
    (workspace / "a").write_text("1")
    target = checkpoint(go.context)
    (workspace / "a").write_text("2")
    (workspace / "b").write_text("2")
    go.rewind(target)
    step = next_step(go.context, UNDO)
    asked = rewind_room.request(go.context, UNDO, step, find_in(go.context)(step.goes_to))
    plan = plan_room.plan(go.context, asked)
    done = go.undo()
    assert [change.path for change in plan.writes] == list(done.written) == [b"a", b"b"]
    assert plan.deletes == ()
    assert done.deleted == ()


def test_undo_and_redo_are_in_the_log_with_what_they_were_about(
    workspace: Path, go: Traveller
) -> None:
    (workspace / "a").write_text("1")
    target = checkpoint(go.context)
    (workspace / "a").write_text("2")
    first = go.rewind(target)
    go.undo()
    go.redo()
    log = moves(read_operations(go.context.store))
    assert [(line.kind, line.of) for line in log] == [
        ("rewind", None),
        ("undo", first.operation),
        ("redo", first.operation),
    ]
    assert len({line.before for line in log}) == 3


def test_a_rewind_after_an_undo_clears_redo(workspace: Path, go: Traveller) -> None:
    (workspace / "a").write_text("1")
    target = checkpoint(go.context)
    (workspace / "a").write_text("2")
    go.rewind(target)
    go.undo()
    checkpoint(go.context)
    assert next_step(go.context, REDO).operation.kind == "rewind"
    go.rewind(target)
    with pytest.raises(Refused, match="nothing to redo"):
        next_step(go.context, REDO)


def test_a_rewind_that_changes_nothing_is_no_operation(workspace: Path, go: Traveller) -> None:
    (workspace / "a").write_text("1")
    target = checkpoint(go.context)
    done = go.rewind(target)
    assert (done.operation, done.written, done.deleted, done.verified) == (None, (), (), True)
    assert read_operations(go.context.store) == []
