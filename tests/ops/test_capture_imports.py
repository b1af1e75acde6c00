"""What a checkpoint with nothing new imports: every module here is paid for at every hook."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.engine import settle

CHECKPOINT = "from takeback import Takeback; Takeback.open('.').checkpoint()"

GOLDEN = [
    "__future__",
    "_bisect",
    "_json",
    "_operator",
    "_sha1",
    "_struct",
    "bisect",
    "encodings.ascii",
    "errno",
    "fcntl",
    "gc",
    "operator",
    "struct",
    "zlib",
]
"""Modules beyond those of bare Python 3.11. A longer list is a slower hook: think twice."""

TOO_SLOW = [
    "asyncio",
    "click",
    "collections",
    "ctypes",
    "dataclasses",
    "datetime",
    "hashlib",
    "inspect",
    "json",
    "logging",
    "pathlib",
    "re",
    "rich",
    "shutil",
    "sqlite3",
    "subprocess",
    "tempfile",
    "threading",
    "tomllib",
    "typing",
]


def imported(workspace: Path, program: str) -> set[str]:
    """Runs a program in the workspace and returns all modules that it imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-I", "-c", program],
        cwd=workspace,
        env=os.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines[1:]}


@pytest.fixture
def modules(workspace: Path) -> list[str]:
    """What a capture imports beyond bare Python, takeback itself left out."""
    (workspace / "a").write_text("x")
    settle()
    for _ in range(2):  # makes the store, then notes the identity of the workspace in it
        imported(workspace, CHECKPOINT)
    beyond = imported(workspace, CHECKPOINT) - imported(workspace, "pass")
    assert "takeback.ops.capture" in beyond
    return sorted(name for name in beyond if name.partition(".")[0] != "takeback")


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the list is that of Python 3.11")
def test_a_checkpoint_with_nothing_new_imports_exactly_this(modules: list[str]) -> None:
    assert modules == GOLDEN


def test_a_checkpoint_imports_nothing_slow_and_only_the_standard_library(
    modules: list[str],
) -> None:
    tops = {name.partition(".")[0] for name in modules}
    assert tops.isdisjoint(TOO_SLOW)
    assert tops <= sys.stdlib_module_names
