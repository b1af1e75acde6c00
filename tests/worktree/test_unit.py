"""Changes become units: each the smallest thing that is done as a whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.model import json_text
from takeback.model.checkpoint import DIRECTORY, Change, Entry
from takeback.worktree.apply import Unit, decode, encode, make_units
from tests.support.engine import file_entry, link_entry

OLD, NEW = file_entry(b"old"), file_entry(b"new", 0o755)
FOLDER = Entry(DIRECTORY | 0o755, b"")
PRIVATE = Entry(DIRECTORY | 0o700, b"t" * 20)


def test_files_are_units_of_their_own_in_order_and_numbered() -> None:
    writes = [Change(b"b", None, NEW), Change(b"a", OLD, NEW)]
    deletes = [Change(b"aa", OLD, None)]
    assert make_units(writes, deletes, {}) == [
        Unit(0, b"a", OLD, NEW),
        Unit(1, b"aa", OLD, None),
        Unit(2, b"b", None, NEW),
    ]


def test_a_new_directory_is_one_unit_with_all_in_it() -> None:
    writes = [
        Change(b"d/e/f", None, NEW),
        Change(b"d", None, FOLDER),
        Change(b"d/e", None, PRIVATE),
        Change(b"d-x", None, NEW),
    ]
    assert make_units(writes, [], {}) == [
        Unit(0, b"d", None, FOLDER, inside_new=((b"e", PRIVATE), (b"e/f", NEW))),
        Unit(1, b"d-x", None, NEW),
    ]


def test_a_directory_that_takes_the_place_of_a_file_is_one_unit() -> None:
    writes = [Change(b"d", OLD, FOLDER), Change(b"d/f", None, NEW)]
    assert make_units(writes, [], {}) == [Unit(0, b"d", OLD, FOLDER, inside_new=((b"f", NEW),))]


def test_a_directory_that_makes_way_takes_the_deletions_in_it_along() -> None:
    inside = ((b"e", FOLDER), (b"e/f", OLD))
    deletes = [Change(b"d/e", FOLDER, None), Change(b"d/e/f", OLD, None), Change(b"x", OLD, None)]
    units = make_units([Change(b"d", FOLDER, NEW)], deletes, {b"d": inside})
    assert units == [Unit(0, b"d", FOLDER, NEW, inside_old=inside), Unit(1, b"x", OLD, None)]


def test_another_mode_of_a_directory_does_not_swallow_what_is_in_it() -> None:
    writes = [Change(b"d", FOLDER, PRIVATE), Change(b"d/f", OLD, NEW)]
    mode, file = make_units(writes, [], {})
    assert (mode.only_mode, mode.staged) == (True, False)
    assert (file.path, file.only_mode, file.staged) == (b"d/f", False, True)


@pytest.mark.parametrize(
    ("old", "new", "staged", "only_mode"),
    [
        (None, NEW, True, False),
        (OLD, NEW, True, False),
        (OLD, FOLDER, True, False),
        (FOLDER, link_entry(b"x"), True, False),
        (FOLDER, PRIVATE, False, True),
        (OLD, None, False, False),
        (FOLDER, None, False, False),
    ],
)
def test_each_row_of_the_table_is_told_apart(
    old: Entry | None, new: Entry | None, staged: bool, only_mode: bool
) -> None:
    unit = Unit(0, b"a/b/c", old, new)
    assert (unit.staged, unit.only_mode) == (staged, only_mode)
    assert (unit.parent, unit.name) == (b"a/b", b"c")


def test_the_way_back_is_the_other_way_round_under_another_temporary_name() -> None:
    unit = Unit(3, b"d", FOLDER, NEW, inside_old=((b"f", OLD),))
    back = unit.reversed()
    assert (back.old, back.new, back.inside_old, back.inside_new) == (
        NEW,
        FOLDER,
        (),
        ((b"f", OLD),),
    )
    assert back.number != unit.number
    assert (Unit(0, b"x", None, NEW).parent, Unit(0, b"x", None, NEW).name) == (b"", b"x")


_ENTRIES = st.builds(Entry, st.sampled_from([0o100644, 0o40700, 0o120000]), st.binary(max_size=20))
_NAMES = st.binary(min_size=1).filter(lambda n: b"/" not in n and n not in (b".", b"..", b".git"))
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map(b"/".join)
_INSIDE = st.lists(st.tuples(_PATHS, _ENTRIES), max_size=3).map(tuple)
_UNITS = st.builds(
    Unit,
    st.integers(0, 1 << 34),
    _PATHS,
    st.none() | _ENTRIES,
    st.none() | _ENTRIES,
    _INSIDE,
    _INSIDE,
)


@settings(max_examples=100)
@given(_UNITS)
def test_a_unit_survives_the_journal(unit: Unit) -> None:
    record: Any = json_text.loads(json_text.dumps(encode(unit)))
    assert decode(record) == unit


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("number", "x"),
        ("new", [1]),
        ("new", []),
        ("new", ["x", "zz"]),
        ("new", [1, "zz"]),
        ("inside_old", [["a", None]]),
        ("inside_new", 7),
        ("inside_new", [7]),
        ("path", None),
    ],
)
def test_a_record_that_is_no_unit_is_an_error(key: str, value: object) -> None:
    record = encode(Unit(0, b"a", OLD, NEW))
    record[key] = value
    with pytest.raises((LookupError, TypeError, ValueError, AttributeError)):
        decode(record)
    del record[key]
    with pytest.raises(KeyError):
        decode(record)


@pytest.mark.parametrize(
    "path", [".git", ".git/hooks/post-checkout", "a/.git/x", "..", "a/../../x", "/a", "a//b", ""]
)
def test_a_journal_leads_neither_out_nor_into_git(path: str) -> None:
    record = encode(Unit(0, b"a", None, NEW))
    with pytest.raises(ValueError, match=r"path of a workspace|names \.git"):
        decode({**record, "path": path})
