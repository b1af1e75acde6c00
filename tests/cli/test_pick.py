"""takeback pick, and takeback without a command: the screen, the list, or status."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.typing_person import at_a_terminal
from tests.support.cli import Cli
from tests.support.journey import write_files

ALTERNATE = "\x1b[?1049h"


def test_without_a_terminal_it_is_a_numbered_list(cli: Cli, workspace: Path) -> None:
    write_files(workspace, {"a.txt": b"a\n"})
    cli.ok("checkpoint", "-m", "first")
    answer = cli.run("pick")
    assert answer.status == 0
    assert "first" in answer.stdout
    assert ALTERNATE not in answer.stdout + answer.stderr


def test_on_a_dumb_terminal_it_is_a_numbered_list(cli: Cli, workspace: Path) -> None:
    write_files(workspace, {"a.txt": b"a\n"})
    cli.ok("checkpoint", "-m", "first")
    seen = at_a_terminal(cli, env={"TERM": "dumb"}, answers=("q\n",), asks=(b"or q: ",))
    assert seen.status == 0
    assert "   1  " in seen.screen
    assert "first" in seen.screen
    assert ALTERNATE not in seen.screen


def test_without_a_terminal_and_without_a_command_it_is_status(cli: Cli, workspace: Path) -> None:
    write_files(workspace, {"a.txt": b"a\n"})
    cli.ok("checkpoint")
    assert cli.ok().stdout == cli.ok("status").stdout


def test_json_is_for_programs(cli: Cli) -> None:
    answer = cli.run("pick", "--json")
    assert answer.status == 2
    assert answer.error["code"] == "usage"
    assert "takeback log --json" in answer.error["hint"]


def test_there_is_no_dry_run(cli: Cli) -> None:
    assert cli.run("pick", "--dry-run").status == 2


@pytest.mark.parametrize("words", [(), ("pick",)])
def test_what_is_no_workspace_is_said_before_a_screen_opens(
    cli: Cli, words: tuple[str, ...]
) -> None:
    seen = at_a_terminal(cli, *words)
    assert seen.status == 10
    assert "has no checkpoints yet" in seen.screen
    assert ALTERNATE not in seen.screen


def test_a_store_of_a_newer_format_is_said_before_a_screen_opens(cli: Cli, workspace: Path) -> None:
    write_files(workspace, {"a.txt": b"a\n"})
    cli.ok("checkpoint")
    [form] = Path(os.environ["TAKEBACK_HOME"]).glob("workspaces/*/*/format")
    form.write_text("9\n")
    seen = at_a_terminal(cli)
    assert seen.status == 1
    assert "format 9" in seen.screen
    assert ALTERNATE not in seen.screen


def test_json_without_a_command_is_status_at_a_terminal_too(cli: Cli, workspace: Path) -> None:
    write_files(workspace, {"a.txt": b"a\n"})
    cli.ok("checkpoint")
    seen = at_a_terminal(cli, "--json")
    assert seen.status == 0
    assert '"type": "status"' in seen.screen


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_directory_made_anew_is_offered_what_was_kept_of_its_path(
    cli: Cli, workspace: Path, term: str
) -> None:
    write_files(workspace, {"a.txt": b"a\n"})
    cli.ok("checkpoint", "-m", "first")
    shutil.rmtree(workspace)
    workspace.mkdir()
    declined = at_a_terminal(cli, env={"TERM": term}, answers=("n\n",))
    assert declined.status == 10
    assert '"first"' in declined.screen
    assert "takeback doctor --adopt" in declined.screen
    assert cli.run("log").status == 10
    agreed = at_a_terminal(
        cli, "pick", env={"TERM": "dumb"}, answers=("y\n", "q\n"), asks=(b"or q: ",)
    )
    assert agreed.status == 0
    assert "first" in cli.ok("log").stdout


def test_the_list_mentions_what_was_kept_of_its_path_before(cli: Cli, workspace: Path) -> None:
    write_files(workspace, {"a.txt": b"a\n"})
    cli.ok("checkpoint", "-m", "first")
    shutil.rmtree(workspace)
    workspace.mkdir()
    cli.ok("checkpoint", "-m", "second")
    seen = at_a_terminal(cli, env={"TERM": "dumb"}, answers=("q\n",), asks=(b"or q: ",))
    assert "1 earlier checkpoint" in seen.screen
