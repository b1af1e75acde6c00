"""Runs the real git on a test's own project, as its owner would."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


_empty: list[tuple[str, bytes | None, int]] = []
"""An empty repository as git made it: what is in it, None for a directory, and the modes."""


def new_repository(directory: Path) -> None:
    """Makes an empty git repository on branch main in a directory.

    The first one of a process is made by git, the others are its copies: thousands of tests begin
    with one, and starting git for each would take five times as long.
    """
    if not _empty:
        git(directory, "init", "--quiet", "--initial-branch=main")
        for path in sorted((directory / ".git").rglob("*")):
            content = None if path.is_dir() else path.read_bytes()
            name = path.relative_to(directory).as_posix()
            _empty.append((name, content, path.stat().st_mode & 0o777))
        return
    (directory / ".git").mkdir()
    for name, content, mode in _empty:
        if content is None:
            os.mkdir(directory / name, mode)
            continue
        fd = os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        os.write(fd, content)
        os.close(fd)


def git(directory: Path, *args: str | bytes, stdin: bytes = b"") -> bytes:
    """Returns git's stdout; fails the test with git's stderr when git fails.

    The identity is given to this one call, so that takeback never finds one in the environment.
    """
    done = subprocess.run(
        ["git", *args],
        cwd=directory,
        env=os.environ | _IDENTITY,
        input=stdin,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(
            f"git {args!r} ended with {done.returncode}: {done.stderr.decode(errors='replace')}"
        )
    return done.stdout
