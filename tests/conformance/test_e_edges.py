"""E. One odd directory or file never stops the rest: every command goes on."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import Cli
from tests.support.journey import checkpoint, log, rewind, same, undo
from tests.support.trees import tree_state

READING = (("status",), ("log", "--all"), ("show",), ("tree",), ("sessions",), ("doctor",))


def goes_on(cli: Cli, first: str) -> None:
    """Asks every reading command; none may fail."""
    for command in READING:
        cli.ok(*command, *([first] if command == ("show",) else []))
    cli.ok("diff", first)
    cli.ok("doctor", "--rebuild")


def make_deep(root: Path, levels: int) -> None:
    """Makes directories in one another and a file in the last."""
    at = os.open(root, os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir("a", dir_fd=at)
        below = os.open("a", os.O_DIRECTORY, dir_fd=at)
        os.close(at)
        at = below
    file = os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=at)
    os.write(file, b"deep\n")
    os.close(file)
    os.close(at)


def remove_deep(root: Path) -> None:
    subprocess.run(["rm", "-rf", root / "a"], check=True)  # rmtree has a stack to run out of


@pytest.fixture
def shallow(cli: Cli, workspace: Path) -> Iterator[str]:
    (workspace / "own").write_text("own\n")
    yield checkpoint(cli, "-m", "first")
    remove_deep(workspace)


@pytest.mark.long
def test_a_directory_deeper_than_the_interpreters_stack_stops_no_command(
    cli: Cli, workspace: Path, shallow: str
) -> None:
    before = tree_state(workspace)
    make_deep(workspace, 980)
    deep = checkpoint(cli, "-m", "deep")
    goes_on(cli, shallow)
    remove_deep(workspace)
    goes_on(cli, shallow)
    (workspace / "own").write_text("another\n")
    rewind(cli, shallow)
    same(before, tree_state(workspace))
    assert {deep, shallow} <= {entry["id"] for entry in log(cli)}


@pytest.mark.soak
@pytest.mark.parametrize("levels", [980, 1500])
def test_a_directory_deeper_than_the_interpreters_stack_goes_and_comes_back(
    cli: Cli, workspace: Path, shallow: str, levels: int
) -> None:
    before = tree_state(workspace)
    make_deep(workspace, levels)
    deep = checkpoint(cli, "-m", "deep")
    with_it = tree_state(workspace)
    goes_on(cli, shallow)
    rewind(cli, shallow)
    same(before, tree_state(workspace))
    undo(cli)
    same(with_it, tree_state(workspace))
    remove_deep(workspace)
    goes_on(cli, shallow)
    rewind(cli, deep)
    same(with_it, tree_state(workspace))


# -- lines are a decoration


@pytest.fixture
def hanging(tmp_path: Path) -> dict[str, str]:
    """An environment whose git never comes back from counting lines, and does all else."""
    real = shutil.which("git")
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\ncase " $* " in *" --numstat "*) exec sleep 600;; esac\nexec {real} "$@"\n'
    )
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:{os.environ['PATH']}"}


def test_no_operation_waits_for_lines_to_be_counted(
    workspace: Path, hanging: dict[str, str]
) -> None:
    patient = Cli(workspace, env=hanging, timeout=50)
    (workspace / "a").write_text("1\n")
    first = checkpoint(patient, "-m", "first")
    (workspace / "a").write_text("2\n")
    second = checkpoint(patient, "-m", "second")
    rewind(patient, first)
    assert (workspace / "a").read_text() == "1\n"
    undo(patient)
    assert (workspace / "a").read_text() == "2\n"
    patient.ok("status")
    patient.ok("doctor", "--rebuild")
    shown = patient.ok("--json", "show", second).json
    [change] = shown["changed"]
    assert (change["path"], change["kind"], change["added"]) == ("a", "modified", None)


def test_a_large_text_that_is_written_anew_in_every_turn_stops_no_command(
    cli: Cli, workspace: Path
) -> None:
    rows = [f"{number},{number * 7919 % 100_003},a row of a table\n" for number in range(60_000)]
    made = []
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        (workspace / "data.csv").write_text("".join(rows))
        (workspace / "notes").write_text("a line\n" * (seed + 1))
        made.append(checkpoint(cli))
    shown = cli.ok("--json", "show", made[2]).json
    counts = {change["path"]: (change["added"], change["deleted"]) for change in shown["changed"]}
    assert counts == {"data.csv": (None, None), "notes": (1, 0)}
    goes_on(cli, made[0])
    rewind(cli, made[1])
