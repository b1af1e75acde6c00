"""Mounts of a test's own: a shell script in a mount namespace that nobody else sees."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def in_own_mounts(directory: Path, script: str) -> str:
    """Runs a script that may mount things, as ``$tb`` takeback, and returns its stdout.

    The test is skipped, with what was said, where no such namespace can be made.
    """
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root"]
    try:
        probe = subprocess.run(
            [*unshare, "sh", "-c", "mount --bind . ."], cwd=directory, capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare(1) here, so nothing can be mounted for a test")
    if probe.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {probe.stderr.decode(errors='replace').strip()}")
    done = subprocess.run(
        [*unshare, "sh", "-eu", "-c", f'tb() {{ "{sys.executable}" -m takeback "$@"; }}\n{script}'],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
