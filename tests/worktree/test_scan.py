"""The scan: what did not change is neither opened nor asked about, what changed is always seen."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.context import Context
from takeback.model.coverage import Policy
from tests.support.engine import opened, settle
from tests.support.git import git
from tests.support.scanner import Scanner

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs inotify")


@pytest.fixture
def scanner(context: Context) -> Scanner:
    return Scanner(context)


@contextmanager
def opened_files(root: Path) -> Iterator[list[str]]:
    """Gives the names of the regular files below ``root`` that any process opens meanwhile."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert fd >= 0
    directories = {}
    for base, names, _ in os.walk(root):
        names[:] = [name for name in names if name != ".git"]
        watch = libc.inotify_add_watch(fd, os.fsencode(base), 0x20)  # IN_OPEN
        assert watch >= 0
        directories[watch] = os.path.relpath(base, root)
    opened: list[str] = []
    try:
        yield opened
        while True:
            try:
                events = os.read(fd, 1 << 16)
            except BlockingIOError:
                break
            while events:
                watch, mask, _, length = struct.unpack_from("iIII", events)
                name = os.fsdecode(events[16 : 16 + length].rstrip(b"\0"))
                events = events[16 + length :]
                if name and not mask & 0x40000000:  # IN_ISDIR
                    opened.append(os.path.normpath(os.path.join(directories[watch], name)))
    finally:
        os.close(fd)


@pytest.fixture
def root(workspace: Path) -> Path:
    """Three files in three directories, old enough for their times to be believed."""
    for name in ("a", "sub/b", "sub/deep/c"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("1")
    settle()
    return workspace


# -- what is not done again


@linux
def test_a_second_scan_opens_no_file_and_asks_nothing(root: Path, scanner: Scanner) -> None:
    first = scanner.run()
    assert len(scanner.asked) == 5
    with opened_files(root) as opened:
        again = scanner.run()
    assert opened == []
    assert scanner.asked == []
    assert (again.tree, again.files, again.changed) == (first.tree, 3, 0)


@linux
def test_after_an_edit_only_that_file_is_opened(root: Path, scanner: Scanner) -> None:
    scanner.run()
    (root / "sub" / "b").write_text("2")
    (root / "sub" / "new").write_text("new")
    with opened_files(root) as opened:
        scanner.run()
    assert sorted(opened) == ["sub/b", "sub/new"]
    assert scanner.asked == [b"sub/new"]


@pytest.mark.slow
@linux
def test_a_file_too_young_to_be_believed_is_read_once_more_and_then_no_more(
    workspace: Path, scanner: Scanner
) -> None:
    (workspace / "young").write_text("1")
    later = time.time() + 5  # young for long enough, however slow the machine is
    os.utime(workspace / "young", (later, later))
    scanner.run()
    with opened_files(workspace) as opened:
        scanner.run()
    assert opened == ["young"]
    time.sleep(max(0.0, later - time.time()))
    settle()
    with opened_files(workspace) as opened:
        scanner.run()
        scanner.run()
    assert opened == ["young"]


@linux
def test_a_file_from_the_future_is_read_every_time(root: Path, scanner: Scanner) -> None:
    os.utime(root / "a", (4_000_000_000, 4_000_000_000))
    settle()
    for _ in range(3):
        with opened_files(root) as opened:
            scanner.run()
        assert "a" in opened


@linux
def test_a_change_of_the_rules_asks_again_and_reads_nothing_again(
    root: Path, scanner: Scanner
) -> None:
    scanner.run()
    (root / ".git" / "info" / "exclude").write_text("*.log\n")
    with opened_files(root) as opened:
        scanner.run()
    assert opened == []
    assert sorted(scanner.asked) == [b"a", b"sub", b"sub/b", b"sub/deep", b"sub/deep/c"]


# -- what is always seen


def test_an_edit_of_the_same_size_with_its_time_put_back_is_seen(
    root: Path, scanner: Scanner
) -> None:
    scanner.run()
    times = (root / "a").stat()
    (root / "a").write_text("2")
    os.utime(root / "a", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert (root / "a").stat().st_mtime_ns == times.st_mtime_ns
    assert scanner.held()[b"a"] == b"2"


def test_an_edit_in_the_same_tick_as_the_scan_is_seen(root: Path, scanner: Scanner) -> None:
    for number in range(10):
        (root / "a").write_text(str(number))
        scanner.run()
        (root / "a").write_text("x")
        assert scanner.held()[b"a"] == b"x"


def test_a_file_added_in_the_same_tick_as_the_scan_is_seen(root: Path, scanner: Scanner) -> None:
    for number in range(10):
        (root / f"before {number}").touch()
        scanner.run()
        (root / f"after {number}").touch()
        assert f"after {number}".encode() in scanner.held()


def _file_to_directory(root: Path) -> None:
    (root / "a").unlink()
    (root / "a").mkdir()


def _file_to_link(root: Path) -> None:
    (root / "a").unlink()
    (root / "a").symlink_to("sub")


def _directory_to_file(root: Path) -> None:
    shutil.rmtree(root / "sub")
    (root / "sub").write_text("f")


def _directory_to_link(root: Path) -> None:
    (root / "sub").rename(root / "x")
    (root / "sub").symlink_to("x")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda root: (root / "a").chmod(0o600), id="mode of a file"),
        pytest.param(lambda root: (root / "sub").chmod(0o700), id="mode of a directory"),
        pytest.param(lambda root: (root / "x").mkdir(), id="new directory"),
        pytest.param(lambda root: shutil.rmtree(root / "sub" / "deep"), id="directory removed"),
        pytest.param(lambda root: (root / "sub").rename(root / "moved"), id="directory moved"),
        pytest.param(lambda root: (root / "sub/deep/c").rename(root / "c"), id="file moved"),
        _file_to_directory,
        _file_to_link,
        _directory_to_file,
        _directory_to_link,
    ],
)
def test_a_change_gives_another_snapshot_that_a_scan_of_everything_gives_too(
    root: Path, scanner: Scanner, change: Callable[[Path], object]
) -> None:
    first = scanner.run()
    change(root)
    again = scanner.run()
    fresh = scanner.run(rehash=True)
    assert again.tree != first.tree
    assert (again.tree, again.files) == (fresh.tree, fresh.files)
    assert again.coverage == fresh.coverage


# -- ignore files


def test_a_new_ignore_file_is_asked_about_in_its_subtree_only(root: Path, scanner: Scanner) -> None:
    (root / "other").mkdir()
    (root / "other" / "c").write_text("1")
    scanner.run()
    (root / "sub" / ".gitignore").write_text("c\n")
    (root / "sub" / "deep" / "new").mkdir()
    (root / "sub" / "deep" / "new" / "c").write_text("1")
    assert set(scanner.held()) == {b"a", b"other/c", b"sub/.gitignore", b"sub/b", b"sub/deep/c"}
    assert sorted(scanner.asked) == [
        *(b"sub/.gitignore", b"sub/b", b"sub/deep", b"sub/deep/c"),
        *(b"sub/deep/new", b"sub/deep/new/c"),
    ]


def test_an_ignore_file_that_is_edited_in_place_is_asked_about_again(
    root: Path, scanner: Scanner
) -> None:
    (root / "sub" / ".gitignore").write_text("c\n")
    settle()
    scanner.run()
    (root / "sub" / ".gitignore").write_text("d\n")
    (root / "sub" / "d").write_text("1")
    assert set(scanner.held()) == {b"a", b"sub/.gitignore", b"sub/b", b"sub/deep/c"}
    assert not any(path == b"a" for path in scanner.asked)


def test_an_ignore_file_that_goes_shows_what_it_hid(root: Path, scanner: Scanner) -> None:
    (root / ".gitignore").write_text("deep/\nb\n")
    settle()
    first = scanner.run()
    assert first.coverage.reason_for(b"sub/deep/c") == "ignored"
    (root / ".gitignore").unlink()
    assert set(scanner.held()) == {b"a", b"sub/b", b"sub/deep/c"}
    assert scanner.run().coverage.not_held == ()


def test_an_ignore_file_that_is_rewritten_at_two_megabytes_is_read_again(
    root: Path, scanner: Scanner
) -> None:
    (root / ".gitignore").write_text("b\n")
    settle()
    assert set(scanner.run().saved) == {b"sub/b"}
    (root / ".gitignore").write_text("".join(f"name{n}\n" for n in range(200_000)) + "c\n")
    (root / "sub" / "c").write_text("ignored now")
    assert set(scanner.held()) == {b".gitignore", b"a", b"sub/b", b"sub/deep/c"}
    assert set(scanner.run().saved) == {b"sub/c"}


def test_beside_an_ignore_file_too_large_to_be_read_what_was_ignored_stays_so(
    root: Path, scanner: Scanner
) -> None:
    (root / ".gitignore").write_text("b\n")
    settle()
    scanner.run()
    (root / ".gitignore").write_text("c\n" * (3 << 20))
    (root / "sub" / "c").write_text("new, and nobody says that it is ignored")
    assert set(scanner.held()) == {b".gitignore", b"a", b"sub/c", b"sub/deep/c"}
    assert set(scanner.run().saved) == {b"sub/b"}


@pytest.mark.parametrize("edit", [False, True], ids=["removed", "edited"])
@pytest.mark.parametrize(
    "policy",
    [Policy(size_limit=20), Policy(exclude=(".gitignore",)), Policy(ignored="off")],
    ids=["oversized", "excluded", "ignored"],
)
def test_an_ignore_file_that_is_not_held_itself_is_never_believed(
    root: Path, policy: Policy, edit: bool
) -> None:
    (root / ".gitignore").write_text(".gitignore\ndeep/\n# a comment\n")
    settle()
    with opened(root, policy=policy) as context:
        scanner = Scanner(context)
        first = scanner.run()
        assert first.coverage.reason_for(b"sub/deep/c") == "ignored"
        assert b".gitignore" not in first.saved
        if edit:
            (root / ".gitignore").write_text(".gitignore\nnew\n# a comment...\n")
            (root / "sub" / "new").write_text("ignored now")
        else:
            (root / ".gitignore").unlink()
        held = set(scanner.held())
    assert held == {b"a", b"sub/b", b"sub/deep/c"}


# -- the index


def test_an_ignored_file_is_held_from_the_moment_it_is_tracked(
    root: Path, scanner: Scanner
) -> None:
    (root / ".gitignore").write_text("b\n")
    settle()
    first = scanner.run()
    assert set(first.saved) == {b"sub/b"}
    git(root, "add", "--force", "sub/b")
    assert set(scanner.held()) == {b".gitignore", b"a", b"sub/b", b"sub/deep/c"}
    assert scanner.run().saved == {}
    git(root, "rm", "--quiet", "--cached", "sub/b")
    assert b"sub/b" in scanner.held()
    (root / "sub" / "b").unlink()
    assert b"sub/b" not in scanner.held()
    (root / "sub" / "b").write_text("1")
    again = scanner.run()
    assert (again.tree, again.saved) == (first.tree, first.saved)
    assert again.coverage == first.coverage


@linux
def test_a_change_of_the_index_alone_opens_no_file(root: Path, scanner: Scanner) -> None:
    scanner.run()
    git(root, "add", "a")
    with opened_files(root) as opened:
        scanner.run()
    assert opened == []
    assert scanner.asked == []


# -- a model: the cache never changes the answer

_NAMES = st.sampled_from(["a", "b", "d", "d/a", "d/e", "d/e/b", "x.ign", "d/x.ign", "d/.gitignore"])
_EDITS = st.lists(
    st.tuples(st.sampled_from(["write", "remove", "mkdir", "link", "chmod"]), _NAMES),
    min_size=1,
    max_size=4,
)


def _edit(root: Path, what: str, name: str, number: int) -> None:
    path = root / name
    if what == "chmod":
        if path.exists() and not path.is_symlink():
            path.chmod(0o700 if path.is_dir() else 0o600 + number % 8)
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.is_symlink() or path.exists():
        path.unlink()
    if what == "remove" or not path.parent.is_dir() or path.parent.is_symlink():
        return
    if what == "mkdir":
        path.mkdir()
    elif what == "link":
        path.symlink_to(f"{number % 2}")
    else:
        path.write_text("*.ign\n" if name.endswith(".gitignore") else f"{number % 3}")


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(rounds=st.lists(_EDITS, min_size=1, max_size=5))
def test_a_scan_that_believes_its_cache_comes_to_what_one_that_reads_all_comes_to(
    workspace: Path, scanner: Scanner, rounds: list[list[tuple[str, str]]]
) -> None:
    number = 0
    for edits in rounds:
        for what, name in edits:
            number += 1
            _edit(workspace, what, name, number)
        fresh: Any = scanner.run(rehash=True)
        cached = scanner.run()
        assert (cached.tree, cached.saved, cached.coverage, cached.files) == (
            fresh.tree,
            fresh.saved,
            fresh.coverage,
            fresh.files,
        )
