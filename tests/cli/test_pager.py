"""Long answers at a terminal are read through a pager."""

from __future__ import annotations

from pathlib import Path

from tests.cli.typing_person import at_a_terminal
from tests.support.cli import Cli

LONG = {"NO_COLOR": "1", "COLUMNS": "60", "LINES": "1"}
"""So small a screen that every answer is long."""


def planted(path: Path, text: str = 'echo PAGED "$@"; cat; echo END') -> str:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_pager_shows_long_answers_on_a_terminal_alone(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    cli.ok("checkpoint", "-m", "one")
    (workspace / "new").write_text("x\n")
    pager = planted(tmp_path / "bin" / "my-pager")

    def shown(*words: str, **env: str) -> str:
        seen = at_a_terminal(
            cli, *words, env={**LONG, "TAKEBACK_PAGER": f"{pager} -x 'a b'", **env}
        )
        assert seen.status == 0, seen.screen
        return seen.screen

    for words in (("log",), ("show",), ("diff", "one")):
        assert shown(*words).startswith("PAGED -x a b\n"), words
        assert "END" in shown(*words)
    assert "one" in shown("log")
    assert "PAGED" not in shown("log", LINES="24"), "it fits on the screen"
    for words in (("--no-pager", "log"), ("log", "--no-pager"), ("log", "--json"), ("status",)):
        assert "PAGED" not in shown(*words), words
    for env in ({"TAKEBACK_PAGER": ""}, {"TAKEBACK_PAGER": "cat"}, {"TERM": "dumb"},
                {"TAKEBACK_PAGER": "'"}, {"TAKEBACK_PAGER": "no-such-pager"}):  # fmt: skip
        screen = shown("log", **env)
        assert "PAGED" not in screen
        assert "one" in screen
    assert (
        "PAGED"
        in at_a_terminal(cli, "log", env={"PAGER": pager, "TAKEBACK_PAGER": pager, **LONG}).screen
    )
    assert "PAGED" not in cli.ok("log", env={"PAGER": pager}).stdout


def test_a_pager_that_lies_in_the_workspace_is_not_run(cli: Cli, workspace: Path) -> None:
    cli.ok("checkpoint", "-m", "one")
    evil = planted(workspace / "bin" / "less", "echo PAGED; touch ran")
    for env in (
        {"TAKEBACK_PAGER": evil},
        {"TAKEBACK_PAGER": "bin/less"},
        {"TAKEBACK_PAGER": "less", "PATH": f"{workspace}/bin"},
    ):
        seen = at_a_terminal(cli, "log", env={**LONG, **env})
        assert seen.status == 0
        assert "one" in seen.screen
        assert "PAGED" not in seen.screen
    assert not (workspace / "ran").exists()


def test_a_reader_who_has_read_enough_is_no_failure(cli: Cli, tmp_path: Path) -> None:
    for number in range(3):
        cli.ok("checkpoint", "-m", f"name {number}")
    quits = planted(tmp_path / "bin" / "quits", "exec <&-; echo READ ENOUGH")
    seen = at_a_terminal(cli, "log", env={**LONG, "TAKEBACK_PAGER": quits})
    assert (seen.status, "READ ENOUGH" in seen.screen) == (0, True)
    assert "Error" not in seen.screen
