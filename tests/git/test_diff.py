from __future__ import annotations

import random

import pytest

from takeback import errors
from takeback.git import diff
from takeback.git.objects import BLOB, EMPTY_TREE, TREE, ObjectId, encode_tree
from takeback.git.pack import PackWriter
from takeback.git.process import Git

ODD = b'od\nd\t\xff "q\\'


def tree(git: Git, files: dict[bytes, bytes], mode: int = 0o100600) -> ObjectId:
    """Writes a tree whose names may have one directory before them."""
    writer = PackWriter(f"{git.git_dir}/objects/pack")
    top: list[tuple[int, bytes, ObjectId]] = []
    below: dict[bytes, list[tuple[int, bytes, ObjectId]]] = {}
    for path, data in files.items():
        directory, _, name = path.rpartition(b"/")
        entry = (mode, name, writer.add(BLOB, data))
        (below.setdefault(directory, []) if directory else top).append(entry)
    for name, entries in below.items():
        top.append((0o40750, name, writer.add(TREE, encode_tree(entries))))
    oid = writer.add(TREE, encode_tree(top))
    writer.finish()
    return oid


def test_lines_are_counted_for_many_pairs_at_once(git: Git):
    one = tree(git, {b"a": b"1\n2\n", b"d/x": b"x\n", b"gone": b"g\n", b"bin": b"\0a"})
    two = tree(git, {b"a": b"1\n3\n4\n", b"d/x": b"x\n", b"bin": b"\0b", b"d/new": b"n"})
    assert diff.numstat(git, [(one, two), (one, one), (two, one), (one, one), (one, one)]) == [
        {b"a": (2, 1), b"bin": diff.BINARY, b"d/new": (1, 0), b"gone": (0, 1)},
        {},
        {b"a": (1, 2), b"bin": diff.BINARY, b"d/new": (0, 1), b"gone": (1, 0)},
        {},
        {},
    ]
    assert diff.numstat(git, []) == []


def test_odd_names_are_counted_as_they_are(git: Git):
    names = [ODD, b":(top)x", b"*", b"-n", b"1\t1\tx", b"a" * 40 + b" " + b"b" * 40, b"\x01"]
    full = tree(git, dict.fromkeys(names, b"1\n"))
    assert diff.numstat(git, [(EMPTY_TREE, full), (full, EMPTY_TREE)]) == [
        dict.fromkeys(names, (1, 0)),
        dict.fromkeys(names, (0, 1)),
    ]


def test_a_renamed_file_is_a_deletion_and_an_addition(git: Git):
    one, two = tree(git, {b"old": b"1\n2\n3\n"}), tree(git, {b"new": b"1\n2\n3\n"})
    assert diff.numstat(git, [(one, two)]) == [{b"old": (0, 3), b"new": (3, 0)}]
    assert b"rename" not in diff.unified(git, one, two)


def test_of_a_very_large_text_it_is_only_said_that_it_differs(git: Git):
    large = b"a line\n" * (diff.LARGEST_SHOWN // 7 + 1)
    one, two = tree(git, {b"large": large}), tree(git, {b"large": large + b"one more\n"})
    assert diff.unified(git, one, two).endswith(b"Binary files a/large and b/large differ\n")


def test_many_pairs_and_paths_do_not_block(git: Git):
    full = tree(git, {b"file%05d" % number: b"%d\n" % number for number in range(3000)})
    counted = diff.numstat(git, [(EMPTY_TREE, full), (full, EMPTY_TREE)] * 20)
    assert [len(found or ()) for found in counted] == [3000] * 40


def test_attributes_in_the_trees_have_no_say(git: Git):
    attributes = b"* binary\n*.txt diff=evil filter=evil\n"
    one = tree(git, {b".gitattributes": attributes, b"a.txt": b"1\n"})
    two = tree(git, {b".gitattributes": attributes, b"a.txt": b"2\n"})
    assert diff.numstat(git, [(one, two)]) == [{b"a.txt": (1, 1)}]
    assert b"\n-1\n+2\n" in diff.unified(git, one, two)


def test_a_unified_diff_shows_both_sides(git: Git):
    one = tree(git, {b"a": b"1\n2\n3\n4\n5\n", b"d/b": b"x\n"})
    two = tree(git, {b"a": b"1\n2\nthree\n4\n5\n", b"d/b": b"y\n"})
    said = diff.unified(git, one, two)
    assert said.startswith(b"diff --git a/a b/a\n")
    assert b"@@ -1,5 +1,5 @@\n 1\n 2\n-3\n+three\n 4\n 5\n" in said
    assert b"a/d/b b/d/b" in said
    assert b"@@ -3 +3 @@\n-3\n+three\n" in diff.unified(git, one, two, context=0)
    assert b"\x1b[" not in said
    assert b"\x1b[" in diff.unified(git, one, two, color=True)
    assert diff.unified(git, one, one) == b""


@pytest.mark.parametrize("path", [ODD, b":(top)x", b"*", b"-n", b"dir", b"dir/in"])
def test_paths_are_taken_literally(git: Git, path: bytes):
    names = [ODD, b":(top)x", b"x", b"*", b"-n", b"n", b"dir/in", b"zz"]
    full = tree(git, dict.fromkeys(names, b"1\n"))
    said = diff.unified(git, EMPTY_TREE, full, paths=[path])
    assert said.count(b"diff --git") == 1
    assert diff.unified(git, EMPTY_TREE, full, paths=[b"nothing"]) == b""


def test_more_paths_than_a_command_line_holds_are_compared(git: Git):
    names = [b"%04d" % number + b"n" * 200 for number in range(2000)]
    full = tree(git, dict.fromkeys(names, b"1\n"))
    said = diff.unified(git, EMPTY_TREE, full, paths=names)
    assert said.count(b"diff --git") == 2000


def test_a_missing_tree_has_no_counts_and_the_others_have_theirs(git: Git):
    sound, counts = (EMPTY_TREE, tree(git, {b"a": b"1\n"})), {b"a": (1, 0)}
    for missing in ((b"\x01" * 20, EMPTY_TREE), (EMPTY_TREE, b"\x01" * 20)):
        assert diff.numstat(git, [missing]) == [None]
        assert diff.numstat(git, [sound, missing, sound]) == [counts, None, counts]


def test_what_git_counted_before_it_came_to_its_end_is_told(git: Git):
    sound, counts = (EMPTY_TREE, tree(git, {b"a": b"1\n"})), {b"a": (1, 0)}
    writer = PackWriter(f"{git.git_dir}/objects/pack")
    lost = writer.add(TREE, encode_tree([(0o100644, b"a", b"\x01" * 20)]))
    writer.finish()
    pairs = [sound, sound, (EMPTY_TREE, lost), sound]
    assert diff.numstat(git, pairs) == [counts, counts]
    assert diff.numstat(git, pairs[2:]) == []


def test_what_git_counted_before_the_time_was_up_is_told(git: Git):
    sound, counts = (EMPTY_TREE, tree(git, {b"a": b"1\n"})), {b"a": (1, 0)}
    slow = shuffled_lines(git)
    assert diff.numstat(git, [sound, slow, sound], timeout=0.3) == [counts]


def shuffled_lines(git: Git) -> tuple[ObjectId, ObjectId]:
    """Returns trees of many files of short lines in two orders: seconds of work for git."""
    chance = random.Random(1)
    lines = [b"%05x\n" % chance.getrandbits(20) for _ in range(150_000)]
    sides = []
    for _ in range(2):
        chance.shuffle(lines)
        sides.append(tree(git, dict.fromkeys([b"a", b"b", b"c"], b"".join(lines))))
    return sides[0], sides[1]


def test_a_large_file_counts_as_binary(git: Git):
    small, large = b"1\n" * 1000, b"1\n" * (diff.LARGEST_COUNTED // 2 + 1)
    one = tree(git, {b"large": large, b"small": small})
    two = tree(git, {b"large": large + b"2\n", b"small": small + b"2\n"})
    assert diff.numstat(git, [(one, two)]) == [{b"large": diff.BINARY, b"small": (1, 0)}]


def test_a_missing_tree_has_no_diff(git: Git):
    with pytest.raises(errors.GitFailed):
        diff.unified(git, b"\x01" * 20, EMPTY_TREE)
