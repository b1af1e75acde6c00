"""The transcript in the README is what a person really sees, and the Python in it runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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
    """``...`` stands for any text in a line, and alone on a line for any lines."""
    pattern = "\n".join(
        ".*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".+") for line in expected
    )
    return re.fullmatch(pattern, "\n".join(printed), re.DOTALL) is not None


def test_the_transcript_shows_what_the_commands_print(workspace: Path) -> None:
    for name in ("app.py", "notes.txt", "run.sh"):
        (workspace / name).write_text("mine\n")
    (workspace / "run.sh").chmod(0o755)
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
        printed = done.stdout.splitlines()
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
