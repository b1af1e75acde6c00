"""Ignore rules as git reads them, asked through our own store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import errors
from takeback.git.process import Git, find_git
from takeback.worktree.rules import IgnoreRaced, IgnoreRules
from tests.support.git import git


@pytest.fixture
def store(tmp_path: Path) -> Git:
    """A bare repository as stores are, without an ``info`` directory."""
    git(tmp_path, "init", "--quiet", "--bare", "--template=", "store.git")
    return Git(find_git(os.environ), str(tmp_path / "store.git"))


@pytest.fixture
def rules(store: Git, workspace: Path) -> Iterator[IgnoreRules]:
    rules = IgnoreRules(store, str(workspace), excludes_file=None, exclude_info=b"")
    yield rules
    rules.close()


def make(workspace: Path, *names: str) -> None:
    for name in names:
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("x")


def test_answers_path_by_path_in_the_order_asked(workspace: Path, rules: IgnoreRules) -> None:
    make(workspace, "build/x", "sub/keep", "sub/a.tmp", "a.log", "b")
    (workspace / ".gitignore").write_text("*.log\n!keep.log\nbuild/\n")
    (workspace / "sub/.gitignore").write_text("*.tmp\n")
    paths = [b"b", b"a.log", b"keep.log", b"build", b"build/x", b"sub", b"sub/a.tmp", b"a.tmp"]
    assert rules.ignored(paths) == [False, True, False, True, True, False, True, False]
    assert rules.ignored(paths[::-1]) == [False, True, False, True, True, False, True, False]


def test_nothing_is_asked_for_no_paths(tmp_path: Path, workspace: Path) -> None:
    nowhere = Git("/nonexistent/git", str(tmp_path / "none.git"))
    rules = IgnoreRules(nowhere, str(workspace), excludes_file=None, exclude_info=b"x")
    assert rules.ignored([]) == []
    rules.close()
    assert not (tmp_path / "none.git").exists()


def test_a_tracked_file_is_answered_by_the_rules_alone(workspace: Path, rules: IgnoreRules) -> None:
    make(workspace, "a.log")
    git(workspace, "add", "a.log")
    (workspace / ".gitignore").write_text("*.log\n")
    assert rules.ignored([b"a.log"]) == [True]


def test_every_byte_in_a_name(workspace: Path, rules: IgnoreRules) -> None:
    (workspace / ".gitignore").write_text("*.log\n")
    names = [bytes([byte]) for byte in range(1, 256) if byte not in b"/."]
    names += [b"a" + name + b"b" for name in names]
    names += [b":(top)x", b":!x", b"--", b"-z", b"\\!", b"!x", b"#x", b'"q"', b"a\nb", b" "]
    for name in names:
        (workspace / os.fsdecode(name)).touch()
        (workspace / os.fsdecode(name + b".log")).touch()
    assert rules.ignored(names) == [False] * len(names)
    assert rules.ignored([name + b".log" for name in names]) == [True] * len(names)


def test_a_path_too_long_for_git_is_answered_by_what_is_above_it(
    workspace: Path, rules: IgnoreRules
) -> None:
    (workspace / ".gitignore").write_text("*.log\nbuild/\n")
    component = b"c" * 200 + b"/"
    for count in range(15, 40):  # 2.39 crashes on some of these
        long = component * count + b"a.log"
        under = b"build/" + component * count + b"a"
        assert rules.ignored([long, b"a.log", under, b"b"])[1:] == [True, True, False]


def test_the_projects_exclude_and_the_users_file_take_effect(
    tmp_path: Path, workspace: Path, store: Git
) -> None:
    users = tmp_path / "my rüles\n"
    users.write_text("*.swp\n!keep.secret\n")
    kept = Path(store.git_dir, "info/exclude")
    for info in (b"*.secret\n", b"*.other\n", b""):
        rules = IgnoreRules(
            store, str(workspace), excludes_file=os.fsencode(users), exclude_info=info
        )
        expected = [b"secret" in info, b"other" in info, True, False]
        assert rules.ignored([b"a.secret", b"a.other", b"a.swp", b"a"]) == expected
        rules.close()
        assert kept.read_bytes() == info


def test_an_exclude_that_is_the_same_is_not_written_again(workspace: Path, store: Git) -> None:
    kept = Path(store.git_dir, "info/exclude")
    seen = set()
    for _ in range(2):
        rules = IgnoreRules(store, str(workspace), excludes_file=None, exclude_info=b"x\n")
        assert rules.ignored([b"x"]) == [True]
        rules.close()
        seen.add((kept.stat().st_ino, kept.stat().st_mtime_ns))
    assert len(seen) == 1


def test_no_configuration_but_ours_is_read(
    workspace: Path, rules: IgnoreRules, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / ".gitignore").write_text("*.log\n")
    make(workspace, "other")
    (workspace / "other").write_text("*\n")
    git(workspace, "config", "core.ignoreCase", "true")
    git(workspace, "config", "core.excludesFile", str(workspace / "other"))
    home = Path(os.environ["HOME"])
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("*\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(workspace / ".git/config"))
    assert rules.ignored([b"A.LOG", b"a.log", b"b"]) == [False, True, False]


def test_inside_other_repositories_paths_are_answered(
    tmp_path: Path, workspace: Path, rules: IgnoreRules
) -> None:
    (workspace / ".gitignore").write_text("*.log\n")
    for name in ("unborn", "born", "module"):
        directory = tmp_path / "module" if name == "module" else workspace / name
        git(tmp_path, "init", "--quiet", str(directory))
        (directory / ".gitignore").write_text("*.o\n")
        make(directory, "in/a.o", "in/a.log", "in/a.c")
        if name != "unborn":
            git(directory, "add", "--all")
            git(directory, "commit", "--quiet", "--message", "x")
    source = str(tmp_path / "module")
    git(workspace, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source)
    git(workspace, "commit", "--quiet", "--message", "x")
    for inner in (b"unborn", b"born", b"module"):
        paths = [inner + rest for rest in (b"", b"/in", b"/in/a.o", b"/in/a.log", b"/in/a.c")]
        assert rules.ignored(paths) == [False, False, True, True, False]


def test_an_ignore_file_that_is_no_file_has_no_rules(workspace: Path, rules: IgnoreRules) -> None:
    make(workspace, "patterns", "link/x", "directory/x")
    (workspace / "patterns").write_text("*\n")
    (workspace / "link/.gitignore").symlink_to("../patterns")
    (workspace / "directory/.gitignore").mkdir()
    (workspace / ".gitignore").write_text("*.log\n")
    paths = [b"link/x", b"link/x.log", b"directory/x", b"directory/x.log"]
    assert rules.ignored(paths) == [False, True, False, True]


def test_warnings_of_git_do_not_hold_it_up(workspace: Path, rules: IgnoreRules) -> None:
    for number in range(3000):  # each says some 80 bytes on stderr, more than a pipe holds
        (workspace / f"d{number}").mkdir()
        (workspace / f"d{number}/.gitignore").symlink_to("x")
    paths = [b"d%d/x" % number for number in range(3000)]
    assert rules.ignored(paths) == [False] * 3000


def test_a_link_is_answered_and_never_followed(workspace: Path, rules: IgnoreRules) -> None:
    make(workspace, "real/x")
    (workspace / "link").symlink_to("real")
    (workspace / ".gitignore").write_text("link/\n")  # a link is not a directory
    assert rules.ignored([b"link", b"real"]) == [False, False]


def test_a_directory_swapped_for_a_link_is_a_race_and_is_survived(
    workspace: Path, rules: IgnoreRules
) -> None:
    make(workspace, "a/b/x", "elsewhere/b/x", "c.log")
    (workspace / ".gitignore").write_text("*.log\n")
    assert rules.ignored([b"a/b/x"]) == [False]
    shutil.rmtree(workspace / "a")
    (workspace / "a").symlink_to("elsewhere")
    with pytest.raises(IgnoreRaced):
        rules.ignored([b"c.log", b"a/b/x", *(b"after%d" % number for number in range(50_000))])
    assert rules.ignored([b"c.log", b"a", b"elsewhere/b/x"]) == [True, False, False]


def test_close_forgets_the_rules(workspace: Path, rules: IgnoreRules) -> None:
    make(workspace, "d/x")
    assert rules.ignored([b"d/x"]) == [False]
    (workspace / "d/.gitignore").write_text("x\n")
    rules.close()
    assert rules.ignored([b"d/x"]) == [True]
    rules.close()
    rules.close()


def test_an_ignore_file_that_is_a_fifo_times_out(workspace: Path, store: Git) -> None:
    make(workspace, "d/x")
    os.mkfifo(workspace / "d/.gitignore")
    rules = IgnoreRules(store, str(workspace), excludes_file=None, exclude_info=b"", timeout=0.5)
    assert rules.ignored([b"d"]) == [False]
    with pytest.raises(errors.TimedOut):
        rules.ignored([b"d/x"])
    assert rules.ignored([b"d", b"e"]) == [False, False]
    rules.close()


def test_a_hundred_thousand_paths_at_once(workspace: Path, rules: IgnoreRules) -> None:
    (workspace / ".gitignore").write_text("*.log\n")
    paths = [
        b"package_%d/module_%d.%s" % (number // 1000, number, b"py" if number % 10 else b"log")
        for number in range(100_000)
    ]
    assert rules.ignored(paths) == [number % 10 == 0 for number in range(100_000)]
