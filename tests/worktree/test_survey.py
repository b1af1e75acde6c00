"""What is in a directory is held, saved, or not held and named with the reason."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback.capture.capture import Captured
from takeback.context import Context
from takeback.model.coverage import Policy
from takeback.store import trees
from tests.support.cli import Cli
from tests.support.engine import captured, opened, settle, under_lock
from tests.support.git import git
from tests.support.unprivileged import unprivileged


def held(context: Context, made: Captured) -> set[bytes]:
    return {path for path, _ in trees.walk(context.store, made.tree)}


def gaps(made: Captured) -> dict[bytes, str]:
    return {item.path: item.reason for item in made.coverage.not_held}


def test_every_reason_is_named(workspace: Path) -> None:
    (workspace / ".gitignore").write_text("*.log\nbuild/\n")
    (workspace / "build" / "deep").mkdir(parents=True)
    for name in ("a", "a.log", "big.log", "not.this", "build/x", "d"):
        (workspace / name).write_text("x")
    (workspace / "big").write_bytes(bytes(200))
    (workspace / "big.log").write_bytes(bytes(50))
    os.mkfifo(workspace / "fifo")
    (workspace / ".takeback-abcdefghjkmn-0").touch()
    policy = Policy(size_limit=100, ignored_file_limit=40, exclude=("not.this",))
    with opened(workspace, policy=policy) as context:
        made = captured(context)
        mine = b".takeback-abcdefghjkmn-0"
        assert held(context, made) == {b".gitignore", b"a", b"d", mine}
        assert set(made.saved) == {b"a.log"}
    assert gaps(made) == {
        b"a.log": "ignored",
        b"big.log": "ignored",
        b"build": "ignored",
        b"big": "oversized",
        b"not.this": "excluded",
        b"fifo": "special",
    }
    assert not made.coverage.complete


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has files read by twos and threes, as a million are by tens of thousands."""
    monkeypatch.setattr("takeback.worktree.survey._PORTION", 2)
    monkeypatch.setattr("takeback.worktree.survey._AT_ONCE", 1)


def _grow(workspace: Path) -> None:
    """Makes files of every kind on three levels."""
    (workspace / ".gitignore").write_text("*.log\nbuild/\n")
    for place in ("", "a", "a/b", "a/c", "d", "d/e", "build"):
        (workspace / place).mkdir(exist_ok=True)
        for number in range(4):
            (workspace / place / f"{number}").write_text(f"{place} {number}")
        (workspace / place / "saved.log").write_text(place)
        (workspace / place / "large").write_bytes(place.encode() * 30_000)
        (workspace / place / "link").symlink_to(f"to {place}")
        os.mkfifo(workspace / place / "fifo")
    (workspace / "a" / "b" / "secret").write_text("x")
    (workspace / "a" / "b" / "secret").chmod(0)


def test_what_is_read_in_portions_is_what_is_read_at_once(
    workspace: Path, context: Context, request: pytest.FixtureRequest
) -> None:
    _grow(workspace)
    settle()
    expected = captured(context)
    request.getfixturevalue("small_portions")
    shutil.rmtree(context.store.path("stat"))
    for _ in range(2):
        made = captured(context)
        assert made.tree == expected.tree
        assert made.saved == expected.saved
        assert made.files == expected.files
        assert gaps(made) == gaps(expected)
        under_lock(context, lambda locked: locked.lock.raise_epoch())  # all is read again


def test_in_portions_too_a_heap_of_new_files_keeps_no_known_one_out(
    workspace: Path, small_portions: None
) -> None:
    (workspace / "deep" / "er").mkdir(parents=True)
    (workspace / "deep" / "er" / "mine").write_text("1")
    with opened(workspace, policy=Policy(entries_limit=5)) as context:
        captured(context)
        (workspace / "heap").mkdir()
        for number in range(20):
            (workspace / "heap" / f"{number}").write_text("new")
        (workspace / "deep" / "er" / "mine").write_text("2")
        made = captured(context)
        assert (
            context.store.blob(dict(trees.walk(context.store, made.tree))[b"deep/er/mine"].oid)
            == b"2"
        )
        left_out = [path for path, reason in gaps(made).items() if reason == "oversized"]
        assert 15 <= len(left_out) <= 16
        assert all(path.startswith(b"heap/") for path in left_out)


def test_in_portions_too_large_new_files_come_after_small_ones(
    workspace: Path, small_portions: None
) -> None:
    for place in ("a", "b", "b/c"):
        (workspace / place).mkdir()
        (workspace / place / "large").write_bytes(bytes(100_000))
        (workspace / place / "small").write_text("x")
        (workspace / place / "other").write_text("x")
    with opened(workspace, policy=Policy(entries_limit=7)) as context:
        assert (
            sorted(path.rpartition(b"/")[2] for path in gaps(captured(context))) == [b"large"] * 2
        )


def test_what_is_included_is_held_although_git_ignores_it(workspace: Path) -> None:
    (workspace / ".gitignore").write_text("*.log\nbuild/\n")
    (workspace / "build").mkdir()
    (workspace / "build" / "x").write_text("x")
    (workspace / "a.log").write_text("x")
    with opened(workspace, policy=Policy(include=("build", "*.log"))) as context:
        made = captured(context)
        assert held(context, made) == {b".gitignore", b"a.log", b"build", b"build/x"}
        assert gaps(made) == {}


@pytest.mark.parametrize(("setting", "saved"), [("save", 1), ("restore", 1), ("off", 0)])
def test_small_ignored_files_are_saved_unless_that_is_off(
    workspace: Path, setting: str, saved: int
) -> None:
    (workspace / ".gitignore").write_text(".env\n")
    (workspace / ".env").write_text("SECRET")
    with opened(workspace, policy=Policy(ignored=setting)) as context:
        made = captured(context)
    assert len(made.saved) == saved
    assert gaps(made) == {b".env": "ignored"}


def test_saved_files_stop_at_their_limit_in_all(workspace: Path) -> None:
    (workspace / ".gitignore").write_text("*.env\n")
    for name in "abcd":
        (workspace / f"{name}.env").write_bytes(bytes(10))
    with opened(workspace, policy=Policy(ignored_total_limit=25)) as context:
        made = captured(context)
    assert sorted(made.saved) == [b"a.env", b"b.env"]
    assert len(gaps(made)) == 4


def test_what_was_saved_stays_saved_whatever_comes_before_it(workspace: Path) -> None:
    (workspace / ".gitignore").write_text("*.env\n")
    (workspace / "m.env").write_bytes(bytes(60))
    with opened(workspace, policy=Policy(ignored_total_limit=100)) as context:
        assert set(captured(context).saved) == {b"m.env"}
        for name in "abc":
            (workspace / f"{name}.env").write_bytes(bytes(30))
        for _ in range(2):
            assert set(captured(context).saved) == {b"a.env", b"m.env"}


def test_a_nested_repository_is_held_without_its_git(workspace: Path, context: Context) -> None:
    (workspace / "nested").mkdir()
    git(workspace / "nested", "init", "--quiet")
    (workspace / "nested" / "f").write_text("x")
    (workspace / "nested" / ".gitignore").write_text("*.log\n")
    (workspace / "nested" / "a.log").write_text("x")
    made = captured(context)
    assert held(context, made) == {b"nested", b"nested/f", b"nested/.gitignore"}
    assert gaps(made) == {b"nested/a.log": "ignored"}


def test_a_linked_worktree_inside_is_another_workspace(workspace: Path, context: Context) -> None:
    git(workspace, "commit", "--quiet", "--allow-empty", "--message=x")
    git(workspace, "worktree", "add", "--quiet", "deep/linked")
    (workspace / "deep" / "linked" / "f").write_text("x")
    (workspace / "deep" / "f").write_text("x")
    made = captured(context)
    assert held(context, made) == {b"deep", b"deep/f"}
    assert gaps(made) == {b"deep/linked": "other workspace"}
    git(workspace, "worktree", "remove", "--force", "deep/linked")
    again = captured(context)
    assert gaps(again) == {}


def test_a_tracked_file_is_held_although_a_rule_ignores_it(
    workspace: Path, context: Context
) -> None:
    (workspace / "a.log").write_text("x")
    git(workspace, "add", "a.log")
    (workspace / ".gitignore").write_text("*.log\n")
    assert held(context, captured(context)) == {b".gitignore", b"a.log"}


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: sparse(path, 100 << 30)])
def test_an_ignore_file_that_git_cannot_read_means_no_rules_and_nothing_waits(
    workspace: Path, context: Context, make: Callable[[Path], None]
) -> None:
    (workspace / ".gitignore").write_text("*.log\n")
    (workspace / "d" / "deep").mkdir(parents=True)
    (workspace / "d" / "old.log").write_text("x")
    captured(context)
    make(workspace / "d" / ".gitignore")
    for name in ("d/f", "d/f.log", "d/deep/f.log", "a", "a.log"):
        (workspace / name).write_text("x")
    made = captured(context)
    below = {b"d", b"d/deep", b"d/f", b"d/f.log", b"d/deep/f.log"}
    assert held(context, made) == {b".gitignore", b"a", *below}
    reason = gaps(made).pop(b"d/.gitignore")
    assert reason in ("special", "oversized")
    assert gaps(made).keys() == {b"a.log", b"d/old.log", b"d/.gitignore"}
    (workspace / "d" / "deep" / "later.log").write_text("x")
    assert b"d/deep/later.log" in held(context, captured(context))
    (workspace / "d" / ".gitignore").unlink()
    (workspace / "d" / "deep" / "last.log").write_text("x")
    assert gaps(captured(context)).keys() == {b"a.log", b"d/old.log", b"d/deep/last.log"}


def sparse(path: Path, size: int) -> None:
    path.touch()
    os.truncate(path, size)


def test_links_and_empty_directories_and_odd_names_are_held(
    workspace: Path, context: Context
) -> None:
    names = [b"caf\xe9", b"new\nline", b":(top)x", b"-n", b'"q"', b"x" * 255, b".GIT", b"git~1"]
    for name in names:
        (workspace / os.fsdecode(name)).write_bytes(name)
    (workspace / "empty").mkdir()
    (workspace / "loop").symlink_to("loop")
    made = captured(context)
    assert held(context, made) == {*names, b"empty", b"loop"}
    assert made.files == len(names) + 1


def test_what_lies_deeper_than_a_path_may_be_long_is_held(
    workspace: Path, context: Context
) -> None:
    name = "d" * 250
    deep = os.open(workspace, os.O_RDONLY)
    for _ in range(20):
        os.mkdir(name, dir_fd=deep)
        below = os.open(name, os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(os.open("f", os.O_WRONLY | os.O_CREAT, dir_fd=deep))
    os.close(deep)
    made = captured(context)
    path = b"/".join([name.encode()] * 20)
    assert trees.lookup(context.store, made.tree, path + b"/f") is not None
    assert captured(context).tree == made.tree
    subprocess.run(["rm", "-rf", workspace / name], check=True)


def test_an_unreadable_directory_is_a_gap_and_the_rest_is_held(
    workspace: Path, context: Context
) -> None:
    """Through the command line: as root, permission bits count only in a process without rights."""
    cli = unprivileged(Cli(workspace))
    (workspace / "closed").mkdir()
    (workspace / "closed" / "f").write_text("x")
    (workspace / "a").write_text("x")
    (workspace / "closed").chmod(0o000)
    made = cli.ok("--json", "checkpoint").json
    assert (made["files"], made["complete"]) == (1, False)
    assert [(gap["path"], gap["reason"]) for gap in made["skipped"]] == [("closed", "unreadable")]
    (workspace / "closed").chmod(0o755)
    made = cli.ok("--json", "checkpoint").json
    assert (made["files"], made["complete"], made["skipped"]) == (2, True, [])
