"""What a store takes on its disk."""

from __future__ import annotations

import os
from pathlib import Path

from takeback.app.engine import Engine
from takeback.store.repack import size_on_disk
from tests.support.git import git

MOST = 100 << 10


def blocks(directory: Path) -> int:
    """Returns what ``du`` says of a directory, in bytes."""
    found = [directory, *directory.rglob("*")]
    return sum(path.lstat().st_blocks * 512 for path in found)


def test_a_fresh_store_of_an_empty_project_takes_no_more_than_100_kb(workspace: Path) -> None:
    with Engine.open(workspace) as tb:
        made = tb.checkpoint().checkpoint
    with Engine.open(workspace) as tb:
        found = tb.status()
        store = Path(found.store)
    assert blocks(store.parent) <= MOST
    assert not list(store.glob("ledger.db-*")), "no log of the database stays behind"
    bare = store / "store.git"
    assert git(bare, "fsck", "--full", "--strict") == b""
    assert git(bare, "cat-file", "-p", f"{made.commit.hex()}^{{tree}}").endswith(b"meta.json\n")
    assert git(bare, "for-each-ref", "--format=%(objectname)").split() == [
        made.commit.hex().encode()
    ]


def test_the_size_counts_blocks_of_all_files(workspace: Path) -> None:
    (workspace / "a").write_bytes(os.urandom(50_000))
    with Engine.open(workspace) as tb:
        tb.checkpoint()
        store = tb._context.store
        size = size_on_disk(store)
        files = [path for path in Path(store.directory).rglob("*") if path.is_file()]
        assert size.all == sum(path.stat().st_blocks * 512 for path in files)
        assert 50_000 < size.snapshots < size.all
