"""A store that somebody wrote to: its trees are read as hostile."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.cli import Cli
from tests.support.trees import git_state


class Tampered:
    """A workspace whose newest checkpoint names a tree that takeback never wrote."""

    def __init__(self, cli: Cli, workspace: Path) -> None:
        (workspace / "a.txt").write_text("a\n")
        cli.ok("checkpoint", "-m", "sound")
        [self.store] = Path(os.environ["TAKEBACK_HOME"]).glob("workspaces/*/*/store.git")
        self.blob = self.git("hash-object", "-w", "--stdin", stdin=b"#!/bin/sh\ntouch ran\n")

    def git(self, *args: str, stdin: bytes = b"") -> str:
        argv = ["git", "-C", str(self.store), *args]
        done = subprocess.run(argv, input=stdin, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def tree(self, *rows: tuple[str, str, str]) -> str:
        kinds = {"40": "tree", "10": "blob"}
        lines = [f"{mode} {kinds[mode[:2]]} {oid}\t{name}" for mode, name, oid in rows]
        return self.git("mktree", stdin="\n".join(lines).encode() + b"\n")

    def point_to(self, files: str) -> None:
        """Gives the newest checkpoint other files, as a new tip of its session."""
        [ref] = self.git("for-each-ref", "--format=%(refname)", "refs/takeback/sessions").split()
        listed = self.git("ls-tree", ref).splitlines()
        rows = [
            line if not line.endswith("\tfiles") else f"040000 tree {files}\tfiles"
            for line in listed
        ]
        root = self.git("mktree", stdin="\n".join(rows).encode() + b"\n")
        names = ["-c", "user.name=x", "-c", "user.email=x"]
        commit = self.git(*names, "commit-tree", root, "-m", "tampered")
        self.git("update-ref", ref, commit)


@pytest.fixture
def tampered(cli: Cli, workspace: Path) -> Tampered:
    store = Tampered(cli, workspace)
    hooks = store.tree(("100755", "post-checkout", store.blob))
    inside = store.tree(("40755", "hooks", hooks))
    store.point_to(store.tree(("40755", ".git", inside), ("100644", "a.txt", store.blob)))
    return store


def test_no_dot_git_comes_out_of_a_store(
    cli: Cli, tampered: Tampered, workspace: Path, tmp_path: Path
) -> None:
    before = git_state(workspace)
    fork = cli.run("fork", "@", "--worktree", str(tmp_path / "fork"), "--yes")
    rewind = cli.run("rewind", "@", "--files", "--yes")
    assert 0 not in (fork.status, rewind.status)
    assert not (tmp_path / "fork").exists()
    assert rewind.status == 3  # the rest comes back, and .git is named
    assert git_state(workspace) == before
    for answer in (fork, rewind):
        assert "bug" not in answer.stderr, str(answer)


def test_verify_names_it(cli: Cli, tampered: Tampered) -> None:
    assert cli.run("verify").status != 0
