"""When the next sweep is due."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.context import Context
from takeback.store import repack
from takeback.store.repack import (
    Mark,
    is_due_by_size,
    is_sweep_due,
    last_sweep,
    note_beginning,
    note_failure,
    note_floor,
    note_sweep,
    size_on_disk,
)
from tests.support.engine import checkpoint


def test_it_comes_fifty_numbers_after_the_last_one_whichever_they_are(context: Context) -> None:
    first = checkpoint(context).sequence
    note_sweep(context.store)
    due = [number for number in range(first, first + 200) if is_sweep_due(context.store, number)]
    assert due == [*range(first + 50, first + 200)]
    Path(context.store.path("sequence")).write_text("149\n")
    note_sweep(context.store)
    assert last_sweep(context.store).sequence == 149
    assert not is_sweep_due(context.store, 198)
    assert is_sweep_due(context.store, 151 + 50)


def test_a_store_whose_numbers_begin_anew_does_not_wait_for_the_old_ones(context: Context) -> None:
    Path(context.store.path("swept")).write_text("900000 0 0 0 900050\n")
    assert is_sweep_due(context.store, 7)


def test_it_comes_sooner_when_the_packs_have_grown(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_sweep(context.store)
    made = checkpoint(context)
    assert not is_sweep_due(context.store, made.sequence)
    monkeypatch.setattr(repack, "GROWTH", 500)
    assert is_sweep_due(context.store, made.sequence)


def test_it_comes_when_the_store_is_an_eighth_over_its_bound(context: Context) -> None:
    note_sweep(context.store)
    most = size_on_disk(context.store).all + 800_000
    for size in (400_000, 400_000):
        Path(os.fsdecode(context.workspace.root), "new").write_bytes(os.urandom(size))
        number = checkpoint(context).sequence
        assert not is_sweep_due(context.store, number, most)
    Path(os.fsdecode(context.workspace.root), "new").write_bytes(os.urandom(200_000))
    number = checkpoint(context).sequence
    assert is_sweep_due(context.store, number, most)
    assert is_due_by_size(context.store, number, most)
    assert not is_sweep_due(context.store, number, 0)


def test_where_the_last_one_could_not_help_it_waits_for_as_much_as_a_part_of_what_it_left(
    context: Context,
) -> None:
    number = checkpoint(context).sequence
    note_sweep(context.store)
    size = size_on_disk(context.store).all
    assert is_sweep_due(context.store, number, size // 2)
    note_floor(context.store, size)
    assert not is_sweep_due(context.store, number, size // 2)
    note_floor(context.store, size * 3 // 4)
    assert is_sweep_due(context.store, number, size // 2)


def test_one_that_was_killed_begins_again_at_once_three_times_and_then_five_numbers_later(
    context: Context,
) -> None:
    Path(context.store.path("sequence")).write_text("100\n")
    for _ in range(3):
        note_beginning(context.store)
        assert is_sweep_due(context.store, 100)
    note_beginning(context.store)
    assert [number for number in range(100, 110) if is_sweep_due(context.store, number)] == [
        *range(105, 110)
    ]
    note_sweep(context.store)
    assert last_sweep(context.store).begun == 0


def test_one_that_failed_is_tried_again_fifty_numbers_later(context: Context) -> None:
    Path(context.store.path("sequence")).write_text("100\n")
    note_failure(context.store)
    assert [number for number in range(100, 152) if is_sweep_due(context.store, number, 1)] == [
        150,
        151,
    ]


@pytest.mark.parametrize("text", ["", "x y", "7", "\xff", "1 2 3", "1 2 3 4 5 6"])
def test_a_mark_that_does_not_read_is_none(context: Context, text: str) -> None:
    Path(context.store.path("swept")).write_text(text)
    assert last_sweep(context.store) == Mark()
