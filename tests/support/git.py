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
