"""Our JSON is the JSON of the standard library, without its import."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.model import json_text

_TEXT = st.text(st.characters(codec=None))  # lone surrogates too: paths carry them
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(_TEXT, inner),
    max_leaves=20,
)


@settings(max_examples=100)
@given(_JSON)
def test_what_we_write_both_readers_read_back(value: Any) -> None:
    text = json_text.dumps(value)
    assert text.isascii()
    assert "\n" not in text
    assert json.loads(text) == value
    assert json_text.loads(text) == value
    assert text == json.dumps(value)


@settings(max_examples=100)
@given(_JSON, st.sampled_from([None, 2]), st.booleans())
def test_what_others_write_we_read_as_they_do(value: Any, indent: int | None, plain: bool) -> None:
    text = f" \n{json.dumps(value, indent=indent, ensure_ascii=plain)}\r\n\t"
    assert json_text.loads(text) == json.loads(text)


@given(st.text(st.sampled_from('[]{}",:0123456789.eE+-\\ntrufals \n\x00\ufeff"'), max_size=12))
def test_what_is_not_json_to_others_is_a_value_error_here(text: str) -> None:
    try:
        expected = json.loads(text, strict=False)
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            json_text.loads(text)
    else:
        assert json_text.loads(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "[1",
        '"a',
        "1 2",
        "{}{}",
        "nul",
        "\ufeff{}",
        "[" * 100_000,
        "1" * 5000,
        "{1:2}",
    ],
)
def test_odd_input_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        json_text.loads(text)


def test_tuples_are_lists_and_numbers_keep_their_type() -> None:
    assert json_text.dumps((1, True, 1.0, None)) == "[1, true, 1.0, null]"
    read = json_text.loads("[1, 1.0, -0.0, 1e3]")
    assert isinstance(read, list)
    assert [type(item) for item in read] == [int, float, float, float]
    assert math.copysign(1, read[2]) == -1


def test_a_path_that_is_not_utf8_survives() -> None:
    path = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert json_text.loads(json_text.dumps({"path": path})) == {"path": path}


@pytest.mark.parametrize("depth", [1, 400, 900, 50_000])
def test_what_is_nested_deeply_is_written_all_the_same(depth: int) -> None:
    value: Any = [1, "two", {}, [], (None,)]
    expected = '[1, "two", {}, [], [null]]'
    for number in range(depth):
        value = {"a": 1, "b": value} if number % 2 else [value, True]
        expected = f'{{"a": 1, "b": {expected}}}' if number % 2 and depth < 1000 else expected
        expected = f"[{expected}, true]" if not number % 2 and depth < 1000 else expected
    written = json_text.dumps(value)
    assert written.count("[") + written.count("{") == depth + 4
    if depth < 1000:
        assert written == expected
    while isinstance(value, (list, dict)) and len(value) == 2:  # Python takes it apart by depth too
        value = value["b"] if isinstance(value, dict) else value[0]


def test_what_holds_itself_is_no_json() -> None:
    value: list[Any] = []
    value.append({"again": value})
    with pytest.raises(ValueError, match="holds itself"):
        json_text.dumps(value)
    shared = [1]
    assert json_text.dumps([shared, shared]) == "[[1], [1]]"
