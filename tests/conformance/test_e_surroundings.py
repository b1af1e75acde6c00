"""Whatever takeback finds around it: it works, or it says what is wrong and what to do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.cli import Cli
from tests.support.journey import write_files
from tests.support.lanes import cases
from tests.support.unprivileged import unprivileged

EVENT = json.dumps({"event": "session_start", "session": "s", "agent": "mine"}).encode()
READING = ("log", "status", "tree", "show one", "cat one a")
LOOKING = ("diff one", "rewind one --files --dry-run", "undo --dry-run")
CHANGING = ("checkpoint", "label @ two", "rewind one --files --yes", "undo --yes")
KEEPING = ("doctor", "verify", "config", "doctor --rebuild")
FINDING = ("doctor", "doctor --rebuild", "verify")
"""What these find is their answer, whatever the status says."""
HOOKS = ("hook generic", "hook generic --stdio")
COMMANDS = (*READING, *LOOKING, *KEEPING, *HOOKS, *CHANGING)

OK, FAILED, USAGE, NO_WORKSPACE = 0, 1, 2, 10


@dataclass(frozen=True, slots=True)
class Inside(Cli):
    """takeback as the last words of another command line."""

    before: tuple[str, ...] = ()

    def argv(self, *args: str | bytes) -> list[str | bytes]:
        return [*self.before, *Cli.argv(self, *args)]


def sh(cli: Cli, script: str, *words: str) -> Inside:
    """Returns takeback started by a shell, which does something first, then by these words."""
    before = ("sh", "-c", f'{script}; exec "$@"', "sh", *words)
    return Inside(cli.directory, cli.env, cli.timeout, before=before)


def mounted(cli: Cli, script: str) -> Inside:
    """Returns takeback in mounts of its own; skips the test where none can be made."""
    before = ("unshare", "--mount", "sh", "-e", "-c", f'{script}; exec "$@"', "sh")
    inside = Inside(cli.directory, cli.env, cli.timeout, before=before)
    tried = subprocess.run([*before, "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no mounts of one's own here: {tried.stderr.decode().strip()}")
    return inside


@pytest.fixture
def used(cli: Cli, workspace: Path) -> Cli:
    """A workspace with a checkpoint, a rewind that can be undone, and edits since."""
    write_files(workspace, {"a": b"1\n", "d/b": b"1\n"})
    cli.ok("checkpoint", "-m", "one")
    write_files(workspace, {"a": b"2\n"})
    cli.ok("rewind", "one", "--files", "--yes")
    write_files(workspace, {"a": b"3\n", "new": b"x\n"})
    return cli


def spoken(command: str) -> tuple[list[str], bytes]:
    stdin = EVENT
    if command.endswith("--stdio"):
        stdin = json.dumps({"id": 1, "call": "event", "event": json.loads(EVENT)}).encode() + b"\n"
    return ["--json", *command.split()] if "hook" not in command else command.split(), stdin


def statuses(cli: Cli, commands: tuple[str, ...] = COMMANDS) -> dict[str, int]:
    """Runs commands; each ends as documented, and if it failed says what to do about it."""
    found = {}
    for command in commands:
        words, stdin = spoken(command)
        answer = cli.run(*words, stdin=stdin)
        said = answer.stdout + answer.stderr
        assert "Traceback" not in said, str(answer)
        assert "bug" not in said, str(answer)
        if answer.status != OK and command not in FINDING:
            assert answer.error["exit"] == answer.status, str(answer)
            assert answer.error["hint"], str(answer)
        found[command] = answer.status
    return found


def all_of(status: int, *commands: tuple[str, ...]) -> dict[str, int]:
    return {command: status for group in commands for command in group}


def failures(cli: Cli) -> list[str]:
    found = cli.ok("--json", "status").json["failures"]
    assert isinstance(found, list)
    return found


# -- a disk that takes nothing


def store_home() -> str:
    return os.environ["TAKEBACK_HOME"]


def read_only_mount(cli: Cli) -> Cli:
    home = store_home()
    return mounted(cli, f"mount --bind {home} {home}; mount -o remount,ro,bind {home}")


def read_only_files(cli: Cli) -> Cli:
    for place, _, names in os.walk(store_home()):
        for name in names:
            Path(place, name).chmod(0o400)
        Path(place).chmod(0o500)
    return unprivileged(cli)


def full_disk(cli: Cli) -> Cli:
    home, copy = store_home(), store_home() + ".copy"
    shutil.copytree(home, copy, symlinks=True)
    return mounted(
        cli,
        f"mount -t tmpfs -o size=4m none {home}; cp -a {copy}/. {home}/; "
        f"dd if=/dev/zero of={home}/filler bs=4k >/dev/null 2>&1 || true",
    )


@pytest.fixture(
    params=[read_only_mount, pytest.param(read_only_files, marks=pytest.mark.long), full_disk]
)
def stuck(used: Cli, request: pytest.FixtureRequest) -> Iterator[Cli]:
    make: Callable[[Cli], Cli] = request.param
    yield make(used)
    for place, _, _ in os.walk(store_home()):
        Path(place).chmod(0o700)


def test_a_store_that_cannot_be_written(stuck: Cli, workspace: Path) -> None:
    before = {p: p.read_bytes() for p in workspace.rglob("*") if p.is_file()}
    found = statuses(stuck)
    kept = {command: found.pop(command) for command in KEEPING}
    assert found == all_of(OK, READING, HOOKS) | all_of(FAILED, LOOKING, CHANGING)
    assert set(kept.values()) <= {OK, FAILED}
    assert {p: p.read_bytes() for p in workspace.rglob("*") if p.is_file()} == before


@pytest.mark.long
def test_a_home_in_which_no_store_can_be_made(cli: Cli, workspace: Path) -> None:
    Path(store_home()).mkdir(mode=0o500)
    found = statuses(unprivileged(cli))
    assert found["checkpoint"] == FAILED
    assert found["log"] == NO_WORKSPACE
    assert all_of(OK, HOOKS).items() <= found.items()
    assert set(found.values()) <= {OK, FAILED, NO_WORKSPACE}


# -- an answer that nobody takes


def test_an_answer_that_does_not_fit_on_the_disk_is_told(used: Cli) -> None:
    full = sh(used, "exec > /dev/full")
    assert statuses(full) == all_of(FAILED, READING, LOOKING, KEEPING, CHANGING) | all_of(OK, HOOKS)
    for words in (["log"], ["--help"], ["rewind", "--help"], ["--version"], ["completion", "bash"]):
        answer = full.run(*words)
        assert answer.status == FAILED, str(answer)
        assert "Hint:" in answer.stderr
        assert "bug" not in answer.stderr


@cases("closed", ["exec <&- >&- 2>&-", "exec >&-", "exec 2>&-", "exec <&-"], each=4)
def test_streams_that_are_closed(used: Cli, closed: str) -> None:
    assert set(statuses(sh(used, closed)).values()) == {OK}


# -- masks


@cases("mask", ["0777", "0000", "0177", "0277"], each=4)
def test_a_mask_at_first_use_is_not_that_of_the_store(cli: Cli, workspace: Path, mask: str) -> None:
    write_files(workspace, {"a": b"1\n"})
    plain = unprivileged(cli)
    words = [str(word) for word in plain.argv()[:-3]]
    first = sh(cli, f"umask {mask}", *words)
    assert set(statuses(first, ("hook generic", "checkpoint -m one")).values()) == {OK}
    write_files(workspace, {"a": b"2\n"})
    assert set(statuses(first, ("rewind one --files --yes",)).values()) == {OK}
    assert (workspace / "a").read_bytes() == b"1\n"
    assert set(statuses(plain).values()) == {OK}
    for place, _, names in os.walk(store_home()):
        assert Path(place).stat().st_mode & 0o500 == 0o500, place
        for name in names:
            assert Path(place, name).lstat().st_mode & 0o400, (place, name)
    assert Path(store_home()).stat().st_mode & 0o777 == 0o700
    assert failures(cli) == []


# -- places that are none


def test_a_relative_home_is_refused_since_it_would_follow_the_directory(
    used: Cli, workspace: Path
) -> None:
    found = statuses(Cli(workspace, env={"TAKEBACK_HOME": "stores"}))
    assert found == {c: OK if "hook" in c else USAGE for c in COMMANDS}
    assert not (workspace / "stores").exists()
    default = Cli(workspace, env={"TAKEBACK_HOME": ""})
    default.ok("checkpoint")
    lines = failures(default)
    assert any("TAKEBACK_HOME must be an absolute path" in line for line in lines)


@pytest.mark.parametrize("home", ["", "relative", "/nonexistent/home"])
def test_a_home_directory_that_is_none(workspace: Path, tmp_path: Path, home: str) -> None:
    environ = {"HOME": home, "XDG_DATA_HOME": str(tmp_path / "data"), "TAKEBACK_HOME": ""}
    cli = Cli(workspace, env={**environ, "XDG_CONFIG_HOME": "relative"})
    write_files(workspace, {"a": b"1\n"})
    commands = tuple(command for command in COMMANDS if "undo" not in command)
    assert set(statuses(cli, ("checkpoint -m one", *commands)).values()) == {OK}
    assert sorted(os.listdir(workspace)) == [".git", "a"]


def test_nobody_without_a_home_is_told_what_to_set(cli: Cli, workspace: Path) -> None:
    """A container's user: no HOME, and no line in the password file."""
    before = ("unshare", "--user", "--map-user=54321")
    tried = subprocess.run([*before, "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"nobody else can be played here: {tried.stderr.decode().strip()}")
    environ = {"HOME": "", "TAKEBACK_HOME": "", "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
    stranger = Inside(workspace, env=environ, before=before)
    found = statuses(stranger)
    assert found == {c: OK if "hook" in c else USAGE for c in COMMANDS}
    assert sorted(os.listdir(workspace)) == [".git"]
