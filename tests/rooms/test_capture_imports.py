"""What a checkpoint with nothing new imports: every module here is paid for at every hook."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.agent import usual_agent
from tests.support.engine import settle

CHECKPOINT = "from takeback import Takeback; Takeback.open('.').checkpoint()"
HOOK = "from takeback.hook import main; main(['generic'])"

GOLDEN = [
    "__future__",
    "_bisect",
    "_collections",
    "_json",
    "_operator",
    "_sha1",
    "_struct",
    "encodings.ascii",
    "errno",
    "fcntl",
    "gc",
    "struct",
    "zlib",
]
"""Modules beyond those of bare Python, of every version. A longer list is a slower hook."""

GOLDEN_OF_A_HOOK = {*GOLDEN, "encodings.latin_1"}
"""What an event may import at most: it looks up who tells it."""

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


def imported(workspace: Path, program: str, stdin: str = "") -> set[str]:
    """Has an agent run a program in the workspace and returns all modules that it imports."""
    words = [sys.executable, "-X", "importtime", "-I", "-c", program]
    done = usual_agent().run(words, cwd=workspace, input=stdin.encode(), check=True)
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines[1:]}


@pytest.fixture
def modules(workspace: Path) -> list[str]:
    """What a capture imports beyond bare Python, takeback itself left out."""
    (workspace / "a").write_text("x")
    settle()
    for _ in range(2):  # makes the store, then notes the identity of the workspace in it
        imported(workspace, CHECKPOINT)
    beyond = imported(workspace, CHECKPOINT) - imported(workspace, "pass")
    assert "takeback.capture.capture" in beyond
    return sorted(name for name in beyond if name.partition(".")[0] != "takeback")


def test_a_checkpoint_with_nothing_new_imports_exactly_this(modules: list[str]) -> None:
    assert modules == GOLDEN


def test_a_checkpoint_imports_nothing_slow_and_only_the_standard_library(
    modules: list[str],
) -> None:
    tops = {name.partition(".")[0] for name in modules}
    assert tops.isdisjoint(TOO_SLOW)
    assert tops <= sys.stdlib_module_names


@pytest.fixture(params=["prompt", "turn_end", "tool_before"])
def modules_of_a_hook(workspace: Path, request: pytest.FixtureRequest) -> set[str]:
    """What one event of an agent imports beyond bare Python, takeback itself left out."""
    (workspace / "a").write_text("x")
    transcript = workspace / "t.jsonl"
    transcript.write_text('{"role": "user"}\n' * 5000)
    settle()

    def event(kind: str, turn: int) -> str:
        tools = [{"name": "Edit", "kind": "edit", "paths": ["a"]}]
        told = {"event": kind, "session": "s1", "agent": "mine", "turn": str(turn), "prompt": "x"}
        return json.dumps({**told, "transcript": str(transcript), "tools": tools})

    for kind in ("session_start", "prompt", "turn_end", "prompt"):
        imported(workspace, HOOK, event(kind, 2))
    turn = 3 if request.param == "prompt" else 2
    beyond = imported(workspace, HOOK, event(request.param, turn)) - imported(workspace, "pass")
    assert "takeback.turns.receive" in beyond
    log = Path(os.environ["TAKEBACK_HOME"], "log")
    assert not log.exists(), log.read_text()
    return {name for name in beyond if name.partition(".")[0] != "takeback"}


def test_a_hook_imports_no_more_than_this(modules_of_a_hook: set[str]) -> None:
    assert modules_of_a_hook <= GOLDEN_OF_A_HOOK


def test_a_hook_imports_nothing_slow_and_only_the_standard_library(
    modules_of_a_hook: set[str],
) -> None:
    tops = {name.partition(".")[0] for name in modules_of_a_hook}
    assert tops.isdisjoint(TOO_SLOW)
    assert tops <= sys.stdlib_module_names


def test_status_imports_nothing_that_only_maintenance_needs(workspace: Path) -> None:
    found = imported(workspace, "import takeback.timeline.look")
    parts = ("retention.prune", "retention.sweep", "retention.shed", "check.check")
    assert "takeback.timeline.look" in found
    assert found & {f"takeback.{name}" for name in parts} == set()
