"""Makes a directory a linked worktree of the project: the only time that git runs in the project.

It is done only when a person asks for it. git makes a worktree without files at a temporary place,
in a directory of the same name as the real one, since git names its record after it; the pointer
``.git`` is moved from there into the directory that a fork has filled, and git is told. The
project's HEAD, index, refs, configuration and objects stay as they are: only ``worktrees/NAME`` is
new. No hook, filter or monitor of the project runs, and nothing is fetched.
"""

from __future__ import annotations

import os

from takeback import durable
from takeback.errors import GitFailed
from takeback.git.process import Git
from takeback.ordinary import ordinary

_PATIENCE = 120.0


class LinkedWorktree:
    """A worktree to be made at ``commit``; ``git_dir`` is the git directory of the project."""

    def __init__(self, program: str, git_dir: str, commit: str) -> None:
        self._program = program
        self._git = Git(program, git_dir)
        self.commit = commit

    @classmethod
    def at(cls, program: str, git_dir: str, *wanted: str | None) -> LinkedWorktree | None:
        """Returns one at the first commit that the project has; None if it has none of them."""
        git = Git(program, git_dir)
        for name in wanted:
            if name is None or name.startswith("-"):
                continue
            try:
                found = git.run(["rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"])
            except GitFailed:
                continue
            return cls(program, git_dir, found.decode("ascii", "replace").strip())
        return None

    def attach(self, directory: str, temporary: str) -> None:
        """Gives a directory its ``.git``; raises GitFailed, TimedOut or OSError.

        ``temporary`` is an unused name beside the directory.
        """
        parent, name = os.path.split(directory)
        beside = os.path.join(temporary, name)
        durable.mkdir(temporary)
        try:
            self._run("worktree", "add", "--no-checkout", "--detach", beside, self.commit)
            try:
                durable.rename(os.path.join(beside, ".git"), os.path.join(directory, ".git"))
            except OSError:
                self._run("worktree", "remove", "--force", beside)
                raise
            durable.rmdir(beside)
        finally:
            durable.rmdir(temporary)
        durable.sync_directory(parent)
        self._run("worktree", "repair", directory)
        # The files are those of the checkpoint: what differs from the commit is shown as changed.
        Git(self._program, self._record(directory)).run(
            ["read-tree", self.commit], work_tree=directory, timeout=_PATIENCE
        )

    def _run(self, *words: str) -> None:
        self._git.run(words, timeout=_PATIENCE)

    @staticmethod
    def _record(directory: str) -> str:
        """Returns the project's record of the worktree, to which its pointer leads."""
        with open(os.path.join(directory, ".git"), "rb", opener=ordinary) as file:
            pointer = os.fsdecode(file.read().removeprefix(b"gitdir: ").rstrip(b"\n"))
        return os.path.realpath(os.path.join(directory, pointer))
