"""A fork into a git worktree: the person asks for it, and the project's git runs nothing of its."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import Takeback, durable
from takeback.errors import UsageError, WriteFailed
from takeback.model.checkpoint import Checkpoint
from takeback.model.operation import IGNORED_STAY
from takeback.words import outcomes
from tests.support.git import git
from tests.support.trees import git_state


@pytest.fixture
def tb(workspace: Path) -> Iterator[Takeback]:
    with Takeback.open(workspace) as opened:
        yield opened


@pytest.fixture
def then(tb: Takeback, workspace: Path) -> Checkpoint:
    """A place at the first of two commits, with a file that differs from it and one beside."""
    (workspace / "a.txt").write_text("committed\n")
    git(workspace, "add", ".")
    git(workspace, "commit", "--quiet", "--message", "one")
    with tb.session(agent="mine").turn("one", conversation=b"") as turn:
        (workspace / "a.txt").write_text("changed\n")
        (workspace / "b.txt").write_text("new\n")
    git(workspace, "add", ".")
    git(workspace, "commit", "--quiet", "--message", "two")
    return turn.after


def said(directory: Path, *words: str) -> str:
    return git(directory, *words).decode().strip()


def test_the_files_are_of_then_and_so_is_the_commit(
    tb: Takeback, then: Checkpoint, workspace: Path, tmp_path: Path
) -> None:
    there = tmp_path / "race"
    done = tb.fork(then, worktree=str(there), git=True)
    assert done.commit == then.head == said(there, "rev-parse", "HEAD")
    assert said(workspace, "log", "--format=%s", "-1") == "two"
    assert sorted(os.listdir(there)) == [".git", "a.txt", "b.txt"]
    assert said(there, "status", "--porcelain").split() == ["M", "a.txt", "??", "b.txt"]
    assert str(there) in said(workspace, "worktree", "list")
    assert said(workspace, "worktree", "prune", "--dry-run", "--verbose") == ""
    assert sorted(os.listdir(tmp_path)).count("race") == 1
    assert [name for name in os.listdir(tmp_path) if "race." in name] == []
    with Takeback.open(there) as opened:  # it goes on there
        (there / "a.txt").write_text("another way\n")
        opened.rewind(opened.find("@"))
    assert (there / "a.txt").read_text() == "changed\n"


def test_nothing_of_the_project_changes_or_runs(
    tb: Takeback, then: Checkpoint, workspace: Path, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        hook = workspace / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho {name} >> '{ran}'\n")
        hook.chmod(0o755)
    git(workspace, "config", "core.fsmonitor", f"echo monitor >> '{ran}'; false")
    git(workspace, "config", "filter.x.smudge", f"echo filter >> '{ran}'; cat")
    (workspace / ".git" / "info" / "attributes").write_text("* filter=x\n")
    ran.unlink(missing_ok=True)
    before = git_state(workspace)
    tb.fork(then, worktree=str(tmp_path / "race"), git=True)
    after = git_state(workspace)
    new = {b"/".join(path.split(b"/")[:2]) for path in after.keys() - before.keys()}
    assert new == {b".git/worktrees"}
    assert {path: after[path] for path in before} == before
    assert not ran.exists()


def test_without_a_commit_nothing_is_forked(tb: Takeback, workspace: Path, tmp_path: Path) -> None:
    place = tb.checkpoint().checkpoint
    with pytest.raises(UsageError, match="has no commit"):
        tb.fork(place, worktree=str(tmp_path / "race"), git=True)
    with pytest.raises(UsageError, match="has no commit"):
        tb.plan_fork(place, worktree=str(tmp_path / "race"), git=True)
    assert not (tmp_path / "race").exists()


def test_plan_and_outcome_say_that_ignored_files_stay_behind(
    tb: Takeback, then: Checkpoint, tmp_path: Path
) -> None:
    race = str(tmp_path / "race")
    assert IGNORED_STAY in tb.plan_fork(then, worktree=race).warnings
    assert IGNORED_STAY not in tb.plan_fork(then, files=False).warnings
    said = "\n".join(outcomes.outcome_lines(tb.fork(then, worktree=race), None))
    assert "Ignored files stay behind" in said
    assert "gnored" not in "\n".join(outcomes.outcome_lines(tb.fork(then), None))


def test_a_worktree_of_a_worktree_belongs_to_the_same_repository(
    tb: Takeback, then: Checkpoint, workspace: Path, tmp_path: Path
) -> None:
    tb.fork(then, worktree=str(tmp_path / "race"), git=True)
    with Takeback.open(tmp_path / "race") as opened:
        with opened.session(agent="mine").turn("two", conversation=b"") as turn:
            pass
        opened.fork(turn.before, worktree=str(tmp_path / "a second\nrace"), git=True)
    assert said(workspace, "worktree", "list", "--porcelain").count("worktree ") == 3
    assert said(tmp_path / "a second\nrace", "rev-parse", "HEAD") == then.head


def test_what_git_cannot_do_is_said_and_the_files_are_there(
    tb: Takeback, then: Checkpoint, workspace: Path, tmp_path: Path
) -> None:
    (workspace / ".git" / "worktrees").write_text("in the way")
    with pytest.raises(WriteFailed, match="could not be made a git worktree"):
        tb.fork(then, worktree=str(tmp_path / "race"), git=True)
    assert sorted(os.listdir(tmp_path / "race")) == ["a.txt", "b.txt"]
    assert [name for name in os.listdir(tmp_path) if "race." in name] == []


@pytest.mark.parametrize("how", ["pointer", "link"])
def test_a_repository_that_does_not_know_of_the_directory_gets_nothing(
    tb: Takeback, then: Checkpoint, workspace: Path, tmp_path: Path, how: str
) -> None:
    """A model can plant a pointer to any repository; only its own worktrees are believed."""
    (workspace / ".git").rename(tmp_path / "saved.git")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    git(other, "commit", "--quiet", "--allow-empty", "--message", "theirs")
    if how == "pointer":
        (workspace / ".git").write_text(f"gitdir: {other}/.git\n")
    else:
        (workspace / ".git").symlink_to(other / ".git")
    before = git_state(other)
    with pytest.raises(UsageError, match="does not know of this directory"):
        tb.fork(then, worktree=str(tmp_path / "race"), git=True)
    assert git_state(other) == before
    assert not (tmp_path / "race").exists()


def test_a_directory_that_another_made_meanwhile_is_made_no_worktree(
    tb: Takeback, then: Checkpoint, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "race"

    class Stranger:
        def step(self, name: str) -> None:
            if Path(tb.store_directory, "journal").exists() and not there.exists():
                there.mkdir()

    monkeypatch.setattr(durable, "faults", Stranger())
    done = tb.fork(then, worktree=str(there), git=True)
    assert done.conversation_error is not None
    assert done.commit is None
    assert os.listdir(there) == []
    assert str(there) not in said(workspace, "worktree", "list")
