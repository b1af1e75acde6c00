"""Names, times and sizes for people."""

from __future__ import annotations

import pytest

from takeback.config import bytes_of
from takeback.visible import shown
from takeback.words.text import count, shown_path, size, timestamp


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KB"), (5 << 20, "5.0 MB"),
     (1280, "1.3 KB"), (167_936, "164.0 KB"), (3 << 40, "3.0 TB"), (3 << 50, "3072.0 TB")],
)  # fmt: skip
def test_size(number: int, text: str) -> None:
    assert size(number) == text


def test_a_size_that_is_said_is_the_one_that_a_setting_means() -> None:
    for number in (1024, 1536, 5 << 20, 50 << 20, 2 << 30, 3 << 40):
        assert bytes_of(size(number)) == number


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
