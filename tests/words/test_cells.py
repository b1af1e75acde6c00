"""How wide a text is, and texts cut to a width."""

from __future__ import annotations

import pytest

from takeback.words.text import cut, cut_left, filled, width


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("", 0),
        ("abc", 3),
        ("…", 1),
        ("日本", 4),
        ("e\u0301", 1),
        ("한글", 4),
        ("🙂x", 3),
        ("ｗ", 2),
    ],
)
def test_a_wide_character_takes_two_cells_and_a_mark_none(text: str, cells: int) -> None:
    assert width(text) == cells
    assert width(filled(text, 9)) == 9


@pytest.mark.parametrize("room", range(-1, 12))
def test_what_is_cut_fits_and_says_so(room: int) -> None:
    for text in ("abcdefghij", "日本語の表示", "a日b本c語d", "e\u0301" * 10):
        for one in (cut(text, room), cut_left(text, room)):
            assert width(one) <= max(0, room)
            assert one == text or room < 1 or "…" in one
    assert cut("日本語", 4) == "日…"
    assert cut_left("日本語", 4) == "…語"
