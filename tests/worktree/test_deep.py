"""A tree deeper than a path may be long and a stack may be high."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.model.checkpoint import DIRECTORY, Entry
from takeback.worktree import place, removal
from takeback.worktree.apply import Apply, Inside, Unit
from takeback.worktree.place import Descent
from tests.support.engine import Blobs, Heard, file_entry

LEVELS = 4000
FOLDER = Entry(DIRECTORY | 0o755, b"")
BOTTOM = b"/".join([b"a"] * (LEVELS - 1) + [b"f"])
INSIDE: Inside = (
    *((b"/".join([b"a"] * depth), FOLDER) for depth in range(1, LEVELS)),
    (BOTTOM, file_entry(b"bottom")),
)
NEW = file_entry(b"new")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "root"
    directory.mkdir()
    return directory


@pytest.fixture
def fd(root: Path) -> Iterator[int]:
    fd = os.open(root, os.O_RDONLY)
    yield fd
    for name in place.names_in(fd):
        removal.remove_tree(fd, name)  # pytest's own removal recurses
    os.close(fd)


def make_deep(fd: int) -> None:
    with Descent(fd) as at:
        os.mkdir("d", 0o755, dir_fd=fd)
        at.down(b"d")
        for _ in range(LEVELS - 1):
            os.mkdir("a", 0o755, dir_fd=at.fd)
            at.down(b"a")
        bottom = os.open("f", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=at.fd)
        os.write(bottom, b"bottom")
        os.close(bottom)


def apply(fd: int, *units: Unit) -> None:
    applied = Apply(fd, units, "abcdefghjkmn", Blobs(b"bottom", b"new"), Heard()).run()
    assert applied.left_alone == ()


@pytest.mark.slow
def test_it_is_written_displaced_and_removed(fd: int, root: Path) -> None:
    apply(fd, Unit(0, b"d", None, FOLDER, inside_new=INSIDE))
    assert place.matches(fd, b"d", FOLDER, INSIDE)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    apply(fd, Unit(0, b"d", FOLDER, NEW, inside_old=INSIDE))
    assert (root / "d").read_bytes() == b"new"
    assert os.listdir(root) == ["d"]
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.slow
def test_a_file_at_its_bottom_is_replaced_and_deleted(fd: int) -> None:
    make_deep(fd)
    old = file_entry(b"bottom")
    apply(fd, Unit(0, b"d/" + BOTTOM, old, NEW))
    apply(fd, Unit(0, b"d/" + BOTTOM, NEW, None))
    assert place.matches(fd, b"d", FOLDER, INSIDE[:-1])


@pytest.mark.long
def test_each_of_its_directories_is_deleted(fd: int, root: Path) -> None:
    make_deep(fd)
    paths = [b"d", *(b"d/" + path for path, _ in INSIDE)]
    units = [
        Unit(number, path, file_entry(b"bottom") if path.endswith(b"f") else FOLDER, None)
        for number, path in enumerate(paths)
    ]
    apply(fd, *units)
    assert os.listdir(root) == []


def test_a_directory_that_was_moved_ends_the_way_up(root: Path, fd: int) -> None:
    levels = 20
    (root / "d" / Path(*["a"] * levels)).mkdir(parents=True)
    (root / "elsewhere").mkdir()
    with Descent(fd) as at:
        at.go(b"/".join([b"d"] + [b"a"] * levels))
        (root / "d" / "a" / "a").rename(root / "elsewhere" / "a")
        with pytest.raises(OSError, match="moved meanwhile"):
            at.go(b"")
