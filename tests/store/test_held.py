"""What a snapshot holds, asked path by path."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.context import Context
from takeback.store import trees
from takeback.store.store import Store
from takeback.store.trees import Held
from tests.support.engine import checkpoint, garble


def test_every_path_is_found_as_a_walk_finds_it(workspace: Path, context: Context) -> None:
    (workspace / "d" / "deep").mkdir(parents=True)
    (workspace / "d" / "deep" / "f").write_text("1")
    (workspace / "d.x").write_text("2")
    tree = bytes.fromhex(checkpoint(context).snapshot)
    held = Held(context.store, tree)
    walked = dict(trees.walk(context.store, tree))
    assert b"d/deep/f" in walked
    for path, entry in walked.items():
        assert held[path] == entry
        assert path in held


@pytest.mark.parametrize("path", [b"", b"no", b"d/no", b"d.x/below a file", b"no/no/no"])
def test_what_is_not_there_is_none(workspace: Path, context: Context, path: bytes) -> None:
    (workspace / "d").mkdir()
    (workspace / "d.x").write_text("2")
    held = Held(context.store, bytes.fromhex(checkpoint(context).snapshot))
    assert held[path] is None
    assert path not in held


def test_each_directory_is_read_once(
    workspace: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "d").mkdir()
    for number in range(20):
        (workspace / "d" / str(number)).write_text("x")
    held = Held(context.store, bytes.fromhex(checkpoint(context).snapshot))
    read: list[bytes] = []
    tree = Store.tree

    def counted(store: Store, oid: bytes) -> list[tuple[int, bytes, bytes]]:
        read.append(oid)
        return tree(store, oid)

    monkeypatch.setattr(Store, "tree", counted)
    for number in range(20):
        assert b"d/%d" % number in held
    assert len(read) == 1


def test_a_damaged_directory_holds_nothing_and_the_rest_is_found(
    workspace: Path, context: Context
) -> None:
    (workspace / "d").mkdir()
    (workspace / "d" / "f").write_text("1")
    (workspace / "a").write_text("2")
    tree = bytes.fromhex(checkpoint(context).snapshot)
    directory = trees.lookup(context.store, tree, b"d")
    assert directory is not None
    garble(context.store, directory.oid)
    held = Held(context.store, tree)
    assert held[b"d/f"] is None
    assert b"a" in held
