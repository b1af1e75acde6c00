"""Names, times and sizes for people."""

from __future__ import annotations

import pytest

from takeback.visible import shown
from takeback.words.text import count, shown_path, size, timestamp


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KB"), (5 << 20, "5.0 MB"),
     (3 << 40, "3072.0 GB")],
)  # fmt: skip
def test_size(number: int, text: str) -> None:
    assert size(number) == text


def test_count() -> None:
    assert (count(1, "file"), count(1200, "file"), count([1, 2], "path")) == (
        "1 file",
        "1,200 files",
        "2 paths",
    )


def test_what_is_shown_is_one_harmless_line() -> None:
    assert shown("plain äß") == "plain äß"
    assert shown("a\nb\x1b[31m\u202e") == "a\\x0ab\\x1b[31m\\u202e"
    assert shown_path(b"a\xff") == "a\\xff"
    assert shown_path(b"") == "."


def test_timestamp() -> None:
    assert timestamp(0.5) == "1970-01-01T00:00:00.500Z"
