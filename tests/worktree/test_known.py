"""The known directories: records until one is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest

from takeback.worktree.cache import Known, StatCache
from takeback.worktree.directory import REPOSITORY, Directory, FileTable


def directory(path: bytes, *names: bytes) -> Directory:
    made = Directory(path)
    made.files = FileTable.of((name, b"s" * 40, b"o" * 20) for name in names)
    return made


@pytest.fixture(params=["in the table", "in the log", "in both"])
def known(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Known]:
    """Makes what is known of some directories, as it comes from the disk."""

    def load(*directories: Directory) -> Known:
        cache = StatCache(str(tmp_path / "stat"))
        if request.param != "in the log":
            for made in directories:
                cache.known[made.path] = made
        cache.save(None)
        if request.param != "in the table":
            cache = StatCache.load(str(tmp_path / "stat"))
            for made in directories:
                cache.known[made.path] = made
            cache.save({made.path for made in directories})
        return StatCache.load(str(tmp_path / "stat")).known

    return load


def test_a_directory_is_made_once_and_changes_to_it_are_kept(known: Callable[..., Known]) -> None:
    all_known = known(directory(b"a"), directory(b"b"))
    assert all_known[b"a"] is all_known[b"a"]
    all_known[b"a"].tree = b"new"
    assert [row[-1] for row in all_known.rows() if row[0] == b"a"] == [b"new"]
    assert sorted(row[0] for row in all_known.rows()) == [b"a", b"b"]
    assert sorted(all_known.paths()) == [b"a", b"b"]


def test_what_is_not_known_is_not_there(known: Callable[..., Known]) -> None:
    all_known = known(directory(b"a"))
    assert b"x" not in all_known
    assert all_known.get(b"x") is None
    assert all_known.pop(b"x") is None
    with pytest.raises(KeyError):
        all_known[b"x"]


@pytest.mark.parametrize("looked_at", [False, True])
def test_a_directory_is_replaced_or_forgotten_whether_it_was_looked_at_or_not(
    known: Callable[..., Known], looked_at: bool
) -> None:
    all_known = known(directory(b"a"), directory(b"b"))
    if looked_at:
        assert all_known[b"a"].path == b"a"
        assert all_known[b"b"].path == b"b"
    all_known[b"a"] = directory(b"a", b"x", b"y")
    assert len(all_known.paths()) == 2
    assert all_known.file_count() == 2
    forgotten = all_known.pop(b"b")
    assert forgotten is not None
    assert b"b" not in all_known
    assert all_known.paths() == [b"a"]


@pytest.mark.parametrize("looked_at", [False, True])
def test_files_gaps_and_repositories_are_counted_in_records_and_objects(
    known: Callable[..., Known], looked_at: bool
) -> None:
    gap, saved, tracked, repository = (directory(name, b"f") for name in (b"g", b"s", b"t", b"r"))
    gap.gaps = {b"x": "ignored"}
    saved.saved = FileTable.of([(b"x", b"s" * 40, b"o" * 20)])
    tracked.tracked = (b"f",)
    repository.flags = REPOSITORY
    all_known = known(gap, saved, tracked, repository, directory(b"plain", b"f"))
    if looked_at:
        for path in all_known.paths():
            assert all_known[path].path == path
    assert all_known.file_count() == 5
    assert sorted(found.path for found in all_known.special()) == [b"g", b"s", b"t"]
    assert all_known.repositories() == [b"r"]


def test_a_look_at_one_directory_reads_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = StatCache(str(tmp_path / "stat"))
    for number in range(1000):
        path = b"directory%d" % number
        cache.known[path] = directory(path, *(b"file%d" % n for n in range(20)))
    cache.known[b"directory7"].gaps = {b"x": "ignored"}
    cache.save(None)
    size = (tmp_path / "stat" / "table").stat().st_size
    monkeypatch.setattr("takeback.worktree.cache._READ_WHOLE", 0)
    read = []
    real = os.pread

    def counting(fd: int, length: int, offset: int) -> bytes:
        read.append(length)
        return real(fd, length, offset)

    monkeypatch.setattr(os, "pread", counting)
    known = StatCache.load(str(tmp_path / "stat")).known
    assert known[b"directory500"].files.names.startswith(b"file0/")
    assert b"directory1000" not in known
    assert [special.path for special in known.special()] == [b"directory7"]
    assert known.file_count() == 20_000
    assert sum(read) < size / 50


def test_two_paths_with_the_same_hash_are_told_apart(known: Callable[..., Known]) -> None:
    one, other = b"plumless", b"buckeroo"
    assert crc32(one) == crc32(other)
    both = known(directory(one, b"1"), directory(other, b"2"))
    assert [both[path].files.names for path in (one, other)] == [b"1", b"2"]


def test_a_path_with_the_hash_of_another_is_not_that(known: Callable[..., Known]) -> None:
    alone = known(directory(b"plumless", b"1"))
    assert b"buckeroo" not in alone
