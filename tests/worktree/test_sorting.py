"""What the last snapshot held stays held, whatever rule or pointer appears afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from takeback.context import Context
from takeback.model.coverage import Policy
from takeback.store import trees
from tests.support.cli import Cli
from tests.support.engine import captured, checkpoint, opened, under_lock
from tests.support.git import git
from tests.support.unprivileged import unprivileged


def held(context: Context) -> dict[bytes, bytes]:
    """Captures, and returns the bytes of every file that is held."""
    return {
        path: context.store.blob(entry.oid)
        for path, entry in trees.walk(context.store, captured(context).tree)
        if not entry.is_directory
    }


@pytest.fixture
def root(workspace: Path) -> Path:
    (workspace / "src" / "deep").mkdir(parents=True)
    for name in ("src/mine.txt", "src/deep/mine.txt", "top.txt"):
        (workspace / name).write_text("1")
    return workspace


HELD = {b"src/mine.txt", b"src/deep/mine.txt", b"top.txt"}


@pytest.mark.parametrize(
    ("place", "rule"),
    [
        (".git/info/exclude", "src/"),
        (".git/info/exclude", "*"),
        (".gitignore", "mine.txt"),
        ("src/.gitignore", "*"),
        ("src/deep/.gitignore", "*"),
    ],
)
def test_a_rule_that_appears_later_concerns_only_what_is_new(
    root: Path, context: Context, place: str, rule: str
) -> None:
    captured(context)
    (root / place).parent.mkdir(exist_ok=True)
    (root / place).write_text(f"{rule}\n")
    assert held(context).keys() >= HELD
    (root / "src" / "mine.txt").write_text("2")
    (root / "src" / "deep" / "mine.txt").unlink()
    now = held(context)
    assert now[b"src/mine.txt"] == b"2"
    assert b"src/deep/mine.txt" not in now
    (root / "src" / "deep" / "mine.txt").write_text("new")
    made = captured(context)
    assert b"src/deep/mine.txt" not in held(context)
    assert made.coverage.reason_for(b"src/deep/mine.txt") == "ignored"
    assert b"src/deep/mine.txt" in made.saved


def test_what_is_held_in_an_ignored_directory_stays_without_the_stat_cache(
    root: Path, context: Context
) -> None:
    captured(context)
    (root / ".gitignore").write_text("src/\n")
    captured(context)
    under_lock(context, lambda it: it.lock.raise_epoch())
    assert held(context).keys() >= HELD
    checkpoint(context)
    shutil.rmtree(context.store.path("stat"))
    assert held(context).keys() >= HELD


def test_a_pointer_to_a_worktree_does_not_take_files_away(root: Path, context: Context) -> None:
    captured(context)
    (root / "src" / ".g").mkdir()
    (root / "src" / ".g" / "HEAD").write_text("ref: refs/heads/x\n")
    (root / "src" / ".g" / "commondir").write_text("..\n")
    (root / "src" / ".git").write_text("gitdir: .g\n")
    (root / "src" / "new.txt").write_text("new")
    assert held(context).keys() >= {*HELD, b"src/new.txt"}


def test_a_worktree_that_git_adds_where_nothing_was_is_another_workspace(
    root: Path, context: Context
) -> None:
    (root / "tree").mkdir()
    captured(context)
    git(root, "commit", "--quiet", "--allow-empty", "--message=x")
    git(root, "worktree", "add", "--quiet", "tree")
    (root / "tree" / "theirs").write_text("x")
    made = captured(context)
    assert made.coverage.reason_for(b"tree/theirs") == "other workspace"


def test_a_name_that_becomes_a_directory_is_new(root: Path, context: Context) -> None:
    captured(context)
    (root / "top.txt").unlink()
    (root / "top.txt").mkdir()
    (root / "top.txt" / "f").write_text("new")
    shutil.rmtree(root / "src")
    (root / "src").write_text("new")
    (root / ".gitignore").write_text("top.txt\nsrc\n")
    assert held(context).keys() == {b".gitignore"}


def test_the_users_own_exclude_lets_go_of_what_was_held(root: Path) -> None:
    with opened(root) as context:
        assert held(context).keys() == HELD
    with opened(root, policy=Policy(exclude=("src",))) as context:
        assert held(context).keys() == {b"top.txt"}
        assert captured(context).coverage.reason_for(b"src/mine.txt") == "excluded"


def test_what_could_not_be_read_for_a_while_is_held_again_although_ignored(root: Path) -> None:
    cli = unprivileged(Cli(root))
    assert cli.ok("--json", "checkpoint").json["files"] == 3
    (root / "src").chmod(0)
    (root / "top.txt").chmod(0)
    (root / ".gitignore").write_text("*\n")
    for _ in range(2):
        made = cli.ok("--json", "checkpoint").json
        assert [gap["path"] for gap in made["skipped"]] == ["src", "top.txt"]
    (root / "src").chmod(0o755)
    (root / "top.txt").chmod(0o644)
    made = cli.ok("--json", "checkpoint").json
    assert (made["files"], made["complete"]) == (3, True)  # and .gitignore is saved beside
