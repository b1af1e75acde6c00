"""The stat cache: what is saved loads, what does not load is empty."""

from __future__ import annotations

import marshal
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.worktree import statcache
from takeback.worktree.directory import Directory, FileTable
from takeback.worktree.statcache import CacheHeader, StatCache


def directory(path: bytes, files: int, tree: bytes = b"") -> Directory:
    made = Directory(path)
    made.files = FileTable.of((b"%d" % n, b"s" * 40, b"o" * 20) for n in range(files))
    made.tree = tree
    return made


def content(cache: StatCache) -> dict[bytes, tuple[object, ...]]:
    return {row[0]: row for row in cache.known.rows()}


def filled(place: Path, names: str = "abcdefgh") -> StatCache:
    """A cache of one directory a letter, three of them in each shard."""
    cache = StatCache(str(place))
    for name in names.encode():
        cache.known[bytes([name])] = directory(bytes([name]), 2)
    cache.save(None)
    return cache


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statcache, "_SHARD_FILES", 9)


def shards(place: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in place.iterdir() if path.name != "manifest"}


def test_what_is_saved_loads_with_its_whole_header(tmp_path: Path) -> None:
    place = tmp_path / "stat"
    cache = filled(place)
    for number, slot in enumerate(CacheHeader.__slots__):
        setattr(cache.header, slot, number)
    cache.save(set())
    loaded = StatCache.load(str(place))
    assert content(loaded) == content(cache)
    assert [getattr(loaded.header, slot) for slot in CacheHeader.__slots__] == list(range(8))


def test_without_a_cache_nothing_is_known_and_nothing_is_made(tmp_path: Path) -> None:
    loaded = StatCache.load(str(tmp_path / "stat"))
    assert (content(loaded), loaded.header.epoch, loaded.header.tree) == ({}, -1, b"")
    assert not (tmp_path / "stat").exists()


def test_only_shards_with_a_change_are_written_again(tmp_path: Path) -> None:
    place = tmp_path / "stat"
    filled(place)
    before = shards(place)
    assert len(before) == 3
    cache = StatCache.load(str(place))
    cache.known[b"d"].tree = b"changed"
    cache.save({b"d"})
    after = shards(place)
    assert len(after) == 3
    assert len(before.items() & after.items()) == 2
    assert StatCache.load(str(place)).known[b"d"].tree == b"changed"


@pytest.mark.parametrize(
    "how", ["a shard is gone", "a shard is cut", "a manifest is cut", "version"]
)
def test_a_cache_that_does_not_read_back_is_empty_and_can_be_saved_over(
    tmp_path: Path, how: str
) -> None:
    place = tmp_path / "stat"
    filled(place)
    first = next(path for path in place.iterdir() if path.name != "manifest")
    manifest = place / "manifest"
    if how == "a shard is gone":
        first.unlink()
    elif how == "a shard is cut":
        first.write_bytes(first.read_bytes()[:-30])
    elif how == "a manifest is cut":
        manifest.write_bytes(manifest.read_bytes()[:10])
    else:
        _, *rest = marshal.loads(manifest.read_bytes())
        manifest.write_bytes(marshal.dumps((99, *rest)))
    loaded = StatCache.load(str(place))
    assert content(loaded) == {}
    assert loaded.header.epoch == -1
    loaded.known[b"new"] = directory(b"new", 1)
    loaded.save(None)
    assert list(content(StatCache.load(str(place)))) == [b"new"]
    assert len(shards(place)) == 1


_PATHS = st.sampled_from([b"", b"a", b"a/b", b"b", b"b/c", b"c", b"d", b"e", b"z/z"])
_EDITS = st.lists(
    st.lists(st.tuples(_PATHS, st.integers(-1, 12)), max_size=4, unique_by=lambda edit: edit[0]),
    max_size=8,
)


@settings(max_examples=40)
@given(_EDITS)
def test_any_sequence_of_changes_loads_as_it_was_saved(
    rounds: list[list[tuple[bytes, int]]],
) -> None:
    with tempfile.TemporaryDirectory() as place:
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
            cache.save({path for path, _ in edits})
            loaded = StatCache.load(place)
            assert {path: len(loaded.known[path].files) for path in content(loaded)} == model
            assert len(shards(Path(place))) == len(loaded._shards)
