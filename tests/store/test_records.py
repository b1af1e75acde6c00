"""Records: commits that carry a meta.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from takeback.context import Context, LockedContext
from takeback.errors import ObjectMissing, StoreDamaged
from takeback.git.objects import BLOB, COMMIT, TREE, Commit, encode_commit, encode_tree
from takeback.store.records import chain, read_record, write_record
from takeback.store.sink import PackSink
from tests.support.engine import NOON, garble


@pytest.fixture
def context(context: Context) -> Iterator[LockedContext]:
    """The workspace, opened, and locked for as long as a test lasts."""
    with context.locked() as locked:
        yield locked


def written(context: LockedContext, number: int, *parents: bytes) -> bytes:
    sink = PackSink(context.lock)
    meta = {"number": number, "name": f"n{number}", "list": ["a", 1, "b"]}
    oid = write_record(sink, meta, parents=parents, time=NOON, message=f"record {number}")
    sink.publish()
    return oid


def test_a_record_reads_back_with_its_version(context: LockedContext) -> None:
    record = read_record(context.store, written(context, 7))
    assert record.meta == {"v": 1, "number": 7, "name": "n7", "list": ["a", 1, "b"]}
    assert (record.commit.message, record.commit.time) == ("record 7", int(NOON))
    assert (record.text("name"), record.number("number")) == ("n7", 7.0)
    assert record.texts("list") == ("a", "b")
    assert record.optional_text("number") is None
    assert record.texts("name") == ()
    for ask in (record.text, record.number):
        with pytest.raises(StoreDamaged, match="has no absent"):
            ask("absent")


def test_a_chain_goes_back_along_first_parents_and_stops_before_its_end(
    context: LockedContext,
) -> None:
    first = written(context, 1)
    other = written(context, 9)
    second = written(context, 2, first, other)
    third = written(context, 3, second)
    numbers = [record.meta["number"] for record in chain(context.store, third)]
    assert numbers == [3, 2, 1]
    assert [r.meta["number"] for r in chain(context.store, third, until=first)] == [3, 2]
    assert list(chain(context.store, None)) == []
    assert list(chain(context.store, third, until=third)) == []


def test_a_chain_gives_what_it_can_read_before_it_breaks(context: LockedContext) -> None:
    second = written(context, 2, written(context, 1))
    third = written(context, 3, second)
    garble(context.store, second)
    context.store.packs.close()
    records = chain(context.store, third)
    assert next(records).meta["number"] == 3
    with pytest.raises(StoreDamaged):
        next(records)
    with pytest.raises(ObjectMissing):
        next(chain(context.store, b"x" * 20))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (b"other.json", b"{}"),
        (b"meta.json", b"not json"),
        (b"meta.json", b"[]"),
        (b"meta.json", b"\xff"),
    ],
)
def test_a_commit_that_is_no_record_is_damage(
    context: LockedContext, name: bytes, data: bytes
) -> None:
    sink = PackSink(context.lock)
    tree = sink.add(TREE, encode_tree([(0o100644, name, sink.add(BLOB, data))]))
    commit = sink.add(COMMIT, encode_commit(Commit(tree, (), 0, "somebody else's")))
    sink.publish()
    with pytest.raises(StoreDamaged):
        read_record(context.store, commit)


def test_a_tree_or_blob_in_the_place_of_a_commit_is_damage(context: LockedContext) -> None:
    sink = PackSink(context.lock)
    blob: Any = sink.add(BLOB, b"x")
    sink.publish()
    with pytest.raises(StoreDamaged, match="not of the kind"):
        read_record(context.store, blob)
