"""System calls that Python does not offer: no link is crossed, two names swap in one instant."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import kernel


@pytest.fixture(params=["openat2", "component by component"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory a/b/c with links in it, opened by each of the two ways."""
    if request.param == "openat2":
        if not kernel._openat2_works:
            pytest.skip("this kernel has no openat2")
    else:
        monkeypatch.setattr(kernel, "_openat2_works", False)
    root = tmp_path / "root"
    (root / "a" / "b" / "c").mkdir(parents=True)
    (root / "file").touch()
    (tmp_path / "outside" / "b").mkdir(parents=True)
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "in").symlink_to("a")
    (root / "a" / "loop").symlink_to("loop")
    (root / "a" / "b" / "up").symlink_to("../..")
    return root


@pytest.fixture
def fd(root: Path) -> Iterator[int]:
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def inode_of(fd: int, path: bytes) -> int:
    opened = kernel.open_directory_beneath(fd, path)
    try:
        assert not os.get_inheritable(opened)
        return os.fstat(opened).st_ino
    finally:
        os.close(opened)


@pytest.mark.parametrize("path", ["", "a", "a/b", "a/b/c"])
def test_a_plain_path_opens_that_directory(root: Path, fd: int, path: str) -> None:
    assert inode_of(fd, path.encode()) == (root / path).stat().st_ino


@pytest.mark.parametrize(
    "path",
    [
        b"in",
        b"in/b",
        b"out",
        b"out/b",
        b"a/loop",
        b"a/loop/x",
        b"a/b/up",
        b"a/b/up/a",
        b"a/b/up/..",
    ],
)
def test_a_link_in_any_component_is_refused(fd: int, path: bytes) -> None:
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    with pytest.raises(OSError, match=r"Errno"):
        kernel.open_directory_beneath(fd, path)
    after = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    assert len(after) == len(before)


@pytest.mark.parametrize("path", [b"..", b"../outside", b"a/../..", b"/", b"/etc", b"a/b/../../.."])
def test_nothing_above_the_root_is_opened(fd: int, path: bytes) -> None:
    with pytest.raises(OSError, match=r"Errno"):
        kernel.open_directory_beneath(fd, path)


@pytest.mark.parametrize("path", [b"a/..", b"a/../a", b"a/b/../b"])
def test_a_way_up_is_refused_even_where_it_stays_beneath(fd: int, path: bytes) -> None:
    with pytest.raises(OSError, match=r"Errno"):
        kernel.open_directory_beneath(fd, path)


@pytest.mark.parametrize("path", [b"file", b"file/x", b"missing", b"a/missing/b"])
def test_what_is_no_directory_is_an_error(fd: int, path: bytes) -> None:
    with pytest.raises((NotADirectoryError, FileNotFoundError)):
        kernel.open_directory_beneath(fd, path)


@pytest.mark.skipif(not os.path.ismount("/proc"), reason="needs a mount")
def test_a_mount_is_not_crossed(root: Path) -> None:
    fd = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    for path in (b"proc", b"proc/self"):
        with pytest.raises(OSError, match=os.strerror(errno.EXDEV)):
            kernel.open_directory_beneath(fd, path)
    os.close(fd)


def test_a_path_longer_than_one_call_takes_is_opened(root: Path, fd: int) -> None:
    deep = os.dup(fd)
    name = b"d" * 250
    for _ in range(20):
        os.mkdir(name, dir_fd=deep)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=deep)
        os.close(deep)
        deep = below
    assert inode_of(fd, b"/".join([name] * 20)) == os.fstat(deep).st_ino
    os.close(deep)


def test_exchange_swaps_two_names(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "inner").write_text("2")
    fd = os.open(tmp_path, os.O_RDONLY)
    kernel.exchange(fd, b"one", b"two")
    os.close(fd)
    assert (tmp_path / "two").read_text() == "1"
    assert (tmp_path / "one" / "inner").read_text() == "2"


def test_exchange_with_a_missing_name_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")
    fd = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(FileNotFoundError):
        kernel.exchange(fd, b"one", b"two")
    os.close(fd)
    assert (tmp_path / "one").read_text() == "1"


def test_a_name_that_is_taken_is_not_renamed_over(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "taken").symlink_to("nowhere")
    fd = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(FileExistsError):
        kernel.rename_to_free_name(fd, b"old", b"taken")
    kernel.rename_to_free_name(fd, b"old", b"free")
    os.close(fd)
    assert (tmp_path / "taken").is_symlink()
    assert (tmp_path / "free").read_text() == "old"
    assert not (tmp_path / "old").exists()


def test_a_birth_time_stays_when_everything_else_changes(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.touch()
    born = kernel.birth_time(os.fsencode(path))
    if born == 0:
        pytest.skip("this file system records no birth times")
    assert abs(born - time.time_ns()) < 60 * 10**9
    path.write_text("more")
    path.chmod(0o600)
    os.utime(path, (1, 1))
    path.rename(tmp_path / "g")
    assert kernel.birth_time(os.fsencode(tmp_path / "g")) == born


def test_a_birth_time_is_that_of_the_link_itself(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    if kernel.birth_time(os.fsencode(tmp_path / "f")) == 0:
        pytest.skip("this file system records no birth times")
    assert kernel.birth_time(os.fsencode(tmp_path / "dangling")) > 0
    assert kernel.birth_time(os.fsencode(tmp_path / "missing")) == 0


def test_a_file_system_is_flushed_or_it_says_that_it_cannot(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    assert kernel.flush_file_system(fd) in (True, False)
    os.close(fd)


def test_a_flush_that_fails_is_an_error_and_not_a_missing_call(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    if not kernel.flush_file_system(fd):
        pytest.skip("this system has no syncfs")
    os.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        kernel.flush_file_system(fd)
