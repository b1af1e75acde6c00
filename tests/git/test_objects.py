from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

import takeback
from takeback import errors
from takeback.git import objects
from takeback.git.objects import BLOB, COMMIT, TREE, Commit
from takeback.git.process import Git

OID = bytes(range(20))

HOOK_PATH = (*("objects", "pack", "packfile", "packs", "process", "refs", "diff"),)
TOO_SLOW = (
    *("typing", "re", "json", "dataclasses", "collections", "contextlib", "functools", "enum"),
    *("subprocess", "hashlib", "asyncio", "logging", "tempfile", "threading"),
)


def hash_object(git: Git, kind: str, data: bytes) -> bytes:
    said = git.run(["hash-object", "-w", "--literally", "-t", kind, "--stdin"], stdin=data)
    return bytes.fromhex(said.decode().strip())


@pytest.mark.parametrize("size", [0, 1, 5000, (1 << 20) + 1, 3 << 20])
def test_an_object_id_is_the_one_git_gives(git: Git, size: int):
    data = b"x" * size
    assert objects.object_id(BLOB, data) == hash_object(git, "blob", data)


def test_ids_stay_the_same_when_the_process_changes_to_the_faster_hash():
    data = b"some content"
    expected = hashlib.sha1(b"blob 12\0" + data).digest()
    assert objects.object_id(BLOB, data) == expected
    objects.object_id(BLOB, bytes(4 << 20))
    assert objects.object_id(BLOB, data) == expected


def test_the_empty_objects_have_their_known_ids():
    assert objects.object_id(TREE, b"") == objects.EMPTY_TREE
    assert objects.object_id(BLOB, b"") == objects.EMPTY_BLOB


def test_a_tree_is_written_as_git_writes_it(git: Git):
    blob = hash_object(git, "blob", b"hello")
    empty = hash_object(git, "tree", b"")
    # a directory sorts as if its name ended in a slash: after a.b, before a0
    entries = [
        (0o40000, b"a", empty),
        (0o100644, b"a.b", blob),
        (0o100644, b"a0", blob),
        (0o120000, b"link", blob),
        (0o100755, b"\xff\n", blob),
    ]
    listing = b"".join(
        b"%06o %s %s\t%s\0" % (m, b"tree" if m == 0o40000 else b"blob", o.hex().encode(), n)
        for m, n, o in reversed(entries)
    )
    expected = git.run(["mktree", "-z"], stdin=listing).decode().strip()
    assert objects.object_id(TREE, objects.encode_tree(reversed(entries))).hex() == expected
    assert [name for _, name, _ in objects.decode_tree(objects.encode_tree(entries))] == [
        b"a.b",
        b"a",
        b"a0",
        b"link",
        b"\xff\n",
    ]


def test_all_permission_bits_survive_in_a_tree():
    entries = [(0o100600, b"secret", OID), (0o40750, b"sub", OID), (0o100444, b"zero", OID)]
    data = objects.encode_tree(entries)
    assert data.startswith(b"100600 secret\0")
    assert b"40750 sub\0" in data
    assert objects.decode_tree(data) == entries


@pytest.mark.parametrize("name", [b"", b".", b"..", b"a/b", b"/", b"a\0b"])
def test_a_name_that_is_no_single_entry_is_refused(name: bytes):
    with pytest.raises(ValueError, match="not a name"):
        objects.encode_tree([(0o100644, name, OID)])
    if b"\0" not in name:
        with pytest.raises(errors.StoreDamaged):
            objects.decode_tree(b"100644 %s\0%s" % (name, OID))
        with pytest.raises(errors.StoreDamaged):
            objects.decode_tree(b"40755 %s\0%s" % (name, OID))


def test_a_name_given_twice_is_refused_even_as_file_and_directory():
    twice = [(0o100644, b"a", OID), (0o100644, b"a.b", OID), (0o40755, b"a", OID)]
    with pytest.raises(ValueError, match="twice"):
        objects.encode_tree(twice)
    raw = b"".join(b"%o %s\0%s" % entry for entry in twice)
    with pytest.raises(errors.StoreDamaged, match="twice"):
        objects.decode_tree(raw)


def test_a_short_id_is_refused():
    with pytest.raises(ValueError, match="not an object id"):
        objects.encode_tree([(0o100644, b"a", OID[:19])])


def test_every_cut_and_every_changed_byte_of_a_tree_reads_as_a_tree_or_as_damage():
    data = objects.encode_tree([(0o100644, b"a", OID), (0o40755, b"b", OID)])
    for length in range(len(data)):
        try:
            assert len(objects.decode_tree(data[:length])) < 2
        except errors.StoreDamaged:
            continue
    for position in range(len(data)):
        for byte in (0, 32, 47, 57, 95, 255):
            changed = data[:position] + bytes([byte]) + data[position + 1 :]
            try:
                objects.decode_tree(changed)
            except errors.StoreDamaged:
                continue


def test_trees_out_of_order_are_damage():
    with pytest.raises(errors.StoreDamaged):
        objects.decode_tree(b"100644 b\0" + OID + b"100644 a\0" + OID)


@pytest.mark.parametrize("digits", [b"", b"8", b"-1", b"0o17", b"1_0", b"+7", b"77777777"])
def test_a_mode_that_is_no_octal_number_is_damage(digits: bytes):
    with pytest.raises(errors.StoreDamaged):
        objects.decode_tree(digits + b" a\0" + OID)


def test_a_commit_comes_back_and_is_sound_for_git(git: Git):
    tree = hash_object(git, "tree", b"")
    first = Commit(tree, (), 1_700_000_000, "first\n\nwith a body and äöü")
    oid = hash_object(git, "commit", objects.encode_commit(first))
    second = Commit(tree, (oid, oid), 1_700_000_001, "second")
    data = objects.encode_commit(second)
    assert objects.decode_commit(objects.encode_commit(first)) == first
    assert objects.decode_commit(data) == second
    assert objects.object_id(COMMIT, data) == hash_object(git, "commit", data)
    shown = git.run(["log", "--format=%an|%ae|%ct|%s", objects.object_id(COMMIT, data).hex()])
    assert shown.splitlines()[0] == b"takeback|takeback@localhost|1700000001|second"
    assert git.outcome(["fsck", "--strict", "--no-dangling"]).status == 0


def test_a_message_that_utf8_cannot_say_is_kept_readable():
    commit = Commit(objects.EMPTY_TREE, (), -5, "bad \udcff\udcfe name\0end")
    decoded = objects.decode_commit(objects.encode_commit(commit))
    assert decoded.message == "bad ?? name\ufffdend"
    assert decoded.time == 0


def test_a_commit_of_another_program_is_read_with_tolerance():
    data = b"tree " + b"1" * 40 + b"\nauthor x\ncommitter y z\ngpgsig -----\n tree 22\n\n\xff ok"
    commit = objects.decode_commit(data)
    assert (commit.tree, commit.parents, commit.time) == (b"\x11" * 20, (), 0)
    assert commit.message == "\ufffd ok"


@pytest.mark.parametrize(
    "data", [b"", b"tree", b"tree zz\n\n", b"author x\n\n", b"tree " + b"1" * 40 + b"\nparent 1\n"]
)
def test_a_commit_without_a_tree_is_damage(data: bytes):
    with pytest.raises(errors.StoreDamaged):
        objects.decode_commit(data)


def test_links_and_directories_are_told_by_mode():
    assert objects.is_tree(0o40700)
    assert not objects.is_tree(0o100700)
    assert objects.is_link(0o120000)
    assert not objects.is_link(0o100644)


def test_nothing_slow_is_imported_on_the_hook_path():
    source = Path(next(iter(takeback.__path__))).parent
    imports = "; ".join(f"import takeback.git.{name}" for name in HOOK_PATH)
    script = f"import sys; sys.path.insert(0, {str(source)!r}); {imports}; print(*sys.modules)"
    said = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True
    )
    assert set(said.stdout.split()).isdisjoint(TOO_SLOW)
