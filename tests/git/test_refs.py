from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from takeback import durable, errors
from takeback.git.objects import EMPTY_TREE
from takeback.git.process import Git
from takeback.git.refs import Refs
from takeback.store.namespace import is_name

A = b"\xaa" * 20
B = b"\xbb" * 20
NAME = "refs/takeback/sessions/one"


@pytest.fixture
def refs(tmp_path: Path) -> Refs:
    return Refs(str(tmp_path), is_name)


def commit(git: Git, message: str) -> bytes:
    who = {
        f"GIT_{role}_{what}": "x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    git.run(["mktree"])
    said = git.run(["commit-tree", "-m", message, EMPTY_TREE.hex()], env=who)
    return bytes.fromhex(said.decode().strip())


def test_a_ref_is_written_read_moved_and_deleted(refs: Refs):
    assert refs.read(NAME) is None
    refs.write(NAME, A, expect=None)
    assert refs.read(NAME) == A
    refs.write(NAME, B, expect=A)
    assert refs.read(NAME) == B
    refs.delete(NAME, expect=B)
    assert refs.read(NAME) is None


def test_a_ref_that_moved_is_not_overwritten(refs: Refs):
    with pytest.raises(errors.TakebackError, match="moved"):
        refs.write(NAME, A, expect=B)
    assert refs.read(NAME) is None
    refs.write(NAME, A, expect=None)
    for expect in (None, B):
        with pytest.raises(errors.TakebackError, match="moved"):
            refs.write(NAME, B, expect=expect)
    with pytest.raises(errors.TakebackError, match="moved"):
        refs.delete(NAME, expect=B)
    assert refs.read(NAME) == A


def test_git_sees_our_refs(git: Git):
    refs = Refs(git.git_dir, is_name)
    oid = commit(git, "one")
    refs.write(NAME, oid, expect=None)
    assert git.run(["for-each-ref", "--format=%(objectname) %(refname)"]).decode() == (
        f"{oid.hex()} {NAME}\n"
    )


def test_refs_that_git_packed_are_found_and_a_loose_one_wins(git: Git):
    refs = Refs(git.git_dir, is_name)
    one, two = commit(git, "one"), commit(git, "two")
    refs.write(NAME, one, expect=None)
    refs.write("refs/takeback/sessions/two", one, expect=None)
    git.run(["pack-refs", "--all", "--prune"])
    assert not os.path.exists(f"{git.git_dir}/{NAME}")
    assert refs.read(NAME) == one
    refs.write(NAME, two, expect=one)
    assert refs.read(NAME) == two
    assert refs.list("refs/takeback/") == {NAME: two, "refs/takeback/sessions/two": one}


def test_a_packed_ref_is_deleted_for_git_too(git: Git):
    refs = Refs(git.git_dir, is_name)
    one, two = commit(git, "one"), commit(git, "two")
    refs.write(NAME, one, expect=None)
    refs.write("refs/takeback/sessions/other", one, expect=None)
    git.run(
        ["tag", "-a", "-m", "x", "peeled", one.hex()],
        env={"GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x"},
    )
    git.run(["pack-refs", "--all", "--prune"])
    refs.write(NAME, two, expect=one)
    refs.delete(NAME, expect=two)
    assert refs.read(NAME) is None
    assert git.run(["for-each-ref", "--format=%(refname)"]).decode().split() == [
        "refs/tags/peeled",
        "refs/takeback/sessions/other",
    ]
    assert b"^" in Path(f"{git.git_dir}/packed-refs").read_bytes()


def test_a_list_holds_only_what_is_below_its_prefix(refs: Refs, tmp_path: Path):
    refs.write(NAME, A, expect=None)
    refs.write("refs/takeback/sessions-of-others", B, expect=None)
    refs.write("refs/takeback/sessions/deep/er", B, expect=None)
    (tmp_path / "refs/takeback/sessions/.one.17.tmp").write_bytes(b"half")
    (tmp_path / "refs/takeback/sessions/one.lock").write_bytes(b"")
    assert refs.list("refs/takeback/sessions") == {NAME: A, "refs/takeback/sessions/deep/er": B}
    assert refs.list("refs/takeback/sessions/") == refs.list("refs/takeback/sessions")
    assert refs.list("refs/takeback/none") == {}


@pytest.mark.parametrize(
    "name",
    ["", "HEAD", "refs", "refs/", "refs//a", "/refs/a", "refs/a/", "refs/../HEAD", "refs/.a",
     "refs/a..b", "refs/a.lock", "refs/a b", "refs/a\n", "refs/ä", "refs/a/./b", "refs/a.",
     "config"],
)  # fmt: skip
def test_a_name_that_could_lead_elsewhere_is_refused(refs: Refs, name: str):
    for call in (
        lambda: refs.read(name),
        lambda: refs.write(name, A, expect=None),
        lambda: refs.delete(name, expect=A),
    ):
        with pytest.raises(ValueError, match="not a name"):
            call()


@pytest.mark.parametrize(
    "text", [b"", b"\n", b"zz", b"a" * 39, b"a" * 41, b"A" * 40, bytes(41), b"ref: refs/heads/x\n"]
)
def test_a_garbled_ref_is_named_and_hides_no_other(refs: Refs, tmp_path: Path, text: bytes):
    refs.write(NAME, A, expect=None)
    refs.write("refs/takeback/sessions/two", B, expect=None)
    (tmp_path / NAME).write_bytes(text)
    with pytest.raises(errors.StoreDamaged, match=NAME):
        refs.read(NAME)
    with pytest.raises(errors.StoreDamaged, match=NAME):
        refs.list("refs/takeback")
    with pytest.raises(errors.StoreDamaged, match=NAME):
        refs.write(NAME, A, expect=None)
    damaged: dict[str, str] = {}
    assert refs.list("refs/takeback", damaged=damaged) == {"refs/takeback/sessions/two": B}
    assert list(damaged) == [NAME]


def test_a_link_or_fifo_in_place_of_a_ref_is_damage(refs: Refs, tmp_path: Path):
    refs.write(NAME, A, expect=None)
    for make in (lambda p: os.symlink("/dev/zero", p), os.mkfifo):
        (tmp_path / NAME).unlink()
        make(tmp_path / NAME)
        with pytest.raises(errors.StoreDamaged, match=NAME):
            refs.read(NAME)


def test_garbled_packed_refs_are_damage(refs: Refs, tmp_path: Path):
    (tmp_path / "packed-refs").write_bytes(b"garbage\n")
    with pytest.raises(errors.StoreDamaged, match="packed"):
        refs.read(NAME)


def test_a_full_disk_at_any_step_leaves_the_old_or_the_new_value(
    refs: Refs, monkeypatch: pytest.MonkeyPatch
):
    class Fail:
        def __init__(self, left: int) -> None:
            self.left = left

        def step(self, name: str) -> None:
            self.left -= 1
            if self.left == 0:
                raise OSError(errno.ENOSPC, "full")

    refs.write(NAME, A, expect=None)
    for number in range(1, 20):
        before = refs.read(NAME)
        target = B if before == A else A
        monkeypatch.setattr(durable, "faults", Fail(number))
        try:
            refs.write(NAME, target, expect=before)
        except OSError:
            assert refs.read(NAME) in (before, target)
        else:
            break
        finally:
            monkeypatch.setattr(durable, "faults", None)
    assert number > 4
    assert refs.read(NAME) == target
