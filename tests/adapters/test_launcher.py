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
from tests.support.agent import usual_agent
from tests.support.cli import Cli
from tests.support.sealed import end_standby

NATIVE = Path(launcher.package_directory(), "takeback", "native", "built", "hook")


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
    environ = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    words = ["sh", "-c", launcher.command_for(agent, str(path.parents[1]))]
    return usual_agent().run(words, input=payload, cwd=cwd, env=environ)


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


def script_of(path: Path) -> Path:
    """Returns the script that starts Python: beside the native client, or in its place."""
    script = path.with_name("hook.sh")
    return script if script.exists() else path


def test_the_native_client_stands_before_the_script_and_is_known(path: Path, home: Path) -> None:
    script = script_of(path)
    assert script.read_bytes().startswith(b"#!/bin/sh\n# takeback: ")
    if script != path:
        assert path.read_bytes() == NATIVE.read_bytes()
    own = launcher.command_for("claude", str(home))
    assert launcher.is_command(own, "claude", "/elsewhere")


def without(tmp_path: Path, what: str) -> Path:
    """Makes a takeback whose native client is missing, of another machine, or anybody's."""
    place = tmp_path / "other"
    shutil.copytree(Path(launcher.package_directory(), "takeback"), place / "takeback")
    client = place / "takeback" / "native" / "built" / "hook"
    if what == "missing":
        client.unlink(missing_ok=True)
    elif what == "of another machine":
        client.parent.mkdir(exist_ok=True)
        client.write_bytes(b"\x7fELF of another machine")
        client.chmod(0o755)
    elif client.exists():
        client.chmod(0o777)
    return place


@pytest.mark.parametrize("what", ["missing", "of another machine", "anybody's"])
def test_without_a_native_client_that_runs_the_script_takes_its_place(
    path: Path, home: Path, workspace: Path, tmp_path: Path, what: str
) -> None:
    other = without(tmp_path, what)
    program = "import sys; sys.path.insert(0, sys.argv[1]); from takeback.adapters import launcher"
    program += "; print(launcher.write_launcher(sys.argv[2]), launcher.is_sound(sys.argv[2]))"
    command = [sys.executable, "-I", "-c", program, str(other), str(home)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{path} True\n"
    assert path.read_bytes().startswith(b"#!/bin/sh\n")
    assert not path.with_name("hook.sh").exists()
    event = {"event": "prompt", "session": "s", "agent": "mine", "prompt": "go"}
    assert silent(called(path, "generic", json.dumps(event).encode(), workspace))
    cli = Cli(workspace, env={"TAKEBACK_HOME": str(home)})
    assert [line["prompt"] for line in cli.ok("--json", "log").json_lines] == ["go"]


@pytest.mark.parametrize("odd", ["no words", "many words", "an empty word", "a relative path"])
def test_however_it_is_called_no_agent_is_stopped(
    path: Path, home: Path, workspace: Path, odd: str
) -> None:
    words = {"no words": [], "many words": ["generic", "a", "b"], "an empty word": [""]}
    command = [str(path), *words.get(odd, ["generic"])]
    if odd == "a relative path":
        command[0] = os.path.relpath(path, workspace)
    assert silent(usual_agent().run(command, input=b"{}", cwd=workspace))


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
