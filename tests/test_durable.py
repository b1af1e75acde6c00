"""Steps that change a disk: what each leaves behind, and what it refuses to follow."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from takeback import durable


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


class Recorder:
    """Writes down the steps, and fails the one that it is told."""

    def __init__(self, fail: str = "") -> None:
        self.steps: list[str] = []
        self._fail = fail

    def step(self, name: str) -> None:
        self.steps.append(name)
        if name == self._fail:
            raise OSError(errno.EIO, "injected")


def test_a_scratch_name_is_known_as_one() -> None:
    token = "abcdefghjkmn"
    assert durable.is_scratch_name(durable.scratch_name(token, 0), token)
    assert durable.is_scratch_name(durable.scratch_name(token, (1 << 33) + 255), token)


@pytest.mark.parametrize(
    "name",
    [
        b".takeback-",
        b".takeback-notes.txt",
        b".takeback-abcdefghjkmn",
        b".takeback-abcdefghjkmn-",
        b".takeback-abcdefghjkmn-xyz",
        b".takeback-abc-1",
        b"takeback-abcdefghjkmn-1",
        b".takeback-abcdefghjkmm-1",
        b".takeback-abcdefghjkmn-1-1",
    ],
)
def test_a_file_of_the_users_is_not_taken_for_scratch(name: bytes) -> None:
    assert not durable.is_scratch_name(name, "abcdefghjkmn")


def test_without_an_operation_no_name_is_scratch() -> None:
    assert not durable.is_scratch_name(b".takeback-abcdefghjkmn-1", None)


@pytest.mark.parametrize("taken", [lambda p: p.touch(), lambda p: p.symlink_to("elsewhere")])
def test_create_never_opens_what_is_there(
    tmp_path: Path, directory: int, taken: Callable[[Path], None]
) -> None:
    taken(tmp_path / "name")
    with pytest.raises(FileExistsError):
        durable.create(b"name", dir_fd=directory)
    assert not (tmp_path / "elsewhere").exists()


def test_create_makes_a_file_that_is_private_and_not_inherited(tmp_path: Path) -> None:
    fd = durable.create(str(tmp_path / "new"))
    assert os.fstat(fd).st_mode & 0o777 == 0o600
    assert not os.get_inheritable(fd)
    os.close(fd)


def test_chmod_never_gives_setuid(tmp_path: Path) -> None:
    fd = durable.create(str(tmp_path / "new"))
    durable.chmod(fd, 0o106755)
    assert os.fstat(fd).st_mode & 0o7777 == 0o755
    os.close(fd)


def test_link_takes_the_link_itself_and_no_name_that_is_taken(
    tmp_path: Path, directory: int
) -> None:
    (tmp_path / "target").write_text("x")
    durable.symlink(b"target", b"a", dir_fd=directory)
    durable.link(b"a", b"b", dir_fd=directory)
    assert os.readlink(tmp_path / "b") == "target"
    with pytest.raises(FileExistsError):
        durable.link(b"target", b"b", dir_fd=directory)


def test_overwrite_and_truncate_change_a_file_in_place(tmp_path: Path) -> None:
    fd = durable.create(str(tmp_path / "f"))
    durable.write(fd, b"0123456789")
    durable.overwrite(fd, 2, b"xx")
    durable.truncate(fd, 6)
    durable.write(fd, memoryview(b"end"))
    os.close(fd)
    assert (tmp_path / "f").read_bytes() == b"01xx45end"


def test_replace_file_gives_new_bytes_under_a_new_inode(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "f").write_bytes(b"old")
    with open(place / "f", "rb") as reader:
        durable.replace_file(str(place / "f"), b"new")
        assert reader.read() == b"old"
    assert {path.name: path.read_bytes() for path in place.iterdir()} == {"f": b"new"}


def test_replace_file_replaces_a_link_and_leaves_its_target(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"theirs")
    (tmp_path / "f").symlink_to("target")
    durable.replace_file(str(tmp_path / "f"), b"ours")
    assert not (tmp_path / "f").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"theirs"


def test_replace_file_takes_over_what_a_dead_process_of_its_number_left(tmp_path: Path) -> None:
    (tmp_path / f".f.{os.getpid()}.tmp").write_bytes(b"half")
    durable.replace_file(str(tmp_path / "f"), b"whole")
    assert (tmp_path / "f").read_bytes() == b"whole"


@pytest.mark.parametrize("step", ["create", "write", "sync", "rename"])
def test_a_failed_replace_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "f").write_bytes(b"old")
    monkeypatch.setattr(durable, "faults", Recorder(fail=step))
    with pytest.raises(OSError, match="injected"):
        durable.replace_file(str(place / "f"), b"new")
    assert {path.name: path.read_bytes() for path in place.iterdir()} == {"f": b"old"}


def test_replace_file_flushes_the_bytes_before_the_name_and_the_name_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Recorder()
    monkeypatch.setattr(durable, "faults", steps)
    durable.replace_file(str(tmp_path / "f"), b"new")
    assert steps.steps == ["create", "write", "sync", "rename", "sync"]
    steps.steps.clear()
    durable.replace_file(str(tmp_path / "f"), b"new", flush=False)
    assert steps.steps == ["create", "write", "rename"]


def test_directories_of_the_store_are_private_at_every_level(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        durable.make_directories(str(tmp_path / "a" / "b" / "c"))
    finally:
        os.umask(old)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/c")]
    assert modes == [0o700] * 3
    durable.make_directories(str(tmp_path / "a" / "b" / "c"))


@pytest.mark.parametrize(
    "pieces",
    [
        [bytes(1 << 20)],
        [b"x" + bytes(1 << 20), bytes(1 << 20), b"end"],
        [bytes(100_000) + b"middle" + bytes(100_001)],
        [b"a" * 50_000, bytes(16_384), b"b"],
        [b""],
        [bytes(5)],
    ],
)
def test_zeros_become_holes_and_read_the_same(tmp_path: Path, pieces: list[bytes]) -> None:
    fd = durable.create(str(tmp_path / "new"))
    for piece in pieces:
        durable.write_sparse(fd, piece)
    whole = b"".join(pieces)
    status = os.fstat(fd)
    os.close(fd)
    assert (tmp_path / "new").read_bytes() == whole
    if whole.count(0) > 1 << 19 and status.st_blocks:
        assert status.st_blocks * 512 < len(whole) // 2


def test_append_makes_a_log_follows_no_link_and_waits_for_no_fifo(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert durable.append(str(log), b"one\n") == 4
    assert durable.append(str(log), b"two\n") == 8
    assert (log.read_bytes(), log.stat().st_mode & 0o777) == (b"one\ntwo\n", 0o600)
    (tmp_path / "link").symlink_to("log")
    os.mkfifo(tmp_path / "fifo")
    for name, reason in (("link", "symbolic"), ("fifo", "No such device")):
        with pytest.raises(OSError, match=reason):
            durable.append(str(tmp_path / name), b"three\n")
    assert log.read_bytes() == b"one\ntwo\n"


def test_a_lock_is_made_where_it_may_be_and_says_whose_it_is(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    with pytest.raises(FileNotFoundError):
        durable.open_lock(path, make=False)
    fd = durable.open_lock(path, make=True)
    for text in (b"a long line\n", b"short\n"):
        durable.inscribe(fd, text)
        assert Path(path).read_bytes() == text
    os.close(fd)
    os.close(durable.open_lock(path, make=False))
    durable.make_private(path, 0o640)
    assert os.stat(path).st_mode & 0o777 == 0o640


def test_what_belongs_to_a_file_is_changed_by_steps_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    class Listening:
        def step(self, name: str) -> None:
            steps.append(name)

    fd = durable.create(str(tmp_path / "f"))
    monkeypatch.setattr(durable, "faults", Listening())
    durable.chown(fd, os.getuid(), os.getgid())
    try:
        durable.set_attribute(fd, "user.of_a_test", b"1")
        assert os.getxattr(fd, "user.of_a_test") == b"1"
    except OSError:  # a file system without attributes
        pass
    os.close(fd)
    assert steps == ["chown", "attribute"]
