"""The examples for frameworks: each runs as it is, and a rewind brings back files and messages.

That for the Claude Agent SDK is in tests/agents, with the real Claude Code.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.git import new_repository
from tests.support.pypi import with_packages

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
OFFLINE = ["langgraph", "mini_swe_agent", "openai_agents", "pydantic_ai"]
OURS = re.compile(r"\b(takeback|tb|turn|session|ToolCall|heard|note|HOOKS)\b", re.I)
"""What takeback brings into an example."""
LINES_AT_MOST = 10


def run(
    workspace: Path, packages: Path, program: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(program), *words],
        cwd=workspace,
        env=with_packages({**os.environ, "MSWEA_SILENT_STARTUP": "1"}, packages),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("name", OFFLINE)
def test_a_rewind_brings_back_files_and_messages_and_two_tasks_run_at_once(
    name: str, workspace: Path, from_pypi: Callable[[str], Path]
) -> None:
    packages = from_pypi("frameworks")
    done = run(workspace, packages, Path(__file__).parent / "drive.py", str(EXAMPLES / name))
    assert (done.returncode, done.stdout, done.stderr) == (0, "all of it\n", "")


@pytest.mark.long
@pytest.mark.parametrize("name", OFFLINE)
def test_the_example_runs_as_it_is(
    name: str, workspace: Path, from_pypi: Callable[[str], Path]
) -> None:
    repositories = ["one", "two"] if name == "mini_swe_agent" else []
    for repository in repositories:
        (workspace / repository).mkdir()
        new_repository(workspace / repository)
    packages = from_pypi("frameworks")
    done = run(workspace, packages, EXAMPLES / name / "agent.py", *repositories)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(re.findall(r"a\.txt: (.)", done.stdout)) == {"1"}
    assert {file.read_text() for file in workspace.rglob("a.txt")} == {"3"}


@pytest.mark.parametrize("name", [*OFFLINE, "claude_agent_sdk"])
def test_it_takes_few_lines_on_top_of_the_framework(name: str) -> None:
    source = (EXAMPLES / name / "agent.py").read_text()
    body = re.sub(r'"""(.|\n)*?"""', "", re.split(r"(?m)^(?:async def main|def work)\b", source)[0])
    ours = [line for line in body.splitlines() if OURS.search(line)]
    assert 5 < len(ours) <= LINES_AT_MOST, ours
