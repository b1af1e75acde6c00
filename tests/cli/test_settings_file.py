"""Which file of settings is in force: the person's, whatever variables stand before a command."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.support.cli import Cli

MAY = "agent_may_rewind = true\n"


@pytest.fixture
def connected(cli: Cli, workspace: Path) -> Cli:
    """Connected, with a turn of Claude's that runs."""
    (Path(os.environ["HOME"]) / ".claude").mkdir()
    cli.ok("init", "claude", "--yes")
    (workspace / "a.txt").write_text("1\n")
    hook(cli, workspace, "UserPromptSubmit", prompt="go")
    (workspace / "a.txt").write_text("2\n")
    return cli


def hook(
    cli: Cli, workspace: Path, event: str, env: dict[str, str] | None = None, **more: str
) -> str:
    told = {"hook_event_name": event, "session_id": "s", "cwd": str(workspace), **more}
    return cli.ok("hook", "claude", stdin=json.dumps(told).encode(), env=env).stdout


def written(folder: Path, text: str) -> dict[str, str]:
    """Writes settings of somebody's own; returns the variables that name them."""
    path = folder / "takeback" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return {"XDG_CONFIG_HOME": str(folder)}


MODEL = {"CLAUDE_CODE_SESSION_ID": "s", "CLAUDECODE": "1"}


def test_settings_in_the_workspace_are_refused(connected: Cli, workspace: Path) -> None:
    env = written(workspace / ".cfg", MAY)
    rewind = ("rewind", "turn:1", "--files", "--yes")
    for who in ({}, MODEL):
        answer = connected.run("--json", *rewind, env={**env, **who})
        assert (answer.status, answer.error["code"]) == (2, "settings_unknown"), str(answer)
        assert str(workspace / ".cfg") in answer.error["message"]
    assert (workspace / "a.txt").read_text() == "2\n"


def test_settings_anywhere_else_are_not_the_persons_either(
    connected: Cli, workspace: Path, tmp_path: Path
) -> None:
    env = {**written(tmp_path / "elsewhere", MAY), **MODEL}
    answer = connected.run("--json", "rewind", "turn:1", "--files", "--yes", env=env)
    assert (answer.status, answer.error["code"]) == (13, "refused"), str(answer)
    assert (workspace / "a.txt").read_text() == "2\n"
    said = connected.ok("--json", "config", "agent_may_rewind", env=env).json
    assert said["value"] is False


def test_a_link_to_the_workspace_is_the_workspace(
    connected: Cli, workspace: Path, tmp_path: Path
) -> None:
    written(workspace / ".cfg", MAY)
    (tmp_path / "link").symlink_to(workspace / ".cfg")
    env = {"XDG_CONFIG_HOME": str(tmp_path / "link"), **MODEL}
    assert connected.run("log", env=env).status == 2


def test_before_init_settings_in_a_workspace_are_refused_too(cli: Cli, workspace: Path) -> None:
    env = written(workspace / ".cfg", 'never = ["/**"]\n')
    assert cli.run("checkpoint", env=env).status == 2
    cli.ok("checkpoint")
    (workspace / "deep" / "er").mkdir(parents=True)
    deeper = Cli(workspace / "deep" / "er")
    assert deeper.run("--json", "log", env=env).error["code"] == "settings_unknown"
    other = workspace.parent / "other"
    other.mkdir()
    assert Cli(other).run("--json", "status", env=env).status == 2
    shutil.rmtree(workspace / ".cfg")
    cli.ok("log", env=env)


def test_a_project_cannot_keep_its_events_out_by_settings_of_its_own(
    connected: Cli, workspace: Path
) -> None:
    env = written(workspace / ".cfg", 'never = ["/**"]\ncapture = "off"\n')
    hook(connected, workspace, "Stop")
    hook(connected, workspace, "UserPromptSubmit", prompt="two", env=env)
    assert connected.ok("--json", "log").json_lines[0]["prompt"] == "two"


def test_who_says_init_again_takes_other_settings(
    connected: Cli, workspace: Path, tmp_path: Path
) -> None:
    env = written(tmp_path / "moved", "keep_newest = 7\n")
    told = connected.ok("--json", "status", env=env).json["warnings"]
    assert [one["about"] for one in told] == ["settings"], told
    assert str(tmp_path / "moved") in told[0]["message"]
    hook(connected, workspace, "Stop")
    connected.ok("init", "claude", "--yes", env=env)
    assert connected.ok("--json", "config", "keep_newest").json["value"] == 7
    assert connected.ok("--json", "status", env=env).json["warnings"] == []


def test_init_records_no_settings_of_a_workspace(cli: Cli, workspace: Path) -> None:
    env = written(workspace / ".cfg", MAY)
    cli.ok("checkpoint")
    assert cli.run("init", "claude", "--yes", env=env).status == 2


def test_uninstall_leaves_no_record(connected: Cli) -> None:
    record = Path(os.environ["TAKEBACK_HOME"], "bin", "settings.path")
    assert record.read_text() == f"{os.environ['XDG_CONFIG_HOME']}/takeback/config.toml\n"
    hook(connected, connected.directory, "Stop")
    connected.ok("uninstall", "--yes")
    assert not record.exists()
