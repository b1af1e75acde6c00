"""The patterns of ``include`` and ``exclude``."""

from __future__ import annotations

import pytest

from takeback.worktree.rules import Patterns


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("log", [b"log", b"a/log", b"log/x", b"a/log/x"], [b"catalog", b"logs", b"a/blog/x"]),
        ("*.log", [b"a.log", b"d/a.log", b".log"], [b"a.log.txt", b"alog"]),
        ("/log", [b"log", b"log/x"], [b"a/log"]),
        ("build/", [b"build", b"build/x", b"a/build/x"], [b"builds"]),
        ("a/b", [b"a/b", b"a/b/c"], [b"x/a/b", b"a/bc"]),
        ("a/*", [b"a/b", b"a/b/c"], [b"a", b"b/a/x"]),
        ("a/*/c", [b"a/b/c"], [b"a/c", b"a/b/x/c"]),
        ("a/**/c", [b"a/c", b"a/b/c", b"a/b/x/c"], [b"a/xc", b"ac"]),
        ("**/log", [b"log", b"a/log", b"a/b/log"], [b"catalog", b"a/catalog"]),
        ("a/**", [b"a/b", b"a/b/c"], [b"b", b"ab"]),
        ("?.txt", [b"a.txt", b"d/b.txt"], [b"ab.txt", b"/.txt"]),
        ("[a]", [b"[a]"], [b"a"]),
        ("a.b", [b"a.b"], [b"axb"]),
        ("caf\udce9", [b"caf\xe9"], [b"cafe"]),
        ("a\nb", [b"a\nb"], [b"a"]),
    ],
)
def test_a_pattern_matches_names_directories_and_all_below(
    pattern: str, matching: list[bytes], other: list[bytes]
) -> None:
    patterns = Patterns((pattern,))
    assert [path for path in matching if not patterns.match(path)] == []
    assert [path for path in other if patterns.match(path)] == []


def test_any_of_several_patterns_is_enough_and_none_match_nothing() -> None:
    assert Patterns(("x", "*.log")).match(b"a.log")
    assert not Patterns(()).match(b"a.log")


def test_a_newline_at_the_end_of_a_name_is_part_of_it() -> None:
    assert not Patterns(("a",)).match(b"a\n")
    assert Patterns(("a*",)).match(b"a\n")
