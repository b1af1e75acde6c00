"""A. What is captured, exactly: what cannot be read or does not hold still (12 to 15)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from takeback.model.path_text import parents
from tests.support.cli import Cli
from tests.support.journey import (
    checkpoint,
    commit_all,
    not_held,
    paths,
    reasons,
    rewind,
    same,
    shell,
    undo,
    write_files,
)
from tests.support.processes import Started
from tests.support.trees import tree_state
from tests.support.unprivileged import unprivileged

# -- 12


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket has to be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero: it never ends
    except PermissionError:
        pytest.skip("no device can be made here: mknod ended with EPERM")


@pytest.mark.parametrize("special", [_fifo, _socket, _device])
def test_12_what_is_no_file_is_left_alone_and_hangs_nothing(
    cli: Cli, workspace: Path, special: Callable[[Path], None]
) -> None:
    """A FIFO, socket or device is left alone and does not hang anything; a tracked file turned
    into a FIFO too."""
    cli = Cli(workspace, timeout=60)
    write_files(workspace, {"file.txt": b"a file\n", "turned": b"a tracked file\n"})
    commit_all(workspace)
    special(workspace / "before")
    at = checkpoint(cli)
    assert not_held(cli, at) == {b"before": "special"}

    # New ones, one in the place of a tracked file, one in a new directory.
    (workspace / "turned").unlink()
    for name in ("turned", "later"):
        special(workspace / name)
    write_files(workspace, {"new/file.txt": b"new\n", "file.txt": b"changed\n"})
    special(workspace / "new" / "special")
    present = tree_state(workspace, identity=True)
    newer = checkpoint(cli)
    assert set(not_held(cli, newer)) == {b"before", b"later", b"turned", b"new/special"}
    cli.ok("diff", at)
    done = rewind(cli, at, status=3)
    assert b"turned" in reasons(done["left_alone"])
    now = tree_state(workspace, identity=True)
    for path in (b"before", b"later", b"turned", b"new/special"):
        assert now[path] == present[path], path
    assert now[b"file.txt"].content == b"a file\n"
    assert b"new/file.txt" not in now
    undo(cli)
    same(
        tree_state(workspace),
        {path: e._replace(inode=0, mtime_ns=0) for path, e in present.items()},
    )

    # The other way round: a file stands where the checkpoint only knows that there was a FIFO.
    (workspace / "before").unlink()
    write_files(workspace, {"before": b"no longer special\n"})
    done = rewind(cli, newer)
    assert (workspace / "before").read_bytes() == b"no longer special\n"
    assert b"before" in reasons(done["left_alone"])
    # And where git itself would wait for ever: an ignore file that is a FIFO means no rules.
    special(workspace / "new" / ".gitignore")
    write_files(workspace, {"new/later.txt": b"held\n"})
    made = cli.ok("--json", "checkpoint").json
    assert not_held(cli, made["id"])[b"new/.gitignore"] == "special"
    assert cli.ok("cat", made["id"], "new/later.txt").stdout_bytes == b"held\n"


# -- 13

_WRITER = """
import os, sys, time
kind, path = sys.argv[1], sys.argv[2]
size = 90 << 20
number = 0
if kind in ("rewritten", "grows", "shrinks"):
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    os.ftruncate(fd, size)
print("ready", flush=True)
while True:
    number += 1
    if kind == "rewritten":
        os.pwrite(fd, b"%d" % number, number * 4096 % size)
    elif kind == "grows":
        os.ftruncate(fd, size + number % (1 << 20))
    elif kind == "shrinks":
        os.ftruncate(fd, size - number % (1 << 20))
    elif kind == "vanishes":
        for name in range(20):
            with open(f"{path}/{name}", "wb") as file:
                file.write(b"here")
        for name in range(20):
            os.unlink(f"{path}/{name}")
        os.mkdir(f"{path}/directory")
        with open(f"{path}/directory/file", "wb") as file:
            file.write(b"here")
        os.unlink(f"{path}/directory/file")
        os.rmdir(f"{path}/directory")
    elif kind == "replaced":
        with open(f"{path}.new", "wb") as file:
            file.write(b"%08d" % number * 100_000)
        os.replace(f"{path}.new", path)
    elif kind == "turns":
        for make in (lambda: os.symlink("file.txt", path), lambda: os.mkdir(path),
                     lambda: os.mkfifo(path), lambda: open(path, "wb").close()):
            make()
            os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
"""


@contextlib.contextmanager
def _moving(kind: str, path: Path) -> Iterator[None]:
    """Changes ``path`` without a pause, in a process of its own."""
    with Started[bytes](
        [sys.executable, "-c", _WRITER, kind, str(path)], stdout=subprocess.PIPE
    ) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            yield
        finally:
            writer.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("kind", ["vanishes", "grows", "shrinks", "rewritten", "replaced", "turns"])
def test_13_a_file_that_moves_does_not_spoil_the_rest(cli: Cli, workspace: Path, kind: str) -> None:
    """A file that vanishes, grows, shrinks or is rewritten during the capture does not spoil the
    rest; an unstable one is named."""
    files = {f"still/{number}.txt": b"still %d\n" % number for number in range(200)}
    write_files(workspace, {**files, "file.txt": b"a file\n"})
    moving = workspace / "moving"
    if kind == "vanishes":
        moving.mkdir()
    named = False
    with _moving(kind, moving):
        for _ in range(2):
            made = cli.ok("--json", "checkpoint").json
            skipped = reasons(made["skipped"])
            tops = {path.partition(b"/")[0] for path in skipped}
            assert tops <= {b"moving", b"moving.new"}, "only what moves may be missing"
            assert made["complete"] is not bool(skipped)
            named = named or skipped.get(b"moving") == "unstable"
            if kind == "replaced":
                content = cli.run("cat", made["id"], "moving").stdout_bytes
                assert content == content[:8] * 100_000, "a mixture of two versions"
    if kind in ("grows", "shrinks", "rewritten"):
        assert named, "it was changed all the time, and no capture said so"
    assert made["files"] >= 201

    # What held still is exact, and what was not held is protected.
    last = made["id"]
    shell(workspace, "rm -r still/1*; echo changed > still/2.txt; rm -rf moving.new")
    there = tree_state(workspace)
    before = there.get(b"moving")
    unknown = not_held(cli, last)  # what it was nobody knows: said, gone or not
    was_pipe = unknown.get(b"moving") == "special"  # then that is known, and who knows what is now
    is_pipe = moving.is_fifo()  # it cannot be saved, so it stays, although it was not there then
    answer = cli.run("--json", "rewind", last, "--yes", "--allow-mass-delete")
    assert answer.status in ((0, 3) if was_pipe or is_pipe else (3,) if unknown else (0,)), answer
    told = paths(answer.json["left_alone"])  # a directory, and everything below it
    silent = {path for path in unknown if not told & {path, *parents(path)}}
    assert silent <= ({b"moving"} if was_pipe else set())
    state = tree_state(workspace)
    for name, content in files.items():
        assert state[name.encode()].content == content
    if before is not None and b"moving" in unknown:
        assert state.get(b"moving") == before
    # The capture after the storm has it all again.
    made = cli.ok("--json", "checkpoint").json
    assert made["complete"] is True


# -- 14


_SHUT = (
    ({"closed.txt": 0o000, "no-list": 0o300, "shut": 0o000}, ("closed.txt", "no-list", "shut")),
    ({"no-search": 0o600}, ("no-search/inside.txt",)),
)


@pytest.mark.parametrize(("shut", "named"), _SHUT, ids=["unreadable", "not-searchable"])
def test_14_what_cannot_be_read_or_is_too_large_is_named_and_protected(
    cli: Cli, workspace: Path, shut: dict[str, int], named: tuple[str, ...]
) -> None:
    """An unreadable file is named, protected, and does not stop the capture; so is one above the
    size limit."""
    cli = unprivileged(cli)
    small, large = b"s" * (1 << 20), b"l" * ((1 << 20) + 1)
    files = {
        "file.txt": b"a file\n",
        "closed.txt": b"cannot be read\n",
        "no-list/inside.txt": b"in a directory that cannot be listed\n",
        "no-search/inside.txt": b"in a directory that cannot be entered\n",
        "shut/inside.txt": b"in a directory that is shut\n",
        "large.bin": large,
        "fits.bin": small,
    }
    write_files(workspace, files)
    checkpoint(cli)
    cli.ok("config", "size_limit_mb", "1")
    for name, mode in shut.items():
        (workspace / name).chmod(mode)
    try:
        made = cli.ok("--json", "checkpoint").json
        told = cli.ok("checkpoint").stderr
    finally:
        for name in shut:
            (workspace / name).chmod(0o700)
    at = made["id"]
    expected = {**dict.fromkeys(named, "unreadable"), "large.bin": "oversized"}
    assert made["complete"] is False
    assert reasons(made["skipped"]) == {name.encode(): why for name, why in expected.items()}
    assert not_held(cli, at) == reasons(made["skipped"])
    assert all(name in told for name in expected), told
    assert cli.ok("cat", at, "fits.bin").stdout_bytes == small

    # Readable, small enough and different now: the checkpoint does not know what they were.
    protected = [name for name in files if name.startswith(tuple(shut)) or name == "large.bin"]
    write_files(workspace, {**dict.fromkeys(files, b"changed\n"), "fits.bin": large})
    if "no-list" in shut:
        protected.append("no-list/more.txt")
        write_files(workspace, {"no-list/more.txt": b"new, or not seen then\n"})
    before = tree_state(workspace)
    done = rewind(cli, at, status=3)
    assert done["deleted"] == []
    for name in shut:  # of a directory that could be listed the mode was known, and came back
        (workspace / name).chmod(0o700)
    after = tree_state(workspace)
    for name in protected:
        assert after[name.encode()].content == before[name.encode()].content
        assert any(name.encode().startswith(p) for p in reasons(done["left_alone"])), name
    for name in files.keys() - set(protected):
        assert after[name.encode()].content == files[name], name
    # Too large for a capture, but in the way of a rewind: saved whatever its size.
    undo(cli)
    assert (workspace / "fits.bin").read_bytes() == large
    same(before, tree_state(workspace))

    # Unreadable and in the way of a rewind: it cannot be saved, so it stays.
    (workspace / "fits.bin").write_bytes(b"changed and shut")
    (workspace / "fits.bin").chmod(0o000)
    done = rewind(cli, at, status=3)
    assert b"fits.bin" in reasons(done["left_alone"])
    (workspace / "fits.bin").chmod(0o600)
    assert (workspace / "fits.bin").read_bytes() == b"changed and shut"

    # A rewind that itself brings back a mode which shuts a directory can be undone.
    if "no-search" in shut:
        (workspace / "no-search").chmod(0o700)
        (workspace / "fits.bin").write_bytes(b"once more")
        before = tree_state(workspace)
        rewind(cli, at, status=3)
        undo(cli)
        same(before, tree_state(workspace))


# -- 15


def test_15_same_content_same_id_and_changed_content_another(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    """Same content, same snapshot id; changed content, another id, also for a same-size edit in
    the same clock tick and one with its mtime put back."""

    def snapshot(of: Cli = cli) -> str:
        made: str = of.ok("--json", "checkpoint").json["snapshot"]
        return made

    write_files(workspace, {"a.txt": b"aaaa", "sub/b.txt": b"bbbb", "sub/c": b""})
    (workspace / "empty").mkdir()
    first = snapshot()
    assert snapshot() == first
    # Written anew, touched, committed: none of this is content.
    (workspace / "a.txt").unlink()
    (workspace / "a.txt").write_bytes(b"aaaa")
    os.utime(workspace / "sub" / "b.txt", (1, 1))
    commit_all(workspace)
    assert snapshot() == first
    # Another directory with the same files has the same snapshot.
    twin = tmp_path / "twin"
    shell(tmp_path, "mkdir twin && cd workspace && cp -R a.txt sub empty ../twin/")
    assert snapshot(Cli(twin)) == first
    assert len({line["id"] for line in cli.ok("--json", "log").json_lines}) == 3

    seen = {first}

    def changed(what: str) -> None:
        now = snapshot()
        assert now not in seen, f"{what}: the same id as before"
        seen.add(now)

    path = workspace / "a.txt"
    (workspace / "sub" / "c").chmod(0o600)
    changed("a mode")
    (workspace / "empty").rmdir()
    changed("an empty directory that is gone")
    os.rename(workspace / "sub" / "c", workspace / "sub" / "d")
    changed("a new name")
    path.write_bytes(b"AAAA")
    changed("a same-size edit")
    time.sleep(0.1)  # old enough for the stat cache to be believed
    assert snapshot() in seen
    times = path.stat()
    path.write_bytes(b"BBBB")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    changed("a same-size edit with its mtime put back")
    times = path.stat()
    other = workspace / "other"
    other.write_bytes(b"CCCC")
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    os.replace(other, path)
    changed("another file of the same size and mtime")
    for second in (0, 2**31 + 10):  # the beginning of time, and the future
        os.utime(path, (second, second))
        assert snapshot() in seen
        path.write_bytes(b"%04d" % (second % 9999))
        os.utime(path, (second, second))
        changed("an edit of a file with an odd time")

    with _coarse_times(tmp_path / "coarse") as coarse:
        cli, path = Cli(coarse), coarse / "a.txt"
        path.write_bytes(b"aaaa")
        hits = 0
        for _ in range(10):
            hits += _edit_in_the_tick_of_the_capture(cli, path)
            at = checkpoint(cli)
            assert cli.ok("cat", at, "a.txt").stdout_bytes == b"last"
            if hits == 3:
                break


@contextlib.contextmanager
def _coarse_times(path: Path) -> Iterator[Path]:
    """Gives a directory whose files get their times from the clock's tick.

    Linux 6.13 gives finer ones on the usual file systems, on ramfs it does not. Where ramfs
    cannot be mounted the directory is an ordinary one, which older kernels treat the same.
    """
    path.mkdir()
    mount = ["mount", "-t", "ramfs", "none", str(path)]
    mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
    try:
        workspace = path / "workspace"
        workspace.mkdir()
        yield workspace
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", path], check=True)


def _edit_in_the_tick_of_the_capture(cli: Cli, path: Path) -> bool:
    """Rewrites a file in place until a capture has read it, and once more at that moment.

    Size, inode and, as clocks tick every few milliseconds, times are then the same as when it
    was read; only its bytes are not. False if a tick came between: then it was a plain edit.
    """
    libc = ctypes.CDLL(None)
    watch = libc.inotify_init1(os.O_NONBLOCK) if hasattr(libc, "inotify_init1") else -1
    file = os.open(path, os.O_RDWR)
    try:
        if watch >= 0:
            libc.inotify_add_watch(watch, os.fsencode(path), 0x10)  # IN_CLOSE_NOWRITE
        with cli.start("--json", "checkpoint") as process:
            count, end = 0, time.monotonic() + (10 if watch >= 0 else 0.2)
            while time.monotonic() < end and not _was_read(watch):
                count += 1
                os.pwrite(file, b"%04d" % (count % 10_000), 0)
            before = os.fstat(file).st_ctime_ns
            os.pwrite(file, b"last", 0)
            hit = os.fstat(file).st_ctime_ns == before
            process.communicate(timeout=60)
        assert process.returncode == 0
        return hit
    finally:
        os.close(file)
        if watch >= 0:
            os.close(watch)


def _was_read(watch: int) -> bool:
    if watch < 0:
        return False
    try:
        return bool(os.read(watch, 4096))
    except BlockingIOError:
        return False
