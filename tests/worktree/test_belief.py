"""Writes through a mapping of a file change its bytes and, for a while, nothing else."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.context import Context
from takeback.worktree import glance
from takeback.worktree.directory import doubted, signature
from takeback.worktree.glance import Belief, ScanTime
from tests.support.cli import Cli
from tests.support.engine import opened, settle
from tests.support.processes import Started
from tests.support.scanner import Scanner

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
PAGE = mmap.PAGESIZE


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A workspace in a file system without a disk; skips where there is none."""
    mounts = Path("/proc/mounts")
    lines = mounts.read_text().splitlines() if mounts.exists() else []
    if not any(line.split()[1:3] == ["/dev/shm", "tmpfs"] for line in lines):
        pytest.skip("/dev/shm is no tmpfs here")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        yield Path(place)


def mapped(path: Path) -> mmap.mmap:
    """Maps a file of two pages for writing and writes to the first; the descriptor is closed."""
    path.write_bytes(b"A" * 2 * PAGE)
    with open(path, "r+b") as file:
        mapping = mmap.mmap(file.fileno(), 0)
    mapping[0:1] = b"B"
    return mapping


def read_again(root: Path, scanner: Scanner) -> None:
    """A second write to a mapped page is in the next capture, and the one after that.

    A page that the kernel has written to the disk meanwhile, as on a busy machine, shows nothing.
    """
    assert any(is_seen_although_its_times_stay(root, scanner) for _ in range(20))


def is_seen_although_its_times_stay(root: Path, scanner: Scanner) -> bool:
    mapping = mapped(root / "f")
    settle()
    scanner.run()
    scanner.run()
    before = (root / "f").stat()
    mapping[0:1] = b"C"
    unseen = (root / "f").stat().st_mtime_ns == before.st_mtime_ns
    assert scanner.held()[b"f"][:1] == b"C"
    mapping[0:1] = b"D"
    assert scanner.held()[b"f"][:1] == b"D"
    mapping.close()
    return unseen


@linux
def test_a_second_write_to_a_mapped_page_is_seen(workspace: Path, context: Context) -> None:
    read_again(workspace, Scanner(context))


@linux
def test_a_second_write_to_a_mapped_page_is_seen_where_there_is_no_disk(in_memory: Path) -> None:
    with opened(in_memory) as context:
        read_again(in_memory, Scanner(context))


@linux
def test_what_a_mapping_changed_is_taken_back_by_the_command_line(workspace: Path) -> None:
    cli = Cli(workspace)
    mapping = mapped(workspace / "f")
    settle()
    first = cli.ok("--json", "checkpoint", "-m", "B").json
    mapping[0:1] = b"C"
    assert cli.ok("--json", "checkpoint").json["snapshot"] != first["snapshot"]
    mapping.close()
    cli.ok("rewind", "B", "--files", "--yes")
    assert (workspace / "f").read_bytes()[:1] == b"B"


@linux
def test_young_files_that_nobody_writes_to_are_not_read_again(
    workspace: Path, context: Context
) -> None:
    for number in range(20):
        (workspace / f"{number}").write_text("x")
    settle()
    scanner = Scanner(context)
    scanner.run()
    read: list[bytes] = []
    scanner.when_read = read.append
    scanner.run()
    assert read == []


@linux
def test_a_program_that_opens_a_file_while_it_is_looked_at_is_not_disturbed(
    workspace: Path, context: Context
) -> None:
    """It neither fails nor waits noticeably, and no signal ends the capture."""
    (workspace / "f").write_text("0")
    program = """
import os, sys
print("ready", flush=True)
while True:
    os.close(os.open(sys.argv[1], os.O_WRONLY))
"""
    with Started(
        [sys.executable, "-c", program, workspace / "f"], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        scanner = Scanner(context)
        try:
            for number in range(100):
                (workspace / "f").write_text(str(number))
                scanner.run()
            assert writer.poll() is None
        finally:
            writer.kill()


def test_what_is_read_again_is_bounded_in_files_and_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"x" * 10)
    mark = doubted(signature((tmp_path / "f").stat()))
    moment = ScanTime(time.time_ns() + 10**10, distrusted=False)
    for limit, value in (("_FILES", 3), ("_BYTES", 35)):
        with monkeypatch.context() as patch:
            patch.setattr(glance, limit, value)
            few = Belief(moment)
            answers = [few.of(mark) == mark for _ in range(6)]
        assert answers == [True] * 3 + [False] * 3


def test_an_old_file_is_believed_even_if_it_is_open_for_writing(
    workspace: Path, context: Context
) -> None:
    """Its pages were written back long ago: the next write to them shows in its times."""
    (workspace / "f").write_text("x")
    scanner = Scanner(context)
    moment = ScanTime(time.time_ns(), distrusted=False)
    assert moment.dirty_ns == 40 * 10**9
    assert ScanTime(0, distrusted=False, in_memory=True).dirty_ns > 10 * 365 * 86400 * 10**9
    with open(workspace / "f", "r+b"):
        settle()
        scanner.run()
        read: list[bytes] = []
        scanner.when_read = read.append
        scanner.run()
        assert read  # young and open for writing: not believed
    scanner.run()
    read.clear()
    scanner.run()
    assert read == []


def test_where_the_kernel_does_not_tell_the_age_alone_decides(
    workspace: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    from takeback.worktree import read as reading

    monkeypatch.setattr(reading, "_LEASE", None)
    (workspace / "f").write_text("x")
    os.utime(workspace / "f", (1, 1))
    settle()
    scanner = Scanner(context)
    scanner.run()
    read: list[bytes] = []
    scanner.when_read = read.append
    scanner.run()
    assert read
