"""What a turn changed and what going there would change, and that looking changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.errors import StoreDamaged
from takeback.model.operation import Between, Portion
from takeback.rewind.plan import LARGEST
from takeback.store import trees
from tests.support.engine import garble
from tests.support.trees import tree_state


@pytest.fixture
def tb(workspace: Path) -> Iterator[Engine]:
    (workspace / "a.txt").write_text("0\n")
    with Engine.open(workspace) as opened:
        yield opened


def test_the_states_of_a_turn_are_its_ends(tb: Engine, workspace: Path) -> None:
    with tb.session(agent="mine").turn("change a") as turn:
        (workspace / "a.txt").write_text("1\n")
    ends = turn.before.snapshot, turn.after.snapshot
    assert tb.states(turn.before) == Between(*ends, (Portion(*ends, frozenset({b"a.txt"})),))


def test_the_states_of_a_plain_checkpoint_are_those_that_its_changes_are_counted_from(
    tb: Engine, workspace: Path, tmp_path: Path
) -> None:
    first = tb.checkpoint().checkpoint
    assert tb.states(first) == Between(first.snapshot, first.snapshot)
    (workspace / "a.txt").write_text("1\n")
    second = tb.checkpoint().checkpoint
    assert tb.states(second) == Between(first.snapshot, second.snapshot)
    tb.rewind(first)
    (workspace / "b.txt").write_text("1\n")
    third = tb.checkpoint().checkpoint
    assert tb.states(third) == Between(first.snapshot, third.snapshot)
    for entry in tb.checkpoints(everything=True):
        between = tb.states(entry.checkpoint)
        assert bool(entry.changes) == (between.old != between.new)


def test_a_session_cut_from_another_is_compared_with_nothing(tb: Engine, workspace: Path) -> None:
    session = tb.session(agent="mine")
    with session.turn("one", conversation=b"") as one:
        (workspace / "a.txt").write_text("1\n")
    with session.turn("two", conversation=b"one\n") as two:
        (workspace / "a.txt").write_text("2\n")
    tb.fork(two.before)
    (workspace / "b.txt").write_text("by hand\n")
    made = tb.checkpoint().checkpoint
    entries = {entry.checkpoint.id: entry for entry in tb.checkpoints(everything=True)}
    forked = next(e.checkpoint for e in entries.values() if e.checkpoint.kind == "fork")
    assert tb.states(forked) == Between(forked.snapshot, forked.snapshot)
    assert tb.states(made) == Between(two.after.snapshot, made.snapshot)
    assert [change.path for change in entries[made.id].changes] == [b"b.txt"]
    assert one.before.snapshot != two.before.snapshot


def test_a_preview_is_the_plan_with_its_lines_counted(tb: Engine, workspace: Path) -> None:
    with tb.session(agent="mine").turn("change things") as turn:
        (workspace / "a.txt").write_text("1\n2\n")
        (workspace / "new").mkdir()
        (workspace / "new" / "b.txt").write_text("b\n")
        os.mkdir(workspace / "empty")
    before = tree_state(workspace, identity=True)
    found = tb.preview(turn.before)
    assert tree_state(workspace, identity=True) == before
    assert found.plan.same_changes(tb.plan(turn.before, scope="files"))
    assert [(c.path, c.kind, c.added, c.deleted) for c in found.changes] == [
        (b"a.txt", "modified", 1, 2),
        (b"empty", "deleted", None, None),
        (b"new/b.txt", "deleted", 0, 1),
    ]
    diff = tb.file_diff(found.between, b"a.txt")
    assert b"\n-1\n-2\n+0\n" in (diff.patch or b"")


def test_a_preview_needs_no_permission(tb: Engine, workspace: Path) -> None:
    """What a rewind would refuse is named; the preview is there all the same."""
    with tb.session(agent="mine").turn("still running") as turn:
        (workspace / "a.txt").write_text("1\n")
        found = tb.preview(turn.before)
        assert [change.path for change in found.changes] == [b"a.txt"]
        assert [refusal.waivers for refusal in found.plan.refused] == [("during_turn",)]


def test_paths_are_from_the_root_wherever_one_stands(
    tb: Engine, workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with tb.session(agent="mine").turn("change a") as turn:
        (workspace / "a.txt").write_text("1\n")
    monkeypatch.chdir(tmp_path)
    diff = tb.file_diff(tb.states(turn.before), b"a.txt")
    assert diff.patch is not None
    assert diff.old is not None
    assert (diff.old.size, diff.old.mode & 0o777) == (2, 0o644)


def test_a_path_is_taken_literally(tb: Engine, workspace: Path) -> None:
    with tb.session(agent="mine").turn("odd names") as turn:
        for name in ("*.txt", ":(top)x", "-p", "b\nc"):
            (workspace / name).write_text("x\n")
    for path in (b"*.txt", b":(top)x", b"-p", b"b\nc"):
        diff = tb.file_diff(tb.states(turn.before), path)
        assert diff.patch is not None
        assert diff.patch.count(b"diff --git") == 1


def test_directories_and_what_is_nowhere_have_no_patch(tb: Engine, workspace: Path) -> None:
    with tb.session(agent="mine").turn("a directory") as turn:
        (workspace / "a.txt").unlink()
        (workspace / "a.txt").mkdir()
        (workspace / "a.txt" / "b").write_text("b\n")
    between = tb.states(turn.before)
    diff = tb.file_diff(between, b"a.txt")
    assert (diff.patch, diff.too_large) == (None, False)
    assert diff.old is not None
    assert diff.new is not None
    nowhere = tb.file_diff(between, b"nowhere")
    assert (nowhere.old, nowhere.new, nowhere.patch) == (None, None, None)


def test_a_very_large_file_is_not_compared(tb: Engine, workspace: Path) -> None:
    with tb.session(agent="mine").turn("large") as turn:
        (workspace / "large").write_bytes(b"x\n" * (LARGEST // 2 + 1))
    diff = tb.file_diff(tb.states(turn.before), b"large")
    assert (diff.too_large, diff.patch) == (True, None)
    assert diff.new is not None
    assert diff.new.size == LARGEST + 2


def test_what_does_not_read_back_is_not_shown(tb: Engine, workspace: Path) -> None:
    with tb.session(agent="mine").turn("change a") as turn:
        (workspace / "a.txt").write_text("1\n")
    store = tb._context.store
    entry = trees.lookup(store, bytes.fromhex(turn.before.snapshot), b"a.txt")
    assert entry is not None
    garble(store, entry.oid)
    store.reopen_packs()
    with pytest.raises(StoreDamaged, match=r"^a\.txt cannot be compared: "):
        tb.file_diff(tb.states(turn.before), b"a.txt")
    found = tb.preview(turn.before)
    assert [change.path for change in found.changes] == [b"a.txt"]
