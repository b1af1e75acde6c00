"""The promise has one numbering, and every line of it has its tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.promise import PROMISE
from tests.docs.test_house import ROOT, markdown_pages

_TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("line", PROMISE, ids=lambda line: line.short)
def test_every_line_is_guarded_by_tests_that_are_there(line: object) -> None:
    assert isinstance(line, type(PROMISE[0]))
    assert line.guards
    known = "\n".join(path.read_text() for path in (_TESTS / "conformance").glob("test_*.py"))
    for guard in line.guards:
        if isinstance(guard, int):
            assert re.search(rf"def test_{guard:02}_", known), f"behaviour {guard} has no test"
        else:
            assert (_TESTS / guard).exists(), guard


def test_every_test_that_a_page_names_is_there() -> None:
    named = [
        (page.name, test)
        for page in markdown_pages()
        if page.name != "CHANGELOG.md"
        for test in re.findall(r"`(tests/[a-z0-9_/-]+(?:\.py)?)", page.read_text())
    ]
    assert len(named) > 20
    assert [(page, test) for page, test in named if not (ROOT / test).exists()] == []
