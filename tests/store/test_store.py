"""The store's sequence: one number for each checkpoint and operation, in the order of events."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback import durable, kernel
from takeback.context import Context
from takeback.git.objects import TREE, encode_tree
from takeback.store import records
from takeback.store.records import read_operations, write_operation
from takeback.store.sink import PackSink
from takeback.store.store import Store
from tests.store.test_operations import FIRST
from tests.support.engine import (
    KillAt,
    Killed,
    checkpoint,
    clock_of,
    garble,
    packing,
    under_lock,
)


def sequence_file(context: Context) -> Path:
    return Path(context.store.path("sequence"))


def next_sequence(context: Context) -> int:
    return under_lock(context, lambda it: it.lock.next_sequence())


def test_numbers_only_grow(context: Context) -> None:
    with context.store.locked("a test", wait=0) as locked:
        numbers = [locked.next_sequence() for _ in range(5)]
        assert numbers == sorted(set(numbers))
        assert locked.next_sequence(above=100) > 100
        assert locked.next_sequence() > 101


def test_checkpoints_and_operations_have_numbers_in_the_order_in_which_they_were_made(
    context: Context,
) -> None:
    first = checkpoint(context)
    clock_of(context).time -= 1_000_000
    under_lock(context, lambda it: write_operation(PackSink(it.lock), FIRST))
    second = checkpoint(context)
    [done] = read_operations(context.store)
    assert 0 < first.sequence < done.sequence < second.sequence
    assert second.time < first.time


@pytest.mark.parametrize("content", [None, b"", b"garbage", b"\xff", b"12 13"])
def test_a_lost_number_is_found_again_in_the_refs(context: Context, content: bytes | None) -> None:
    checkpoint(context)
    newest = checkpoint(context)
    if content is None:
        sequence_file(context).unlink()
    else:
        sequence_file(context).write_bytes(content)
    assert next_sequence(context) == newest.sequence + 1
    assert checkpoint(context).sequence == newest.sequence + 2


def test_a_lost_number_is_found_beside_damage(context: Context) -> None:
    newest = checkpoint(context)
    under_lock(context, lambda it: write_operation(PackSink(it.lock), FIRST))
    garble(context.store, newest.commit)
    context.store.reopen_packs()
    sequence_file(context).unlink()
    [done] = read_operations(context.store)
    assert next_sequence(context) > done.sequence


def test_a_number_that_is_too_low_is_not_given_twice_in_a_session(context: Context) -> None:
    """After a power loss the file may be older than the refs, which are flushed."""
    made = [checkpoint(context) for _ in range(3)]
    sequence_file(context).write_bytes(b"1\n")
    assert checkpoint(context).sequence > made[-1].sequence


def test_after_a_power_cut_a_new_session_does_not_get_numbers_that_were_given_out(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file reads as a number, and is older than the refs; the machine runs anew."""
    checkpoint(context)
    older = sequence_file(context).read_bytes()
    made = [checkpoint(context) for _ in range(3)]
    sequence_file(context).write_bytes(older)
    monkeypatch.setattr(kernel, "run_of_machine", lambda: "another-run")
    assert next_sequence(context) > made[-1].sequence


@pytest.mark.parametrize("content", [b"2\n", b"2 0123456789012345678901234567890123456789\n"])
def test_a_number_of_an_older_takeback_is_held_against_the_refs(
    context: Context, content: bytes
) -> None:
    made = [checkpoint(context) for _ in range(4)]
    sequence_file(context).write_bytes(content)
    assert next_sequence(context) > made[-1].sequence


def test_a_session_that_begins_does_not_believe_a_number_that_was_put_back(
    context: Context,
) -> None:
    checkpoint(context)
    older = sequence_file(context).read_bytes()
    made = [checkpoint(context) for _ in range(3)]
    sequence_file(context).write_bytes(older)
    assert checkpoint(context, session="another").sequence > made[-1].sequence


def test_a_number_below_that_of_the_own_session_is_held_against_all_refs(context: Context) -> None:
    checkpoint(context, session="mine")
    older = sequence_file(context).read_bytes()
    mine = checkpoint(context, session="mine")
    other = [checkpoint(context, session="other") for _ in range(3)]
    sequence_file(context).write_bytes(older)
    assert checkpoint(context, session="mine").sequence > other[-1].sequence > mine.sequence


def test_the_refs_are_counted_once_in_a_run_and_not_at_each_number(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint(context)
    read: list[bytes] = []
    real = records.read_record

    def noted(store: Store, tip: bytes) -> records.Record:
        read.append(tip)
        return real(store, tip)

    monkeypatch.setattr(records, "read_record", noted)
    monkeypatch.setattr(kernel, "run_of_machine", lambda: "another-run")
    next_sequence(context)
    assert read
    read.clear()
    for _ in range(3):
        next_sequence(context)
    assert read == []


def test_a_kill_leaves_a_gap_and_gives_no_number_twice(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [checkpoint(context).sequence]
    for step in ("create", "write", "rename"):
        with monkeypatch.context() as patch:
            patch.setattr(durable, "faults", KillAt(step))
            with pytest.raises(Killed):
                next_sequence(context)
        numbers.append(next_sequence(context))
    assert numbers == sorted(set(numbers))


def test_what_is_remembered_of_directories_is_bounded_by_their_length(context: Context) -> None:
    """A thousand versions of a directory of ten thousand files would be a gigabyte."""
    with packing(context) as sink:
        ids = [
            sink.add(
                TREE,
                encode_tree(
                    [(0o100644, b"%05d-%d" % (n, version), bytes(20)) for n in range(5_000)]
                ),
            )
            for version in range(60)
        ]
        sink.publish()
    for oid in (*ids, ids[-1]):
        assert len(context.store.tree(oid)) == 5_000
    remembered = context.store._trees
    assert remembered.get(ids[-1]) is not None
    assert len(remembered) == 5
    assert remembered.weight == 5 * 5_001 <= 30_000


def test_two_versions_of_a_directory_are_remembered_however_long_it_is(context: Context) -> None:
    with packing(context) as sink:
        entries = [(0o100644, b"%06d" % n, bytes(20)) for n in range(31_000)]
        ids = [sink.add(TREE, encode_tree(entries[version:])) for version in range(3)]
        sink.publish()
    lists = [context.store.tree(oid) for oid in ids]
    for oid, entries in zip(ids[1:], lists[1:], strict=True):
        assert context.store.tree(oid) is entries  # not read again
    assert context.store._trees.get(ids[0]) is None
