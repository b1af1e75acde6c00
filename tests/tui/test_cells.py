"""Cells counted without rich: exactly as rich counts them."""

from __future__ import annotations

from rich import cells as rich_cells

from takeback.tui import pieces


def test_what_is_counted_as_one_cell_is_one() -> None:
    counted = [c for c in map(chr, range(0x110000)) if c in pieces._PLAIN]
    assert len(counted) > 1000
    assert [c for c in counted if rich_cells.cell_len(c) != 1 or not c.isprintable()] == []


def test_plain_text_is_cut_and_padded_as_rich_does() -> None:
    for text in (
        "fix the login bug",
        "❯ ● ✓ turn 12 …",
        "│ naïve",
        "登录错误",
        "e\u0301 👨\u200d👩",
    ):
        assert pieces.cell_len(text) == rich_cells.cell_len(text)
        for size in range(20):
            assert pieces.set_cell_size(text, size) == rich_cells.set_cell_size(text, size)
