"""Files are kept as they were at one moment, or it is said why not."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.context import Context, LockedContext
from takeback.git.objects import BLOB, object_id
from takeback.store.sink import PackSink
from takeback.worktree.read import GONE, Intake, Kept, keep
from tests.support.engine import as_nobody
from tests.support.processes import join


@pytest.fixture
def context(context: Context) -> Iterator[LockedContext]:
    """The workspace, opened, and locked for as long as a test lasts."""
    with context.locked() as locked:
        yield locked


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "files"
    directory.mkdir()
    return directory


@pytest.fixture
def fd(root: Path) -> Iterator[int]:
    fd = os.open(root, os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.fixture
def sink(context: LockedContext) -> PackSink:
    return PackSink(context.lock)


def test_a_file_is_kept_with_its_status(root: Path, fd: int, sink: PackSink) -> None:
    for data in (b"", b"x", os.urandom(100_000)):
        (root / "f").write_bytes(data)
        kept = keep(fd, b"f", Intake(sink))
        assert isinstance(kept, Kept)
        assert kept.oid == object_id(BLOB, data)
        now = (root / "f").stat()
        assert (kept.status.st_ino, kept.status.st_mtime_ns) == (now.st_ino, now.st_mtime_ns)
        assert (kept.status.st_size, kept.status.st_mode) == (len(data), now.st_mode)
        assert sink.has(kept.oid)


def test_a_link_is_kept_as_its_target_whatever_that_is(root: Path, fd: int, sink: PackSink) -> None:
    for target in ("nowhere", "/etc/passwd", ".", "l", "x" * 3000):
        (root / "l").unlink(missing_ok=True)
        (root / "l").symlink_to(target)
        kept = keep(fd, b"l", Intake(sink, size_limit=1))
        assert isinstance(kept, Kept)
        assert kept.oid == object_id(BLOB, target.encode())


def test_a_fifo_a_socket_and_a_device_are_named_and_not_waited_for(
    root: Path, fd: int, sink: PackSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "fifo")
    monkeypatch.chdir(root)  # the path of a socket may not be long
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for name in (b"fifo", b"socket"):
            assert keep(fd, name, Intake(sink)) == "special"
    devices = os.open("/dev", os.O_RDONLY)
    assert keep(devices, b"null", Intake(sink)) == "special"
    os.close(devices)


def test_a_program_that_waits_for_a_reader_of_its_fifo_goes_on_waiting(
    root: Path, fd: int, sink: PackSink
) -> None:
    os.mkfifo(root / "fifo")
    met = threading.Event()

    def write() -> None:
        with open(root / "fifo", "wb", buffering=0):  # waits until somebody opens it to read
            met.set()

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(20):
        assert keep(fd, b"fifo", Intake(sink)) == "special"
    assert not met.wait(0.05)
    with open(root / "fifo", "rb"):
        join(writer)


def test_what_is_no_longer_the_file_that_was_listed_is_told_apart(
    root: Path, fd: int, sink: PackSink
) -> None:
    os.mkfifo(root / "fifo")
    (root / "link").symlink_to("fifo")
    (root / "directory").mkdir()
    for name, outcome in ((b"fifo", "special"), (b"directory", "special"), (b"gone", GONE)):
        assert keep(fd, name, Intake(sink), listed_as_file=True) == outcome
    kept = keep(fd, b"link", Intake(sink), listed_as_file=True)
    assert isinstance(kept, Kept)
    assert kept.oid == object_id(BLOB, b"fifo")


def test_what_is_gone_is_absent_and_what_is_a_directory_is_not_read(
    root: Path, fd: int, sink: PackSink
) -> None:
    (root / "directory").mkdir()
    (root / "file").touch()
    assert keep(fd, b"missing", Intake(sink)) == GONE
    assert keep(fd, b"file/x", Intake(sink)) == GONE
    assert keep(fd, b"directory", Intake(sink)) == "special"


def test_a_file_above_the_limit_is_not_read(root: Path, fd: int, sink: PackSink) -> None:
    (root / "f").write_bytes(b"12345")
    assert keep(fd, b"f", Intake(sink, size_limit=4)) == "oversized"
    assert isinstance(keep(fd, b"f", Intake(sink, size_limit=5)), Kept)


def test_a_file_that_may_not_be_read_is_unreadable(root: Path, fd: int, sink: PackSink) -> None:
    (root / "f").write_bytes(b"secret")
    (root / "f").chmod(0o000)
    root.chmod(0o755)
    with as_nobody():
        assert keep(fd, b"f", Intake(sink)) == "unreadable"


def test_a_file_that_grows_while_it_is_read_is_unstable(
    root: Path, fd: int, sink: PackSink
) -> None:
    (root / "f").write_bytes(bytes(32 << 20))
    stop = threading.Event()

    def grow() -> None:
        with open(root / "f", "ab", buffering=0) as file:
            while not stop.is_set():
                file.write(b"x")

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        outcome = keep(fd, b"f", Intake(sink))
    finally:
        stop.set()
        join(writer)
    assert outcome == "unstable"
    kept = keep(fd, b"f", Intake(sink))
    assert isinstance(kept, Kept)
    assert kept.oid == object_id(BLOB, (root / "f").read_bytes())


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_a_file_that_holds_more_than_its_size_says_is_unstable(sink: PackSink) -> None:
    fd = os.open("/proc/self", os.O_RDONLY)
    assert keep(fd, b"status", Intake(sink)) == "unstable"
    os.close(fd)


def test_bytes_that_are_there_already_are_not_written_again(
    root: Path, fd: int, context: LockedContext
) -> None:
    (root / "f").write_bytes(b"x")
    first = PackSink(context.lock)
    keep(fd, b"f", Intake(first))
    assert len(first.publish()) == 1
    second = PackSink(context.lock)
    keep(fd, b"f", Intake(second))
    assert second.publish() == []
