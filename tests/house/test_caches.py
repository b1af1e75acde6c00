"""Whatever a program that stays open remembers has a bound, and a row in docs/design/memory.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/design/memory.md").read_text()


def test_each_cache_is_listed_with_its_owner_and_its_room() -> None:
    found = set()
    for path in (ROOT / "src/takeback").rglob("*.py"):
        for room in re.findall(r"= Remembered\(\s*(\w+)", path.read_text()):
            found.add((path.relative_to(ROOT / "src/takeback").as_posix(), room))
    rows = set(re.findall(r"^\|[^|]*\| `([\w/]+\.py)`[^|]*\| `(_\w+)`:", PAGE, re.MULTILINE))
    assert found == rows


def test_no_cache_of_functools_is_without_a_bound() -> None:
    for path in (ROOT / "src/takeback").rglob("*.py"):
        text = path.read_text()
        assert not re.search(
            r"@(functools\.)?cache\b|@(functools\.)?lru_cache(\n|\(\)|\((maxsize=)?None)", text
        ), path
