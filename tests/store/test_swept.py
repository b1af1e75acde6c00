"""When the next sweep is due."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.ops.context import Context
from takeback.store import swept
from takeback.store.swept import Mark, is_sweep_due, last_sweep, note_sweep, put_off_sweep
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
    Path(context.store.path("swept")).write_text("900000 0\n")
    assert is_sweep_due(context.store, 7)


def test_it_comes_sooner_when_the_packs_have_grown(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_sweep(context.store)
    made = checkpoint(context)
    assert not is_sweep_due(context.store, made.sequence)
    monkeypatch.setattr(swept, "GROWTH", 500)
    assert is_sweep_due(context.store, made.sequence)


def test_one_that_could_not_be_made_is_tried_again_five_numbers_later(context: Context) -> None:
    Path(context.store.path("sequence")).write_text("100\n")
    put_off_sweep(context.store)
    assert [number for number in range(100, 110) if is_sweep_due(context.store, number)] == [
        *range(105, 110)
    ]


@pytest.mark.parametrize("text", ["", "x y", "7", "\xff", "1 2 3"])
def test_a_mark_that_does_not_read_is_none(context: Context, text: str) -> None:
    Path(context.store.path("swept")).write_text(text)
    assert last_sweep(context.store) == Mark()
