"""What going to a checkpoint means for each path: written, deleted, or left alone and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.capture.capture import capture
from takeback.context import Context
from takeback.errors import UsageError
from takeback.git.objects import BLOB
from takeback.model.checkpoint import DIRECTORY, FILE, Checkpoint, Entry
from takeback.model.coverage import Coverage, Policy
from takeback.model.ids import SnapshotId, new_checkpoint_id
from takeback.rewind import prepare as prepare_room
from takeback.rewind.prepare import Prepared
from takeback.rewind.request import Scope
from takeback.store import trees
from takeback.store.records import write_checkpoint
from takeback.store.sink import PackSink
from tests.support.engine import checkpoint, file_entry, garble, opened, packs_of, request


def prepare(
    context: Context, target: Checkpoint, scope: Scope | None = None, *, save: bool = True
) -> Prepared:
    with context.locked() as locked:
        captured = capture(locked)
        captured.keep()
        asked = request(context, target, scope=scope or Scope())
        prepared = prepare_room.prepare(context, captured, asked, save=save)
        captured.sink.publish()
    return prepared


def written(prepared: Prepared) -> list[bytes]:
    return sorted(change.path for change in prepared.writes)


def deleted(prepared: Prepared) -> list[bytes]:
    return sorted(change.path for change in prepared.deletes)


def left(prepared: Prepared) -> list[bytes]:
    return sorted(reasons(prepared))


def reasons(prepared: Prepared) -> dict[bytes, str]:
    return {item.path: item.reason for item in prepared.left_alone}


def test_edited_missing_and_new_files_are_written_and_deleted(
    workspace: Path, context: Context
) -> None:
    for name in ("edited", "missing", "same"):
        (workspace / name).write_text("1")
    target = checkpoint(context)
    (workspace / "edited").write_text("2")
    (workspace / "missing").unlink()
    (workspace / "new").write_text("new")
    prepared = prepare(context, target)
    assert written(prepared) == [b"edited", b"missing"]
    assert deleted(prepared) == [b"new"]
    assert reasons(prepared) == {}
    assert prepared.extra == {}


@pytest.mark.parametrize(
    ("reason", "content", "policy"),
    [
        ("ignored", "x", Policy(ignored="off")),
        ("oversized", "x" * 100, Policy(size_limit=50)),
        ("excluded", "x", Policy(exclude=("path",))),
    ],
)
def test_what_the_target_did_not_hold_is_never_deleted(
    workspace: Path, reason: str, content: str, policy: Policy
) -> None:
    (workspace / "path").write_text(content)
    if reason == "ignored":
        (workspace / ".gitignore").write_text("path\n")
    with opened(workspace, policy=policy) as context:
        target = checkpoint(context)
    (workspace / ".gitignore").write_text("")
    with opened(workspace) as context:
        checkpoint(context)
        prepared = prepare(context, target)
    assert deleted(prepared) in ([], [b".gitignore"])
    assert reasons(prepared) == {b"path": f"the target does not hold it ({reason} then)"}
    # By a rule that the user knows, or because nobody can say what it was.
    assert [item.by_rule for item in prepared.left_alone] == [reason != "oversized"]


def test_what_was_a_fifo_then_is_left_alone(workspace: Path, context: Context) -> None:
    os.mkfifo(workspace / "path")
    target = checkpoint(context)
    (workspace / "path").unlink()
    (workspace / "path").write_text("a file now")
    prepared = prepare(context, target)
    assert (deleted(prepared), left(prepared)) == ([], [b"path"])


def test_below_an_ignored_directory_nothing_is_deleted(workspace: Path, context: Context) -> None:
    (workspace / ".gitignore").write_text("build/\n")
    (workspace / "build").mkdir()
    (workspace / "build" / "out").write_text("1")
    target = checkpoint(context)
    (workspace / ".gitignore").write_text("")
    prepared = prepare(context, target)
    assert deleted(prepared) == []
    assert left(prepared) == [b"build"]


# -- small ignored files


@pytest.fixture
def ignored(workspace: Path, context: Context) -> Checkpoint:
    """A target with one ignored file ``.env``; now it is edited and ``new.env`` is there."""
    (workspace / ".gitignore").write_text("*.env\n")
    (workspace / ".env").write_text("1")
    (workspace / "gone.env").write_text("1")
    target = checkpoint(context)
    (workspace / ".env").write_text("2")
    (workspace / "new.env").write_text("new")
    (workspace / "gone.env").unlink()
    return target


def test_ignored_files_that_differ_are_left_alone_and_named(
    context: Context, ignored: Checkpoint
) -> None:
    prepared = prepare(context, ignored)
    assert written(prepared) + deleted(prepared) == []
    assert left(prepared) == [b".env", b"gone.env", b"new.env"]
    assert all(item.by_rule for item in prepared.left_alone)


def test_ignored_files_come_back_if_asked_and_what_goes_is_saved(
    context: Context, ignored: Checkpoint
) -> None:
    prepared = prepare(context, ignored, Scope(ignored=True))
    assert written(prepared) == [b".env", b"gone.env"]
    assert deleted(prepared) == [b"new.env"]
    assert left(prepared) == []
    assert prepared.extra == {b".env": file_entry(b"2"), b"new.env": file_entry(b"new")}
    assert context.store.blob(prepared.extra[b"new.env"].oid) == b"new"


def test_an_ignored_file_named_by_its_path_is_wanted(context: Context, ignored: Checkpoint) -> None:
    prepared = prepare(context, ignored, Scope((b".env",)))
    assert written(prepared) == [b".env"]
    assert left(prepared) == []


def test_saved_files_that_do_not_read_back_do_not_stop_the_rest(
    workspace: Path, context: Context, ignored: Checkpoint
) -> None:
    (workspace / ".gitignore").write_text("*.env\n*.log\n")
    assert ignored.saved is not None
    garble(context.store, bytes.fromhex(ignored.saved))
    context.store.packs.close()
    context.store._trees.clear()
    assert written(prepare(context, ignored)) == [b".gitignore"]


# -- what stands in the way


def test_an_ignored_file_in_the_way_is_saved_first(workspace: Path, context: Context) -> None:
    (workspace / "a").write_text("held then")
    target = checkpoint(context)
    (workspace / "a").unlink()
    checkpoint(context)
    (workspace / "a").write_text("never captured")
    (workspace / ".gitignore").write_text("a\n")
    prepared = prepare(context, target)
    assert written(prepared) == [b"a"]
    assert prepared.extra == {b"a": file_entry(b"never captured")}
    assert context.store.blob(prepared.extra[b"a"].oid) == b"never captured"


def test_a_file_that_is_right_but_ignored_now_is_not_touched(
    workspace: Path, context: Context
) -> None:
    (workspace / "a").write_text("same")
    target = checkpoint(context)
    (workspace / ".gitignore").write_text("a\n")
    prepared = prepare(context, target)
    assert (written(prepared), prepared.extra) == ([], {})


def test_a_special_file_in_the_way_stays(workspace: Path, context: Context) -> None:
    (workspace / "a").write_text("1")
    target = checkpoint(context)
    (workspace / "a").unlink()
    os.mkfifo(workspace / "a")
    prepared = prepare(context, target)
    assert reasons(prepared) == {b"a": "in the way, and its content cannot be saved"}
    assert not prepared.left_alone[0].by_rule


def test_a_directory_in_the_way_is_saved_with_all_in_it(workspace: Path, context: Context) -> None:
    (workspace / "a").write_text("a file then")
    target = checkpoint(context)
    (workspace / "a").unlink()
    (workspace / "a" / "cache").mkdir(parents=True)
    (workspace / "a" / "held").write_text("h")
    (workspace / "a" / "cache" / "x").write_text("i")
    (workspace / ".gitignore").write_text("cache/\n")
    prepared = prepare(context, target)
    assert written(prepared) == [b"a"]
    assert [path for path, _ in prepared.displaced[b"a"]] == [b"cache", b"cache/x", b"held"]
    assert prepared.extra == {
        b"a/cache": Entry(DIRECTORY | 0o755, b""),
        b"a/cache/x": file_entry(b"i"),
    }


@pytest.mark.parametrize("what", ["fifo", "repository"])
def test_a_directory_that_cannot_be_saved_stays_with_all_in_it(
    workspace: Path, context: Context, what: str
) -> None:
    (workspace / "a").write_text("a file then")
    (workspace / "a-b").write_text("1")
    target = checkpoint(context)
    (workspace / "a").unlink()
    (workspace / "a").mkdir()
    (workspace / "a" / "x").write_text("stays")
    (workspace / "a-b").write_text("2")
    if what == "fifo":
        os.mkfifo(workspace / "a" / "pipe")
    else:
        (workspace / "a" / ".git").mkdir()
    prepared = prepare(context, target)
    assert left(prepared) == [b"a"]
    assert written(prepared) == [b"a-b"]
    assert deleted(prepared) == []


def test_a_link_to_a_directory_elsewhere_is_replaced_and_not_followed(
    tmp_path: Path, workspace: Path, context: Context
) -> None:
    (workspace / "d").mkdir()
    (workspace / "d" / "f").write_text("1")
    target = checkpoint(context)
    (workspace / "d" / "f").unlink()
    (workspace / "d").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "f").write_text("theirs")
    (workspace / "d").symlink_to(tmp_path / "elsewhere")
    prepared = prepare(context, target)
    assert written(prepared) == [b"d", b"d/f"]
    assert {change.path: change.old is None for change in prepared.writes} == {
        b"d": False,
        b"d/f": True,
    }


# -- what is never written


def test_a_snapshot_that_names_a_git_directory_does_not_get_it_written(
    workspace: Path, context: Context
) -> None:
    """No capture makes one; one that came from elsewhere might."""
    made = checkpoint(context).replace(id=new_checkpoint_id())
    with context.locked() as locked:
        sink = PackSink(locked.lock)
        hook = Entry(FILE | 0o755, sink.add(BLOB, b"#!/bin/sh\n"))
        tree = trees.build(sink, {b".git/hooks/post-commit": hook, b"sub/.git": hook, b"a": hook})
        made = made.replace(snapshot=SnapshotId(tree.hex()))
        target = write_checkpoint(sink, made, Coverage())
    prepared = prepare(context, target)
    assert written(prepared) == [b"a", b"sub"]
    assert left(prepared) == [b".git", b"sub/.git"]


# -- scope


def test_a_scope_keeps_to_its_paths_and_makes_the_directories_above_them(
    workspace: Path, context: Context
) -> None:
    (workspace / "d" / "e").mkdir(parents=True)
    (workspace / "d" / "e" / "f").write_text("1")
    (workspace / "d" / "other").write_text("1")
    target = checkpoint(context)
    (workspace / "d" / "e" / "f").unlink()
    (workspace / "d" / "other").unlink()
    (workspace / "d" / "e").rmdir()
    (workspace / "d").rmdir()
    prepared = prepare(context, target, Scope((b"d/e/f",)))
    assert written(prepared) == [b"d", b"d/e", b"d/e/f"]


def test_a_path_that_is_nowhere_is_a_usage_error(workspace: Path, context: Context) -> None:
    (workspace / "a").write_text("1")
    target = checkpoint(context)
    for path in (b"b", b"a/b", b"no/where"):
        with pytest.raises(UsageError, match="neither in the workspace nor"):
            prepare(context, target, Scope((path,)))
    prepare(context, target, Scope((b"",)))


# -- a plan


def test_a_plan_only_looks_and_comes_to_the_same(workspace: Path, context: Context) -> None:
    (workspace / "a").write_text("held then")
    (workspace / "b").write_text("1")
    target = checkpoint(context)
    (workspace / "a").unlink()
    (workspace / "b").unlink()
    checkpoint(context)
    (workspace / ".gitignore").write_text("a\n")
    (workspace / "a").write_text("x" * (2 << 20))  # too large to be saved with every capture
    looked = prepare(context, target, save=False)
    assert not context.store.packs.has(looked.extra[b"a"].oid)
    before = packs_of(context.store)
    prepare(context, target, save=False)
    assert packs_of(context.store) == before
    done = prepare(context, target, save=True)
    assert context.store.packs.has(done.extra[b"a"].oid)
    assert (looked.writes, looked.deletes, looked.extra) == (done.writes, done.deletes, done.extra)
