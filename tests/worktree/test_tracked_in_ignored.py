"""Tracked files inside ignored directories are the project's work all the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.context import Context
from takeback.model.coverage import Policy
from takeback.store import trees
from tests.support.engine import captured, opened, settle
from tests.support.git import git


@pytest.fixture
def root(workspace: Path) -> Path:
    """``build/`` is ignored; two files in it are tracked, one is not."""
    (workspace / ".gitignore").write_text("build/\n")
    (workspace / "build" / "deep").mkdir(parents=True)
    (workspace / "build" / "deep").chmod(0o750)
    (workspace / "build" / "keep").write_text("1")
    (workspace / "build" / "deep" / "keep").write_text("1")
    (workspace / "build" / "other").write_text("not tracked")
    git(workspace, "add", "--force", "build/keep", "build/deep/keep")
    return workspace


def held(context: Context) -> dict[bytes, bytes]:
    """Returns the bytes of what a capture holds below ``build``."""
    made = captured(context)
    return {
        path: context.store.blob(entry.oid)
        for path, entry in trees.walk(context.store, made.tree)
        if not entry.is_directory and path.startswith(b"build/")
    }


def test_they_are_held_and_the_rest_of_the_directory_is_a_gap(root: Path, context: Context) -> None:
    assert held(context) == {b"build/keep": b"1", b"build/deep/keep": b"1"}
    made = captured(context)
    assert made.files == 3
    assert made.coverage.reason_for(b"build/other") == "ignored"
    entry = trees.lookup(context.store, made.tree, b"build/deep")
    assert entry is not None
    assert entry.mode == 0o40750


def test_an_edit_a_deletion_and_a_return_are_seen(root: Path, context: Context) -> None:
    captured(context)
    settle()
    captured(context)
    (root / "build" / "keep").write_text("2")
    assert held(context)[b"build/keep"] == b"2"
    (root / "build" / "keep").unlink()
    assert held(context) == {b"build/deep/keep": b"1"}
    (root / "build" / "deep" / "keep").unlink()
    assert held(context) == {}
    assert trees.lookup(context.store, captured(context).tree, b"build") is None
    (root / "build" / "keep").write_text("3")
    assert held(context) == {b"build/keep": b"3"}


def test_an_edit_of_the_same_size_with_its_time_put_back_is_seen(
    root: Path, context: Context
) -> None:
    settle()
    captured(context)
    times = (root / "build" / "keep").stat()
    (root / "build" / "keep").write_text("2")
    os.utime(root / "build" / "keep", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert held(context)[b"build/keep"] == b"2"


def test_what_the_index_forgets_stays_held_until_it_is_gone(root: Path, context: Context) -> None:
    captured(context)
    git(root, "add", "--force", "build/other")
    assert b"build/other" in held(context)
    git(root, "rm", "--quiet", "--cached", "build/other", "build/keep")
    assert held(context).keys() == {b"build/other", b"build/keep", b"build/deep/keep"}
    (root / "build" / "keep").write_text("2")
    (root / ".git" / "index").unlink()
    assert held(context)[b"build/keep"] == b"2"
    (root / "build" / "keep").unlink()
    assert held(context).keys() == {b"build/other", b"build/deep/keep"}
    (root / "build" / "keep").write_text("3")
    assert held(context).keys() == {b"build/other", b"build/deep/keep"}


def test_a_directory_that_is_no_longer_ignored_is_held_whole(root: Path, context: Context) -> None:
    captured(context)
    (root / ".gitignore").write_text("")
    assert len(held(context)) == 3
    (root / "build" / "new").write_text("never held")
    (root / ".gitignore").write_text("build/\n")
    assert held(context).keys() == {b"build/keep", b"build/deep/keep", b"build/other"}


def test_one_held_inside_stays_held_where_the_rule_moves_to_the_file(
    root: Path, context: Context
) -> None:
    captured(context)
    (root / ".git" / "index").unlink()
    (root / ".gitignore").write_text("keep\n")
    assert held(context).keys() == {b"build/keep", b"build/deep/keep", b"build/other"}


def test_a_link_in_the_place_of_the_directory_is_not_followed(
    tmp_path: Path, root: Path, context: Context
) -> None:
    captured(context)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "keep").write_text("theirs")
    (root / "build" / "deep" / "keep").unlink()
    (root / "build" / "deep").rmdir()
    (root / "build" / "deep").symlink_to(tmp_path / "elsewhere")
    assert held(context) == {b"build/keep": b"1"}


@pytest.mark.parametrize("what", ["directory", "fifo"])
def test_a_tracked_name_that_is_no_file_any_more_is_not_held(
    root: Path, context: Context, what: str
) -> None:
    captured(context)
    (root / "build" / "keep").unlink()
    if what == "directory":
        (root / "build" / "keep").mkdir()
    else:
        os.mkfifo(root / "build" / "keep")
    assert held(context) == {b"build/deep/keep": b"1"}


def test_a_file_that_two_repositories_track_is_held_once(workspace: Path, context: Context) -> None:
    (workspace / ".gitignore").write_text("build/\n")
    (workspace / "in" / "build").mkdir(parents=True)
    (workspace / "in" / "build" / "x").write_text("1")
    git(workspace, "add", "--force", "in/build/x")
    git(workspace / "in", "init", "--quiet")
    git(workspace / "in", "add", "--force", "build/x")
    made = captured(context)
    assert made.files == 2
    assert trees.lookup(context.store, made.tree, b"in/build/x") is not None


def test_the_users_own_settings_leave_them_out_too(root: Path) -> None:
    (root / "build" / ".env").write_text("secret")
    git(root, "add", "--force", "build/.env")
    with opened(root) as context:
        assert held(context).keys() == {b"build/keep", b"build/deep/keep", b"build/.env"}
    with opened(root, policy=Policy(exclude=("deep",), skip_sensitive=True)) as context:
        assert held(context).keys() == {b"build/keep"}
        coverage = captured(context).coverage
        assert coverage.reason_for(b"build/deep/keep") == "excluded"
        assert coverage.reason_for(b"build/.env") == "sensitive"
    with opened(root) as context:
        assert held(context).keys() == {b"build/keep", b"build/deep/keep", b"build/.env"}


def test_no_descriptor_is_left_open(root: Path, context: Context) -> None:
    captured(context)
    settle()
    captured(context)
    before = len(os.listdir("/dev/fd"))
    captured(context)
    assert len(os.listdir("/dev/fd")) == before
