"""The known directories: rows until one is asked for."""

from __future__ import annotations

import pytest

from takeback.worktree.directory import REPOSITORY, Directory, FileTable
from takeback.worktree.known import Known


def directory(path: bytes, *names: bytes) -> Directory:
    made = Directory(path)
    made.files = FileTable.of((name, b"s" * 40, b"o" * 20) for name in names)
    return made


def known(*directories: Directory) -> Known:
    return Known([made.dump() for made in directories])


def test_a_directory_is_made_once_and_changes_to_it_are_kept() -> None:
    all_known = known(directory(b"a"), directory(b"b"))
    assert all_known[b"a"] is all_known[b"a"]
    all_known[b"a"].tree = b"new"
    assert all_known.row(b"a")[-1] == b"new"
    assert sorted(row[0] for row in all_known.rows()) == [b"a", b"b"]
    assert sorted(all_known.paths()) == [b"a", b"b"]


def test_what_is_not_known_is_not_there() -> None:
    all_known = known(directory(b"a"))
    assert b"x" not in all_known
    assert all_known.get(b"x") is None
    assert all_known.pop(b"x") is None
    with pytest.raises(KeyError):
        all_known[b"x"]


@pytest.mark.parametrize("looked_at", [False, True])
def test_a_directory_is_replaced_or_forgotten_whether_it_was_looked_at_or_not(
    looked_at: bool,
) -> None:
    all_known = known(directory(b"a"), directory(b"b"))
    if looked_at:
        assert all_known[b"a"].path == b"a"
        assert all_known[b"b"].path == b"b"
    all_known[b"a"] = directory(b"a", b"x", b"y")
    assert len(all_known.rows()) == 2
    assert all_known.file_count() == 2
    forgotten = all_known.pop(b"b")
    assert forgotten is not None
    assert b"b" not in all_known
    assert list(all_known.paths()) == [b"a"]


@pytest.mark.parametrize("looked_at", [False, True])
def test_files_gaps_and_repositories_are_counted_in_rows_and_objects(looked_at: bool) -> None:
    gap, saved, tracked, repository = (directory(name, b"f") for name in (b"g", b"s", b"t", b"r"))
    gap.gaps = {b"x": "ignored"}
    saved.saved = FileTable.of([(b"x", b"s" * 40, b"o" * 20)])
    tracked.tracked = (b"f",)
    repository.flags = REPOSITORY
    all_known = known(gap, saved, tracked, repository, directory(b"plain", b"f"))
    if looked_at:
        for path in list(all_known.paths()):
            assert all_known[path].path == path
    assert all_known.file_count() == 5
    assert sorted(found.path for found in all_known.special()) == [b"g", b"s", b"t"]
    assert all_known.repositories() == [b"r"]
