"""Directories held open: each once, none through a link, and never too many."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.worktree.place import OpenDirectories


@pytest.fixture
def directories(workspace: Path) -> Iterator[OpenDirectories]:
    """The directories of a workspace with one at ``a/b``."""
    (workspace / "a" / "b").mkdir(parents=True)
    root = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    directories = OpenDirectories(root)
    yield directories
    directories.close()
    os.close(root)


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_directory_is_opened_once(workspace: Path, directories: OpenDirectories) -> None:
    first = directories[b"a/b"]
    assert directories[b"a/b"] == first
    assert os.fstat(first).st_ino == (workspace / "a" / "b").stat().st_ino
    assert os.fstat(directories[b""]).st_ino == workspace.stat().st_ino
    assert not os.get_inheritable(first)


def test_it_stays_the_same_directory_when_its_name_goes_elsewhere(
    workspace: Path, directories: OpenDirectories
) -> None:
    was = (workspace / "a").stat().st_ino
    assert os.fstat(directories[b"a"]).st_ino == was
    (workspace / "a").rename(workspace / "moved")
    (workspace / "a").mkdir()
    assert os.fstat(directories[b"a"]).st_ino == was


def test_no_link_is_crossed(workspace: Path, directories: OpenDirectories, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (workspace / "out").symlink_to(tmp_path / "outside")
    (workspace / "in").symlink_to("a")
    for path in (b"out", b"in", b"in/b", b"..", b"a/../a"):
        with pytest.raises(OSError, match=r"symbolic links|Not a directory|plain relative path"):
            directories[path]


@pytest.mark.parametrize("path", [b"missing", b"a/missing", b"file", b"file/below"])
def test_what_is_no_directory_leaves_nothing_open(
    workspace: Path, directories: OpenDirectories, path: bytes
) -> None:
    (workspace / "file").touch()
    before = descriptors()
    with pytest.raises(OSError, match=r"No such file|Not a directory"):
        directories[path]
    assert descriptors() == before


def test_one_that_is_about_to_go_is_closed_and_can_be_opened_anew(
    workspace: Path, directories: OpenDirectories
) -> None:
    fd = directories[b"a/b"]
    directories.forget(b"a/b")
    directories.forget(b"never opened")
    assert not is_open(fd)
    (workspace / "a" / "b").rmdir()
    (workspace / "a" / "b").mkdir()
    again = directories[b"a/b"]
    assert os.fstat(again).st_ino == (workspace / "a" / "b").stat().st_ino


def test_however_many_there_are_only_so_many_are_open(
    workspace: Path, directories: OpenDirectories
) -> None:
    for number in range(600):
        (workspace / f"d{number}").mkdir()
    before = descriptors()
    for number in range(600):
        fd = directories[b"d%d" % number]
        assert os.fstat(fd).st_ino == (workspace / f"d{number}").stat().st_ino
    assert descriptors() - before <= 256
    assert os.fstat(directories[b"d0"]).st_ino == (workspace / "d0").stat().st_ino


def test_closing_closes_all_and_may_be_done_twice(directories: OpenDirectories) -> None:
    before = descriptors()
    fds = [directories[path] for path in (b"", b"a", b"a/b")]
    directories.close()
    directories.close()
    assert descriptors() == before
    assert not any(is_open(fd) for fd in fds)
