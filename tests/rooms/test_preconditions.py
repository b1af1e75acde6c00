"""What must hold before a rewind, and the flag that waives it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from takeback.context import Context
from takeback.model.checkpoint import Checkpoint
from takeback.model.coverage import Overrides
from takeback.rewind.plan import plan
from takeback.rewind.refuse import branch_line
from takeback.rewind.request import Scope
from takeback.words.outcomes import flag
from tests.support.engine import checkpoint, request
from tests.support.git import git


def refused(
    context: Context, target: Checkpoint, overrides: Overrides | None = None
) -> dict[str, str]:
    """Returns the code and flag of each refusal."""
    made = plan(context, request(context, target, overrides=overrides or Overrides()))
    return {refusal.code: flag(refusal) for refusal in made.refused}


def files(workspace: Path, count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        (workspace / f"f{number}").write_text("x")


@pytest.mark.parametrize(
    ("kept", "new", "is_refused"),
    [
        (0, 1, True),  # everything
        (1, 1, False),
        (1, 20, False),  # only a few
        (20, 21, True),
        (21, 21, False),  # not more than half
        (100, 30, False),
    ],
)
def test_deleting_most_files_needs_a_yes(
    workspace: Path, context: Context, kept: int, new: int, is_refused: bool
) -> None:
    files(workspace, kept)
    target = checkpoint(context)
    files(workspace, new, start=kept)
    expected = {"mass_delete": "--allow-mass-delete"} if is_refused else {}
    assert refused(context, target) == expected
    assert refused(context, target, Overrides(mass_delete=True)) == {}
    assert refused(context, target, Overrides.all()) == {}


def test_directories_do_not_count_as_files(workspace: Path, context: Context) -> None:
    files(workspace, 3)
    target = checkpoint(context)
    for number in range(30):
        (workspace / f"d{number}").mkdir()
    assert refused(context, target) == {}


@pytest.fixture
def committed(workspace: Path) -> Path:
    files(workspace, 2)
    git(workspace, "add", ".")
    git(workspace, "commit", "--quiet", "--message=first")
    return workspace


@pytest.mark.parametrize("marker", ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"])
def test_while_git_waits_for_the_user_a_rewind_is_refused(
    committed: Path, context: Context, marker: str
) -> None:
    target = checkpoint(context)
    (committed / ".git" / marker).write_text("0" * 40 + "\n")
    assert refused(context, target) == {"during_git": "--during-git"}
    assert refused(context, target, Overrides(during_git=True)) == {}


def test_another_branch_is_refused_and_the_first_line_says_so(
    committed: Path, context: Context
) -> None:
    target = checkpoint(context)
    git(committed, "checkout", "--quiet", "-b", "feature")
    short = git(committed, "rev-parse", "--short=7", "HEAD").decode().strip()
    assert refused(context, target) == {"other_branch": "--other-branch"}
    assert refused(context, target, Overrides(other_branch=True)) == {}
    assert plan(context, request(context, target)).warnings == (
        f"then main@{short}, now feature@{short}: "
        "files go back; commits, branch and staged changes stay",
    )


def test_another_commit_of_the_same_branch_is_said_and_not_refused(
    committed: Path, context: Context
) -> None:
    target = checkpoint(context)
    git(committed, "commit", "--quiet", "--allow-empty", "--message=second")
    assert refused(context, target) == {}
    line = branch_line(context, target)
    assert line is not None
    assert line.startswith("then main@")


def test_a_branch_without_commits_and_a_detached_head_are_named(
    workspace: Path, context: Context
) -> None:
    target = checkpoint(context)
    git(workspace, "commit", "--quiet", "--allow-empty", "--message=x")
    git(workspace, "checkout", "--quiet", "--detach")
    line = branch_line(context, target)
    assert line is not None
    assert line.startswith("then main@unborn, now detached@")
    assert refused(context, target) == {"other_branch": "--other-branch"}


def test_without_git_nothing_is_said_of_branches(workspace: Path, context: Context) -> None:
    (workspace / ".git").rename(workspace.parent / "away")
    target = checkpoint(context)
    assert (refused(context, target), branch_line(context, target)) == ({}, None)
    (workspace.parent / "away").rename(workspace / ".git")
    assert (refused(context, target), branch_line(context, target)) == ({}, None)


def test_what_does_not_fit_on_the_disk_is_refused_and_no_flag_helps(
    workspace: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    files(workspace, 1)
    (workspace / "big").write_bytes(bytes(3 << 20))
    target = checkpoint(context)
    (workspace / "big").write_bytes(b"")
    real = os.fstatvfs

    def nearly_full(fd: int) -> os.statvfs_result:
        fields = list(real(fd))
        fields[4] = (2 << 20) // fields[1]  # f_bavail, in blocks of f_frsize
        return os.statvfs_result(fields)

    monkeypatch.setattr(os, "fstatvfs", nearly_full)
    assert refused(context, target) == {"disk_space": ""}
    assert refused(context, target, Overrides.all()) == {"disk_space": ""}


def test_all_refusals_are_given_at_once(committed: Path, context: Context) -> None:
    target = checkpoint(context)
    git(committed, "checkout", "--quiet", "-b", "feature")
    (committed / ".git" / "MERGE_HEAD").write_text("0" * 40 + "\n")
    files(committed, 30, start=10)
    assert list(refused(context, target)) == ["mass_delete", "during_git", "other_branch"]


def test_a_plan_says_that_staged_changes_are_not_brought_back(
    committed: Path, context: Context
) -> None:
    def warnings(scope: Scope) -> tuple[str, ...]:
        return plan(context, request(context, target, scope=scope)).warnings

    (committed / "f0").write_text("staged")
    git(committed, "add", "f0")
    target = checkpoint(context)
    os.utime(committed / "f1", (1, 1))
    git(committed, "status")
    assert warnings(Scope()) == (), "git has written its index, and the same is staged"
    git(committed, "reset", "--quiet")
    line = "what is staged in git is not what was staged then: files go back; the index stays"
    assert warnings(Scope()) == (line,)
    assert warnings(Scope(files=False)) == ()
    git(committed, "commit", "--quiet", "--all", "--message=second")
    (said,) = warnings(Scope())
    assert said.endswith("files go back; commits, branch and staged changes stay")


def test_a_plan_says_that_a_repository_that_is_gone_is_not_brought_back(
    committed: Path, context: Context
) -> None:
    target = checkpoint(context)
    (committed / "f0").write_text("changed")
    shutil.rmtree(committed / ".git")
    made = plan(context, request(context, target))
    (said,) = made.warnings
    assert said.startswith("then main@")
    assert said.endswith("now there is no git repository here: files go back; .git does not")
    assert made.refused == ()
