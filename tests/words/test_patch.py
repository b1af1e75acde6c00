from __future__ import annotations

from takeback.words.text import Paint, patch_lines

PATCH = (
    b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\r\n-old\x1b[8m\n+new\ttab\n"
    b"--- a line that begins so\n\\ No newline at end of file\n"
)


def test_each_kind_of_line_has_its_colour_and_the_file_has_none() -> None:
    lines = list(patch_lines(PATCH, Paint(on=True)))
    assert lines[:4] == [
        "\x1b[1mdiff --git a/x b/x\x1b[0m",
        "\x1b[1m--- a/x\x1b[0m",
        "\x1b[1m+++ b/x\x1b[0m",
        "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m",
    ]
    assert lines[4:] == [
        " same\r",
        "\x1b[31m-old\\x1b[8m\x1b[0m",
        "\x1b[32m+new\ttab\x1b[0m",
        "\x1b[31m--- a line that begins so\x1b[0m",
        "\\ No newline at end of file",
    ]


def test_without_colour_the_words_are_the_same() -> None:
    assert list(patch_lines(PATCH, Paint(on=False)))[5] == "-old\\x1b[8m"
