"""A goal that no checkpoint has: planned, gone to, recovered, undone and redone like any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from takeback import durable
from takeback.context import Context
from takeback.git.objects import BLOB
from takeback.ledger.follow import open_ledger
from takeback.model.checkpoint import FILE, Entry
from takeback.model.coverage import UNSTABLE, Coverage, NotHeld, Overrides, Policy
from takeback.model.ids import WORKSPACE_SESSION, SnapshotId
from takeback.model.operation import REDO, REVERT, UNDO, Goal, Move, history
from takeback.rewind import rewind
from takeback.rewind.plan import plan, preview
from takeback.rewind.request import Request
from takeback.rewind.rewind import next_step, recover
from takeback.store import journal, trees
from takeback.store.records import read_operations
from takeback.timeline.operations import logged
from takeback.timeline.sessions import current_place
from tests.support.engine import (
    Killed,
    captured,
    carry_out,
    checkpoint,
    find_in,
    opened,
    packing,
    under_lock,
)
from tests.support.trees import tree_state

if TYPE_CHECKING:
    from takeback.model.operation import StepKind


class Made:
    """A workspace, and a state of it that was put together by hand in the store."""

    def __init__(self, root: Path, context: Context) -> None:
        self.root, self.context = root, context
        (root / ".gitignore").write_text("*.env\n")
        (root / "x.env").write_text("SECRET=1")
        (root / "kept").write_text("as it is\n")
        (root / "edited").write_text("one\ntwo\nthree\n")
        (root / "gone").write_text("goes\n")
        self.newest = checkpoint(context)
        self.before = tree_state(root)
        self.goal = self._goal()

    def _goal(self) -> Goal:
        now = captured(self.context)
        held = dict(trees.walk(self.context.store, now.tree))
        del held[b"gone"]
        with packing(self.context) as sink:
            for path, data in ((b"edited", b"one\n2\nthree\n"), (b"new/file", b"made by hand\n")):
                held[path] = Entry(FILE | 0o644, sink.add(BLOB, data))
            tree, saved = trees.build(sink, held), trees.build(sink, now.saved)
            sink.publish()
        about = "without the second edit"
        return Goal(SnapshotId(tree.hex()), now.coverage, saved.hex(), about)

    def check_there(self) -> None:
        assert captured(self.context).snapshot == self.goal.tree
        assert (self.root / "edited").read_text() == "one\n2\nthree\n"
        assert (self.root / "new/file").read_text() == "made by hand\n"
        assert not (self.root / "gone").exists()
        assert (self.root / "x.env").read_text() == "SECRET=1"

    def step(self, kind: StepKind) -> None:
        step = next_step(self.context, kind)
        goes_to = find_in(self.context)(step.goes_to)
        asked = rewind.request(self.context, kind, step, goes_to)
        under_lock(self.context, lambda it: carry_out(it, asked.replace(overrides=Overrides.all())))


@pytest.fixture
def made(workspace: Path, context: Context) -> Made:
    return Made(workspace, context)


def test_it_is_planned_gone_to_and_undone_and_redone_without_end(
    made: Made, context: Context
) -> None:
    asked = Request(made.goal, kind=REVERT)
    planned = plan(context, asked)
    assert [change.path for change in planned.writes] == [b"edited", b"new", b"new/file"]
    assert [change.path for change in planned.deletes] == [b"gone"]
    assert (planned.refused, planned.warnings, planned.left_alone) == ((), (), ())
    assert planned.lines[b"edited"] == (1, 1)
    assert preview(context, asked).plan.same_changes(planned)
    assert tree_state(made.root) == made.before
    done = under_lock(context, lambda it: carry_out(it, asked, shown=planned))
    assert (done.whole, done.goal, done.files) == (True, made.goal, 3)
    made.check_there()
    [line] = read_operations(context.store)
    assert isinstance(line, Move)
    assert (line.target, line.about, line.after) == (None, made.goal.about, made.goal.tree)
    assert (line.kind, line.session) == (REVERT, WORKSPACE_SESSION)
    again = under_lock(context, lambda it: carry_out(it, asked))
    assert (again.operation, again.verified) == (None, True)
    for _ in range(2):
        made.step(UNDO)
        assert tree_state(made.root) == made.before
        made.step(REDO)
        made.check_there()


def test_what_reads_the_log_stands_an_operation_that_went_to_no_checkpoint(
    made: Made, context: Context
) -> None:
    under_lock(context, lambda it: carry_out(it, Request(made.goal)))
    ledger = open_ledger(context.store, context.reporter)
    assert current_place(context, ledger) == made.newest.id
    ledger.close()
    log = read_operations(context.store)
    [line] = logged(log, log)
    assert line.about == "to without the second edit"


def test_what_it_does_not_hold_is_as_it_is_and_no_reason_to_be_in_part(
    workspace: Path,
) -> None:
    with opened(workspace, policy=Policy(size_limit=1000)) as context:
        made = Made(workspace, context)
        (workspace / "large").write_bytes(bytes(2000))
        coverage = captured(context).coverage
        assert coverage.reason_for(b"large") == "oversized"
        done = under_lock(
            context, lambda it: carry_out(it, Request(made.goal.replace(coverage=coverage)))
        )
        assert (done.whole, done.left_alone) == (True, ())
        assert (workspace / "large").exists()
        made.step(UNDO)


class KillAtAny:
    """Ends the run at the n-th durable step of any kind."""

    def __init__(self, number: int) -> None:
        self._left = number

    def step(self, name: str) -> None:
        self._left -= 1
        if self._left == 0:
            raise Killed


@pytest.mark.long
def test_killed_at_any_step_it_is_recovered_and_can_be_undone(
    made: Made, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_at = list(killed_at_every_step(made, context, monkeypatch, each=1))
    assert len(killed_at) > 20


def test_killed_in_the_middle_it_is_recovered_and_can_be_undone(
    made: Made, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_at = list(killed_at_every_step(made, context, monkeypatch, each=9))
    assert len(killed_at) > 2


def killed_at_every_step(
    made: Made, context: Context, monkeypatch: pytest.MonkeyPatch, *, each: int
) -> list[int]:
    """Kills a rewind at every so many steps; it is there or has not begun, and can be undone."""
    recovered: list[int] = []
    for number in range(1, 1000, each):
        with monkeypatch.context() as patch:
            patch.setattr(durable, "faults", KillAtAny(number))
            try:
                under_lock(context, lambda it: carry_out(it, Request(made.goal, kind=REVERT)))
                return recovered
            except Killed:
                pass
        if journal.exists(context.store):
            done = under_lock(context, lambda it: recover(it, find_in(context)))
            assert done is not None
            assert (done.finished, done.left_alone) == (True, ())
            recovered.append(number)
        if history(read_operations(context.store)).undo:
            made.check_there()
            made.step(UNDO)
        assert tree_state(made.root) == made.before
    raise AssertionError("it never came to its end")


def test_what_did_not_hold_still_is_not_made_a_directory_again(
    workspace: Path, context: Context
) -> None:
    """A file that turned into a directory and back: the snapshot met the directory."""
    (workspace / "moving").mkdir()
    (workspace / "kept").write_text("then")
    now = captured(context)
    coverage = Coverage([*now.coverage.not_held, NotHeld(b"moving", UNSTABLE)])
    (workspace / "moving").rmdir()
    (workspace / "moving").write_text("a file now")
    (workspace / "kept").write_text("now")
    goal = Goal(SnapshotId(now.tree.hex()), coverage, None, "then")
    made = plan(context, Request(goal))
    assert [change.path for change in made.writes] == [b"kept"]
    assert [item.path for item in made.left_alone] == [b"moving"]
