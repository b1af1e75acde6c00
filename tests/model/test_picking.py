"""Hunks picked from a text: any of them, in parts, and edited."""

from __future__ import annotations

import difflib
import random

import pytest
from inline_snapshot import snapshot

from takeback.errors import UsageError
from takeback.model.conflicts import ShownHunk, TextChange
from takeback.model.lines import LineHunk, split


def change(old: bytes, new: bytes) -> TextChange:
    a, b = split(old), split(new)
    found = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    hunks = (LineHunk(i, j - i, k, m - k) for tag, i, j, k, m in found if tag != "equal")
    return TextChange(a, b, tuple(hunks))


def lines(*words: str) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()


NEAR = change(lines(*"abcdefghijklmnop"), lines(*"aBcdEfghijklmnOp"))


def test_hunks_near_to_each_other_are_one_until_they_are_split() -> None:
    first, last = NEAR.shown()
    assert b"".join(map(NEAR.patch, (first, last))).decode() == snapshot("""\
@@ -1,8 +1,8 @@
 a
-b
+B
 c
 d
-e
+E
 f
 g
 h
@@ -12,5 +12,5 @@
 l
 m
 n
-o
+O
 p
""")
    assert b"".join(map(NEAR.patch, NEAR.split(first))).decode() == snapshot("""\
@@ -1,3 +1,3 @@
 a
-b
+B
 c
@@ -4,5 +4,5 @@
 d
-e
+E
 f
 g
 h
""")
    assert NEAR.split(last) == [last]


def test_any_selection_of_hunks_is_the_old_text_with_these_alone() -> None:
    luck = random.Random(14)
    for _ in range(300):
        old = [b"%d\n" % luck.randrange(6) for _ in range(luck.randrange(12))]
        new = [line for line in old if luck.random() < 0.8]
        for _ in range(luck.randrange(4)):
            new.insert(luck.randrange(len(new) + 1), b"new %d\n" % luck.randrange(6))
        texts = [b"".join(old), b"".join(new)]
        if luck.random() < 0.3:
            texts[luck.randrange(2)] += b"without an end"
        found = change(*texts)
        shown = [part for one in found.shown() for part in found.split(one)]
        assert found.picked([]) == texts[0]
        everything = [one for part in shown for one in found.replacements(part)]
        assert found.picked(everything) == texts[1]
        chosen = [part for part in shown if luck.random() < 0.5]
        left = [part for part in shown if part not in chosen]
        some = found.picked(one for part in chosen for one in found.replacements(part))
        again = change(some, texts[1])
        assert sum(one.old_count for one in again.hunks) <= sum(
            one.old_count for part in left for one in part.hunks
        )
        as_they_are = [found.edited(part, found.patch(part)) for part in chosen]
        assert found.picked(one for one in as_they_are if one is not None) == some
        covered = [line for part in shown for line in range(part.start, part.end)]
        assert len(covered) == len(set(covered)), "no line is shown in two hunks"


def edit(text: TextChange, hunk: ShownHunk, *changes: tuple[bytes, bytes]) -> bytes:
    patch = text.patch(hunk)
    for old, new in changes:
        assert old in patch
        patch = patch.replace(old, new)
    found = text.edited(hunk, patch)
    return b"" if found is None else text.picked([found])


def test_a_hunk_can_be_edited() -> None:
    first, _ = NEAR.shown()
    assert edit(NEAR, first, (b"-b\n", b" b\n"), (b"+B\n", b"")) == lines(*"abcdEfghijklmnop")
    assert edit(NEAR, first, (b"+E\n", b"+e1\n+e2\n"), (b"@@ ", b"# ")) == lines(
        "a", "B", "c", "d", "e1", "e2", *"fghijklmnop"
    )
    assert NEAR.edited(first, b"# nothing is left\n") is None


@pytest.mark.parametrize(
    "patch", [b"+only this\n", b" a\n-x\n", b"neither of these\n", b"\\ No newline\n"]
)
def test_an_edit_that_does_not_fit_is_not_taken(patch: bytes) -> None:
    with pytest.raises(UsageError, match="the edited hunk"):
        NEAR.edited(NEAR.shown()[0], patch)


def test_the_end_of_a_file_without_a_newline() -> None:
    text = change(b"a\nb", b"a\nb\nc\n")
    (hunk,) = text.shown()
    assert text.patch(hunk).decode() == snapshot("""\
@@ -1,2 +1,3 @@
 a
-b
\\ No newline at end of file
+b
+c
""")
    no_end = edit(text, hunk, (b"+c\n", b"+c\n\\ No newline at end of file\n"))
    assert no_end == b"a\nb\nc"
    kept = edit(text, hunk, (b"-b\n", b" b\n"), (b"+b\n", b""))
    assert kept == b"a\nb\nc\n", "a line that is not the last one any more gets its end"
