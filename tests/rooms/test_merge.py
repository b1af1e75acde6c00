"""Merging snapshots, case by case: what comes out, what is a conflict, what each choice gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from takeback.context import Context
from takeback.git.objects import BLOB, TREE
from takeback.merge.merge import Merge, Sides, merge
from takeback.model.checkpoint import DIRECTORY, FILE, LINK, Entry
from takeback.model.conflicts import NOTHING_CHOSEN, Chooser, ConflictChoices
from takeback.store import trees
from takeback.store.sink import PackSink
from tests.support.engine import packing

EIGHT = b"".join(b"line %d\n" % number for number in range(1, 9))
FIRST = EIGHT.replace(b"line 1\n", b"first\n")
LAST = EIGHT.replace(b"line 8\n", b"last\n")
BOTH_ENDS = FIRST.replace(b"line 8\n", b"last\n")
OTHER_FIRST = EIGHT.replace(b"line 1\n", b"other\n")
DISPUTE = EIGHT.replace(b"line 1\n", b"<<<<<<< ours\nfirst\n=======\nother\n>>>>>>> theirs\n")
NUL = b"\0binary 1"

EMPTY = (DIRECTORY | 0o755,)


def link(target: bytes) -> tuple[int, bytes]:
    return (LINK, target)


def bits(mode: int, data: bytes) -> tuple[int, bytes]:
    return (FILE | mode, data)


def entry(sink: PackSink, what: Any) -> Entry:
    """A file's bytes; (mode, bytes); or (mode,) for a directory."""
    if isinstance(what, bytes):
        what = (FILE | 0o644, what)
    if len(what) == 1:
        return Entry(what[0], sink.add(TREE, b""))
    return Entry(what[0], sink.add(BLOB, what[1]))


def tree(sink: PackSink, files: Mapping[str, Any]) -> bytes:
    return trees.build(sink, {path.encode(): entry(sink, what) for path, what in files.items()})


def content(context: Context, root: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path, one in trees.walk(context.store, root):
        if one.is_directory:
            if not context.store.tree(one.oid) or one.mode != DIRECTORY | 0o755:
                found[path.decode()] = (one.mode,)
            continue
        data = context.store.blob(one.oid)
        found[path.decode()] = data if one.mode == FILE | 0o644 else (one.mode, data)
    return found


class Merged:
    """What a merge of three states gives."""

    def __init__(
        self,
        context: Context,
        base: Mapping[str, Any],
        ours: Mapping[str, Any],
        theirs: Mapping[str, Any],
        choices: ConflictChoices = NOTHING_CHOSEN,
    ) -> None:
        with packing(context) as sink:
            sides = Sides(tree(sink, base), tree(sink, ours), tree(sink, theirs))
            sink.publish()
            self._chooser = Chooser(choices)
            self.done: Merge = merge(sink, sides, self._chooser)
            sink.publish()
            self.files = content(context, self.done.tree)

    @property
    def conflicts(self) -> list[tuple[str, str]]:
        return [(one.path.decode(), one.kind) for one in self._chooser.unsettled]


CLEAN: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    # base, ours, theirs, merged
    "only theirs": ({"f": b"1\n"}, {"f": b"1\n"}, {"f": b"2\n"}, {"f": b"2\n"}),
    "only ours": ({"f": b"1\n"}, {"f": b"2\n"}, {"f": b"1\n"}, {"f": b"2\n"}),
    "the same": ({"f": b"1\n"}, {"f": b"2\n"}, {"f": b"2\n"}, {"f": b"2\n"}),
    "two ends of a text": ({"f": EIGHT}, {"f": FIRST}, {"f": LAST}, {"f": BOTH_ENDS}),
    "a text and its bits": (
        {"f": EIGHT},
        {"f": bits(0o755, EIGHT)},
        {"f": LAST},
        {"f": bits(0o755, LAST)},
    ),
    "text here, bits there": (
        {"f": EIGHT},
        {"f": FIRST},
        {"f": bits(0o600, EIGHT)},
        {"f": bits(0o600, FIRST)},
    ),
    "text on both sides, bits there": (
        {"f": EIGHT},
        {"f": FIRST},
        {"f": bits(0o700, LAST)},
        {"f": bits(0o700, BOTH_ENDS)},
    ),
    "added there": ({}, {"a": b"1"}, {"b": b"2"}, {"a": b"1", "b": b"2"}),
    "added the same": ({}, {"a": b"1"}, {"a": b"1"}, {"a": b"1"}),
    "deleted there": ({"f": b"1", "g": b""}, {"f": b"1", "g": b"x"}, {"g": b""}, {"g": b"x"}),
    "deleted on both": ({"f": b"1"}, {}, {}, {}),
    "a binary there only": ({"f": NUL}, {"f": NUL}, {"f": NUL + b"2"}, {"f": NUL + b"2"}),
    "a link there only": (
        {"l": link(b"a")},
        {"l": link(b"a")},
        {"l": link(b"b")},
        {"l": link(b"b")},
    ),
    "a file becomes a link there": ({"f": b"1"}, {"f": b"1"}, {"f": link(b"x")}, {"f": link(b"x")}),
    "CRLF stays": (
        {"f": EIGHT.replace(b"\n", b"\r\n")},
        {"f": FIRST.replace(b"\n", b"\r\n")},
        {"f": LAST.replace(b"\n", b"\r\n")},
        {"f": BOTH_ENDS.replace(b"\n", b"\r\n")},
    ),
    "no newline at the end": (
        {"f": EIGHT.rstrip()},
        {"f": FIRST.rstrip()},
        {"f": EIGHT.rstrip() + b"!"},
        {"f": FIRST.rstrip() + b"!"},
    ),
    "an empty file is filled there": ({"f": b""}, {"f": b""}, {"f": b"1\n"}, {"f": b"1\n"}),
    "a text is emptied there": ({"f": EIGHT}, {"f": EIGHT}, {"f": b""}, {"f": b""}),
    "renamed here, changed there": (
        {"old": EIGHT, "x": b""},
        {"d/new": FIRST, "x": b""},
        {"old": LAST, "x": b""},
        {"d/new": BOTH_ENDS, "x": b""},
    ),
    "renamed there, changed here": (
        {"old": EIGHT},
        {"old": FIRST},
        {"d/new": LAST},
        {"d/new": BOTH_ENDS},
    ),
    "renamed there, untouched here": (
        {"old": EIGHT},
        {"old": EIGHT},
        {"new": EIGHT},
        {"new": EIGHT},
    ),
    "an empty directory comes": ({}, {"a": b""}, {"d": EMPTY}, {"a": b"", "d": EMPTY}),
    "an empty directory goes": (
        {"d": EMPTY, "a": b""},
        {"d": EMPTY, "a": b""},
        {"a": b""},
        {"a": b""},
    ),
    "a directory goes with its files": (
        {"d/e/f": b"1", "a": b""},
        {"d/e/f": b"1", "a": b""},
        {"a": b""},
        {"a": b""},
    ),
    "a directory stays if something else is in it": (
        {"d/f": b"1"},
        {"d/f": b"1", "d/mine": b"2"},
        {},
        {"d/mine": b"2"},
    ),
    "bits of a directory": (
        {"d": EMPTY},
        {"d": EMPTY, "d/f": b"1"},
        {"d": (DIRECTORY | 0o700,)},
        {"d": (DIRECTORY | 0o700,), "d/f": b"1"},
    ),
    "a file becomes a directory there": ({"f": b"1"}, {"f": b"1"}, {"f/g": b"2"}, {"f/g": b"2"}),
    "a directory becomes a file there": ({"f/g": b"1"}, {"f/g": b"1"}, {"f": b"2"}, {"f": b"2"}),
    "added below a directory that went here": (
        {"d": (DIRECTORY | 0o700,), "d/f": b"1", "a": b""},
        {"a": b""},
        {"d": (DIRECTORY | 0o700,), "d/f": b"1", "d/new": b"2", "a": b""},
        {"a": b"", "d": (DIRECTORY | 0o700,), "d/new": b"2"},
    ),
}


@pytest.mark.parametrize("name", CLEAN)
def test_what_both_sides_did_is_there(context: Context, name: str) -> None:
    base, ours, theirs, expected = CLEAN[name]
    found = Merged(context, base, ours, theirs)
    assert (found.files, found.conflicts) == (expected, [])


DISPUTED: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], list[Any]]] = {
    # base, ours, theirs, [(path, kind)] and then the files if theirs is chosen
    "one line": (
        {"f": EIGHT},
        {"f": FIRST},
        {"f": OTHER_FIRST},
        [[("f", "text")], {"f": OTHER_FIRST}],
    ),
    "one line and the other end": (
        {"f": EIGHT},
        {"f": FIRST},
        {"f": OTHER_FIRST.replace(b"line 8\n", b"last\n")},
        [[("f", "text")], {"f": OTHER_FIRST.replace(b"line 8\n", b"last\n")}],
    ),
    "a binary": (
        {"f": NUL},
        {"f": NUL + b"o"},
        {"f": NUL + b"t"},
        [[("f", "binary")], {"f": NUL + b"t"}],
    ),
    "a text that became binary": (
        {"f": EIGHT},
        {"f": FIRST},
        {"f": NUL},
        [[("f", "binary")], {"f": NUL}],
    ),
    "both added": ({}, {"f": b"1\n"}, {"f": b"2\n"}, [[("f", "both_added")], {"f": b"2\n"}]),
    "both added a binary": (
        {},
        {"f": NUL + b"o"},
        {"f": NUL + b"t"},
        [[("f", "both_added")], {"f": NUL + b"t"}],
    ),
    "deleted here, changed there": (
        {"f": b"1"},
        {},
        {"f": b"2"},
        [[("f", "deleted_here")], {"f": b"2"}],
    ),
    "changed here, deleted there": ({"f": b"1"}, {"f": b"2"}, {}, [[("f", "deleted_there")], {}]),
    "renamed here, deleted there": (
        {"old": EIGHT},
        {"new": EIGHT},
        {},
        [[("new", "deleted_there")], {}],
    ),
    "bits on both sides": (
        {"f": EIGHT},
        {"f": bits(0o600, FIRST)},
        {"f": bits(0o755, LAST)},
        [[("f", "mode")], {"f": bits(0o755, BOTH_ENDS)}],
    ),
    "links": (
        {"l": link(b"a")},
        {"l": link(b"b")},
        {"l": link(b"c")},
        [[("l", "link")], {"l": link(b"c")}],
    ),
    "a link here, a changed file there": (
        {"f": b"1"},
        {"f": link(b"x")},
        {"f": b"2"},
        [[("f", "type")], {"f": b"2"}],
    ),
    "a directory here, a changed file there": (
        {"f": b"1"},
        {"f/g": b"x"},
        {"f": b"2"},
        [[("f", "type")], {"f": b"2"}],
    ),
    "a file here, a directory there": (
        {},
        {"f": b"1"},
        {"f/g": b"2"},
        [[("f", "type")], {"f/g": b"2"}],
    ),
    "a changed directory here, a file there": (
        {"f/g": b"1"},
        {"f/g": b"1", "f/mine": b"x"},
        {"f": b"2"},
        [[("f", "type")], {"f": b"2"}],
    ),
    "added below what is a file here": (
        {"d/f": b"1"},
        {"d": b"file"},
        {"d/f": b"1", "d/new": b"2"},
        [[("d/new", "type")], {"d/new": b"2"}],
    ),
}


@pytest.mark.parametrize("name", DISPUTED)
def test_a_conflict_is_named_and_nothing_is_guessed(context: Context, name: str) -> None:
    base, ours, theirs, (conflicts, chosen) = DISPUTED[name]
    found = Merged(context, base, ours, theirs)
    assert found.conflicts == conflicts
    assert found.files == ours, "until somebody chooses, it stays as it is"
    for choice in ("ours", "skip"):
        settled = Merged(context, base, ours, theirs, ConflictChoices(otherwise=choice))
        assert settled.conflicts == []
        expected = (
            {"f": bits(0o600, BOTH_ENDS)}
            if (name, choice) == ("bits on both sides", "ours")
            else ours
        )
        if name == "one line and the other end" and choice == "ours":
            expected = {"f": BOTH_ENDS}
        assert settled.files == expected
    settled = Merged(context, base, ours, theirs, ConflictChoices(otherwise="theirs"))
    assert (settled.conflicts, settled.files) == ([], chosen)


def test_markers_are_written_only_where_they_are_chosen(context: Context) -> None:
    sides = (
        {"f": EIGHT, "b": NUL},
        {"f": FIRST, "b": NUL + b"o"},
        {"f": OTHER_FIRST, "b": NUL + b"t"},
    )
    found = Merged(context, *sides, ConflictChoices(otherwise="markers"))
    assert found.files == {"f": DISPUTE, "b": NUL + b"o"}
    assert found.conflicts == [("b", "binary")], "there are no lines to stand between"


def test_each_stretch_of_a_file_has_a_choice_of_its_own(context: Context) -> None:
    ours, theirs = ({"f": EIGHT.replace(b"line 1", x).replace(b"line 8", x)} for x in (b"o", b"t"))
    chosen = ConflictChoices({b"f": ("ours", "theirs")})
    found = Merged(context, {"f": EIGHT}, ours, theirs, chosen)
    assert found.files == {"f": EIGHT.replace(b"line 1", b"o").replace(b"line 8", b"t")}
    assert found.conflicts == []
    too_few = Merged(context, {"f": EIGHT}, ours, theirs, ConflictChoices({b"f": ("ours",)}))
    assert too_few.conflicts == [("f", "text")]


def test_a_dispute_about_one_file_holds_up_no_other(context: Context) -> None:
    found = Merged(
        context,
        {"f": EIGHT, "g": b"1"},
        {"f": FIRST, "g": b"1"},
        {"f": OTHER_FIRST, "g": b"2"},
    )
    assert found.conflicts == [("f", "text")]
    assert found.files == {"f": FIRST, "g": b"2"}


def test_odd_names_and_many_files(context: Context) -> None:
    names = ['a"b', "a b", "tab\t", "new\nline", "ä", "-x", ":(glob)*", *map(str, range(50))]
    base, ours, theirs, both = (
        dict.fromkeys(names, text) for text in (EIGHT, FIRST, LAST, BOTH_ENDS)
    )
    assert Merged(context, base, ours, theirs).files == both
