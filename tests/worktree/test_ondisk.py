"""What is on the disk at one name, compared with an entry of a snapshot."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.model.checkpoint import DIRECTORY, Entry
from takeback.worktree import place
from tests.support.engine import as_nobody, file_entry, link_entry

FOLDER = Entry(DIRECTORY | 0o755, b"")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "d" / "e").mkdir(parents=True)
    (root / "f").write_text("1")
    (root / "d" / "x").write_text("2")
    (root / "l").symlink_to("d")
    os.mkfifo(root / "fifo")
    return root


@pytest.fixture
def fd(root: Path) -> Iterator[int]:
    fd = os.open(root, os.O_RDONLY)
    yield fd
    os.close(fd)


def test_an_entry_is_what_is_there_hashed_and_not_followed(root: Path, fd: int) -> None:
    (root / "f").chmod(0o4755)
    assert place.entry_at(fd, b"f") == file_entry(b"1", 0o755)
    assert place.entry_at(fd, b"l") == link_entry(b"d")
    assert place.entry_at(fd, b"d") == FOLDER
    for name in (b"fifo", b"missing", b"f/x"):
        assert place.entry_at(fd, name) is None
    assert place.status(fd, b"missing") is None


def test_a_file_matches_by_its_bytes_and_its_mode(root: Path, fd: int) -> None:
    assert place.matches(fd, b"f", file_entry(b"1"))
    assert not place.matches(fd, b"f", file_entry(b"2"))
    assert not place.matches(fd, b"f", file_entry(b"1", 0o600))
    assert not place.matches(fd, b"f", None)
    assert place.matches(fd, b"missing", None)
    assert not place.matches(fd, b"missing", file_entry(b"1"))
    assert place.matches(fd, b"l", link_entry(b"d"))
    assert not place.matches(fd, b"l", FOLDER)
    assert not place.matches(fd, b"fifo", file_entry(b""))


def test_a_directory_matches_with_exactly_what_is_in_it(root: Path, fd: int) -> None:
    inside = ((b"e", FOLDER), (b"x", file_entry(b"2")))
    assert place.matches(fd, b"d", FOLDER, inside)
    assert place.matches(fd, b"d", Entry(FOLDER.mode, b"any tree id"), inside)
    for other in (
        (),
        inside[:1],
        (*inside, (b"y", file_entry(b""))),
        (inside[0], (b"x", file_entry(b"3"))),
        ((b"e", Entry(DIRECTORY | 0o700, b"")), inside[1]),
    ):
        assert not place.matches(fd, b"d", FOLDER, other)
    os.mkfifo(root / "d" / "pipe")
    assert not place.matches(fd, b"d", FOLDER, inside)


def test_a_walk_gives_parents_first_and_crosses_no_link(root: Path, fd: int) -> None:
    found = [(path, None if seen is None else seen.entry) for path, seen in place.walk(fd)]
    assert found == [
        (b"d", FOLDER),
        (b"d/e", FOLDER),
        (b"d/x", file_entry(b"2")),
        (b"f", file_entry(b"1")),
        (b"fifo", None),
        (b"l", link_entry(b"d")),
    ]


def test_what_may_not_be_read_is_an_error_and_no_answer(root: Path, fd: int) -> None:
    (root / "f").chmod(0o000)
    root.chmod(0o755)
    with as_nobody(), pytest.raises(PermissionError):
        place.entry_at(fd, b"f")
