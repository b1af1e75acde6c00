"""The public Python API: what it does, and what it says when it cannot."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import takeback
from takeback import Takeback, durable
from takeback.app.engine import Engine
from takeback.check.check import Verified
from takeback.errors import (
    NoSuchCheckpoint,
    NotAWorkspace,
    RecoveredInstead,
    Refused,
    UsageError,
)
from takeback.model.checkpoint import Checkpoint
from takeback.model.operation import Operation, Outcome, Plan
from takeback.timeline.look import Status
from takeback.timeline.timeline import Shown, TimelineEntry
from takeback.turns.making import Made
from takeback.words.choices import command_line
from tests.support.engine import Heard, KillAt, Killed, TestClock
from tests.support.git import git
from tests.support.trees import tree_state


@pytest.fixture
def tb(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Takeback]:
    monkeypatch.chdir(workspace)
    with Takeback.open(".", clock=TestClock(), reporter=Heard()) as opened:
        yield opened


def test_a_checkpoint_a_plan_a_rewind_and_back_again(workspace: Path, tb: Takeback) -> None:
    (workspace / "a.txt").write_text("one\n")
    before = tb.checkpoint(label="before the agent").checkpoint
    then = tree_state(workspace)
    (workspace / "a.txt").write_text("two\n")
    (workspace / "b.txt").write_text("new\n")
    now = tree_state(workspace)
    plan = tb.plan(before)
    assert tree_state(workspace) == now
    done = tb.rewind(before)
    assert tree_state(workspace) == then
    assert [change.path for change in plan.writes] == list(done.written) == [b"a.txt"]
    assert [change.path for change in plan.deletes] == list(done.deleted) == [b"b.txt"]
    tb.undo()
    assert tree_state(workspace) == now
    tb.redo()
    assert tree_state(workspace) == then


def test_every_answer_is_a_value_with_a_type(workspace: Path, tb: Takeback) -> None:
    (workspace / "a").write_text("1\n")
    made = tb.checkpoint(label="first", message="a prompt\nof two lines")
    (workspace / "a").write_text("2\n")
    assert isinstance(made, Made)
    assert isinstance(tb.find("first"), Checkpoint)
    assert tb.find("first") == tb.find(made.checkpoint.id)
    assert tb.find(made.checkpoint) is made.checkpoint
    assert [type(entry) for entry in tb.checkpoints()] == [TimelineEntry]
    assert isinstance(tb.show("first"), Shown)
    assert tb.cat("first", "a") == b"1\n"
    assert b"-1\n+2\n" in tb.diff("first")
    assert [
        (c.path, c.kind, c.added, c.deleted) for c in tb.engine.changes_and_diff("first")[0]
    ] == [(b"a", "modified", 1, 1)]
    assert isinstance(tb.plan("first"), Plan)
    assert isinstance(tb.rewind("first"), Outcome)
    assert all(isinstance(operation, Operation) for operation in tb.operations())
    assert tb.engine.next_undo().operation == tb.operations()[0]
    assert isinstance(tb.plan_undo(), Plan)
    assert isinstance(tb.undo(), Outcome)
    assert tb.engine.next_redo().operation == tb.operations()[0]
    assert isinstance(tb.plan_redo(), Plan)
    assert isinstance(tb.status(), Status)
    assert isinstance(tb.verify(read_data=True), Verified)
    assert tb.verify(read_data=True).problems == ()
    assert tb.recover() is None
    assert tb.label("first", None).label is None
    with pytest.raises(NoSuchCheckpoint):
        tb.find("first")


def test_the_package_gives_takeback_and_nothing_else_by_name() -> None:
    assert takeback.Takeback is Takeback
    with pytest.raises(AttributeError, match="no attribute 'Rewind'"):
        takeback.Rewind  # noqa: B018


def test_undo_with_nothing_to_undo_is_refused(tb: Takeback) -> None:
    tb.checkpoint()
    for call in (tb.undo, tb.redo, tb.plan_undo, tb.engine.next_redo):
        with pytest.raises(Refused, match="nothing to"):
            call()


@pytest.mark.parametrize("path", ["../other", "/etc/passwd", "sub/../..", b"/"])
def test_a_path_outside_the_workspace_is_a_usage_error(
    workspace: Path, tb: Takeback, path: str | bytes
) -> None:
    (workspace / "a").touch()
    (workspace / "sub").mkdir()
    before = tb.checkpoint().checkpoint
    for call in (tb.plan, tb.rewind):
        with pytest.raises(UsageError, match="outside the workspace"):
            call(before, [path])


def test_a_link_of_the_workspace_leads_no_path_out_of_it(workspace: Path, tb: Takeback) -> None:
    """What is a link now may be a directory in the checkpoint, so it is taken as it is written."""
    (workspace / "out").symlink_to("/etc")
    before = tb.checkpoint().checkpoint
    for call in (tb.plan, tb.rewind):
        with pytest.raises(UsageError, match="out/passwd is neither in the workspace nor in"):
            call(before, ["out/passwd"])


def test_relative_paths_start_where_it_was_opened(workspace: Path) -> None:
    (workspace / "sub").mkdir()
    with Engine.open(workspace / "sub") as engine:
        assert engine.path("x") == b"sub/x"
        assert engine.path("../y") == b"y"
        assert engine.path("..") == b""
        assert engine.path(b"caf\xe9") == b"sub/caf\xe9"
        assert engine.path(str(workspace / "z")) == b"z"


def test_a_rewind_of_paths_touches_only_these(workspace: Path, tb: Takeback) -> None:
    for name in ("a", "b"):
        (workspace / name).write_text("1")
    before = tb.checkpoint().checkpoint
    for name in ("a", "b"):
        (workspace / name).write_text("2")
    assert tb.rewind(before, ["b"]).written == (b"b",)
    assert [(workspace / name).read_text() for name in ("a", "b")] == ["2", "1"]
    with pytest.raises(UsageError, match="neither in the workspace nor"):
        tb.plan(before, ["no such file"])


def test_a_plan_that_no_longer_holds_is_not_carried_out(workspace: Path, tb: Takeback) -> None:
    (workspace / "a").write_text("1")
    before = tb.checkpoint().checkpoint
    (workspace / "a").write_text("2")
    shown = tb.plan(before)
    (workspace / "a").write_text("edited while the plan was read")
    with pytest.raises(Refused, match="changed since the plan was shown"):
        tb.rewind(before, shown=shown)
    assert (workspace / "a").read_text() == "edited while the plan was read"
    assert tb.rewind(before, shown=tb.plan(before)).written == (b"a",)


def test_an_interrupted_rewind_is_recovered_before_undo_and_undo_is_not_done(
    workspace: Path, tb: Takeback, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "a").write_text("1")
    before = tb.checkpoint().checkpoint
    (workspace / "a").write_text("2")
    with monkeypatch.context() as patch:
        patch.setattr(durable, "faults", KillAt("exchange"))
        with pytest.raises(Killed):
            tb.rewind(before)
    assert tb.interrupted
    with pytest.raises(RecoveredInstead):
        tb.undo()
    assert not tb.interrupted
    assert (workspace / "a").read_text() == "1"
    assert [operation.recovered for operation in tb.operations()] == [True]
    tb.undo()
    assert (workspace / "a").read_text() == "2"


# -- what is no workspace


def assert_no_workspace(path: Path | str, message: str) -> None:
    stores = Path(os.environ["TAKEBACK_HOME"])
    before = sorted(stores.rglob("*")) if stores.exists() else []
    with pytest.raises(NotAWorkspace, match=message):
        Takeback.open(path)
    assert (sorted(stores.rglob("*")) if stores.exists() else []) == before


def test_the_home_directory_is_no_workspace() -> None:
    assert_no_workspace(os.environ["HOME"], "holds more than one project")


def test_a_repository_in_the_home_directory_does_not_make_it_one() -> None:
    home = Path(os.environ["HOME"])
    git(home, "init", "--quiet")
    assert_no_workspace(home, "holds more than one project")
    (home / "notes").mkdir()
    with Takeback.open(home / "notes") as tb:
        assert tb.root == os.fsencode((home / "notes").resolve())


def test_the_root_of_the_machine_is_no_workspace() -> None:
    assert_no_workspace("/", "holds more than one project")


@pytest.mark.parametrize("inside", [".", "deep/inside"])
def test_a_directory_that_would_hold_its_own_store_is_no_workspace(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    monkeypatch.setenv("TAKEBACK_HOME", str(workspace / inside))
    assert_no_workspace(workspace, "would lie inside the workspace")
    assert sorted(path.name for path in workspace.iterdir()) == [".git"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_no_workspace_unless_the_settings_say_so(
    workspace: Path,
) -> None:
    os.chown(workspace, 65534, 65534)
    assert_no_workspace(workspace, "belongs to another user")
    settings = Path(os.environ["XDG_CONFIG_HOME"], "takeback", "config.toml")
    settings.parent.mkdir()
    settings.write_text("foreign_owner = true\n")
    with Takeback.open(workspace) as tb:
        assert tb.checkpoint().checkpoint.complete


def test_a_file_or_a_missing_directory_is_no_workspace(workspace: Path) -> None:
    (workspace / "file").touch()
    assert_no_workspace(workspace / "file", "is not a directory")
    assert_no_workspace(workspace / "missing", "No such file")


def test_without_create_a_directory_without_checkpoints_is_no_workspace(workspace: Path) -> None:
    with pytest.raises(NotAWorkspace, match="no checkpoints yet"):
        Takeback.open(workspace, create=False)
    assert not Path(os.environ["TAKEBACK_HOME"]).exists()


# -- where the store is, and whose


def test_settings_come_from_the_user_and_the_store_and_never_from_the_workspace(
    workspace: Path,
) -> None:
    (workspace / "config.toml").write_text("size_limit_mb = 1\n")
    with Takeback.open(workspace) as tb:
        Path(tb.store_directory, "config.toml").write_text("size_limit_mb = 2\n")
    with Takeback.open(workspace) as tb:
        assert tb.engine.settings["size_limit_mb"] == 2


def test_a_moved_workspace_brings_its_checkpoints_and_says_so(workspace: Path) -> None:
    (workspace / "a").touch()
    with Takeback.open(workspace) as tb:
        made = tb.checkpoint().checkpoint
    moved = workspace.rename(workspace.parent / "moved")
    heard = Heard()
    with Takeback.open(moved, reporter=heard) as tb:
        assert tb.find(made.id).snapshot == made.snapshot
    assert len(heard.notes) == 1
    assert str(workspace) in heard.notes[0]


def test_the_store_of_what_stood_here_before_can_be_adopted(workspace: Path) -> None:
    (workspace / "a").write_text("old")
    with Takeback.open(workspace) as tb:
        old = tb.checkpoint().checkpoint
    shutil.rmtree(workspace)
    workspace.mkdir()
    with Takeback.open(workspace) as tb:
        new = tb.checkpoint().checkpoint
        offers = [finding for finding in tb.doctor() if finding.state == "offer"]
        assert [one.newest for one in tb.engine.earlier_stores] == [old]
    assert len(offers) == 1
    Engine.adopt(command_line(offers[0].hint).rpartition(" ")[2], workspace)
    with Takeback.open(workspace) as tb:
        tb.rewind(old.id)
        assert (workspace / "a").read_text() == "old"
        with pytest.raises(NoSuchCheckpoint):
            tb.find(new.id)
        assert [finding.state for finding in tb.doctor()].count("offer") == 1


def test_forget_deletes_the_store_and_no_file(workspace: Path) -> None:
    (workspace / "a").write_text("mine")
    with Takeback.open(workspace) as tb:
        tb.checkpoint()
        directory = Path(tb.store_directory)
        tb.forget()
    assert not directory.exists()
    assert not directory.parent.exists()
    assert (workspace / "a").read_text() == "mine"
    with Takeback.open(workspace) as tb:
        assert tb.checkpoints() == []


def test_a_rebuilt_ledger_knows_the_same_checkpoints(workspace: Path, tb: Takeback) -> None:
    for text in ("1", "2", "3"):
        (workspace / "a").write_text(text)
        tb.checkpoint(label=f"number {text}")
    before = tb.checkpoints()
    found = tb.doctor(rebuild=True)
    assert tb.checkpoints() == before
    assert ("ledger", "mended") in [(finding.about, finding.state) for finding in found]
