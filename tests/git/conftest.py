"""A real store, and real git on it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.git import process
from takeback.git.process import Git, find_git


@pytest.fixture
def program() -> str:
    return find_git(os.environ)


@pytest.fixture
def git(tmp_path: Path, program: str) -> Git:
    """git on a new, empty store."""
    git_dir = str(tmp_path / "store.git")
    made = Git(program, git_dir)
    process.init(git_dir)
    return made
