"""A capture: a snapshot of what is there, or an error and no trace of it."""

from __future__ import annotations

import mmap
import os
import shutil
from pathlib import Path

import pytest

from takeback import Takeback, durable
from takeback.capture.capture import Captured, capture, draft, record
from takeback.context import Context
from takeback.errors import WriteFailed
from takeback.git.objects import EMPTY_TREE
from takeback.model.checkpoint import MANUAL
from takeback.model.coverage import Policy
from takeback.model.ids import SessionId, new_checkpoint_id
from takeback.store import trees
from takeback.store.conversation import Part, read_conversation
from takeback.store.records import conversation_tree, read_coverage, read_record
from takeback.worktree.cache import StatCache
from tests.support.engine import (
    captured,
    checkpoint,
    clock_of,
    file_entry,
    opened,
    packs_of,
    settle,
    under_lock,
)
from tests.support.git import git


def content(context: Context, tree: bytes) -> dict[bytes, bytes]:
    """Returns the bytes of every file in a snapshot."""
    return {
        path: context.store.blob(entry.oid)
        for path, entry in trees.walk(context.store, tree)
        if not entry.is_directory
    }


def test_same_files_same_snapshot_and_another_byte_another_one(
    workspace: Path, context: Context
) -> None:
    (workspace / "a").write_text("1")
    first = captured(context)
    assert captured(context).tree == first.tree
    (workspace / "a").write_text("2")
    assert captured(context).tree != first.tree
    (workspace / "a").write_text("1")
    again = captured(context)
    assert (again.tree, again.files) == (first.tree, 1)
    assert content(context, again.tree) == {b"a": b"1"}


def test_an_empty_workspace_is_the_empty_tree(context: Context) -> None:
    made = captured(context)
    assert (made.tree, made.files, made.coverage.complete) == (EMPTY_TREE, 0, True)
    assert context.store.tree(EMPTY_TREE) == []


def test_a_capture_with_nothing_new_writes_no_pack(workspace: Path, context: Context) -> None:
    (workspace / "a").write_text("1")
    captured(context)
    before = packs_of(context.store)
    captured(context)
    settle()
    captured(context)
    captured(context)
    assert packs_of(context.store) == before


def test_a_checkpoint_says_what_was_checked_out(workspace: Path, context: Context) -> None:
    assert (checkpoint(context).branch, checkpoint(context).head) == ("main", None)
    (workspace / "a").touch()
    git(workspace, "add", "a")
    git(workspace, "commit", "--quiet", "--message=x")
    head = git(workspace, "rev-parse", "HEAD").decode().strip()
    assert checkpoint(context).head == head
    git(workspace, "checkout", "--quiet", "--detach")
    made = checkpoint(context)
    assert (made.branch, made.head) == (None, head)
    shutil.rmtree(workspace / ".git")
    made = checkpoint(context)
    assert (made.branch, made.head) == (None, None)


def test_extra_files_are_kept_beside_the_snapshot(workspace: Path, context: Context) -> None:
    (workspace / ".gitignore").write_text("*.env\n")
    (workspace / "x.env").write_text("SECRET=1")
    with context.locked() as locked:
        made = capture(locked)
        extra = {b"big/extra": file_entry(b"")}
        drafted = draft(context, kind=MANUAL, session=SessionId("s"))
        done = record(locked, made.keeping(extra), drafted)
    assert done.saved is not None
    saved = dict(trees.walk(context.store, bytes.fromhex(done.saved)))
    assert [path for path, entry in saved.items() if entry.is_file] == [b"big/extra", b"x.env"]
    assert trees.lookup(context.store, bytes.fromhex(done.snapshot), b"x.env") is None
    assert read_coverage(context.store, done.commit).reason_for(b"x.env") == "ignored"


def test_a_draft_stands_where_the_newest_checkpoint_of_its_session_stands(
    workspace: Path, context: Context
) -> None:
    session = SessionId("mine-1")
    first = draft(context, kind="prompt", session=session)
    assert (first.time, first.agent, first.turn) == (clock_of(context).now(), None, None)
    with context.locked() as locked:
        told = first.replace(agent="mine", native="1", turn=4, turn_id="t4", prompt="fix it")
        record(locked, capture(locked), told)
        clock_of(context).time += 1
        second = record(locked, capture(locked), draft(context, kind=MANUAL, session=session))
    assert second.id != first.id
    assert (second.kind, second.time) == (MANUAL, first.time + 1)
    assert (second.agent, second.native, second.turn, second.turn_id) == ("mine", "1", 4, "t4")
    assert second.prompt is None
    elsewhere = draft(context, kind=MANUAL, session=SessionId("other"))
    assert (elsewhere.agent, elsewhere.turn) == (None, None)


def test_a_conversation_is_kept_with_the_snapshot(context: Context) -> None:
    parts = [b"older file\n", b"x" * 100_000]
    with context.locked() as locked:
        drafted = draft(context, kind="prompt", session=SessionId("mine-1"))
        kept = record(locked, capture(locked), drafted, conversation=[*map(Part, parts)])
        clock_of(context).time += 1
        without = record(locked, capture(locked), drafted.replace(id=new_checkpoint_id()))
    tree = conversation_tree(read_record(context.store, kept.commit))
    assert tree is not None
    assert read_conversation(context.store, tree) == tuple(parts)
    assert conversation_tree(read_record(context.store, without.commit)) is None


# -- what is refused or fails


def assert_no_trace(context: Context) -> None:
    assert os.listdir(Path(context.store.git_dir, "objects", "pack")) == []
    assert context.store.refs.list("refs/takeback/sessions") == {}
    assert not context.store.lock.held


@pytest.mark.parametrize("policy", [Policy(entries_limit=2), Policy(bytes_limit=12)])
def test_beyond_the_limit_the_known_and_the_small_are_held_and_the_rest_is_named(
    workspace: Path, policy: Policy
) -> None:
    for name, size in (("a", 9), ("b", 2), ("c", 3)):
        (workspace / name).write_bytes(bytes(size))
    with opened(workspace, policy=policy) as context:
        made = captured(context)
        assert [item.path for item in made.coverage.not_held] == [b"a"]
        assert made.coverage.reason_for(b"a") == "oversized"
        assert not made.coverage.complete
        with context.locked() as locked:
            assert capture(locked, allow_large=True).files == 3


def test_what_is_held_is_read_again_before_anything_new_and_whatever_its_size(
    workspace: Path,
) -> None:
    (workspace / "large").write_bytes(bytes(9000))
    (workspace / "mine").write_bytes(bytes(900))
    with opened(workspace, policy=Policy(bytes_limit=1000)) as context:
        with context.locked() as locked:
            capture(locked, allow_large=True).keep()
        (workspace / "mine").write_bytes(bytes(950))
        for number in range(9):
            (workspace / f"new{number}").write_bytes(bytes(100))
        under_lock(context, lambda it: it.lock.raise_epoch())
        made = captured(context)
    assert {item.path for item in made.coverage.not_held} == {b"new%d" % n for n in range(9)}


def test_a_hundred_giants_without_a_byte_on_disk_keep_nothing_else_out(workspace: Path) -> None:
    (workspace / "mine").write_text("1")
    for number in range(100):
        (workspace / f"big{number}").touch()
        os.truncate(workspace / f"big{number}", 1 << 20)
    with opened(workspace, policy=Policy(bytes_limit=20 << 20)) as context:
        made = captured(context)
        assert made.files == 5
        assert made.coverage.reason_for(b"mine") is None
        assert len(oversized(made)) == 96  # which ones is the file system's order
        (workspace / "new").write_text("1")
        again = captured(context)
        assert again.files == 6  # and no more giants are read
        assert oversized(again) == oversized(made)


def oversized(made: Captured) -> list[bytes]:
    return sorted(item.path for item in made.coverage.not_held if item.reason == "oversized")


def test_below_the_floor_of_free_space_there_is_no_capture(workspace: Path) -> None:
    (workspace / "a").write_text("1")
    with opened(workspace, policy=Policy(disk_floor=1 << 60)) as context:
        with pytest.raises(WriteFailed, match="floor"):
            captured(context)
        assert_no_trace(context)


@pytest.mark.parametrize("step", ["create", "write", "sync", "rename"])
def test_a_disk_that_fails_leaves_no_trace(
    workspace: Path, context: Context, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    (workspace / "a").write_text("1")

    class Full:
        def step(self, name: str) -> None:
            if name == step:
                raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(durable, "faults", Full())
        with pytest.raises(WriteFailed, match="No space left") as raised:
            checkpoint(context)
    assert "free some space" in raised.value.hint
    assert_no_trace(context)
    assert content(context, bytes.fromhex(checkpoint(context).snapshot)) == {b"a": b"1"}


# -- when the stat cache is not believed


def test_a_store_that_lost_its_objects_is_filled_again(workspace: Path, context: Context) -> None:
    (workspace / "a").write_text("1")
    settle()
    captured(context)
    for path in Path(context.store.git_dir, "objects", "pack").iterdir():
        path.unlink()
    context.store.packs.close()
    assert content(context, captured(context).tree) == {b"a": b"1"}


def test_a_raised_epoch_reads_everything_anew(workspace: Path, context: Context) -> None:
    (workspace / "a").write_text("1")
    settle()
    first = captured(context)
    for path in packs_of(context.store):
        path.rename(path.with_suffix(".lost"))
        path.with_suffix(".idx").unlink()
    with context.locked() as locked:
        locked.lock.raise_epoch()
    context.store.packs.close()
    assert captured(context).tree == first.tree
    assert content(context, first.tree) == {b"a": b"1"}


def test_a_write_through_a_mapping_is_found_by_the_daily_reading(
    workspace: Path, context: Context
) -> None:
    """A page that is writable already changes without a new time."""
    (workspace / "a").write_bytes(b"1" * 4096)
    with open(workspace / "a", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0] = ord("2")
        settle()
        clock_of(context).time = (workspace / "a").stat().st_mtime
        captured(context)
        mapped[1] = ord("3")
        clock_of(context).time += 25 * 3600
        assert content(context, captured(context).tree)[b"a"].startswith(b"231")


@pytest.mark.parametrize("hours", [0, 48])
def test_the_daily_reading_follows_the_settings(workspace: Path, hours: int) -> None:
    (workspace / "a").write_bytes(b"1")
    settle()
    with opened(workspace, policy=Policy(rehash_hours=hours)) as context:
        captured(context)
        table = Path(context.store.path("stat", "table"))
        before = table.stat().st_ino
        clock_of(context).time = (workspace / "a").stat().st_mtime + 25 * 3600
        captured(context)
        assert table.stat().st_ino == before


@pytest.mark.parametrize("where", [b"sub", b"other", b""])
def test_a_damaged_record_of_the_cache_that_is_met_in_a_capture_makes_it_begin_anew(
    workspace: Path, context: Context, where: bytes
) -> None:
    """And what was held stays held."""
    for name in ("sub", "other"):
        (workspace / name).mkdir()
        (workspace / name / "held.log").write_text("1")
    settle()
    checkpoint(context)
    (workspace / ".gitignore").write_text("*.log\n")
    (workspace / "sub" / "held.log").write_text("2")
    (workspace / "other" / "new").write_text("3")
    checkpoint(context)
    expected = captured(context).tree
    Path(context.store.path("stat", "log")).unlink(missing_ok=True)
    in_table = StatCache.load(context.store.path("stat")).known.in_table()
    assert in_table is not None
    found = in_table[0].find(where)
    assert found is not None
    record = in_table[0].record(found[0])
    table = Path(context.store.path("stat", "table"))
    sound = table.read_bytes()
    for at in range(0, len(record), 3):
        place = sound.index(record) + at
        table.write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        assert captured(context).tree == expected
        assert StatCache.load(context.store.path("stat")).known.file_count() == 4


def test_the_empty_directories_of_codex_sandbox_are_nobodys_change(
    workspace: Path, context: Context
) -> None:
    (workspace / "sub").mkdir()
    (workspace / "sub" / "a").write_text("1")
    before = captured(context)
    for name in (".agents", ".aws", ".codex", "sub/.codex"):
        (workspace / name).mkdir()
    assert captured(context).tree == before.tree
    (workspace / ".codex" / "config.toml").write_text("own")
    held = captured(context)
    assert content(context, held.tree) == {b"sub/a": b"1", b".codex/config.toml": b"own"}
    (workspace / ".codex" / "config.toml").unlink()
    assert captured(context).tree == before.tree
    (workspace / ".codexes").mkdir()
    assert captured(context).tree != before.tree, "any other empty directory is held"


def test_a_rewind_leaves_the_directories_of_codex_sandbox_alone(workspace: Path) -> None:
    with Takeback.open(workspace) as tb:
        (workspace / "a").write_text("1")
        (workspace / ".codex").mkdir()
        made = tb.checkpoint().checkpoint
        (workspace / ".codex").rmdir()
        (workspace / ".aws").mkdir()
        (workspace / "a").write_text("2")
        plan = tb.plan(made)
        assert [change.path for change in (*plan.writes, *plan.deletes)] == [b"a"]
        assert tb.rewind(made).verified
        assert (workspace / ".aws").is_dir()
        assert not (workspace / ".codex").exists()
        tb.undo()
        assert (workspace / "a").read_text() == "2"
        (workspace / ".aws" / "own").write_text("1")
        own = tb.checkpoint().checkpoint
        (workspace / ".aws" / "own").unlink()
        assert tb.rewind(own).verified, "the directory is there and no snapshot says so"
        assert (workspace / ".aws" / "own").read_text() == "1"
        assert tb.rewind(made).verified
        assert not (workspace / ".aws").exists()
        (workspace / ".aws").mkdir(mode=0o700)
        tb.undo()
        assert (workspace / ".aws" / "own").read_text() == "1"
        (workspace / ".aws" / "own").unlink()
        (workspace / ".aws").rmdir()
        (workspace / ".aws").write_text("a file")
        file = tb.checkpoint().checkpoint
        (workspace / ".aws").unlink()
        (workspace / ".aws").mkdir()
        assert tb.rewind(file).verified
        assert (workspace / ".aws").read_text() == "a file"
