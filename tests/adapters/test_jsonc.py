"""Settings of other programs, edited as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from takeback.adapters import jsonc

# -- reading


def test_comments_trailing_commas_and_a_byte_order_mark_are_read() -> None:
    text = '\ufeff// mine\n{"a": [1, /* two */ 2,], "b": "//no",\n}\n// end'
    assert jsonc.parse(text).plain() == {"a": [1, 2], "b": "//no"}


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_file_is_an_empty_object(text: str) -> None:
    assert jsonc.parse(text).plain() == {}


def test_of_two_members_of_one_name_the_last_counts() -> None:
    node = jsonc.parse('{"a": 1, "a": 2}')
    found = node.member("a")
    assert found is not None
    assert found.plain() == node.plain()["a"] == 2


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "something that is no JSON in line 1"),
        ('{"a"', "a colon is missing in line 1"),
        ('{"a":', "a value is missing in line 1"),
        ('{\n"a": 1 "b": 2}', "a comma or bracket is missing in line 2"),
        ("[1,\n\n x]", "something that is no JSON in line 3"),
        ("[1,,2]", "something that is no JSON in line 1"),
        ("{1: 2}", "a key that is no string in line 1"),
        ("{} {}", "more than one value in line 1"),
        ("{ /* ", "a comment without end in line 1"),
        ('{"a": "', "something that is no JSON in line 1"),
        ("// only words", "a value is missing in line 1"),
        ("[" * 100_000, "too many brackets in one another in line 1"),
    ],
)
def test_what_is_no_json_is_said_with_its_line(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        jsonc.parse(text)


# -- adding


def test_an_item_is_added_in_the_layout_of_the_file() -> None:
    text = """{
    "theme": "dark", // at night
    "hooks": {
        "Stop": [
            {"command": "mine"} // the first
        ]
    } // all of them
}
"""
    text = jsonc.with_item(text, ["hooks", "Stop"], {"command": "ours"})
    text = jsonc.with_item(text, ["hooks", "Start"], {"command": "ours"})
    text = jsonc.with_item(text, ["more", "Start"], 1)
    assert text == snapshot("""\
{
    "theme": "dark", // at night
    "hooks": {
        "Stop": [
            {"command": "mine"}, // the first
            {"command": "ours"}
        ],
        "Start": [
            {"command": "ours"}
        ]
    }, // all of them
    "more": {
        "Start": [
            1
        ]
    }
}
""")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("", '{\n  "a": [\n    1\n  ]\n}\n'),
        ("{}", '{\n  "a": [\n    1\n  ]\n}'),
        ("{ // none\n}", '{ // none\n  "a": [\n    1\n  ]\n}'),
        ('{"a": []}', '{"a": [\n    1\n  ]}'),
        ('{"a": [0,]}', '{"a": [0,\n    1]}'),
        ('{"a": [0 /* nought */]}', '{"a": [0, /* nought */\n    1]}'),
        ('{\r\n\t"a": [\r\n\t]\r\n}', '{\r\n\t"a": [\r\n\t\t1\r\n\t]\r\n}'),
    ],
)
def test_an_item_is_added_wherever_the_array_is(text: str, made: str) -> None:
    assert jsonc.with_item(text, ["a"], 1) == made


@pytest.mark.parametrize("text", ['{"a": {}}', '{"a": 1}', "[]", "1"])
def test_something_else_in_the_way_is_not_replaced(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no list|is no object"):
        jsonc.with_item(text, ["a"], 1)


# -- taking out


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"a": [0]}', "{}"),
        ('{"a": [1, 0]}', '{"a": [1]}'),
        ('{"a": [0, 1]}', '{"a": [1]}'),
        ('{"a": [1, 0, 2, 0]}', '{"a": [1, 2]}'),
        ('{"a": [0], "b": 1}', '{"b": 1}'),
        ('{"b": 1, "a": [0]}', '{"b": 1}'),
        ('{"b": 1, "a": [0,],}', '{"b": 1,}'),
        ('{\n  "b": 1, // one\n  "a": [0]\n}', '{\n  "b": 1 // one\n}'),
        ('{"b": 1, // one\n  "a": [0]}', '{"b": 1 // one\n  }'),
        ('{"b": 1, // one\n  "a": [0], "c": 2}', '{"b": 1, // one\n  "c": 2}'),
        ('{"a": [0], // one\n  "b": 1}', '{// one\n  "b": 1}'),
        ('{"a": [ // kept\n  0]}', '{"a": [ // kept\n  ]}'),
        ('{"a": [0 /* kept */]}', '{"a": [/* kept */]}'),
        ('{"a": [\n  1,\n  0, // nought\n  2\n]}', '{"a": [\n  1,\n  // nought\n  2\n]}'),
        ('{"a": [1]}', '{"a": [1]}'),
        ('{"b": [0]}', '{"b": [0]}'),
    ],
)
def test_items_are_taken_out_and_comments_stay(text: str, left: str) -> None:
    assert jsonc.without_items(text, ["a"], lambda item: item == 0) == left


def test_items_of_an_array_in_an_array_are_taken_out() -> None:
    text = '{"a": [{"b": [0, 1]}, {"b": [0]}]}'
    found = jsonc.without_items(text, ["a", 0, "b"], lambda item: item == 0)
    assert found == '{"a": [{"b": [1]}, {"b": [0]}]}'


BLANKS = st.sampled_from(["", " ", "\n", "\n  ", " // x\n", "/* y */", "\r\n"])
SCALARS = st.sampled_from(["1", "null", '"s"', '"//"', '"\\""'])


@st.composite
def documents(draw: st.DrawFn, depth: int = 2) -> str:
    """Draws JSON with comments, odd blanks and trailing commas."""
    kind = draw(st.sampled_from(["scalar", "array", "object"])) if depth < 2 else "object"
    if kind == "scalar":
        return draw(SCALARS)
    inner = draw(st.lists(documents(depth - 1), max_size=3)) if depth else []
    comma = draw(st.sampled_from(["", ","])) if inner else ""
    parts = []
    for number, one in enumerate(inner):
        key = ""
        if kind == "object":
            key = f'"{"abcd"[number]}"{draw(BLANKS)}:{draw(BLANKS)}'
        parts.append(f"{draw(BLANKS)}{key}{one}{draw(BLANKS)}")
    text = ",".join(parts) + comma + draw(BLANKS)
    return f"[{text}]" if kind == "array" else f"{{{text}}}"


def comments(text: str) -> int:
    """Counts the comments of a drawn document, whose strings hold no such marks."""
    return text.count("// x") + text.count("/* y */")


@given(text=documents(), path=st.sampled_from([["a"], ["b", "new"], ["new"], ["new", "er"]]))
def test_what_is_added_is_there_and_can_be_taken_out(text: str, path: list[str]) -> None:
    before: Any = jsonc.parse(text).plain()
    try:
        added = jsonc.with_item(text, path, "ours")
    except ValueError:
        return
    holder: Any = jsonc.parse(added).plain()
    for key in path:
        holder = holder[key]
    assert holder[-1] == "ours"
    assert comments(added) == comments(text)
    taken = jsonc.without_items(added, path, lambda item: item == "ours")
    assert comments(taken) == comments(text)
    after: Any = jsonc.parse(taken).plain()
    assert _pruned(after, path) == _pruned(before, path)


def _pruned(value: Any, path: list[str]) -> Any:
    """Returns a document without what is empty along the path: it may go with our items."""
    value = json.loads(json.dumps(value))
    for length in range(len(path), 0, -1):
        holder = value
        for key in path[: length - 1]:
            holder = holder.get(key, {}) if isinstance(holder, dict) else {}
        if isinstance(holder, dict) and holder.get(path[length - 1]) in ([], {}):
            del holder[path[length - 1]]
    return value
