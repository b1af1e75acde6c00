"""What plain files tell about a project that real git made, compared with what git says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.worktree import project
from takeback.worktree.project import GitDirectory, Head
from tests.support.git import git


def opened(directory: Path) -> GitDirectory:
    found = project.git_directory(os.fsencode(directory))
    assert found is not None
    return found


def commit(directory: Path, name: str = "file", text: str = "x") -> str:
    (directory / name).write_text(text)
    git(directory, "add", name)
    git(directory, "commit", "--quiet", "--message", name)
    return git(directory, "rev-parse", "HEAD").decode().strip()


def fails(directory: Path, *args: str) -> None:
    with pytest.raises(AssertionError):
        git(directory, *args)


class TestGitDirectory:
    def test_of_a_repository(self, workspace: Path) -> None:
        found = opened(workspace)
        assert found.git_dir == found.common_dir == os.fsencode(workspace / ".git")
        assert not found.linked

    def test_of_a_linked_worktree(self, workspace: Path, tmp_path: Path) -> None:
        commit(workspace)
        git(workspace, "worktree", "add", "--quiet", str(tmp_path / "linked"))
        found = opened(tmp_path / "linked")
        assert found.linked
        assert found.git_dir == os.fsencode(workspace / ".git/worktrees/linked")
        assert found.common_dir == os.fsencode(workspace / ".git")

    def test_of_a_submodule(self, workspace: Path, tmp_path: Path) -> None:
        commit(workspace)
        outer = tmp_path / "outer"
        outer.mkdir()
        git(outer, "init", "--quiet")
        git(outer, "-c", "protocol.file.allow=always", "submodule", "add", str(workspace), "sub")
        assert (outer / "sub/.git").is_file()
        found = opened(outer / "sub")
        assert not found.linked
        assert found.git_dir == found.common_dir == os.fsencode(outer / ".git/modules/sub")

    def test_of_a_separate_git_directory(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "--quiet", "--separate-git-dir", "kept", "tree")
        found = opened(tmp_path / "tree")
        assert found.git_dir == os.fsencode(tmp_path / "kept")
        assert not found.linked

    def test_of_a_symbolic_link_to_one(self, workspace: Path, tmp_path: Path) -> None:
        os.rename(workspace / ".git", tmp_path / "kept")
        (workspace / ".git").symlink_to("../kept")
        assert opened(workspace).git_dir == os.fsencode(workspace / ".git")

    @pytest.mark.parametrize(
        "content", [b"", b"gitdir: ", b"gitdir: gone\n", b"gitdir: a\0b", b"\xff" * 100, b"x"]
    )
    def test_is_none_for_a_file_that_leads_nowhere(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / ".git").write_bytes(content)
        assert project.git_directory(os.fsencode(tmp_path)) is None

    def test_is_none_for_anything_else(self, tmp_path: Path) -> None:
        assert project.git_directory(os.fsencode(tmp_path)) is None
        (tmp_path / "a/.git").mkdir(parents=True)
        assert project.git_directory(os.fsencode(tmp_path / "a")) is None
        (tmp_path / "b").mkdir()
        os.mkfifo(tmp_path / "b/.git")
        assert project.git_directory(os.fsencode(tmp_path / "b")) is None


def test_enclosing_names_every_repository_above(workspace: Path) -> None:
    inner = workspace / "a/b"
    inner.mkdir(parents=True)
    git(inner, "init", "--quiet")
    (workspace / "a/.git").mkdir()  # not a repository
    (inner / "c/d").mkdir(parents=True)
    (inner / "c/.git").write_text("gitdir: somewhere\n")
    expected = [os.fsencode(place) for place in (inner / "c", inner, workspace)]
    assert project.enclosing(os.fsencode(inner / "c/d"))[:3] == expected
    assert project.enclosing(os.fsencode(inner))[:2] == expected[1:]


class TestHead:
    def test_unborn(self, workspace: Path) -> None:
        assert project.head(opened(workspace)) == Head("main", None)

    @pytest.mark.parametrize("packed", [False, True])
    def test_on_a_branch(self, workspace: Path, packed: bool) -> None:
        git(workspace, "checkout", "--quiet", "-b", "topic/ünder-way")
        wanted = commit(workspace)
        git(workspace, "branch", "topic/ünder")
        git(workspace, "tag", "-a", "-m", "x", "v1")
        if packed:
            git(workspace, "pack-refs", "--all")
            assert not (workspace / ".git/refs/heads/topic").exists()
        assert project.head(opened(workspace)) == Head("topic/ünder-way", wanted)

    def test_detached(self, workspace: Path) -> None:
        wanted = commit(workspace)
        git(workspace, "checkout", "--quiet", "--detach")
        assert project.head(opened(workspace)) == Head(None, wanted)

    def test_of_a_linked_worktree(self, workspace: Path, tmp_path: Path) -> None:
        wanted = commit(workspace)
        git(workspace, "worktree", "add", "--quiet", str(tmp_path / "linked"))
        commit(workspace, "later")
        assert project.head(opened(tmp_path / "linked")) == Head("linked", wanted)

    def test_of_sha256(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "--quiet", "-b", "main", "--object-format=sha256", "r")
        wanted = commit(tmp_path / "r")
        assert len(wanted) == 64
        assert project.head(opened(tmp_path / "r")) == Head("main", wanted)

    def test_that_is_a_symbolic_link(self, workspace: Path) -> None:
        wanted = commit(workspace)
        (workspace / ".git/HEAD").unlink()
        (workspace / ".git/HEAD").symlink_to("refs/heads/main")
        assert project.head(opened(workspace)) == Head("main", wanted)

    def test_of_a_symbolic_ref(self, workspace: Path) -> None:
        wanted = commit(workspace)
        git(workspace, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
        git(workspace, "symbolic-ref", "HEAD", "refs/heads/alias")
        assert project.head(opened(workspace)) == Head("alias", wanted)

    def test_of_a_reftable_is_unknown(self, workspace: Path) -> None:
        (workspace / ".git/HEAD").write_text("ref: refs/heads/.invalid\n")
        assert project.head(opened(workspace)) == Head()

    @pytest.mark.parametrize(
        "content", [b"", b"\0", b"ref: ", b"ref: refs/../../../x", b"ref: refs/heads/a\0b", b"zz"]
    )
    def test_of_nonsense_has_no_commit(self, workspace: Path, content: bytes) -> None:
        (workspace / ".git/HEAD").write_bytes(content)
        assert project.head(opened(workspace)).commit is None

    def test_that_is_a_fifo_has_no_commit(self, workspace: Path) -> None:
        (workspace / ".git/HEAD").unlink()
        os.mkfifo(workspace / ".git/HEAD")
        assert project.head(opened(workspace)) == Head()


class TestInProgress:
    @pytest.fixture
    def diverged(self, workspace: Path) -> Path:
        """Branches main and side that conflict in ``f``."""
        commit(workspace, "f", "base")
        git(workspace, "checkout", "--quiet", "-b", "side")
        commit(workspace, "f", "side")
        git(workspace, "checkout", "--quiet", "main")
        commit(workspace, "f", "main")
        return workspace

    def test_nothing(self, diverged: Path) -> None:
        git(diverged, "bisect", "start")
        assert project.in_progress(opened(diverged)) is None

    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            (("merge", "side"), "merge"),
            (("rebase", "side"), "rebase"),
            (("rebase", "--apply", "side"), "rebase"),
            (("cherry-pick", "side"), "cherry-pick"),
            (("revert", "--no-edit", "HEAD^"), "revert"),
        ],
    )
    def test_a_conflict(self, diverged: Path, call: tuple[str, ...], expected: str) -> None:
        fails(diverged, *call)
        assert project.in_progress(opened(diverged)) == expected

    def test_the_middle_of_a_series(self, diverged: Path) -> None:
        git(diverged, "checkout", "--quiet", "side")
        commit(diverged, "g")
        git(diverged, "checkout", "--quiet", "main")
        fails(diverged, "cherry-pick", "side^", "side")
        (diverged / "f").write_text("both")
        git(diverged, "commit", "--quiet", "--all", "--message", "both")
        assert not (diverged / ".git/CHERRY_PICK_HEAD").exists()
        assert project.in_progress(opened(diverged)) == "cherry-pick"


class TestTracked:
    def test_names_of_a_plain_and_a_split_index(self, workspace: Path) -> None:
        commit(workspace, "a")
        assert project.read_tracked(opened(workspace)) == [b"a"]
        git(workspace, "update-index", "--split-index")
        commit(workspace, "b")
        assert list((workspace / ".git").glob("sharedindex.*"))
        assert project.read_tracked(opened(workspace)) == [b"a", b"b"]

    def test_names_of_a_linked_worktree_are_its_own(self, workspace: Path, tmp_path: Path) -> None:
        commit(workspace, "a")
        git(workspace, "worktree", "add", "--quiet", str(tmp_path / "linked"))
        commit(workspace, "b")
        assert project.read_tracked(opened(tmp_path / "linked")) == [b"a"]

    def test_none_without_a_readable_index(self, workspace: Path) -> None:
        found = opened(workspace)
        assert project.read_tracked(found) == []
        assert project.index_signature(found) is None
        index = Path(os.fsdecode(project.index_file(found)))
        for odd in (b"", b"DIRC damaged"):
            index.write_bytes(odd)
            assert project.read_tracked(found) is None
        index.unlink()
        os.mkfifo(index)
        assert project.read_tracked(found) is None

    def test_the_signature_changes_with_the_index(self, workspace: Path) -> None:
        commit(workspace, "a")
        before = project.index_signature(opened(workspace))
        assert before == project.index_signature(opened(workspace))
        commit(workspace, "b")
        assert project.index_signature(opened(workspace)) != before


def test_exclude_info_is_that_of_the_common_directory(workspace: Path, tmp_path: Path) -> None:
    commit(workspace)
    git(workspace, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    (workspace / ".git/info/exclude").write_bytes(b"one\xff\n")
    assert project.exclude_info(opened(workspace)) == b"one\xff\n"
    assert project.exclude_info(opened(tmp_path / "linked")) == b"one\xff\n"
    (workspace / ".git/info/exclude").unlink()
    assert project.exclude_info(opened(workspace)) == b""
