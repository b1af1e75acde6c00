"""The stat cache: what is saved loads, what does not load is empty."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from struct import Struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.worktree import cache as statcache
from takeback.worktree.cache import CacheHeader, StatCache
from takeback.worktree.directory import CacheDamaged, Directory, FileTable

MARK = Struct("=5q").pack(1, 2, 3, 4, 0o100644)


def directory(path: bytes, files: int, tree: bytes = b"") -> Directory:
    made = Directory(path)
    made.files = FileTable.of((b"%d" % n, MARK, b"o" * 20) for n in range(files))
    made.tree = tree
    return made


def content(cache: StatCache) -> dict[bytes, tuple[object, ...]]:
    return {row[0]: row for row in cache.known.rows()}


def filled(place: Path, names: str = "abcdefgh") -> StatCache:
    """A cache of one directory a letter."""
    cache = StatCache(str(place))
    for name in names.encode():
        cache.known[bytes([name])] = directory(bytes([name]), 2)
    cache.save(None)
    return cache


def changed(place: Path, path: bytes, tree: bytes) -> None:
    """Saves one changed directory, as a capture does."""
    cache = StatCache.load(str(place))
    cache.known[path].tree = tree
    cache.header.tree = tree
    cache.save({path})


def listing(place: Path) -> list[str]:
    return sorted(os.listdir(place))


def test_what_is_saved_loads_with_its_whole_header(tmp_path: Path) -> None:
    place = tmp_path / "stat"
    cache = filled(place)
    slots = [slot for slot in CacheHeader.__slots__ if slot != "token"]
    for number, slot in enumerate(slots):
        setattr(cache.header, slot, number)
    cache.save(set())
    loaded = StatCache.load(str(place))
    assert content(loaded) == content(cache)
    assert [getattr(loaded.header, slot) for slot in slots] == list(range(8))
    assert loaded.header.token == cache.header.token


def test_each_save_has_another_token(tmp_path: Path) -> None:
    """A watch that went with the cache before does not go with what somebody else has saved."""
    cache = filled(tmp_path / "stat")
    tokens = set()
    for _ in range(3):
        cache.save(set())
        tokens.add(StatCache.load(str(tmp_path / "stat")).header.token)
    assert len(tokens - {b""}) == 3


def test_without_a_cache_nothing_is_known_and_nothing_is_made(tmp_path: Path) -> None:
    loaded = StatCache.load(str(tmp_path / "stat"))
    assert (content(loaded), loaded.header.epoch, loaded.header.tree) == ({}, -1, b"")
    assert not (tmp_path / "stat").exists()


def test_a_change_is_appended_and_the_table_stays(tmp_path: Path) -> None:
    place = tmp_path / "stat"
    filled(place)
    before = (place / "table").stat().st_ino
    for number in range(3):
        changed(place, b"d", b"%d" % number)
    assert (place / "table").stat().st_ino == before
    assert listing(place) == ["log", "table"]
    loaded = StatCache.load(str(place))
    assert (loaded.known[b"d"].tree, loaded.header.tree) == (b"2", b"2")
    assert loaded.known.file_count() == 16


def test_of_the_header_only_what_changed_is_appended(tmp_path: Path) -> None:
    """In a project with a thousand ignored directories each capture would write all their names."""
    place = tmp_path / "stat"
    cache = filled(place)
    cache.header.ignored_directories = [b"%d/node_modules" % number for number in range(1000)]
    cache.save(None)
    changed(place, b"d", b"new")
    assert (place / "log").stat().st_size < 1000
    assert StatCache.load(str(place)).header.ignored_directories == cache.header.ignored_directories


def test_a_long_log_becomes_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "stat"
    monkeypatch.setattr(statcache, "_LEAST_LOG", 2000)
    filled(place)
    lengths = []
    for number in range(30):
        changed(place, b"abcdefgh"[number % 8 :][:1], b"%d" % number)
        lengths.append((place / "log").stat().st_size if (place / "log").exists() else 0)
    assert max(lengths) <= 2000
    assert lengths.count(0) >= 2
    loaded = StatCache.load(str(place))
    trees = {loaded.known[path].tree for path in loaded.known.paths()}
    assert trees == {b"%d" % number for number in range(22, 30)}


def test_a_cache_that_is_saved_twice_is_right_both_times(tmp_path: Path) -> None:
    """As an operation does that learnt much at its beginning; numbers are those of one table."""
    place = tmp_path / "stat"
    filled(place)
    cache = StatCache.load(str(place))
    cache.known.pop(b"a")
    cache.save(None)
    assert sorted(content(StatCache.load(str(place)))) == [b"b", b"c", b"d", b"e", b"f", b"g", b"h"]
    cache.known[b"h"].tree = b"new"
    cache.save({b"h"})
    loaded = StatCache.load(str(place))
    assert content(loaded) == content(cache)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def _flip_the_end(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 4
    path.write_bytes(data)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def _old(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data.replace(b"TB stat\3", b"TB stat\2"))


DAMAGES: list[Callable[[Path], None]] = [Path.unlink, _cut, _flip_the_end, _pipe, _link, _old]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_table_that_does_not_read_back_is_empty_and_can_be_saved_over(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    place = tmp_path / "stat"
    filled(place)
    changed(place, b"d", b"new")
    damage(place / "table")
    loaded = StatCache.load(str(place))
    assert content(loaded) == {}
    assert loaded.header.epoch == -1
    loaded.known[b"new"] = directory(b"new", 1)
    loaded.save({b"new"})
    assert list(content(StatCache.load(str(place)))) == [b"new"]
    assert listing(place) == ["table"]


def test_a_record_that_was_damaged_is_noticed_by_whoever_asks_for_it(tmp_path: Path) -> None:
    place = tmp_path / "stat"
    filled(place)
    data = bytearray((place / "table").read_bytes())
    record = StatCache.load(str(place)).known.in_table()
    assert record is not None
    table = record[0]
    number = next(number for number in range(8) if table.row(number)[0] == b"d")
    start = data.index(table.record(number))
    for at in range(start, start + len(table.record(number))):
        damaged = bytes(data[:at]) + bytes([data[at] ^ 16]) + bytes(data[at + 1 :])
        (place / "table").write_bytes(damaged)
        loaded = StatCache.load(str(place))
        assert loaded.known[b"e"].path == b"e"
        with pytest.raises(CacheDamaged):
            loaded.known.get(b"d")
        with pytest.raises(CacheDamaged):
            list(loaded.known.rows())


@pytest.mark.parametrize("large", [False, True], ids=["read whole", "read in pieces"])
def test_a_table_that_is_cut_while_it_is_used_is_damaged_and_then_void(
    tmp_path: Path, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "stat"
    filled(place)
    if large:
        monkeypatch.setattr("takeback.worktree.cache._READ_WHOLE", 0)
    cache = StatCache.load(str(place))
    os.truncate(place / "table", 100)
    if not large:
        assert len(content(cache)) == 8
        return
    with pytest.raises(CacheDamaged):
        cache.known.get(b"d")
    cache.known[b""] = directory(b"", 1)
    cache.save(None)
    assert content(StatCache.load(str(place))) == {}
    assert listing(place) == []


def test_a_log_that_was_cut_is_what_an_earlier_capture_knew(tmp_path: Path) -> None:
    """Whoever appended was killed at any byte of it."""
    place = tmp_path / "stat"
    filled(place)
    changed(place, b"d", b"first")
    short = (place / "log").stat().st_size
    changed(place, b"d", b"second")
    data = (place / "log").read_bytes()
    for length in range(len(data) + 1):
        (place / "log").write_bytes(data[:length])
        known = StatCache.load(str(place)).known[b"d"].tree
        assert known == (b"" if length < short else b"first" if length < len(data) else b"second")
    (place / "log").write_bytes(data[:-1])
    changed(place, b"e", b"third")
    loaded = StatCache.load(str(place))
    assert [loaded.known[path].tree for path in (b"d", b"e")] == [b"first", b"third"]


@pytest.mark.parametrize("damage", [_flip, _pipe], ids=lambda damage: damage.__name__)
def test_a_log_that_was_damaged_voids_the_cache(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    place = tmp_path / "stat"
    filled(place)
    changed(place, b"d", b"first")
    changed(place, b"d", b"second")
    damage(place / "log")
    loaded = StatCache.load(str(place))
    assert content(loaded) == {}
    loaded.known[b"new"] = directory(b"new", 1)
    loaded.save({b"new"})
    assert list(content(StatCache.load(str(place)))) == [b"new"]
    assert listing(place) == ["table"]


def test_a_link_in_place_of_the_log_is_not_written_through(tmp_path: Path) -> None:
    place = tmp_path / "stat"
    filled(place)
    (tmp_path / "other").write_bytes(b"")
    (place / "log").symlink_to(tmp_path / "other")
    changed(place, b"d", b"new")
    assert (tmp_path / "other").read_bytes() == b""
    assert listing(place) == ["table"]
    assert StatCache.load(str(place)).known[b"d"].tree == b"new"


def test_a_log_of_another_table_is_not_taken(tmp_path: Path) -> None:
    place = tmp_path / "stat"
    filled(place)
    changed(place, b"d", b"new")
    log = (place / "log").read_bytes()
    filled(place)
    (place / "log").write_bytes(log)
    assert content(StatCache.load(str(place))) == {}


def test_two_that_save_over_each_other_leave_what_one_of_them_knew_or_nothing(
    tmp_path: Path,
) -> None:
    """A lock keeps them apart; if it fails, it costs time and no more."""
    place = tmp_path / "stat"
    filled(place)
    one, other = StatCache.load(str(place)), StatCache.load(str(place))
    one.known[b"a"].tree = b"one"
    other.known[b"a"].tree = b"other"
    one.save({b"a"})
    other.save({b"a"})
    assert StatCache.load(str(place)).known[b"a"].tree == b"other"
    late = StatCache.load(str(place))
    filled(place, "xyz")
    late.known[b"b"].tree = b"late"
    late.save({b"b"})
    assert content(StatCache.load(str(place))) == {}


def test_what_an_older_version_or_a_killed_process_left_goes(tmp_path: Path) -> None:
    place = tmp_path / "stat"
    place.mkdir()
    for name in ("manifest", "1-0", "1-1", ".table.4711.tmp"):
        (place / name).write_bytes(b"old")
    assert content(StatCache.load(str(place))) == {}
    filled(place)
    assert listing(place) == ["table"]


def test_what_is_doubted_is_saved_as_doubted(tmp_path: Path) -> None:
    place = tmp_path / "stat"
    filled(place)
    cache = StatCache.load(str(place))
    before = cache.known[b"b"].files.signatures
    cache.doubt()
    cache.known[b"c"].tree = b"new"
    cache.save({b"c"})
    loaded = StatCache.load(str(place))
    assert loaded.known.file_count() == 16
    for path in (b"a", b"b", b"c"):
        assert loaded.known[path].files.signatures != before
        assert loaded.known[path].files.oids == b"o" * 40


_PATHS = st.sampled_from([b"", b"a", b"a/b", b"b", b"b/c", b"c", b"d", b"e", b"z/z"])
_EDITS = st.lists(
    st.lists(st.tuples(_PATHS, st.integers(-1, 12)), max_size=4, unique_by=lambda edit: edit[0]),
    max_size=8,
)


@settings(max_examples=40)
@given(_EDITS, st.sampled_from([0, 3000, 1 << 20]), st.sampled_from([0, 1 << 20]))
def test_any_sequence_of_changes_loads_as_it_was_saved(
    rounds: list[list[tuple[bytes, int]]], least_log: int, read_whole: int
) -> None:
    place = tempfile.mkdtemp()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("takeback.worktree.cache._LEAST_LOG", least_log)
            patch.setattr("takeback.worktree.cache._READ_WHOLE", read_whole)
            _play(place, rounds)
    finally:
        shutil.rmtree(place)


def _play(place: str, rounds: list[list[tuple[bytes, int]]]) -> None:
    model: dict[bytes, int] = {}
    for edits in rounds:
        cache = StatCache.load(place)
        for path, files in edits:
            if files < 0:
                cache.known.pop(path)
                model.pop(path, None)
            else:
                cache.known[path] = directory(path, files)
                model[path] = files
        assert cache.known.file_count() == sum(model.values())
        cache.save({path for path, _ in edits})
        loaded = StatCache.load(place)
        assert loaded.known.file_count() == sum(model.values())
        assert {path: len(loaded.known[path].files) for path in content(loaded)} == model
        assert {path for path in (b"", b"a", b"x") if path in loaded.known} == model.keys() & {
            b"",
            b"a",
        }
