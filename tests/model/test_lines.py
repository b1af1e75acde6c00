"""Merging by lines: what only one side changed is taken, what both changed is disputed."""

from __future__ import annotations

import difflib

from hypothesis import given
from hypothesis import strategies as st

from takeback.model.lines import (
    MARKERS,
    OURS,
    THEIRS,
    Disputed,
    LineHunk,
    Version,
    disputed,
    merge,
    settled,
    split,
)


def version(base: list[bytes], text: bytes) -> Version:
    lines = split(text)
    found = difflib.SequenceMatcher(None, base, lines, autojunk=False).get_opcodes()
    hunks = [LineHunk(a, b - a, c, d - c) for kind, a, b, c, d in found if kind != "equal"]
    return Version(lines, hunks)


def merged(base: bytes, ours: bytes, theirs: bytes) -> list[bytes | Disputed]:
    lines = split(base)
    return merge(lines, version(lines, ours), version(lines, theirs))


def test_what_each_side_changed_elsewhere_is_in_the_result() -> None:
    found = merged(b"a\nb\nc\nd\ne\nf\n", b"a\nB\nc\nd\ne\nf\ng\n", b"a\nb\nc\nX\nY\ne\nf\n")
    assert disputed(found) == ()
    assert settled(found, ()) == b"a\nB\nc\nX\nY\ne\nf\ng\n"


def test_the_same_change_on_both_sides_is_no_dispute() -> None:
    found = merged(b"a\nb\nc\n", b"a\nX\nc\n", b"a\nX\nc\n")
    assert settled(found, ()) == b"a\nX\nc\n"


def test_a_line_that_both_changed_is_disputed_and_chosen() -> None:
    found = merged(b"a\nb\nc\n", b"a\nours\nc\n", b"a\ntheirs\nc\n")
    assert disputed(found) == (Disputed(2, b"b\n", b"ours\n", b"theirs\n"),)
    assert settled(found, [OURS]) == b"a\nours\nc\n"
    assert settled(found, [THEIRS]) == b"a\ntheirs\nc\n"
    assert settled(found, [MARKERS], ("now", "then")) == (
        b"a\n<<<<<<< now\nours\n=======\ntheirs\n>>>>>>> then\nc\n"
    )


def test_lines_that_touch_are_disputed_too() -> None:
    found = merged(b"a\nb\nc\nd\n", b"a\nB\nc\nd\n", b"a\nb\nC\nd\n")
    assert disputed(found) == (Disputed(2, b"b\nc\n", b"B\nc\n", b"b\nC\n"),)


def test_two_insertions_at_one_place_are_disputed() -> None:
    found = merged(b"a\nb\n", b"a\nx\nb\n", b"a\ny\nb\n")
    assert disputed(found) == (Disputed(2, b"", b"x\n", b"y\n"),)


def test_one_hunk_of_ours_may_meet_several_of_theirs() -> None:
    base = b"1\n2\n3\n4\n5\n6\n7\n"
    found = merged(base, b"1\nx\n7\n", b"1\ntwo\n3\n4\n5\nsix\n7\n")
    assert disputed(found) == (Disputed(2, b"2\n3\n4\n5\n6\n", b"x\n", b"two\n3\n4\n5\nsix\n"),)


def test_markers_stand_on_lines_of_their_own_and_end_as_the_text_does() -> None:
    no_newline = merged(b"a\nb", b"a\nours", b"a\ntheirs")
    assert settled(no_newline, [MARKERS]) == (
        b"a\n<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n"
    )
    dos = merged(b"a\r\nb\r\n", b"a\r\nx\r\n", b"a\r\ny\r\n")
    assert settled(dos, [MARKERS]) == (
        b"a\r\n<<<<<<< ours\r\nx\r\n=======\r\ny\r\n>>>>>>> theirs\r\n"
    )


def test_only_a_line_feed_ends_a_line() -> None:
    assert split(b"a\rb\x0bc\n\nd") == [b"a\rb\x0bc\n", b"\n", b"d"]
    assert split(b"") == []


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"x\n"]), max_size=12)


@given(LINES, LINES, LINES)
def test_nothing_is_lost_and_each_side_can_be_had_whole(
    base: list[bytes], ours: list[bytes], theirs: list[bytes]
) -> None:
    found = merged(*(b"".join(lines) for lines in (base, ours, theirs)))
    count = len(disputed(found))
    if base == ours:
        assert (count, settled(found, ())) == (0, b"".join(theirs))
    if base == theirs:
        assert (count, settled(found, ())) == (0, b"".join(ours))
    if ours == theirs:
        assert (count, settled(found, ())) == (0, b"".join(ours))
    swapped = merged(*(b"".join(lines) for lines in (base, theirs, ours)))
    assert settled(found, [OURS] * count) == settled(swapped, [THEIRS] * count)


def test_markers_are_longer_where_the_lines_between_them_look_like_some() -> None:
    """A heading of a README, or the markers of an earlier merge: it has to be told what is what."""
    for line in (b"=======\n", b"<<<<<<< ours\n", b">>>>>>> theirs\r\n", b"======="):
        text = settled([Disputed(1, b"base\n", b"Title\n" + line, b"theirs\n")], ["markers"])
        lines = text.splitlines()
        assert (lines[0], lines[-1]) == (b"<<<<<<<< ours", b">>>>>>>> theirs"), line
        assert lines.count(b"========") == 1, line
        again = settled([Disputed(1, b"base\n", text, b"theirs\n")], ["markers"])
        assert again.startswith(b"<<<<<<<<< ours"), line
    for line in (b"==========\n", b" =======\n", b"=======x\n", b"======\n"):
        text = settled([Disputed(1, b"base\n", line, b"theirs\n")], ["markers"])
        assert text.startswith(b"<<<<<<< ours\n"), line
