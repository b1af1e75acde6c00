"""The pages of a ledger: small ones to begin with, large ones for many rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.ledger.file import PAGE, SMALL_PAGE
from takeback.ledger.ledger import Ledger


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db")


def page_of(ledger: Ledger) -> int:
    return int(str(ledger.rows("pragma page_size")[0][0]))


def filled(path: str) -> list[tuple[object, ...]]:
    """Makes a ledger that has outgrown its small pages; returns its rows."""
    ledger = Ledger(path, page=SMALL_PAGE)
    ledger.begin()
    rows = [(f"refs/{number}", "x" * 500) for number in range(800)]
    ledger.many("insert into tips values (?, ?)", rows)
    ledger.commit()
    assert page_of(ledger) == SMALL_PAGE
    ledger.close()
    return sorted(rows)


def test_a_small_ledger_keeps_small_pages_and_one_of_many_rows_gets_large_ones(path: str) -> None:
    Ledger(path, page=SMALL_PAGE).close()
    assert Path(path).stat().st_size <= 24 << 10
    small = Ledger(path)
    assert page_of(small) == SMALL_PAGE
    small.close()
    rows = filled(path)
    ledger = Ledger(path, page=SMALL_PAGE)
    assert page_of(ledger) == PAGE
    assert sorted(ledger.rows("select * from tips")) == rows
    assert ledger.rows("pragma journal_mode") == [("wal",)]
    assert ledger.rows("pragma integrity_check") == [("ok",)]
    ledger.close()


def test_pages_stay_as_they_are_while_another_process_reads(path: str) -> None:
    other = Ledger(path, page=SMALL_PAGE)
    rows = filled(path)
    ledger = Ledger(path)
    assert page_of(ledger) == SMALL_PAGE
    assert (
        sorted(ledger.rows("select * from tips"))
        == rows
        == sorted(other.rows("select * from tips"))
    )
    ledger.close()
    other.close()


def test_a_ledger_made_for_many_rows_has_large_pages_from_the_beginning(path: str) -> None:
    ledger = Ledger(path)
    assert page_of(ledger) == PAGE
    ledger.close()
