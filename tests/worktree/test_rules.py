"""What decides whether a path is held: git's rules, the index, the settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.git.process import Git, find_git
from takeback.model.coverage import Policy
from takeback.worktree.rules import IgnoreRules, Rules
from tests.support.git import git


class Made:
    """Rules of a workspace; ``started`` counts how often git was needed."""

    def __init__(self, workspace: Path) -> None:
        git(workspace.parent, "init", "--quiet", "--bare", "--template=", "store.git")
        self._store = Git(find_git(os.environ), str(workspace.parent / "store.git"))
        self._workspace = workspace
        self.started = 0

    def rules(self, **policy: object) -> Rules:
        root = os.fsencode(self._workspace)
        return Rules(root, Policy(**policy), os.environ, self._make)  # type: ignore[arg-type]

    def _make(self, excludes_file: bytes | None, exclude_info: bytes) -> IgnoreRules:
        self.started += 1
        return IgnoreRules(
            self._store,
            str(self._workspace),
            excludes_file=excludes_file,
            exclude_info=exclude_info,
        )


@pytest.fixture
def made(workspace: Path) -> Made:
    return Made(workspace)


def test_git_starts_once_and_only_for_a_question(workspace: Path, made: Made) -> None:
    (workspace / ".gitignore").write_text("*.log\n")
    rules = made.rules()
    assert rules.ignored([]) == []
    assert made.started == 0
    assert rules.ignored([b"a.log", b"a"]) == [True, False]
    assert rules.ignored([b"b.log"]) == [True]
    assert made.started == 1
    rules.close()


def test_git_is_not_asked_about_names_that_no_rule_can_match(workspace: Path, made: Made) -> None:
    (workspace / ".gitignore").write_text("*.log\n")
    rules = made.rules()
    assert rules.ignored([b"a", b"src/b.py"]) == [False, False]
    assert made.started == 0
    assert rules.ignored([b"a", b"a.log", b"b"]) == [False, True, False]
    assert made.started == 1
    many = [b"%d" % number for number in range(300)]
    assert rules.ignored([*many, b"a.log"]) == [False] * 300 + [True]
    rules.close()
    assert rules.ignored(many) == [False] * 300
    assert made.started == 1
    rules.close()


def test_the_projects_exclude_and_the_users_excludes_take_effect(
    workspace: Path, made: Made
) -> None:
    (workspace / ".git" / "info" / "exclude").write_text("*.secret\n")
    users = Path(os.environ["XDG_CONFIG_HOME"], "git", "ignore")
    users.parent.mkdir()
    users.write_text("*.swp\n")
    rules = made.rules()
    assert rules.ignored([b"a.secret", b"a.swp", b"a"]) == [True, True, False]
    rules.close()


def test_the_fingerprint_changes_with_whatever_changes_a_verdict(
    workspace: Path, made: Made
) -> None:
    seen = [made.rules().fingerprint]
    assert made.rules().fingerprint == seen[0]
    (workspace / ".git" / "info" / "exclude").write_text("x\n")
    seen.append(made.rules().fingerprint)
    users = Path(os.environ["XDG_CONFIG_HOME"], "git", "ignore")
    users.parent.mkdir()
    for text in ("a\n", "b\n"):
        users.write_text(text)
        seen.append(made.rules().fingerprint)
    for policy in (
        {"size_limit": 1},
        {"ignored": "off"},
        {"ignored_file_limit": 1},
        {"include": ("a",)},
        {"exclude": ("a",)},
        {"skip_sensitive": True},
    ):
        seen.append(made.rules(**policy).fingerprint)
    assert len(set(seen)) == len(seen)


def test_include_and_exclude_are_those_of_the_settings(made: Made) -> None:
    rules = made.rules(include=("*.env",), exclude=("big",))
    assert rules.included(b"a/x.env")
    assert not rules.included(b"big")
    assert rules.left_out.reason(b"a/big/x") == "excluded"
    assert rules.left_out.reason(b"x.env") is None


@pytest.fixture
def tracked(workspace: Path) -> Path:
    """A project that tracks some files, and a repository nested in it that tracks others."""
    (workspace / "sub" / "nested" / "in").mkdir(parents=True)
    for name in ("a", "sub/b", "sub-x", "sub/nested/mine", "sub/nested/in/deep"):
        (workspace / name).touch()
    git(workspace, "add", "a", "sub/b", "sub-x")
    git(workspace / "sub" / "nested", "init", "--quiet")
    git(workspace / "sub" / "nested", "add", "mine", "in/deep")
    return workspace


def test_a_file_is_tracked_by_the_project_or_a_repository_in_it(tracked: Path, made: Made) -> None:
    rules = made.rules()
    for directory, name in (
        (b"", b"a"),
        (b"sub", b"b"),
        (b"sub/nested", b"mine"),
        (b"sub/nested/in", b"deep"),
    ):
        assert rules.is_tracked(directory, name)
    for directory, name in ((b"", b"b"), (b"sub", b"a"), (b"", b"sub"), (b"sub", b"mine")):
        assert not rules.is_tracked(directory, name)


def test_the_tracked_paths_below_a_directory_are_found_each_once(tracked: Path, made: Made) -> None:
    rules = made.rules()
    assert sorted(rules.tracked_below(b"sub")) == [b"sub/b"]
    assert rules.tracked_below(b"sub/nested/in") == [b"sub/nested/in/deep"]
    assert rules.tracked_below(b"a") == []


def test_a_path_tracked_twice_is_found_once(workspace: Path, made: Made) -> None:
    (workspace / "in" / "build").mkdir(parents=True)
    (workspace / "in" / "build" / "x").touch()
    git(workspace, "add", "in/build/x")
    git(workspace / "in", "init", "--quiet")
    git(workspace / "in", "add", "build/x")
    assert made.rules().tracked_below(b"in/build") == [b"in/build/x"]


def test_the_signature_of_an_index_changes_with_it(tracked: Path, made: Made) -> None:
    before = made.rules().index_signatures([b"", b"sub/nested", b"no/repository"])
    assert before[b""] != ()
    assert before[b"sub/nested"] != ()
    assert before[b"no/repository"] == ()
    git(tracked, "rm", "--quiet", "--cached", "a")
    after = made.rules().index_signatures([b"", b"sub/nested", b"no/repository"])
    assert after[b""] != before[b""]
    assert after[b"sub/nested"] == before[b"sub/nested"]


def test_without_git_nothing_is_tracked(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    rules = Made(tmp_path / "plain").rules()
    assert not rules.is_tracked(b"", b"a")
    assert rules.tracked_below(b"a") == []
    assert rules.index_signatures([b""]) == {b"": ()}
