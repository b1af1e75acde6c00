"""What is staged: told apart from what git merely notes about files."""

from __future__ import annotations

import os
from pathlib import Path

from takeback.worktree.project import differ, git_directory, staged
from tests.support.git import git


def now(workspace: Path, known: str | None = None) -> str | None:
    found = git_directory(os.fsencode(workspace))
    assert found is not None
    return staged(found, known)


def test_only_what_is_staged_counts(workspace: Path) -> None:
    empty = now(workspace)
    (workspace / "a").write_text("1\n")
    assert not differ(empty, now(workspace))
    git(workspace, "add", "a")
    first = now(workspace)
    assert differ(empty, first)
    os.utime(workspace / "a", (1, 1))
    git(workspace, "status")
    looked = now(workspace)
    assert looked != first, "git has written it anew"
    assert not differ(first, looked)
    (workspace / ("long" * 50)).write_text("")
    (workspace / "a").write_text("2\n")
    assert not differ(first, now(workspace))
    git(workspace, "add", "-A")
    assert differ(first, now(workspace))
    git(workspace, "rm", "--cached", "-q", "long" * 50)
    (workspace / "a").write_text("1\n")
    git(workspace, "add", "a")
    assert not differ(first, now(workspace))
    os.chmod(workspace / "a", 0o755)
    git(workspace, "add", "a")
    assert differ(first, now(workspace))
    git(workspace, "add", "--intent-to-add", "-A")
    git(workspace, "rm", "-rfq", "--cached", ".")
    assert not differ(empty, now(workspace))


def test_the_file_is_read_only_when_it_is_another_one(workspace: Path) -> None:
    (workspace / "a").write_text("1\n")
    git(workspace, "add", "a")
    first = now(workspace)
    assert first is not None
    pretended = "pretended " + first.split()[1]
    assert now(workspace, pretended) == pretended
    git(workspace, "commit", "-qm", "x")
    git(workspace, "rm", "-q", "a")
    assert now(workspace, pretended) == now(workspace)


def test_what_cannot_be_read_says_nothing(workspace: Path) -> None:
    index = workspace / ".git" / "index"
    (workspace / "a").write_text("1\n")
    git(workspace, "add", "a")
    first, whole = now(workspace), index.read_bytes()
    git(workspace, "update-index", "--index-version", "4")
    assert now(workspace) is None
    git(workspace, "update-index", "--index-version", "2")
    git(workspace, "update-index", "--split-index")
    assert now(workspace) is None
    git(workspace, "update-index", "--no-split-index")
    os.utime(workspace / "a", (1, 1))
    git(workspace, "add", "a")
    git(workspace, "update-index", "--split-index")
    assert int.from_bytes(index.read_bytes()[8:12], "big") == 0, "all entries are in the shared one"
    assert now(workspace) is None
    for broken in (
        b"",
        b"DIRC",
        whole[:-1],
        whole[:30],
        b"x" * 100,
        whole[:11] + b"\xff" + whole[12:],
    ):
        index.write_bytes(broken)
        assert not differ(first, now(workspace))
    index.unlink()
    index.mkdir()
    assert now(workspace) is None
