"""``doctor`` says which version of an agent was tested, and which is installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.app.checkup import installed_version
from takeback.app.connect import connection_named
from tests.support.cli import Cli

TESTED = connection_named("claude").capabilities.tested
PACKAGE = "lib/node_modules/@anthropic-ai/claude-code"


def put(path: Path, text: str = "#!/bin/sh\ntouch ran\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def doctor(cli: Cli, path: Path) -> list[str]:
    """Returns what is said of Claude Code, which is found in ``path``."""
    cli.run("init", "claude", "--yes")
    found = cli.run("--json", "doctor", env={"PATH": f"{path}:{os.environ['PATH']}"}).json_lines
    assert not [one for one in found if one["state"] == "broken" and one["about"] == "Claude Code"]
    return [one["message"] for one in found if one["about"] == "Claude Code"][1:]


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (TESTED, f"{TESTED} is installed, which this takeback was tested with"),
        ("99.1.0-beta", f"99.1.0 is installed, newer than {TESTED}, which was tested"),
        ("0.9.10", f"0.9.10 is installed, older than {TESTED}, which was tested"),
        ("\\u001b[2J", f"{TESTED} was tested; which version is installed is not known"),
    ],
)
def test_the_version_is_read_from_its_package_and_the_program_is_not_run(
    cli: Cli, tmp_path: Path, version: str, said: str
) -> None:
    real = put(tmp_path / PACKAGE / "bin" / "claude.exe")
    put(tmp_path / PACKAGE / "package.json", f'{{"name": "x", "version": "{version}"}}')
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(real)
    assert doctor(cli, tmp_path / "bin") == [said]
    assert not list(tmp_path.rglob("ran"))


def test_a_program_that_a_workspace_has_is_passed_over(cli: Cli) -> None:
    cli.ok("checkpoint", "--allow-large")
    put(cli.directory / "node_modules" / ".bin" / "claude")
    [said] = doctor(cli, cli.directory / "node_modules" / ".bin")
    assert said.startswith(f"{TESTED} was tested; which version is installed is not known: ")
    assert "it lies in the workspace" in said


@pytest.mark.parametrize(
    ("place", "version"),
    [
        ("share/claude/versions/2.1.325", "2.1.325"),
        ("Cellar/claude/v0.166.0/bin/claude", "0.166.0"),
        ("versions/node/v22.1.0/bin/claude", None),  # of another program
        ("node_modules/claude/cli.js", None),  # without its package's file
        ("opt/claude/2.1/claude", None),
    ],
)
def test_a_version_is_also_in_a_path(tmp_path: Path, place: str, version: str | None) -> None:
    put(tmp_path / "package.json", '{"version": "1.0.0"}')  # of the person's own, above it all
    link = tmp_path / "bin" / "claude"
    link.parent.mkdir()
    link.symlink_to(put(tmp_path / place))
    assert installed_version(str(link)) == version


@pytest.mark.parametrize("text", ["", "[", "[]", '{"version": 3}', '{"version": "new"}', "\xff"])
def test_a_package_that_says_nothing_is_not_believed(tmp_path: Path, text: str) -> None:
    program = put(tmp_path / "node_modules" / "pi" / "cli.js")
    program.with_name("package.json").write_bytes(text.encode("latin-1"))
    assert installed_version(str(program)) is None


def test_a_pipe_in_place_of_a_package_is_not_waited_for(tmp_path: Path) -> None:
    program = put(tmp_path / "node_modules" / "pi" / "cli.js")
    os.mkfifo(program.with_name("package.json"))
    assert installed_version(str(program)) is None
