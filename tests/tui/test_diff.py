"""Reading a patch: nothing in a file is taken for the diff, and nothing in it can do harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.tui.detail.lines import (
    MOST_CHARACTERS,
    Hunk,
    Line,
    Patch,
    coloured,
    inner,
    pairs,
    parse,
)
from takeback.words.text import lexer_for
from tests.tui.detail_stage import takeback

HEAD = b"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n"


def lines(patch: Patch) -> list[tuple[str, int | None, int | None, str]]:
    return [(at.sign, at.old, at.new, at.text) for hunk in patch.hunks for at in hunk.lines]


def test_every_line_has_its_sign_and_its_numbers() -> None:
    patch = parse(HEAD + b"@@ -3,3 +3,4 @@ def f():\n a\n-b\n+c\n+d\n e\n")
    assert patch.hunks[0].head == "@@ -3,3 +3,4 @@ def f():"
    assert lines(patch) == [
        (" ", 3, 3, "a"),
        ("-", 4, None, "b"),
        ("+", None, 4, "c"),
        ("+", None, 5, "d"),
        (" ", 5, 6, "e"),
    ]


def test_lines_that_look_like_a_diff_are_lines() -> None:
    body = b"-@@ -1 +1 @@\n--- a/x\n-diff --git a/y b/y\n+\\ No newline\n+++ b/x\n+z\n"
    patch = parse(HEAD + b"@@ -1,3 +1,3 @@\n" + body)
    assert len(patch.hunks) == 1
    assert [line.text for line in patch.hunks[0].lines] == [
        "@@ -1 +1 @@",
        "-- a/x",
        "diff --git a/y b/y",
        "\\ No newline",
        "++ b/x",
        "z",
    ]


def test_a_last_line_without_an_end_is_marked() -> None:
    said = b"\\ No newline at end of file\n"
    patch = parse(HEAD + b"@@ -1 +1 @@\n-a\n" + said + b"+b\n" + said)
    assert [line.end for line in patch.hunks[0].lines] == [False, False]
    patch = parse(HEAD + b"@@ -1 +1 @@\n-a\n+b\n")
    assert [line.end for line in patch.hunks[0].lines] == [True, True]


def test_two_hunks_and_two_parts() -> None:
    two = parse(HEAD + b"@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n")
    assert [len(hunk.lines) for hunk in two.hunks] == [2, 2]
    link = HEAD + b"@@ -1 +0,0 @@\n-a\n" + HEAD + b"@@ -0,0 +1 @@\n+target\n"
    assert [line.sign for hunk in parse(link).hunks for line in hunk.lines] == ["-", "+"]


def test_what_would_steer_a_terminal_is_shown() -> None:
    patch = parse(HEAD + "@@ -0,0 +1 @@\n+\x1b[31m[bold]\u202etxt\x07\n".encode())
    assert patch.hunks[0].lines[0].text == "\\x1b[31m[bold]\\u202etxt\\x07"


def test_a_tab_goes_to_the_next_stop() -> None:
    patch = parse(HEAD + b"@@ -0,0 +1 @@\n+a\tb\n")
    assert patch.hunks[0].lines[0].text == "a   b"


def test_bytes_that_are_not_utf8_are_shown_and_said() -> None:
    patch = parse(HEAD + b"@@ -0,0 +1 @@\n+caf\xe9\n")
    assert patch.not_utf8
    assert patch.hunks[0].lines[0].text == "caf\\xe9"
    assert not parse(HEAD + "@@ -0,0 +1 @@\n+café\n".encode()).not_utf8


def test_line_ends_of_windows_are_said_once() -> None:
    patch = parse(HEAD + b"@@ -1 +1 @@\n-a\r\n+b\r\n")
    assert patch.crlf
    assert [line.text for line in patch.hunks[0].lines] == ["a", "b"]
    mixed = parse(HEAD + b"@@ -1 +1 @@\n-a\n+a\r\n")
    assert not mixed.crlf
    assert [line.text for line in mixed.hunks[0].lines] == ["a", "a\\x0d"]


def test_a_long_line_and_a_long_diff_are_cut_and_counted() -> None:
    patch = parse(HEAD + b"@@ -0,0 +1 @@\n+" + b"x" * (MOST_CHARACTERS + 1500) + b"\n")
    text = patch.hunks[0].lines[0].text
    assert text == "x" * MOST_CHARACTERS + "… 1,500 more characters"
    many = b"@@ -0,0 +1,70 @@\n" + b"+a\n" * 70 + b"@@ -9,0 +80,30 @@\n" + b"+b\n" * 30
    patch = parse(HEAD + many, most=60)
    assert (len(lines(patch)), patch.more) == (60, 40)
    assert len(patch.hunks) == 1


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_a_patch_that_ends_anywhere_is_read_as_far_as_it_goes(cut: int) -> None:
    whole = HEAD + b"@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    parse(whole[: len(HEAD) + cut])


def test_no_patch_is_no_lines() -> None:
    assert parse(b"") == Patch()
    assert parse(HEAD + b"Binary files a/x and b/x differ\n").binary


def test_the_part_that_differs() -> None:
    old, new = "return hashlib.md5(x)", "return hashlib.sha256(x)"
    parts = inner(old, new)
    assert parts is not None
    assert (old[slice(*parts[0])], new[slice(*parts[1])]) == ("md5", "sha256")
    assert inner("abc", "xyz") is None
    assert inner("", "") == ((0, 0), (0, 0))


def test_side_by_side_what_went_stands_beside_what_came() -> None:
    patch = parse(HEAD + b"@@ -1,4 +1,3 @@\n a\n-b\n-c\n+d\n e\n")
    texts = [(left and left.text, right and right.text) for left, right in pairs(patch.hunks[0])]
    assert texts == [("a", "a"), ("b", "d"), ("c", None), ("e", "e")]


def test_side_by_side_a_sign_that_git_does_not_write_is_passed() -> None:
    odd = Hunk("", (Line("?", 1, 1, "a"), Line("+", None, 2, "b")))
    assert [(left and left.text, right and right.text) for left, right in pairs(odd)] == [
        ("a", "a"),
        (None, "b"),
    ]


def test_colours_follow_the_name_of_the_file() -> None:
    patch = parse(HEAD + b'@@ -1,2 +1,2 @@\n import os  # why\n-x = 1\n+x = "y"\n')
    first, old, new = coloured(patch, "src/a.py").hunks[0].lines
    assert (0, 6, "keyword") in first.spans
    assert any(what == "comment" for _, _, what in first.spans)
    assert any(what == "number" for _, _, what in old.spans)
    assert any(what == "string" and new.text[a:b] == '"' for a, b, what in new.spans)
    assert coloured(patch, "src/a.nothing") == patch


def test_a_string_over_several_lines_is_a_string_in_each() -> None:
    patch = parse(HEAD + b'@@ -0,0 +1,3 @@\n+x = """one\n+two\n+three"""\n')
    middle = coloured(patch, "a.py").hunks[0].lines[1]
    assert middle.spans == ((0, 3, "string"),)


def test_text_that_nobody_can_read_is_not_coloured() -> None:
    patch = parse(HEAD + b"@@ -0,0 +1 @@\n+" + b"import os;" * 190 + b"\n")
    assert coloured(patch, "a.py") == patch


@pytest.mark.parametrize(
    ("name", "lexer"),
    [
        ("a.py", "PythonLexer"),
        ("a.sql", "SqlLexer"),
        ("a.pl", "PerlLexer"),
        ("Makefile", "MakefileLexer"),
        ("CMakeLists.txt", "CMakeLexer"),
        ("a.html", "HtmlLexer"),
        ("a.h", "CLexer"),
        (".bashrc", "BashLexer"),
    ],
)
def test_a_lexer_is_found_by_the_name_alone(name: str, lexer: str) -> None:
    assert type(lexer_for(name)).__name__ == lexer


@pytest.mark.parametrize("name", ["", "x", ".", "..", "a.nothing", "*", "[bold]"])
def test_no_lexer_for_other_names(name: str) -> None:
    assert lexer_for(name) is None


def test_a_real_patch_of_git_is_read(workspace: Path) -> None:
    (workspace / "a.txt").write_bytes(b"one\ntwo\nthree")
    with takeback(workspace) as (tb, _):
        with tb.session(agent="mine").turn("change it") as turn:
            (workspace / "a.txt").write_bytes(b"one\n2\nthree\n")
        patch = parse(tb.file_diff(tb.states(turn.before), b"a.txt").patch or b"")
    assert lines(patch) == [
        (" ", 1, 1, "one"),
        ("-", 2, None, "two"),
        ("-", 3, None, "three"),
        ("+", None, 2, "2"),
        ("+", None, 3, "three"),
    ]
    assert [line.end for line in patch.hunks[0].lines] == [True, True, False, True, True]
