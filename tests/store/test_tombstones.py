"""The file of tombstones: private, kept before a purge begins, and never passed over."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from takeback.context import Context
from takeback.errors import StoreDamaged
from takeback.store import tombstones
from takeback.store.store import Store


@pytest.fixture
def store(context: Context) -> Store:
    return context.store


def set_up(store: Store, path: bytes) -> None:
    with store.locked("a test", wait=1) as locked:
        tombstones.stage(locked, tombstones.loaded_or_none_yet(store).of_paths(path))
        tombstones.set_up(locked)


def test_without_a_purge_there_is_none(store: Store) -> None:
    assert tombstones.load(store) is None


def test_they_count_once_they_are_set_up_and_later_ones_are_added(store: Store) -> None:
    with store.locked("a test", wait=1) as locked:
        tombstones.stage(locked, tombstones.loaded_or_none_yet(store).of_paths(b"a"))
        assert tombstones.load(store) is None
        tombstones.set_up(locked)
        tombstones.set_up(locked)
    set_up(store, b"b")
    known = tombstones.load(store)
    assert known is not None
    assert known.hides(b"a")
    assert known.hides(b"b")


def test_only_the_user_may_read_them(store: Store) -> None:
    set_up(store, b"a")
    assert stat.S_IMODE(os.stat(store.path(tombstones.FILE)).st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"key": 1}', "\x00"])
def test_garbled_ones_are_never_taken_for_none(store: Store, text: str) -> None:
    set_up(store, b"a")
    Path(store.path(tombstones.FILE)).write_text(text)
    with pytest.raises(StoreDamaged, match="says what was purged"):
        tombstones.load(store)
