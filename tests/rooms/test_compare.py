"""Two snapshots compared: our list of paths, git's count of lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.context import Context
from takeback.ledger.attribute import changed, counted_changes
from takeback.model.checkpoint import CountedChange
from tests.support.engine import checkpoint


def tree(context: Context) -> bytes:
    return bytes.fromhex(checkpoint(context).snapshot)


@pytest.fixture
def root(workspace: Path) -> Path:
    (workspace / "text").write_text("1\n2\n3\n")
    (workspace / "script").write_text("x\n")
    (workspace / "gone" / "deep").mkdir(parents=True)
    (workspace / "gone" / "deep" / "file").write_text("a\nb\n")
    (workspace / "binary").write_bytes(b"\0\1\2")
    (workspace / "link").symlink_to("text")
    return workspace


def test_each_path_has_its_kind_and_its_lines(root: Path, context: Context) -> None:
    old = tree(context)
    (root / "text").write_text("1\nzwei\n3\n4\n")
    (root / "script").chmod(0o755)
    (root / "gone" / "deep" / "file").unlink()
    os.removedirs(root / "gone" / "deep")
    (root / "binary").write_bytes(b"\0\3")
    (root / "link").unlink()
    (root / "link").symlink_to("script")
    (root / "new dir").mkdir()
    (root / "new dir" / os.fsdecode(b"caf\xe9\n")).write_text("one line\n")
    (root / "empty").mkdir()
    changes = counted_changes(context.store, old, tree(context))
    assert changes == [
        CountedChange(b"binary", "modified", None, None),
        CountedChange(b"empty", "added", None, None),
        CountedChange(b"gone/deep/file", "deleted", 0, 2),
        CountedChange(b"link", "modified", 1, 1),
        CountedChange(b"new dir/caf\xe9\n", "added", 1, 0),
        CountedChange(b"script", "mode", 0, 0),
        CountedChange(b"text", "modified", 2, 1),
    ]


def test_bits_that_git_does_not_see_are_changes_too(root: Path, context: Context) -> None:
    old = tree(context)
    (root / "text").chmod(0o600)
    (root / "gone").chmod(0o700)
    changes = counted_changes(context.store, old, tree(context))
    assert changes == [
        CountedChange(b"gone", "mode", None, None),
        CountedChange(b"text", "mode", None, None),
    ]


def test_a_file_that_became_a_directory_is_one_change_of_type_and_one_for_each_file_in_it(
    root: Path, context: Context
) -> None:
    old = tree(context)
    (root / "text").unlink()
    (root / "text").mkdir()
    (root / "text" / "inner").write_text("i\n")
    changes = counted_changes(context.store, old, tree(context))
    assert [(change.path, change.kind) for change in changes] == [
        (b"text", "type"),
        (b"text/inner", "added"),
    ]


def test_what_changed_is_known_without_counting(root: Path, context: Context) -> None:
    old = tree(context)
    (root / "text").write_text("1\n")
    (root / "gone" / "deep" / "file").unlink()
    os.removedirs(root / "gone" / "deep")
    (root / "new" / "empty").mkdir(parents=True)
    new = tree(context)
    uncounted = changed(context.store, old, new)
    assert uncounted == [
        change.replace(added=None, deleted=None)
        for change in counted_changes(context.store, old, new)
    ]
    paths = [change.path for change in uncounted]
    assert paths == [b"gone/deep/file", b"new", b"new/empty", b"text"]


def test_nothing_to_compare_starts_no_git(context: Context) -> None:
    same = b"x" * 20
    assert counted_changes(context.store, same, same) == []
