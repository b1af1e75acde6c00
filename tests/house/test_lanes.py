"""What is long is marked where `make test-long` looks for it: it leaves all other files unread."""

from __future__ import annotations

from pathlib import Path

from tests.support.lanes import has_long

TESTS = Path(__file__).parents[1]


def test_marks_of_the_long_lane_are_in_files_of_tests_and_under_their_names() -> None:
    for path in TESTS.rglob("*.py"):
        if path.name.startswith("test_"):
            imports = [line for line in path.read_text().splitlines() if "support.lanes" in line]
            assert not any(" as " in line for line in imports), path
        elif path.name != "lanes.py":
            assert not has_long(path), path
