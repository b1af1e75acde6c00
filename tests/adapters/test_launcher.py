"""What agents call: it always ends with 0, and an upgrade does not change it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.adapters import launcher
from tests.support.cli import Cli
from tests.support.sealed import end_standby


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """takeback's home, at a path that a shell could trip over."""
    home = tmp_path / "it's a $HOME"
    yield home
    end_standby(home)


@pytest.fixture
def path(home: Path) -> Path:
    return Path(launcher.write_launcher(str(home)))


def called(path: Path, agent: str, payload: bytes, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Calls the launcher as agents do: by a shell, with a command from their settings."""
    return subprocess.run(
        ["sh", "-c", launcher.command_for(agent, str(path.parents[1]))],
        input=payload,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]},
        capture_output=True,
        check=False,
    )


def silent(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_it_records_an_event_in_its_own_home(path: Path, home: Path, workspace: Path) -> None:
    event = {"event": "prompt", "session": "s", "agent": "mine", "prompt": "go"}
    assert silent(called(path, "generic", json.dumps(event).encode(), workspace))
    cli = Cli(workspace, env={"TAKEBACK_HOME": str(home)})
    assert [line["prompt"] for line in cli.ok("--json", "log").json_lines] == ["go"]


def test_it_is_sound_and_names_this_takeback(path: Path, home: Path) -> None:
    assert path == home / "bin" / "hook"
    assert launcher.is_sound(str(home))
    assert launcher.recorded(str(home)) == (sys.executable, launcher.package_directory())


def test_a_second_time_nothing_is_written(path: Path, home: Path) -> None:
    before = {one: one.stat().st_ino for one in (home / "bin").iterdir()}
    launcher.write_launcher(str(home))
    assert {one: one.stat().st_ino for one in (home / "bin").iterdir()} == before


def test_an_upgrade_changes_the_record_and_not_the_launcher(path: Path, home: Path) -> None:
    before = path.stat().st_ino
    (home / "bin" / "takeback.path").write_text("/opt/old/python\n/opt/old\n")
    assert not launcher.is_sound(str(home))
    launcher.write_launcher(str(home))
    assert path.stat().st_ino == before
    assert launcher.is_sound(str(home))


@pytest.mark.parametrize("gone", ["python", "package", "record"])
def test_a_takeback_that_is_gone_stops_no_agent_and_is_told(
    path: Path, home: Path, workspace: Path, gone: str
) -> None:
    record = home / "bin" / "takeback.path"
    python, package = record.read_text().splitlines()
    if gone == "record":
        record.unlink()
    else:
        changed = {"python": f"/none\n{package}\n", "package": f"{python}\n/none\n"}
        record.write_text(changed[gone])
    assert not launcher.is_sound(str(home))
    assert silent(called(path, "claude", b"{}", workspace))
    [line] = (home / "log").read_text().splitlines()
    assert line.endswith("hook claude: the takeback that was set up is gone; run: takeback init")
    cli = Cli(workspace, env={"TAKEBACK_HOME": str(home)})
    cli.ok("checkpoint")
    assert "the takeback that was set up is gone" in cli.ok("status").stdout


def test_a_takeback_that_is_being_upgraded_stops_no_agent_and_is_told(
    path: Path, home: Path, workspace: Path, tmp_path: Path
) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(Path(launcher.package_directory()) / "takeback", torn / "takeback")
    (torn / "takeback" / "hook.py").unlink()
    (home / "bin" / "takeback.path").write_text(f"{sys.executable}\n{torn}\n")
    assert silent(called(path, "claude", b"{}", workspace))
    [line] = (home / "log").read_text().splitlines()
    assert "hook claude: does not run (No module named 'takeback.hook')" in line


@pytest.mark.parametrize("record", ["", "{python}\n{nothing}\n"])
def test_a_log_that_cannot_be_written_stops_no_agent(
    path: Path, home: Path, workspace: Path, tmp_path: Path, record: str
) -> None:
    (tmp_path / "nothing" / "takeback").mkdir(parents=True)
    text = record.format(python=sys.executable, nothing=tmp_path / "nothing")
    (home / "bin" / "takeback.path").write_text(text)
    (home / "log").mkdir()
    assert silent(called(path, "claude", b"{}", workspace))


def test_after_uninstalling_agents_that_run_still_find_it_and_it_does_nothing(
    path: Path, home: Path, workspace: Path
) -> None:
    (home / "workspaces").mkdir()
    for _ in range(2):
        launcher.retire_launcher(str(home))
        assert not launcher.is_sound(str(home))
        assert sorted(home.rglob("*")) == [home / "bin", path, home / "workspaces"]
        assert silent(called(path, "claude", b'{"hook_event_name": "Stop"}', workspace))
    assert not (home / "log").exists()
    assert launcher.is_command(launcher.command_for("claude", str(home)), "claude", "/elsewhere")
    launcher.write_launcher(str(home))
    assert launcher.is_sound(str(home))


def test_where_there_was_none_none_is_left(tmp_path: Path) -> None:
    launcher.retire_launcher(str(tmp_path / "nothing"))
    assert not (tmp_path / "nothing").exists()


def test_a_command_of_ours_is_known_and_another_is_not(path: Path, home: Path) -> None:
    own = launcher.command_for("claude", str(home))
    other = home.parent / "other"
    launcher.write_launcher(str(other))
    theirs = home.parent / "theirs" / "bin" / "hook"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("#!/bin/sh\necho mine\n")

    def is_ours(command: str) -> bool:
        return launcher.is_command(command, "claude", str(home))

    assert is_ours(own)
    assert is_ours(launcher.command_for("claude", str(other)))
    assert is_ours("/gone/takeback/bin/hook claude")
    assert not is_ours(f"{theirs} claude")
    assert not is_ours("/gone/bin/hook claude")
    assert not is_ours(launcher.command_for("codex", str(home)))
    assert not is_ours(f"{own} --fast")
    assert not is_ours("'unfinished")
