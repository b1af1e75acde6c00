"""Paths between bytes and text, and which path lies in which."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from takeback.model.path_text import covers, to_bytes, to_text


@given(st.binary())
def test_any_bytes_come_back_from_text(path: bytes) -> None:
    assert to_bytes(to_text(path)) == path


def test_utf8_is_text_as_people_read_it() -> None:
    assert to_text("grün/☃".encode()) == "grün/☃"


def test_a_scope_covers_itself_and_what_is_below_it_by_whole_components() -> None:
    scope = (b"src/a", b"docs")
    assert covers(scope, b"src/a")
    assert covers(scope, b"src/a/b/c")
    assert covers(scope, b"docs/x")
    for outside in (b"src", b"src/ab", b"src/a.txt", b"docs2", b"x/docs"):
        assert not covers(scope, outside)


def test_no_scope_and_the_root_cover_everything() -> None:
    assert covers((), b"any")
    assert covers((b"",), b"any/where")
