"""Snapshot trees against a model: a snapshot is a mapping from path to entry."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.context import Context
from takeback.errors import StoreDamaged
from takeback.git.objects import BLOB, EMPTY_TREE
from takeback.model.checkpoint import DIRECTORY, Entry
from takeback.store import trees
from tests.support.engine import checkpoint, file_entry, garble, link_entry, packing

_NAMES = st.sampled_from([b"a", b"a-b", b"a.b", b"ab", b"b", b"\xff", b"c d"])
_FILES = st.one_of(
    st.builds(file_entry, st.sampled_from([b"1", b"2"]), st.sampled_from([0o644, 0o600, 0o755])),
    st.builds(link_entry, st.sampled_from([b"1", b"/x"])),
)
_DIRECTORY_MODES = st.sampled_from([0o755, 0o700])
_SNAPSHOTS = st.dictionaries(
    _NAMES,
    st.recursive(
        _FILES,
        lambda inner: st.tuples(_DIRECTORY_MODES, st.dictionaries(_NAMES, inner, max_size=3)),
        max_leaves=6,
    ),
    max_size=4,
)


def flat(nested: dict[bytes, Any], prefix: bytes = b"") -> dict[bytes, Entry]:
    """Returns path -> entry of a nested snapshot; a directory's id is left out."""
    found: dict[bytes, Entry] = {}
    for name, value in nested.items():
        if isinstance(value, Entry):
            found[prefix + name] = value
        else:
            mode, inner = value
            found[prefix + name] = Entry(DIRECTORY | mode, b"")
            found |= flat(inner, prefix + name + b"/")
    return found


def without_tree_ids(entries: dict[bytes, Entry]) -> dict[bytes, Entry]:
    return {
        path: Entry(entry.mode, b"") if entry.is_directory else entry
        for path, entry in entries.items()
    }


def kept(context: Context, *snapshots: dict[bytes, Entry]) -> list[bytes]:
    """Writes some snapshots and returns their ids."""
    with packing(context) as sink:
        roots = [trees.build(sink, snapshot) for snapshot in snapshots]
        sink.publish()
    return roots


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=_SNAPSHOTS, new=_SNAPSHOTS)
def test_trees_are_built_walked_looked_up_and_compared_as_the_model_says(
    context: Context, old: dict[bytes, Any], new: dict[bytes, Any]
) -> None:
    before, after = flat(old), flat(new)
    a, b = kept(context, before, after)
    walked = dict(trees.walk(context.store, a))
    assert without_tree_ids(walked) == before
    assert trees.count_files(context.store, a) == sum(not e.is_directory for e in before.values())
    for path, entry in walked.items():
        assert trees.lookup(context.store, a, path) == entry
    for path in after.keys() - before.keys():
        assert trees.lookup(context.store, a, path) is None
    changes = list(trees.diff(context.store, a, b))
    told = {
        change.path: (change.old and change.old.mode, change.new and change.new.mode)
        for change in changes
    }
    assert len(told) == len(changes)
    different = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
    assert told == {
        path: (
            before[path].mode if path in before else None,
            after[path].mode if path in after else None,
        )
        for path in different
    }
    seen: set[bytes] = set()
    for change in changes:  # a directory before what is in it
        parent = change.path.rpartition(b"/")[0]
        assert parent not in told or parent in seen
        seen.add(change.path)


def test_a_path_through_a_file_is_not_there(context: Context) -> None:
    [root] = kept(context, {b"a": file_entry(b"1"), b"d/x": file_entry(b"1")})
    assert trees.lookup(context.store, root, b"a/b") is None
    assert trees.lookup(context.store, root, b"d/x/y") is None
    found = trees.lookup(context.store, root, b"d")
    assert found is not None
    assert found.mode == DIRECTORY | 0o755


def test_an_empty_directory_has_its_own_mode(context: Context) -> None:
    [root] = kept(context, {b"empty": Entry(DIRECTORY | 0o710, b"not looked at")})
    assert dict(trees.walk(context.store, root)) == {b"empty": Entry(DIRECTORY | 0o710, EMPTY_TREE)}


def test_equal_trees_are_not_read(context: Context) -> None:
    assert list(trees.diff(context.store, b"x" * 20, b"x" * 20)) == []


def test_a_missing_or_damaged_object_is_named_by_its_path(context: Context) -> None:
    lost = file_entry(b"lost")
    with packing(context) as sink:
        here = Entry(0o100644, sink.add(BLOB, b"here"))
        root = trees.build(sink, {b"d/here": here, b"d/lost": lost, b"e/f": here})
        sink.publish()
    assert list(trees.unsound_entries(context.store, root, set(), snapshot=True)) == [
        (b"d/lost", lost.oid)
    ]
    below = trees.lookup(context.store, root, b"e")
    assert below is not None
    garble(context.store, below.oid)
    context.store.packs.close()
    context.store._trees.clear()
    assert sorted(trees.unsound_entries(context.store, root, set(), snapshot=True)) == [
        (b"d/lost", lost.oid),
        (b"e", below.oid),
    ]
    with pytest.raises(StoreDamaged):
        list(trees.walk(context.store, root))


def test_a_directory_that_cannot_be_read_is_told_and_the_rest_is_compared(
    context: Context,
) -> None:
    one, two = file_entry(b"1"), file_entry(b"2")
    a, b = kept(context, {b"d/x": one, b"e": one}, {b"d/x": two, b"e": two})
    below = trees.lookup(context.store, b, b"d")
    assert below is not None
    garble(context.store, below.oid)
    context.store.packs.close()
    context.store._trees.clear()
    told: list[bytes] = []
    changes = trees.diff(context.store, a, b, on_damage=lambda path, error: told.append(path))
    assert [change.path for change in changes] == [b"e"]
    assert told == [b"d"]
    with pytest.raises(StoreDamaged):
        list(trees.diff(context.store, a, b))


def test_the_tree_of_an_empty_workspace_is_kept_and_read(context: Context) -> None:
    made = checkpoint(context)
    assert bytes.fromhex(made.snapshot) == EMPTY_TREE
    assert list(trees.walk(context.store, EMPTY_TREE)) == []


@pytest.mark.parametrize("levels", [1500, 4000])
def test_a_tree_deeper_than_the_interpreters_stack_is_built_walked_and_compared(
    context: Context, levels: int
) -> None:
    deep = b"/".join([b"a"] * levels)
    shallow = {b"b": file_entry(b"1")}
    empty, one, two = kept(
        context,
        shallow,
        {**shallow, deep + b"/f": file_entry(b"1")},
        {**shallow, deep + b"/f": file_entry(b"2", 0o600), deep: Entry(DIRECTORY | 0o700, b"")},
    )
    store = context.store
    assert [path for path, _ in trees.walk(store, one)] == [
        *(deep[: 2 * level + 1] for level in range(levels)),
        deep + b"/f",
        b"b",
    ]
    assert [(change.path, change.kind) for change in trees.diff(store, one, two)] == [
        (deep, "mode"),
        (deep + b"/f", "modified"),
    ]
    for old, new, kind in ((empty, two, "added"), (two, empty, "deleted")):
        changes = list(trees.diff(store, old, new))
        assert len(changes) == levels + 1
        assert {change.kind for change in changes} == {kind}
    assert trees.count_files(store, two) == 2
    assert dict(trees.unsound_entries(store, one, set(), snapshot=True)).keys() == {
        deep + b"/f",
        b"b",
    }


def test_a_path_that_none_has_builds_no_tree(context: Context) -> None:
    with packing(context) as sink:
        for paths in ([b"/a"], [b"a//b"], [b"a/"], [b""], [b"a", b"a/b"], [b"a/../b"]):
            with pytest.raises(ValueError, match=r"name|path"):
                trees.build(sink, dict.fromkeys(paths, file_entry(b"1")))
