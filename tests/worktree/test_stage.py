"""The new version of a path, written whole beside its place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from takeback import durable
from takeback.errors import StoreDamaged
from takeback.git.objects import BLOB, object_id
from takeback.model.checkpoint import DIRECTORY, FILE, Entry
from takeback.worktree import place, removal, stage
from takeback.worktree.apply import Unit
from tests.support.engine import Blobs, file_entry, link_entry

BLOBS = Blobs(b"one", b"two", b"target")
FOLDER = Entry(DIRECTORY | 0o755, b"")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "root"
    directory.mkdir()
    return directory


@pytest.fixture
def fd(root: Path) -> Iterator[int]:
    fd = os.open(root, os.O_RDONLY)
    yield fd
    os.close(fd)


def staged(fd: int, unit: Unit, blobs: stage.BlobSource = BLOBS) -> None:
    stage.stage(fd, b"t", unit, blobs, flush=True)


@pytest.mark.parametrize("entry", [file_entry(b"one", 0o640), link_entry(b"target")])
def test_a_file_or_link_is_exactly_its_entry(fd: int, entry: Entry) -> None:
    staged(fd, Unit(0, b"f", None, entry))
    assert place.matches(fd, b"t", entry)


def test_a_directory_is_exactly_its_entry_whatever_its_modes(root: Path, fd: int) -> None:
    inside = (
        (b"closed", Entry(DIRECTORY | 0o500, b"")),
        (b"closed/deep", Entry(DIRECTORY | 0o700, b"")),
        (b"closed/deep/f", file_entry(b"one", 0o400)),
        (b"empty", FOLDER),
        (b"l", link_entry(b"target")),
    )
    new = Entry(DIRECTORY | 0o550, b"")
    staged(fd, Unit(0, b"d", None, new, inside_new=inside))
    assert place.matches(fd, b"t", new, inside)


def test_a_directory_is_closed_to_others_until_it_is_whole(
    root: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    class Look:
        def step(self, name: str) -> None:
            if name == "write":
                seen.append((root / "t").stat().st_mode & 0o777)

    monkeypatch.setattr(durable, "faults", Look())
    staged(fd, Unit(0, b"d", None, FOLDER, inside_new=((b"f", file_entry(b"one", 0o666)),)))
    assert seen == [0o700]
    assert (root / "t").stat().st_mode & 0o777 == 0o755


def test_setuid_is_never_created(root: Path, fd: int) -> None:
    staged(fd, Unit(0, b"f", None, Entry(FILE | 0o6755, object_id(BLOB, b"one"))))
    assert (root / "t").stat().st_mode & 0o7777 == 0o755


def test_bytes_that_do_not_read_back_make_no_file(root: Path, fd: int) -> None:
    class Damaged(Blobs):
        def stream(self, oid: bytes, write: Callable[[bytes], None]) -> None:
            write(b"on")
            raise StoreDamaged("its bytes have another hash")

    with pytest.raises(StoreDamaged):
        staged(fd, Unit(0, b"f", None, file_entry(b"one")), Damaged(b"one"))
    assert os.listdir(root) == []


def test_a_large_file_is_streamed(root: Path, fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Streaming(Blobs):
        def blob(self, oid: bytes) -> bytes:
            raise AssertionError("it does not fit into memory")

        def stream(self, oid: bytes, write: Callable[[bytes], None]) -> None:
            write(b"o")
            write(b"ne")

    monkeypatch.setattr(stage, "_IN_MEMORY", 2)
    staged(fd, Unit(0, b"f", None, file_entry(b"one")), Streaming(b"one"))
    assert (root / "t").read_bytes() == b"one"


def test_a_sparse_file_stays_sparse(root: Path, fd: int) -> None:
    content = b"start" + bytes(3 << 20) + b"end" + bytes(1 << 20)

    class InPieces(Blobs):
        def stream(self, oid: bytes, write: Callable[[bytes], None]) -> None:
            for start in range(0, len(content), 1 << 20):
                write(content[start : start + (1 << 20)])

    staged(fd, Unit(0, b"f", None, file_entry(content)), InPieces(content))
    assert (root / "t").read_bytes() == content
    with (root / "probe").open("wb") as probe:
        probe.truncate(1 << 20)
    if (root / "probe").stat().st_blocks:
        pytest.skip("this file system has no holes")
    assert (root / "t").stat().st_blocks * 512 < 1 << 20


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_owner_and_group_are_those_of_what_is_replaced(root: Path, fd: int) -> None:
    (root / "f").write_text("old")
    os.chown(root / "f", 65534, 65533)
    staged(fd, Unit(0, b"f", file_entry(b"old"), file_entry(b"one", 0o640)))
    found = (root / "t").stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (65534, 65533, 0o640)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs extended attributes")
def test_user_attributes_are_those_of_what_is_replaced(root: Path, fd: int) -> None:
    (root / "f").write_text("old")
    try:
        os.setxattr(root / "f", "user.color", b"red")
    except OSError:
        pytest.skip("this file system has no user attributes")
    staged(fd, Unit(0, b"f", file_entry(b"old"), file_entry(b"one")))
    assert os.getxattr(root / "t", "user.color") == b"red"


def test_nothing_is_taken_from_a_link_that_is_replaced(tmp_path: Path, root: Path, fd: int) -> None:
    (tmp_path / "elsewhere").write_text("theirs")
    (root / "f").symlink_to(tmp_path / "elsewhere")
    staged(fd, Unit(0, b"f", link_entry(b"x"), file_entry(b"one")))
    assert place.matches(fd, b"t", file_entry(b"one"))


def test_remove_tree_takes_all_even_what_is_closed_and_follows_no_link(
    tmp_path: Path, root: Path, fd: int
) -> None:
    (tmp_path / "kept").write_text("theirs")
    (root / "t" / "closed").mkdir(parents=True)
    (root / "t" / "closed" / "f").touch()
    (root / "t" / "l").symlink_to(tmp_path)
    (root / "t" / "closed").chmod(0o000)
    removal.remove_tree(fd, b"t")
    removal.remove_tree(fd, b"t")
    assert os.listdir(root) == []
    assert (tmp_path / "kept").read_text() == "theirs"
