"""File systems that can do less, and disks that fail late, through preloaded system calls."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.crash.shims import FAILING_FLUSH, HURRIED_SAVE, NO_EXCHANGE, built
from tests.support.cli import Cli
from tests.support.trees import differences, tree_state

pytestmark = pytest.mark.skipif(os.uname().sysname != "Linux", reason="LD_PRELOAD is Linux's")
ENOUGH = 20


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    directory = tmp_path / "workspace"
    directory.mkdir()
    return Cli(directory)


def test_without_exchange_rewind_undo_and_redo_are_exact(tmp_path: Path, cli: Cli) -> None:
    shim = {"LD_PRELOAD": built(tmp_path, "no_exchange", NO_EXCHANGE)}
    root = cli.directory
    (root / "flip").mkdir()
    (root / "flip" / "x").write_text("inside")
    (root / "a").write_text("one")
    (root / "back").write_text("file")
    cli.ok("checkpoint", "-m", "then", env=shim)
    then = tree_state(root)
    (root / "a").write_text("two")
    (root / "flip" / "x").unlink()
    (root / "flip").rmdir()
    (root / "flip").write_text("now a file")
    (root / "back").unlink()
    (root / "back" / "deep").mkdir(parents=True)
    (root / "back" / "deep" / "y").write_text("y")
    now = tree_state(root)
    for words, wanted in (
        (("rewind", "then", "--files", "--yes", "--force"), then),
        (("undo", "--yes"), now),
        (("redo", "--yes"), then),
    ):
        cli.ok(*words, env=shim)
        assert differences(wanted, tree_state(root)) == []


def test_without_exchange_a_save_during_the_check_is_kept(tmp_path: Path, cli: Cli) -> None:
    """An editor saves by renaming while the old version, put aside, is hashed."""
    place, saved = cli.directory / "notes", tmp_path / "saved"
    place.write_text("then")
    cli.ok("checkpoint", "-m", "then")
    place.write_text("now")
    saved.write_text("typed five seconds ago")
    env = {
        "LD_PRELOAD": built(tmp_path, "hurried_save", HURRIED_SAVE),
        "SAVED": str(saved),
        "PLACE": str(place),
    }
    answer = cli.run("rewind", "then", "--files", "--yes", env=env)
    assert not saved.exists(), "the save did not fall into the check"
    assert place.read_text() == "typed five seconds ago", str(answer)
    assert answer.status == 3, str(answer)
    assert "notes" in answer.stdout + answer.stderr
    assert sorted(os.listdir(cli.directory)) == ["notes"]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EDQUOT])
def test_a_flush_that_fails_stops_the_rewind_before_an_original_goes(
    tmp_path: Path, cli: Cli, number: int
) -> None:
    for file in range(ENOUGH):
        (cli.directory / f"f{file}").write_text("then")
    cli.ok("checkpoint", "-m", "then")
    for file in range(ENOUGH):
        (cli.directory / f"f{file}").write_text("now")
    before = tree_state(cli.directory, identity=True)
    env = {
        "LD_PRELOAD": built(tmp_path, "flush", FAILING_FLUSH),
        "SYNCFS_ERRNO": str(number),
        "FSYNC_ERRNO": str(number),
    }
    answer = cli.run("rewind", "then", "--files", "--yes", env=env)
    assert answer.status == 1, str(answer)
    assert os.strerror(number) in answer.stderr
    assert tree_state(cli.directory, identity=True) == before
    cli.ok("rewind", "then", "--files", "--yes")


def test_where_there_is_no_syncfs_each_file_is_flushed(tmp_path: Path, cli: Cli) -> None:
    for file in range(ENOUGH):
        (cli.directory / f"f{file}").write_text("then")
    (cli.directory / "d" / "e").mkdir(parents=True)
    (cli.directory / "d" / "e" / "x").write_text("x")
    cli.ok("checkpoint", "-m", "then")
    then = tree_state(cli.directory)
    for file in range(ENOUGH):
        (cli.directory / f"f{file}").write_text("now")
    (cli.directory / "d" / "e" / "x").unlink()
    (cli.directory / "d" / "e").rmdir()
    (cli.directory / "d").rmdir()
    env = {
        "LD_PRELOAD": built(tmp_path, "flush", FAILING_FLUSH),
        "SYNCFS_ERRNO": str(errno.ENOSYS),
    }
    cli.ok("rewind", "then", "--files", "--yes", env=env)
    assert tree_state(cli.directory) == then
