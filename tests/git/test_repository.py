from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback import errors
from takeback.git import process
from takeback.git.objects import BLOB, COMMIT, TREE, Commit, encode_commit, encode_tree, object_id
from takeback.git.pack import PackWriter
from takeback.git.packs import Packs
from takeback.git.process import Git
from takeback.git.refs import Refs
from takeback.store.namespace import is_name


def snapshot(git: Git, number: int, files: dict[bytes, bytes]) -> bytes:
    writer = PackWriter(f"{git.git_dir}/objects/pack")
    tree = encode_tree([(0o100600, name, writer.add(BLOB, data)) for name, data in files.items()])
    commit = Commit(writer.add(TREE, tree), (), number, f"{number}")
    oid = writer.add(COMMIT, encode_commit(commit))
    writer.finish()
    Refs(git.git_dir, is_name).write(f"refs/takeback/sessions/{number}", oid, expect=None)
    return oid


def test_a_new_store_is_bare_private_and_has_no_hooks(git: Git):
    assert git.run(["rev-parse", "--is-bare-repository"]) == b"true\n"
    assert git.run(["rev-parse", "--show-object-format"]) == b"sha1\n"
    assert os.stat(git.git_dir).st_mode & 0o777 == 0o700
    assert not os.path.exists(f"{git.git_dir}/hooks")
    for key, value in {
        "gc.auto": "0",
        "gc.pruneExpire": "never",
        "core.logAllRefUpdates": "false",
        "core.fsync": "all",
        "core.hooksPath": "/dev/null",
    }.items():
        assert git.run(["config", "--file", f"{git.git_dir}/config", key]).decode() == f"{value}\n"


def test_making_a_store_again_keeps_what_is_in_it(git: Git):
    oid = snapshot(git, 1, {b"f": b"x"})
    process.init(git.git_dir)
    assert Refs(git.git_dir, is_name).read("refs/takeback/sessions/1") == oid
    assert process.fsck(git) == []


def test_fsck_is_quiet_on_an_empty_store(git: Git):
    assert process.fsck(git) == []


def test_fsck_says_nothing_about_what_people_keep_in_their_files(git: Git):
    writer = PackWriter(f"{git.git_dir}/objects/pack")
    blob = writer.add(BLOB, b"plain")
    link = writer.add(BLOB, b"/etc/passwd")
    empty = writer.add(TREE, b"")
    sub = writer.add(TREE, encode_tree([(0o100640, b"x", blob), (0o40700, b"e", empty)]))
    modules = writer.add(BLOB, b'[submodule "../x"]\n path = -x\n url = --foo\n update = !evil\n')
    wide = writer.add(BLOB, b"x" * 5000 + b"\n")
    parse = writer.add(BLOB, b"[unclosed\n")
    trees = [
        [(0o100600, b"f", blob), (0o40750, b".GIT", sub), (0o100755, b"git~1", blob),
         (0o100644, b".git", blob), (0o120000, b".gitmodules", link),
         (0o120000, b".gitattributes", link), (0o120000, b".gitignore", link),
         (0o120000, b".mailmap", link), (0o100000, b"none", blob), (0o100777, b"all", blob),
         (0o120777, b"link", link), (0o40000, b"nodir", sub), (0o100644, b"a\\b\n\xff", blob)],
        [(0o100644, b".gitmodules", modules), (0o100644, b".gitattributes", wide)],
        [(0o100644, b".gitmodules", parse), (0o40755, b".gitattributes", sub)],
        [(0o40755, b".gitmodules", sub), (0o100644, b"GITMOD~1", modules)],
    ]  # fmt: skip
    parents: tuple[bytes, ...] = ()
    for number, entries in enumerate(trees):
        commit = Commit(writer.add(TREE, encode_tree(entries)), parents, number, "odd")
        parents = (writer.add(COMMIT, encode_commit(commit)),)
    writer.finish()
    Refs(git.git_dir, is_name).write("refs/takeback/sessions/odd", parents[0], expect=None)
    outcome = git.outcome(["fsck", "--full", "--strict", "--no-dangling", "--no-progress"])
    assert (outcome.status, outcome.stdout) == (0, b"")
    said = outcome.stderr.decode().splitlines()
    assert [line for line in said if not line.startswith("notice: ")] == []
    assert process.fsck(git) == []


def test_fsck_names_a_lost_object(git: Git):
    snapshot(git, 1, {b"f": b"x"})
    for name in os.listdir(f"{git.git_dir}/objects/pack"):
        os.unlink(f"{git.git_dir}/objects/pack/{name}")
    assert process.fsck(git)


def test_fsck_names_a_damaged_object(git: Git):
    data = os.urandom(5000)
    snapshot(git, 1, {b"f": data})
    (name,) = Packs(f"{git.git_dir}/objects").names()
    path = Path(f"{git.git_dir}/objects/pack/{name}.pack")
    raw = bytearray(path.read_bytes())
    raw[2500] ^= 1
    path.chmod(0o600)
    path.write_bytes(raw)
    assert any(object_id(BLOB, data).hex() in line for line in process.fsck(git))


def test_packs_that_are_combined_lose_nothing(git: Git):
    files = {number: {b"f": b"content %d\n" % number * 200} for number in range(40)}
    for number, content in files.items():
        snapshot(git, number, content)
    before = set(Packs(f"{git.git_dir}/objects").names())
    process.pack_together(git, f"{git.git_dir}/objects/pack", before)
    [new] = set(Packs(f"{git.git_dir}/objects").names()) - before
    for old in before:  # the caller removes them
        for suffix in ("pack", "idx"):
            os.unlink(f"{git.git_dir}/objects/pack/{old}.{suffix}")
    packs = Packs(f"{git.git_dir}/objects")
    assert packs.names() == [new]
    left = {name.rpartition(".")[2] for name in os.listdir(f"{git.git_dir}/objects/pack")}
    assert left == {"pack", "idx"}
    for content in files.values():
        assert packs.read(object_id(BLOB, content[b"f"]))[1] == content[b"f"]
    assert process.fsck(git) == []


def test_a_repack_over_damage_fails_and_removes_nothing(git: Git):
    data = os.urandom(5000)
    for number in range(3):
        snapshot(git, number, {b"f": data[number:]})
    before = Packs(f"{git.git_dir}/objects").names()
    for name in before:
        path = Path(f"{git.git_dir}/objects/pack/{name}.pack")
        raw = bytearray(path.read_bytes())
        raw[2500] ^= 1
        path.chmod(0o600)
        path.write_bytes(raw)
    with pytest.raises(errors.GitFailed):
        process.pack_together(git, f"{git.git_dir}/objects/pack", before)
    assert set(before) <= set(Packs(f"{git.git_dir}/objects").names())
