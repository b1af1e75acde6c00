"""Which files take most of a store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.retention.sweep import sweep
from takeback.store import weight
from takeback.store.repack import size_on_disk
from takeback.store.store import Store
from takeback.store.weight import Consumer, Weighed, heaviest
from takeback.words.status import status as document
from takeback.words.status import status_lines
from takeback.words.text import Paint, size


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is notable of a large store is notable of a small one."""
    monkeypatch.setattr(weight, "NOTABLE", 100_000)


@pytest.mark.usefixtures("small")
def test_status_names_the_file_that_takes_most_of_the_store(workspace: Path) -> None:
    (workspace / "data").mkdir()
    large = workspace / "data" / "big one"
    with Engine.open(workspace) as tb:
        for number in range(4):
            large.write_bytes(os.urandom(200_000))
            (workspace / "small").write_bytes(b"%d" % number)
            tb.checkpoint()
        found = tb.status()
        [one] = found.heaviest
        assert (one.path, one.versions) == (b"data/big one", 4)
        assert 800_000 <= one.bytes < 802_000
        [line, advice] = [
            text for text in status_lines(found, Paint(on=False), 0.0) if "big one" in text
        ]
        assert line == f"mostly    data/big one, 4 versions: {size(one.bytes)}"
        assert "takeback config exclude 'data/big one'" in advice
        assert document(found)["heaviest"] == [
            {"path": "data/big one", "versions": 4, "bytes": one.bytes}
        ]


@pytest.mark.usefixtures("small")
def test_what_many_files_share_is_nobodys_fault(workspace: Path) -> None:
    with Engine.open(workspace) as tb:
        for number in range(8):
            (workspace / f"f{number}").write_bytes(os.urandom(50_000))
        tb.checkpoint()
        assert tb.status().heaviest == ()


@pytest.mark.usefixtures("small")
def test_it_is_remembered_until_the_store_has_doubled(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine.open(workspace) as tb:
        store = tb._context.store
        (workspace / "a").write_bytes(os.urandom(300_000))
        tb.checkpoint()
        [first] = heaviest(store, size_on_disk(store).snapshots)
        assert (first.path, first.versions) == (b"a", 1)
        walked: list[int] = []
        walk = weight.weigh_paths

        def noted(store: Store, size: int) -> Weighed:
            walked.append(1)
            return walk(store, size)

        monkeypatch.setattr(weight, "weigh_paths", noted)
        assert heaviest(store, size_on_disk(store).snapshots) == (first,)
        assert walked == []
        (workspace / "b").write_bytes(os.urandom(900_000))
        tb.checkpoint()
        assert heaviest(store, size_on_disk(store).snapshots)[0].path == b"b"
        assert walked == [1]


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"of": 1, "paths": [1]}', "\xff"])
def test_what_does_not_read_is_found_anew(workspace: Path, text: str) -> None:
    with Engine.open(workspace) as tb:
        tb.checkpoint()
        Path(tb.store_directory, "heaviest").write_text(text)
        assert heaviest(tb._context.store, 60 << 20) == ()


@pytest.mark.usefixtures("small")
def test_a_ref_that_does_not_read_stops_no_status(workspace: Path) -> None:
    (workspace / "a").write_bytes(os.urandom(300_000))
    with Engine.open(workspace) as tb:
        tb.checkpoint()
        [ref] = Path(tb._context.store.git_dir, "refs", "takeback", "sessions").glob("*/*")
        good = ref.read_bytes()
        ref.write_bytes(b"garbled\n")
        assert tb.status().heaviest == ()
        ref.write_bytes(good)
        assert [one.path for one in tb.status().heaviest] == [b"a"]


def test_the_same_bytes_count_once(workspace: Path) -> None:
    data = os.urandom(100_000)
    with Engine.open(workspace) as tb:
        (workspace / "a").write_bytes(data)
        (workspace / "b").write_bytes(data)
        tb.checkpoint()
        found = weight.weigh_paths(tb._context.store, 100_000)
        assert sorted(one.bytes > 0 for one in found.paths) == [False, True]
        assert Consumer(b"b", 1, 0) in found.paths or Consumer(b"a", 1, 0) in found.paths


def test_a_sweep_weighs_only_what_is_large_and_has_changed(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes every 50 checkpoints, and the walk is as long as all that is kept."""
    with Engine.open(workspace) as tb:
        (workspace / "a").write_bytes(os.urandom(200_000))
        tb.checkpoint()
        remembered = Path(tb.store_directory, "heaviest")
        sweep(tb._upkeep())
        assert not remembered.exists(), "nobody asks for it in a small store"
        monkeypatch.setattr(weight, "NOTABLE", 100_000)
        sweep(tb._upkeep())
        found = remembered.stat()
        sweep(tb._upkeep())
        assert remembered.stat() == found
        (workspace / "a").write_bytes(os.urandom(200_000))
        tb.checkpoint()
        sweep(tb._upkeep())
        assert remembered.stat() != found
