"""A program that a model plants in the project is never run by takeback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import takeback
from takeback.adapters import launcher
from tests.support.agent import usual_agent
from tests.support.cli import Cli

PLUGIN = Path(takeback.__file__).parent / "integrations" / "claude" / "hooks" / "hooks.json"


def plant(directory: Path, name: str, witness: Path) -> Path:
    """Puts a program there that leaves a witness and then does what it is called for."""
    real = shutil.which(name)
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / name
    program.write_text(f'#!/bin/sh\ntouch "{witness}"\nexec "{real}" "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture
def witness(tmp_path: Path) -> Path:
    return tmp_path / "witness"


@pytest.fixture
def planted(workspace: Path, witness: Path) -> dict[str, str]:
    """The PATH of a project's own environment, with a git in it."""
    folder = plant(workspace / ".venv" / "bin", "git", witness).parent
    (workspace / "name.that.git.is.asked.about").write_text("x")
    (workspace / ".gitignore").write_text(".venv/\nname.*\n")
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def prompt(workspace: Path) -> bytes:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(workspace)}
    return json.dumps({**event, "prompt": "p", "transcript_path": ""}).encode()


def test_commands_run_no_git_of_the_workspace(
    cli: Cli, planted: dict[str, str], witness: Path
) -> None:
    for command in (["checkpoint"], ["log"], ["diff", "@"], ["status"], ["doctor"], ["verify"]):
        cli.run(*command, env=planted)
        assert not witness.exists(), command


def test_hooks_run_no_git_of_the_workspace(
    cli: Cli, workspace: Path, planted: dict[str, str], witness: Path, tmp_path: Path
) -> None:
    hook = launcher.write_launcher(os.environ["TAKEBACK_HOME"])
    for number in range(3):  # by the hook itself, then by the standby
        (workspace / f"name.{number}").write_text("x")
        env = {**os.environ, **planted}
        usual_agent().run(
            [hook, "claude"], input=prompt(workspace), cwd=workspace, env=env, check=True
        )
        assert not witness.exists()
    assert len(cli.ok("--json", "log").json_lines) == 3


def test_a_link_in_path_to_the_workspace_is_seen_through(
    cli: Cli, workspace: Path, planted: dict[str, str], witness: Path, tmp_path: Path
) -> None:
    (tmp_path / "bin").symlink_to(workspace / ".venv" / "bin")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "git").symlink_to(workspace / ".venv" / "bin" / "git")
    for folder in ("bin", "linked"):
        cli.ok("checkpoint", env={"PATH": f"{tmp_path / folder}:{os.environ['PATH']}"})
        assert not witness.exists(), folder


def test_git_of_another_workspace_is_not_run(cli: Cli, witness: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    Cli(other).ok("checkpoint")
    folder = plant(other / "node_modules" / ".bin", "git", witness).parent
    cli.ok("checkpoint", env={"PATH": f"{folder}:{os.environ['PATH']}"})
    assert not witness.exists()


def test_git_that_others_may_write_is_not_run(cli: Cli, witness: Path, tmp_path: Path) -> None:
    folder = plant(tmp_path / "shared", "git", witness).parent
    folder.chmod(0o777)
    alone = cli.run("--json", "checkpoint", env={"PATH": str(folder)})
    assert alone.status == 20
    assert "others may write it" in alone.error["message"]
    cli.ok("checkpoint", env={"PATH": f"{folder}:{os.environ['PATH']}"})
    assert not witness.exists()


def test_init_records_git_and_hooks_run_that_one(cli: Cli, workspace: Path, tmp_path: Path) -> None:
    recorded, later = tmp_path / "recorded-ran", tmp_path / "later-ran"
    first = plant(tmp_path / "tools", "git", recorded).parent
    (tmp_path / "home" / ".claude").mkdir()
    cli.ok("init", "claude", "--yes", env={"PATH": f"{first}:{os.environ['PATH']}"})
    second = plant(tmp_path / "elsewhere", "git", later).parent
    (workspace / ".gitignore").write_text("*.o\n")
    (workspace / "a.o").write_text("x")
    cli.ok("checkpoint", env={"PATH": f"{second}:{os.environ['PATH']}"})
    assert recorded.exists()
    assert not later.exists()


def test_init_from_a_projects_own_environment_is_refused(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    source = Path(takeback.__file__).parent
    shutil.copytree(source, workspace / "lib" / "takeback")
    (tmp_path / "home" / ".claude").mkdir()
    refused = subprocess.run(
        [sys.executable, "-m", "takeback", "--json", "init", "claude", "--yes"],
        cwd=workspace,
        env={**os.environ, "PYTHONPATH": str(workspace / "lib")},
        capture_output=True,
        check=False,
    )
    error = json.loads(refused.stderr.splitlines()[-1])
    assert refused.returncode == 13
    assert str(workspace) in error["message"]
    assert "uv tool install takeback" in error["hint"]
    assert not (tmp_path / "home" / ".claude" / "settings.json").exists()


def test_doctor_names_hooks_that_run_a_takeback_of_a_workspace(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "home" / ".claude").mkdir()
    cli.ok("init", "claude", "--yes")
    cli.ok("checkpoint")
    shutil.copytree(Path(takeback.__file__).parent, workspace / "lib" / "takeback")
    record = Path(os.environ["TAKEBACK_HOME"], "bin", "takeback.path")
    record.write_text(f"{sys.executable}\n{workspace / 'lib'}\n")
    found = cli.run("--json", "doctor").json_lines
    said = [one["message"] for one in found if one.get("state") == "broken"]
    assert any(f"inside the project {workspace}" in message for message in said)


@pytest.mark.parametrize("variable", ["PWD", "CLAUDE_PROJECT_DIR"])
def test_the_plugin_runs_no_takeback_of_the_project(
    workspace: Path, tmp_path: Path, witness: Path, variable: str
) -> None:
    folder = plant(workspace / ".venv" / "bin", "takeback", witness).parent
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    hooks = json.loads(PLUGIN.read_text())["hooks"]
    for command in (h["command"] for event in hooks.values() for e in event for h in e["hooks"]):
        done = usual_agent().run(
            ["sh", "-c", command],
            cwd=workspace if variable == "PWD" else elsewhere,
            env={
                **os.environ,
                "PATH": f"{folder}:/usr/bin:/bin",
                **({variable: str(workspace)} if variable != "PWD" else {}),
            },
            input=b"{}",
        )
        assert done.returncode == 0
        assert not witness.exists()
