"""The user's excludes file, compared with what git says."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.worktree import project
from takeback.worktree.gitconfig import excludes_file, matches
from takeback.worktree.project import GitDirectory
from tests.support.cli import Cli
from tests.support.git import git


def opened(directory: Path) -> GitDirectory:
    found = project.git_directory(os.fsencode(directory))
    assert found is not None
    return found


class TestExcludesFile:
    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        """A home directory with some files of ignore rules, and no configuration."""
        place = tmp_path / "h"
        (place / ".config/git").mkdir(parents=True)
        for name in ("one", "two", "with space", "ü#;", "tab\there", 'q"b\\s'):
            (place / name).write_text(name)
        return place

    def found(self, home: Path, git: GitDirectory | None = None, **environ: str) -> str | None:
        path = excludes_file({"HOME": str(home), **environ}, git)
        return None if path is None else os.fsdecode(path)

    def said_by_git(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.delenv("XDG_CONFIG_HOME")
        monkeypatch.delenv("GIT_CONFIG_GLOBAL")
        said = git(home, "config", "--path", "--default", "", "core.excludesFile").decode()
        return said.removesuffix("\n") or None

    def test_is_the_xdg_one_by_default(self, home: Path) -> None:
        assert self.found(home) is None
        (home / ".config/git/ignore").write_text("x")
        assert self.found(home) == str(home / ".config/git/ignore")
        (home / "xdg/git").mkdir(parents=True)
        assert self.found(home, XDG_CONFIG_HOME=str(home / "xdg")) is None
        (home / "xdg/git/ignore").write_text("x")
        assert self.found(home, XDG_CONFIG_HOME=str(home / "xdg")) == str(home / "xdg/git/ignore")

    def test_is_none_without_a_home(self) -> None:
        assert excludes_file({}) is None

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("[core]\n\texcludesFile = ~/one\n", "one"),
            ("[CORE]\nEXCLUDESFILE=~/one", "one"),
            ("\ufeff[core] excludesfile = ~/one # comment", "one"),
            ("[core]\r\nexcludesfile = ~/one \r\n", "one"),
            ("[core]\nexcludesfile = ~/one\n[core]\nexcludesfile = ~/two", "two"),
            ("[core]\nexcludesfile = ~/with space   ; comment", "with space"),
            ('[core]\nexcludesfile = "~/with space"', "with space"),
            ('[core]\nexcludesfile = "~/ü#;"', "ü#;"),
            ('[core]\nexcludesfile = ~/"ü#;" ', "ü#;"),
            ("[core]\nexcludesfile = ~/tab\\there", "tab\there"),
            ('[core]\nexcludesfile = ~/q\\"b\\\\s', 'q"b\\s'),
            ("[core]\nexcludesfile = ~/o\\\nne", "one"),
            ("[core]\nexcludesfile = ~/o\\\r\nne", "one"),
            ('[alias]\nx = "!a \\\n[core]\\\nexcludesfile = ~/two"\n', None),
            ("# \\\n[core]\nexcludesfile = ~/one", "one"),
            ("[alias]\nx = y # \\\n[core]\nexcludesfile = ~/one", "one"),
            ('[core "sub"]\nexcludesfile = ~/one', None),
            ('[remote "a]b"]\nurl = x\n[core]\nexcludesfile = ~/one', "one"),
            ("[core]\nbare\nexcludesfile = ~/one", "one"),
            ("[core]\nexcludesfile = ~/one\nexcludesfile =", None),
            ("[include]\npath = more\n", "two"),
            ("[include]\npath = ~/more\n[core]\nexcludesfile = ~/one", "one"),
            ("[core]\nexcludesfile = ~/one\n[include]\npath = more", "two"),
            ('[includeIf "gitdir:/nowhere/"]\npath = more', None),
        ],
    )
    def test_is_the_setting_as_git_reads_it(
        self, home: Path, text: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (home / "more").write_text("[core]\nexcludesfile = ~/two\n")
        (home / ".gitconfig").write_bytes(text.encode())
        wanted = None if expected is None else str(home / expected)
        assert self.found(home) == wanted
        assert self.said_by_git(home, monkeypatch) == wanted

    def test_of_a_file_that_does_not_exist_is_none(self, home: Path) -> None:
        (home / ".config/git/ignore").write_text("x")
        (home / ".gitconfig").write_text("[core]\nexcludesfile = ~/gone")
        assert self.found(home) is None
        os.mkfifo(home / "gone")
        assert self.found(home) is None

    def test_the_nearer_setting_wins(self, home: Path, workspace: Path) -> None:
        (home / ".config/git/config").write_text("[core]\nexcludesfile = ~/one")
        assert self.found(home) == str(home / "one")
        (home / ".gitconfig").write_text("[core]\nexcludesfile = ~/two")
        assert self.found(home) == str(home / "two")
        (home / "given").write_text("[core]\nexcludesfile = ~/one")
        assert self.found(home, GIT_CONFIG_GLOBAL=str(home / "given")) == str(home / "one")
        assert self.found(home, GIT_CONFIG_GLOBAL="") is None
        (workspace / "rules").write_text("x")
        git(workspace, "config", "core.excludesFile", "rules")
        assert self.found(home, opened(workspace)) == str(workspace / "rules")

    def test_a_worktree_may_have_its_own(self, home: Path, workspace: Path) -> None:
        (workspace / ".git/config.worktree").write_text("[core]\nexcludesfile = ~/one")
        assert self.found(home, opened(workspace)) is None
        git(workspace, "config", "extensions.worktreeConfig", "true")
        assert self.found(home, opened(workspace)) == str(home / "one")

    def test_includes_that_never_end_do_end(self, home: Path) -> None:
        loop = "[include]\npath = .gitconfig\n" * 200
        (home / ".gitconfig").write_text("[core]\nexcludesfile = ~/one\n" + loop)
        assert self.found(home) == str(home / "one")

    def test_an_include_that_is_a_fifo_is_left_out(self, home: Path) -> None:
        os.mkfifo(home / "fifo")
        (home / ".gitconfig").write_text("[include]\npath=fifo\n[core]\nexcludesfile=~/one")
        assert self.found(home) == str(home / "one")

    def test_a_configuration_that_is_a_link_is_read(self, home: Path) -> None:
        (home / "dotfiles").write_text("[core]\nexcludesfile = ~/one")
        (home / ".gitconfig").symlink_to("dotfiles")
        assert self.found(home) == str(home / "one")

    @pytest.mark.parametrize(
        "data",
        [b"\0", b"[", b"[core", b"[core]excludesfile=\0", b'="\\', b"[core]\na=\\", b"\xff="],
    )
    def test_nonsense_is_skipped(self, home: Path, data: bytes) -> None:
        (home / ".gitconfig").write_bytes(data)
        assert self.found(home) is None


def said(
    workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch, **environ: str
) -> str | None:
    """Returns what git itself takes for the excludes file of a work tree."""
    with monkeypatch.context() as patch:
        patch.setenv("HOME", str(home))
        for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"):
            patch.delenv(name)
        patch.setenv("GIT_CONFIG_SYSTEM", str(home / "system"))
        for name, value in environ.items():
            patch.setenv(name, value)
        answer = git(workspace, "config", "--path", "--default", "", "core.excludesFile").decode()
    return answer.removesuffix("\n") or None


def found(workspace: Path, home: Path, **environ: str) -> str | None:
    given = {"HOME": str(home), "GIT_CONFIG_SYSTEM": str(home / "system"), **environ}
    path = excludes_file(given, opened(workspace))
    return None if path is None else os.fsdecode(path)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory above the workspace, with two files of rules to choose from."""
    place = tmp_path
    for name in ("one", "two"):
        (place / name).write_text(name)
        (place / f"use-{name}").write_text(f"[core]\nexcludesFile = ~/{name}\n")
    return place


CONDITIONS = [
    ("gitdir:~/workspace/", True),
    ("gitdir:~/workspace/.git", True),
    ("gitdir:~/", True),
    ("gitdir:~/work*/", True),
    ("gitdir:~/*/.git", True),
    ("gitdir:~/**/.git", True),
    ("gitdir:~/elsewhere/", False),
    ("gitdir:~/Workspace/", False),
    ("gitdir/i:~/Workspace/", True),
    ("gitdir/i:WORKSPACE/", True),
    ("gitdir:workspace/", True),
    ("gitdir:orkspace/", False),
    ("gitdir:workspace", False),
    ("gitdir:**/workspace/**", True),
    ("gitdir:./workspace/", True),
    ("gitdir:./", True),
    ("gitdir:./orkspace/", False),
    ("gitdir:[v-x]orkspace/", True),
    ("gitdir:[!w]orkspace/", False),
    ("gitdir:[^w]orkspace/", False),
    ("gitdir:[[:alpha:]]orkspace/", True),
    ("gitdir:[[:nonsense:]]orkspace/", False),
    ("gitdir:[w-", False),
    ("gitdir:w?rkspace/", True),
    ("gitdir:w\\\\orkspace/", True),
    ("onbranch:main", True),
    ("onbranch:ma*", True),
    ("onbranch:topic/", False),
    ("onbranch:topic", False),
    ("hasconfig:remote.*.url:https://example.com/**", True),
    ("hasconfig:remote.*.url:https://example.org/**", False),
    ("hasconfig:remote.*.url:https://*/project", True),
    ("unknown:x", False),
    ("gitdir:", True),
    ("", False),
]


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS)
def test_an_include_under_a_condition_is_read_when_git_reads_it(
    workspace: Path,
    home: Path,
    condition: str,
    holds: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    git(workspace, "remote", "add", "origin", "https://example.com/project")
    (home / ".gitconfig").write_text(
        f'[include]\npath = use-one\n[includeIf "{condition}"]\npath = use-two\n'
    )
    wanted = str(home / ("two" if holds else "one"))
    assert said(workspace, home, monkeypatch) == wanted
    assert found(workspace, home) == wanted


def test_a_branch_below_another_name_matches_as_git_matches_it(
    workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(workspace, "checkout", "--quiet", "-b", "topic/a/b")
    for condition in ("topic/", "topic/*", "topic/**", "**/b", "topic/a/b", "*", "**"):
        (home / ".gitconfig").write_text(f'[includeIf "onbranch:{condition}"]\npath = use-two\n')
        assert found(workspace, home) == said(workspace, home, monkeypatch), condition


def test_the_systems_file_comes_first_and_can_be_left_out(
    workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "system").write_text("[include]\npath = use-one\n")
    for environ, wanted in (
        ({}, "one"),
        ({"GIT_CONFIG_NOSYSTEM": "1"}, None),
        ({"GIT_CONFIG_NOSYSTEM": "true"}, None),
        ({"GIT_CONFIG_NOSYSTEM": "0"}, "one"),
        ({"GIT_CONFIG_SYSTEM": str(home / "use-two")}, "two"),
    ):
        expected = None if wanted is None else str(home / wanted)
        assert said(workspace, home, monkeypatch, **environ) == expected
        assert found(workspace, home, **environ) == expected
    (home / ".gitconfig").write_text("[include]\npath = use-two\n")
    assert found(workspace, home) == said(workspace, home, monkeypatch) == str(home / "two")


def test_the_systems_file_lies_where_git_was_installed(tmp_path: Path) -> None:
    for name in ("bin", "etc"):
        (tmp_path / "prefix" / name).mkdir(parents=True)
    (tmp_path / "prefix/bin/git").touch()
    (tmp_path / "rules").write_text("x")
    (tmp_path / "prefix/etc/gitconfig").write_text(f"[core]\nexcludesFile = {tmp_path / 'rules'}\n")
    assert excludes_file({"PATH": f"relative:{tmp_path}/prefix/bin"}) == os.fsencode(
        tmp_path / "rules"
    )


def test_a_setting_of_the_environment_wins(
    workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".gitconfig").write_text("[include]\npath = use-one\n")
    environ = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "Core.ExcludesFile",
        "GIT_CONFIG_VALUE_0": str(home / "two"),
    }
    assert said(workspace, home, monkeypatch, **environ) == str(home / "two")
    assert found(workspace, home, **environ) == str(home / "two")


PIECES = ["w", "o", "workspace", ".git", "*", "**", "?", "/", "[a-z]", "[!x]", "[/]", "~/", "./"]


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(pattern=st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join))
def test_any_pattern_is_matched_as_git_matches_it(
    workspace: Path, home: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".gitconfig").write_text(f'[includeIf "gitdir:{pattern}"]\npath = use-two\n')
    assert found(workspace, home) == said(workspace, home, monkeypatch)


def test_a_hostile_pattern_takes_no_time() -> None:
    began = time.process_time()
    assert not matches(b"*a" * 200 + b"b", b"a" * 2000)
    assert not matches(b"**/a*" * 100 + b"b", b"a/" * 1000)
    assert time.process_time() - began < 10  # centuries otherwise
    assert not matches(b"*" * 5000, b"a")


def test_what_git_ignores_by_an_include_or_the_systems_file_is_not_deleted_by_a_rewind(
    workspace: Path, home: Path
) -> None:
    (home / "one").write_text("*.one\n")
    (home / "two").write_text("*.two\n")
    (home / "system").write_text("[include]\npath = use-one\n")
    (home / ".gitconfig").write_text('[includeIf "gitdir:workspace/"]\npath = use-two\n')
    environ = {
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GIT_CONFIG_SYSTEM": str(home / "system"),
        "GIT_CONFIG_NOSYSTEM": "0",
    }
    cli = Cli(workspace, environ)
    (workspace / "a").write_text("1")
    first = cli.ok("--json", "checkpoint").json["id"]
    for name in ("mine.two", "new"):
        (workspace / name).write_text("x")
    cli.run("rewind", first, "--files", "--yes")
    assert (workspace / "mine.two").read_text() == "x"
    assert not (workspace / "new").exists()
    (home / ".gitconfig").unlink()
    for name in ("kept.one", "new"):
        (workspace / name).write_text("x")
    cli.run("rewind", first, "--files", "--yes")
    assert (workspace / "kept.one").read_text() == "x"
    assert not (workspace / "new").exists()
