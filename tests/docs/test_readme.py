"""The transcript in the README is what a person really sees, and the Python in it runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.cli import Cli
from tests.support.host import Host
from tests.support.journey import write_files

# The alphabet of ids has no i, l, o and u: no word of the transcript has twelve letters of it.
_ID = re.compile(r"\b[a-hjkmnp-tv-z][a-hjkmnp-tv-z2-9]{11}\b")
_README = (Path(__file__).parents[2] / "README.md").read_text()


def _block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", _README, re.DOTALL)
    assert found is not None
    return found.group(1)


def _transcript() -> list[tuple[str, list[str]]]:
    """Returns each command with the lines that the README says it prints."""
    steps: list[tuple[str, list[str]]] = []
    for line in _block("console").splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    return steps


def _matches(expected: list[str], printed: list[str]) -> bool:
    """``...`` stands for any text in a line, and alone on a line for any lines.

    Ids are new in each run: one stands for any other.
    """
    pattern = "\n".join(
        ".*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".+") for line in expected
    )
    pattern = _ID.sub("[a-z2-9]{12}", pattern)
    pattern = re.sub(r"s1\\\.[0-9a-f]{8}", r"s1\\.[0-9a-f]{8}", pattern)
    return re.fullmatch(pattern, "\n".join(printed), re.DOTALL) is not None


def _story(workspace: Path, tmp_path: Path) -> None:
    """Plays the two turns that the README is about."""
    host = Host(Cli(workspace), tmp_path)
    write_files(workspace, {"app.py": b"mine\n", "notes.txt": b"mine\n", "run.sh": b"mine\n"})
    host.prompt("add a start script")
    write_files(workspace, {"run.sh": b"#!/bin/sh\n"})
    (workspace / "run.sh").chmod(0o755)
    host.end()
    host.prompt("clean up the project")
    (workspace / "run.sh").chmod(0o600)
    (workspace / "notes.txt").unlink()
    write_files(workspace, {"app.py": b"oops\n", "build/out": b"x\n"})
    host.end()


def test_the_transcript_shows_what_the_commands_print(workspace: Path, tmp_path: Path) -> None:
    _story(workspace, tmp_path)
    program = f'{sys.executable} -P -m takeback "$@"'
    shell = f"takeback() {{ {program}; }}\n"
    for command, expected in _transcript():
        done = subprocess.run(
            ["sh", "-c", shell + command],
            cwd=workspace,
            env=dict(os.environ),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        printed = done.stdout.replace(str(workspace), "~/project").splitlines()
        assert _matches(expected, printed), f"$ {command}\n{done.stdout}{done.stderr}"


def test_the_python_example_runs(workspace: Path) -> None:
    (workspace / "file").write_text("before\n")
    agent = "def run_my_agent(): open('file', 'w').write('after')\n"
    done = subprocess.run(
        [sys.executable, "-P", "-c", agent + _block("python")],
        cwd=workspace,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (workspace / "file").read_text() == "after"


def test_the_readme_is_short_enough_to_be_read() -> None:
    assert len(_README.splitlines()) <= 150
