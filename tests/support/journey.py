"""The steps that most conformance tests are made of: checkpoint, change, rewind, compare."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.cli import Answer, Cli
from tests.support.git import git
from tests.support.trees import Entry, differences, git_state, tree_state


def write_files(root: Path, files: Mapping[str, bytes]) -> None:
    """Writes files and the directories they are in."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def shell(root: Path, script: str) -> None:
    """Runs a shell script in a directory; fails the test if any line of it fails."""
    done = subprocess.run(["sh", "-eu", "-c", script], cwd=root, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")


def commit_all(root: Path) -> None:
    """Commits everything that is not ignored to the project's own repository."""
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=all")


def checkpoint(cli: Cli, *args: str, env: Mapping[str, str] | None = None) -> str:
    """Makes a checkpoint and returns its id."""
    made = cli.ok("--json", "checkpoint", *args, env=env).json
    assert isinstance(made["id"], str)
    assert made["id"]
    return made["id"]


def rewind(cli: Cli, to: str, *args: str | bytes, status: int = 0) -> dict[str, Any]:
    """Rewinds without questions and returns the JSON answer; it must end with ``status``."""
    answer = cli.run("--json", "rewind", to, "--yes", *args)
    assert answer.status == status, str(answer)
    return answer.json


def plan(cli: Cli, to: str, *args: str | bytes) -> dict[str, Any]:
    """Returns what a rewind would do."""
    document = cli.ok("--json", "--dry-run", "rewind", to, *args).json
    assert document["type"] == "plan"
    return document


def undo(cli: Cli, *args: str, status: int = 0) -> dict[str, Any]:
    """Takes the last operation back without questions and returns the JSON answer."""
    answer = cli.run("--json", "undo", "--yes", *args)
    assert answer.status == status, str(answer)
    return answer.json


def path_of(item: Mapping[str, Any]) -> bytes:
    """Returns the bytes of a path in a JSON answer."""
    if "path_b64" in item:
        return base64.b64decode(item["path_b64"])
    path: str = item["path"]
    return path.encode()


def paths(items: Iterable[Mapping[str, Any]]) -> set[bytes]:
    """Returns the paths of a list in a JSON answer."""
    return {path_of(item) for item in items}


def reasons(items: Iterable[Mapping[str, Any]]) -> dict[bytes, str]:
    """Returns the reason of each path in ``skipped``, ``not_held`` or ``left_alone``."""
    return {path_of(item): str(item["reason"]) for item in items}


def not_held(cli: Cli, of: str) -> dict[bytes, str]:
    """Returns what a checkpoint names as not held."""
    return reasons(cli.ok("--json", "show", of).json["not_held"])


def log(cli: Cli) -> list[dict[str, Any]]:
    """Returns the checkpoints, newest first."""
    return cli.ok("--json", "log").json_lines


def store_of(cli: Cli) -> Path:
    """Returns the directory of the workspace's store."""
    return Path(cli.ok("--json", "status").json["store"])


def same(before: Mapping[bytes, Entry], after: Mapping[bytes, Entry]) -> None:
    """Fails the test with one line for each path that is not the same."""
    lines = differences(dict(before), dict(after))
    assert not lines, "\n" + "\n".join(lines)


def comes_back(cli: Cli, root: Path, change: Callable[[], object], *flags: str) -> str:
    """Makes a checkpoint, changes things, rewinds: all is as it was. Undo: all is as changed.

    The ``.git`` of ``root`` stays as ``change`` left it. Returns the checkpoint.
    """
    before = tree_state(root)
    at = checkpoint(cli)
    change()
    changed = tree_state(root)
    assert changed != before, "the test changes nothing"
    git_before = git_state(root, identity=True)
    done = rewind(cli, at, *flags)
    assert done["verified"] is True
    same(before, tree_state(root))
    undo(cli, *flags)
    same(changed, tree_state(root))
    same(git_before, git_state(root, identity=True))
    return at


def unbroken(answer: Answer) -> Answer:
    """Fails the test if takeback crashed: status 70, a signal, or a traceback."""
    assert answer.status >= 0, str(answer)
    assert answer.status != 70, str(answer)
    assert "Traceback" not in answer.stderr, str(answer)
    return answer
