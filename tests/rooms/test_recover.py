"""An interrupted rewind is finished or rolled back, and recovery itself may be killed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from takeback import durable
from takeback.context import Context
from takeback.errors import StoreDamaged
from takeback.git.objects import BLOB, object_id
from takeback.model.coverage import Overrides
from takeback.model.operation import UNDO, moves
from takeback.rewind import rewind
from takeback.rewind.request import Scope
from takeback.rewind.rewind import JournalEntry, Recovered, next_step, recover
from takeback.store import journal
from takeback.store.records import read_operations
from tests.support.engine import (
    KillAt,
    Killed,
    carry_out,
    checkpoint,
    find_in,
    garble,
    request,
    under_lock,
)
from tests.support.trees import Entry, tree_state


def recover_now(context: Context) -> Recovered | None:
    return under_lock(context, lambda it: recover(it, find_in(context)))


def recovered(context: Context) -> Recovered:
    done = recover_now(context)
    assert done is not None
    return done


class Interrupted:
    """A workspace whose rewind was killed; what was there before, and what the target has."""

    def __init__(self, root: Path, context: Context) -> None:
        self.root = root
        self.context = context
        (root / "a").write_text("target a")
        (root / "b").write_text("target b")
        (root / "gone").mkdir()
        (root / "gone" / "x").write_text("target x")
        self.at_target = tree_state(root)
        self.target = checkpoint(context)
        self.edit()
        self.before = tree_state(root)

    def edit(self) -> None:
        """Changes things since the target."""
        root = self.root
        (root / "a").write_text("present a")
        (root / "b").write_text("present b")
        shutil.rmtree(root / "gone", ignore_errors=True)
        (root / "new").write_text("present new")

    def kill(self, monkeypatch: pytest.MonkeyPatch, step: str, number: int = 1) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(durable, "faults", KillAt(step, number))
            with pytest.raises(Killed):
                under_lock(self.context, lambda it: carry_out(it, request(it, self.target)))
        assert journal.exists(self.context.store)

    def now(self) -> dict[bytes, Entry]:
        return tree_state(self.root)


@pytest.fixture
def run(workspace: Path, context: Context) -> Interrupted:
    return Interrupted(workspace, context)


def test_without_a_journal_there_is_nothing_to_recover(context: Context) -> None:
    assert recover_now(context) is None


class KillAtAny:
    """Ends a run before its n-th step, counted from the moment that the journal is there."""

    def __init__(self, context: Context) -> None:
        self._store = context.store
        self.left = 0

    def step(self, name: str) -> None:
        if journal.exists(self._store):
            self.left -= 1
            if self.left == 0:
                raise Killed


def test_a_rewind_killed_at_any_step_is_finished(
    run: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = KillAtAny(run.context)
    for number in range(1, 200, 4):
        run.edit()
        faults.left = number
        with monkeypatch.context() as patch:
            patch.setattr(durable, "faults", faults)
            try:
                under_lock(run.context, lambda it: carry_out(it, request(it, run.target)))
            except Killed:
                pass
            else:
                break
        done = recovered(run.context)
        assert (done.kind, done.finished, done.left_alone) == ("rewind", True, ())
        assert done.sentence() == "An interrupted rewind was found and finished."
        assert run.now() == run.at_target
        assert recover_now(run.context) is None
    assert number > 20
    assert len(read_operations(run.context.store)) == (number - 1) // 4 + 1


def test_undo_of_a_recovered_rewind_brings_back_what_made_way(
    workspace: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paths that were not named are known after a kill at any step, too."""
    (workspace / "a" / "deep").mkdir(parents=True)
    (workspace / "a" / "deep" / "f").write_text("x")
    (workspace / "new" / "parent").mkdir(parents=True)
    (workspace / "new" / "parent" / "f").write_text("x")
    (workspace / "beside").write_text("stays")
    target = checkpoint(context)
    shutil.rmtree(workspace / "a")
    shutil.rmtree(workspace / "new")
    (workspace / "a").write_text("my precious notes")
    (workspace / ".gitignore").write_text("a\nnew\n")
    before = tree_state(workspace)
    faults = KillAtAny(context)
    scope = Scope((b"a/deep/f", b"new/parent/f"))
    for number in range(1, 200, 3):
        faults.left = number
        with monkeypatch.context() as patch:
            patch.setattr(durable, "faults", faults)
            try:
                under_lock(context, lambda it: carry_out(it, request(it, target, scope=scope)))
            except Killed:
                recovered(context)
            else:
                break
        step = next_step(context, UNDO)
        with context.locked() as locked:
            asked = rewind.request(locked, UNDO, step, find_in(context)(step.goes_to))
            done = carry_out(locked, asked.replace(overrides=Overrides.all()))
        assert done.whole
        assert tree_state(workspace) == before
    assert number > 10


def test_a_rewind_whose_bytes_are_lost_is_rolled_back(
    run: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.kill(monkeypatch, "exchange", 2)
    assert run.now() not in (run.before, run.at_target)
    garble(run.context.store, object_id(BLOB, b"target b"))
    run.context.store.packs.close()
    done = recovered(run.context)
    assert not done.finished
    assert done.sentence() == "An interrupted rewind was found and rolled back."
    assert run.now() == run.before
    assert read_operations(run.context.store) == []
    assert not journal.exists(run.context.store)


@pytest.mark.parametrize("lost", [False, True])
def test_recovery_can_be_killed_at_any_step_and_run_again(
    run: Interrupted, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    run.kill(monkeypatch, "exchange", 2)
    if lost:
        garble(run.context.store, object_id(BLOB, b"target b"))
        run.context.store.packs.close()

    faults = KillAtAny(run.context)
    for number in range(1, 200):
        faults.left = number
        with monkeypatch.context() as patch:
            patch.setattr(durable, "faults", faults)
            try:
                done = recover_now(run.context)
            except Killed:
                continue
        break
    assert done is None or done.finished is not lost
    assert number > 2
    assert run.now() == (run.before if lost else run.at_target)
    assert not journal.exists(run.context.store)


def test_a_path_that_is_neither_old_nor_new_is_left_alone_and_named(
    run: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.kill(monkeypatch, "exchange", 2)
    (run.root / "b").write_text("edited since")
    done = recovered(run.context)
    assert done.finished
    assert [item.path for item in done.left_alone] == [b"b"]
    assert done.sentence() == (
        "An interrupted rewind was found and finished; "
        "left alone: b (neither its old nor its new version)."
    )
    assert (run.root / "b").read_text() == "edited since"
    assert (run.root / "a").read_text() == "target a"
    assert not any(name.startswith(b".takeback-") for name in run.now())


def test_a_rewind_that_is_in_the_log_already_only_loses_its_journal(
    run: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = under_lock(run.context, lambda it: carry_out(it, request(it, run.target)))
    [operation] = read_operations(run.context.store)
    [move] = moves([operation])
    assert move.id == done.operation
    under_lock(run.context, lambda it: rewind.write(it.lock, JournalEntry(move, ())))
    (run.root / "a").write_text("edited after it")
    assert recovered(run.context).finished
    assert (run.root / "a").read_text() == "edited after it"
    assert read_operations(run.context.store) == [operation]
    assert not journal.exists(run.context.store)


def test_a_journal_that_makes_no_sense_is_damage_and_stays(context: Context) -> None:
    under_lock(context, lambda it: journal.write(it.lock, {"id": "x"}))
    with pytest.raises(StoreDamaged, match="not readable") as raised:
        recover_now(context)
    assert raised.value.hint == "run: takeback doctor --fix"
    assert journal.exists(context.store)
    assert not context.store.lock.held
