"""Which known directories changed, found by Python, by two processes of it, or by C."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback.context import Context
from takeback.worktree import glance
from takeback.worktree.cache import StatCache
from takeback.worktree.directory import (
    LISTED,
    MODE,
    NAMES,
    PATH,
    SIGNATURES,
    CacheDamaged,
    Directory,
)
from takeback.worktree.glance import can_fork, changed_directories
from tests.support.engine import checkpoint, settle
from tests.support.processes import join


@pytest.fixture(params=["Python", "C"])
def language(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Has one of the two look."""
    if request.param == "C":
        if not os.path.exists(glance.LIBRARY):
            pytest.skip("there was no C compiler when takeback was installed")
        monkeypatch.setattr(glance, "_MANY", 0)
        monkeypatch.setattr(glance, "changed_among", None)
    return str(request.param)


@pytest.fixture
def root(workspace: Path, context: Context) -> Path:
    """A workspace of four directories that was captured and has settled."""
    (workspace / ".gitignore").write_text("*.env\n")
    for name in ("a", "a/b", "c"):
        (workspace / name).mkdir()
        (workspace / name / "f").write_text("1")
        (workspace / name / "x.env").write_text("1")
    settle()
    checkpoint(context)
    return workspace


def changed(context: Context) -> list[bytes]:
    known = StatCache.load(context.store.path("stat")).known
    return sorted(changed_directories(context.workspace.fd, known, in_child=lambda: None))


def test_when_nothing_changed_nothing_is_found(root: Path, context: Context, language: str) -> None:
    assert changed(context) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        pytest.param(lambda root: (root / "a/f").write_text("2"), [b"a"], id="edit"),
        pytest.param(lambda root: (root / "a/b/f").chmod(0o600), [b"a/b"], id="mode"),
        pytest.param(lambda root: (root / "c/x.env").write_text("2"), [b"c"], id="ignored file"),
        pytest.param(lambda root: (root / "c/new").touch(), [b"c"], id="new file"),
        pytest.param(lambda root: (root / "c/f").unlink(), [b"c"], id="file gone"),
        pytest.param(lambda root: (root / "c").chmod(0o700), [b"c"], id="directory's mode"),
        pytest.param(lambda root: (root / "a/f").rename(root / "c/g"), [b"a", b"c"], id="move"),
        pytest.param(
            lambda root: (root / "a").rename(root / "d"), [b"", b"a", b"a/b"], id="directory moved"
        ),
        pytest.param(lambda root: os.utime(root / "a/f", ns=(1, 1)), [b"a"], id="times"),
        pytest.param(lambda root: (root / "top").mkdir(), [b""], id="new directory"),
    ],
)
def test_a_change_is_found_in_its_directory(
    root: Path,
    context: Context,
    language: str,
    change: Callable[[Path], object],
    found: list[bytes],
) -> None:
    change(root)
    assert changed(context) == found


def test_a_directory_that_became_a_link_to_its_copy_is_found(
    root: Path, context: Context, language: str
) -> None:
    (root / "c").rename(root / "moved")
    (root / "c").symlink_to("moved")
    assert changed(context) == [b"", b"c"]


def test_what_was_listed_too_early_is_listed_again(
    root: Path, context: Context, language: str
) -> None:
    (root / "c" / "new").touch()
    checkpoint(context)
    assert changed(context) == [b"c"]


def test_odd_names_are_looked_at_and_paths_that_are_too_long_are_left_to_the_listing(
    root: Path, context: Context, language: str
) -> None:
    odd = root / os.fsdecode(b"\xff \n") / "-"
    odd.mkdir(parents=True)
    for name in (b"\xfe", b"a\tb", b"\\", b"n" * 255):
        (odd / os.fsdecode(name)).symlink_to("nowhere")
    deep = os.open(root, os.O_RDONLY)
    for _ in range(18):
        os.mkdir("d" * 250, dir_fd=deep)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    settle()
    checkpoint(context)
    too_long = [path for path in changed(context) if len(path) >= 4096 - 250]
    assert changed(context) == too_long
    (odd / os.fsdecode(b"a\tb")).unlink()
    (odd / os.fsdecode(b"a\tb")).symlink_to("somewhere")
    assert sorted({*changed(context)} - {*too_long}) == [b"\xff \n/-"]


@pytest.mark.skipif(not os.path.exists(glance.LIBRARY), reason="there was no C compiler")
@pytest.mark.parametrize(
    ("column", "value"),
    [
        pytest.param(LISTED, b"", id="not listed"),
        pytest.param(LISTED, bytes(24), id="listed at another time"),
        pytest.param(SIGNATURES, bytes(40), id="another signature"),
        pytest.param(NAMES, b"f/f", id="a name too many"),
        pytest.param(NAMES, b"", id="no name"),
        pytest.param(MODE, 0, id="another mode"),
        pytest.param(PATH, b"x" * 5000, id="a path that cannot be"),
    ],
)
def test_a_row_that_does_not_match_is_a_change_to_the_look_in_c(
    root: Path, context: Context, column: int, value: bytes | int
) -> None:
    known = StatCache.load(context.store.path("stat")).known
    row = known[b"c"].dump()
    made = Directory.load((*row[:column], value, *row[column + 1 :]))
    known[b"c"] = made
    assert glance.changed_paths(context.workspace.fd, known) == [made.path]


@pytest.mark.skipif(not os.path.exists(glance.LIBRARY), reason="there was no C compiler")
def test_no_garbled_record_leads_the_look_in_c_astray(root: Path, context: Context) -> None:
    """It is a change, and then noticed; or garbled where nothing is used unless there is one."""
    stat = Path(context.store.path("stat"))
    (stat / "log").unlink(missing_ok=True)
    sound = (stat / "table").read_bytes()
    in_table = StatCache.load(str(stat)).known.in_table()
    assert in_table is not None
    size = memoryview(in_table[0].offsets).cast("Q")[-1]
    noticed = 0
    for at in range(size):
        for flip in (1, 128):
            garbled = bytes([sound[at] ^ flip])
            (stat / "table").write_bytes(sound[:at] + garbled + sound[at + 1 :])
            try:
                found = glance.changed_paths(context.workspace.fd, StatCache.load(str(stat)).known)
                assert found == []
            except CacheDamaged:
                noticed += 1
    assert noticed > size


def test_a_library_that_does_not_load_or_is_of_another_version_is_done_without(
    root: Path, context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import _ctypes

    monkeypatch.setattr(glance, "_MANY", 0)
    (root / "c" / "f").write_text("2")
    (tmp_path / "garbage.so").write_bytes(b"not a library")
    for library in ("missing.so", "garbage.so", _ctypes.__file__):
        monkeypatch.setattr(glance, "LIBRARY", str(tmp_path / library))
        assert changed(context) == [b"c"]


def test_many_threads_find_what_one_finds(root: Path, context: Context, language: str) -> None:
    for number in range(500):
        (root / f"many{number}").mkdir()
        (root / f"many{number}" / "f").touch()
    settle()
    checkpoint(context)
    assert changed(context) == []
    for number in range(0, 500, 7):
        (root / f"many{number}" / "f").write_text("2")
    assert changed(context) == sorted(b"many%d" % number for number in range(0, 500, 7))


def test_a_process_with_threads_is_not_forked() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert not can_fork()
    finally:
        stop.set()
        join(thread)


_A_THREAD_OF_C = """
import ctypes
from takeback.worktree.glance import can_fork
assert can_fork()
libc = ctypes.CDLL(None)
thread = ctypes.c_ulong()
assert libc.pthread_create(ctypes.byref(thread), None, libc.pause, None) == 0
assert not can_fork()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells of such threads")
def test_a_process_with_threads_that_python_does_not_know_is_not_forked() -> None:
    """As libraries start them; Python 3.12 warns of the fork, and a warning may be an error."""
    subprocess.run([sys.executable, "-c", _A_THREAD_OF_C], check=True)


_TWO = """
import os, sys
from takeback.worktree import glance
from takeback.worktree.cache import StatCache

forks = []
real = os.fork
os.fork = lambda: forks.append(real()) or forks[-1]
glance._MANY = 1
glance.LIBRARY = ""
known = StatCache.load(sys.argv[1]).known
root = os.open(sys.argv[2], os.O_RDONLY)
dies = sys.argv[3] == "dies"
found = glance.changed_directories(root, known, in_child=lambda: os._exit(3) if dies else None)
print(len(forks), *sorted(map(os.fsdecode, found)))
"""


@pytest.mark.parametrize("child", ["lives", "dies"])
def test_two_processes_find_what_one_finds_also_if_one_dies(
    root: Path, context: Context, child: str
) -> None:
    for name in ("a", "a/b", "c"):
        (root / name / "f").write_text("2")
    done = subprocess.run(
        [sys.executable, "-c", _TWO, context.store.path("stat"), root, child],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["1", "a", "a/b", "c"]
    assert done.stderr == ""


def test_with_inode_numbers_beyond_63_bits_nothing_is_found_either(
    root: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def beyond(call: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
        def answer(*args: object, **options: object) -> os.stat_result:
            s = call(*args, **options)
            mode, inode, *eight = s
            times = (s.st_atime, s.st_mtime, s.st_ctime)
            exact = (s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns)
            return os.stat_result((mode, inode + 2**63, *eight, *times, *exact))

        return answer

    monkeypatch.setattr(os, "stat", beyond(os.stat))
    monkeypatch.setattr(os, "fstat", beyond(os.fstat))
    assert changed(context) != []
    checkpoint(context)
    assert changed(context) == []
    (root / "c" / "f").write_text("2")
    assert changed(context) == [b"c"]
