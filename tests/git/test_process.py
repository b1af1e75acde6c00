from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from takeback import errors
from takeback.git import process as repository
from takeback.git.process import Git, check_version, find_git
from tests.support.processes import reap


def script(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes started in this test; other tests leave detached ones behind."""
    spawn, pids = os.posix_spawn, []

    def spy(*args: Any, **keywords: Any) -> int:
        pids.append(spawn(*args, **keywords))
        return pids[-1]

    monkeypatch.setattr(os, "posix_spawn", spy)
    return pids


def assert_reaped(pids: list[int]) -> None:
    assert pids
    for pid in pids:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def test_git_is_found_in_absolute_entries_of_path_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    script(tmp_path / "here" / "git", "exit 1")
    wanted = script(tmp_path / "there" / "git", "exit 0")
    (tmp_path / "git").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = f":.:../here:{tmp_path}:{tmp_path / 'nowhere'}:{tmp_path / 'there'}"
    assert find_git({"PATH": path}) == wanted


def test_a_missing_git_is_unusable_with_a_hint(tmp_path: Path):
    with pytest.raises(errors.GitUnusable) as caught:
        find_git({"PATH": str(tmp_path)})
    assert "2.39" in caught.value.hint


def test_the_version_of_the_real_git_is_accepted(program: str):
    assert check_version(program) >= (2, 39)


@pytest.mark.parametrize("said", ["git version 2.38.1", "git version 1.9", "git version x", ""])
def test_an_old_or_strange_git_is_unusable(tmp_path: Path, said: str):
    with pytest.raises(errors.GitUnusable):
        check_version(script(tmp_path / "git", f"echo '{said}'"))


@pytest.mark.parametrize("said", ["2.39.5 (Apple Git-154)", "2.50.0.windows.1", "3.0.rc1"])
def test_versions_with_more_words_are_read(tmp_path: Path, said: str):
    assert check_version(script(tmp_path / "git", f"echo 'git version {said}'")) >= (2, 39)


def test_a_program_that_does_not_start_is_unusable(tmp_path: Path):
    before = descriptors()
    with pytest.raises(errors.GitUnusable, match="does not start"):
        Git(str(tmp_path / "gone"), str(tmp_path)).run(["version"])
    assert descriptors() == before


def test_a_relative_path_is_refused(program: str):
    for paths in ((program, "store.git"), ("git", "/tmp")):
        with pytest.raises(ValueError, match="absolute"):
            Git(*paths)


def test_large_input_and_output_do_not_block_each_other(git: Git):
    before = descriptors()
    data = os.urandom(1 << 20) * 8
    oid = git.run(["hash-object", "-w", "--stdin"], stdin=data).decode().strip()
    assert git.run(["cat-file", "blob", oid]) == data
    many = f"{oid}\n".encode() * 20_000
    assert git.run(["cat-file", "--batch-check=%(objectname)"], stdin=many) == many
    assert descriptors() == before


def test_a_failure_carries_arguments_status_and_last_line(git: Git):
    with pytest.raises(errors.GitFailed) as caught:
        git.run(["cat-file", "blob", "0" * 40])
    assert caught.value.argv == ("cat-file", "blob", "0" * 40)
    assert caught.value.status == 128
    assert caught.value.last_line.startswith("fatal:")


def test_a_status_that_was_expected_is_no_failure(git: Git):
    assert git.run(["cat-file", "-e", "0" * 40], ok=(0, 1, 128)) == b""


def test_unread_input_is_no_failure(git: Git):
    assert git.run(["version"], stdin=bytes(1 << 20)).startswith(b"git version")


@pytest.mark.slow
def test_a_hanging_git_and_its_children_are_ended_at_the_limit(tmp_path: Path, spawned: list[int]):
    alive = tmp_path / "alive"
    program = script(tmp_path / "git", f"(sleep 3; touch {alive}) & sleep 30")
    before = descriptors()
    start = time.monotonic()
    with pytest.raises(errors.TimedOut):
        Git(program, str(tmp_path)).run(["anything"], timeout=0.2)
    assert time.monotonic() - start < 20  # not until it ends by itself
    assert descriptors() == before
    assert_reaped(spawned)
    time.sleep(3)
    assert not alive.exists()


def test_a_git_that_never_reads_is_ended_at_the_limit(tmp_path: Path):
    program = script(tmp_path / "git", "sleep 30")
    with pytest.raises(errors.TimedOut):
        Git(program, str(tmp_path)).run(["x"], stdin=bytes(1 << 20), timeout=0.2)


def test_a_git_that_closes_its_output_and_stays_is_ended_at_the_limit(tmp_path: Path):
    program = script(tmp_path / "git", "exec >&- 2>&-; sleep 30")
    with pytest.raises(errors.TimedOut):
        Git(program, str(tmp_path)).run(["x"], timeout=0.2)


def test_a_git_killed_by_a_signal_is_a_failure(tmp_path: Path):
    program = script(tmp_path / "git", "kill -9 $$")
    with pytest.raises(errors.GitFailed) as caught:
        Git(program, str(tmp_path)).run(["x"])
    assert caught.value.status == -9


def test_a_long_lived_git_answers_again_and_again(git: Git):
    oid = git.run(["hash-object", "-w", "--stdin"], stdin=b"hello").decode().strip()
    process = git.spawn(["cat-file", "--batch"])
    try:
        for _ in range(50):
            expected = f"{oid} blob 5\nhello\n".encode()
            answer = process.ask(f"{oid}\n".encode(), lambda said: said.endswith(b"hello\n"))
            assert answer == expected
        many = f"{oid}\n".encode() * 20_000
        size = len(expected) * 20_000
        assert len(process.ask(many, lambda said: len(said) == size)) == size
        assert process.finish().status == 0
    finally:
        process.close()


def test_a_long_lived_git_that_ends_is_a_failure(git: Git):
    process = git.spawn(["cat-file", "--no-such-option"])
    with pytest.raises(errors.GitFailed) as caught:
        process.ask(b"x\n", lambda said: True)
    assert caught.value.status == 129
    process.close()
    process.close()


def test_a_long_lived_git_that_says_nothing_is_ended(git: Git, spawned: list[int]):
    before = descriptors()
    process = git.spawn(["cat-file", "--batch"])
    with pytest.raises(errors.TimedOut):
        process.ask(b"", lambda said: True, timeout=0.2)
    process.close()
    assert descriptors() == before
    assert_reaped(spawned)


def test_closing_ends_a_running_git(git: Git, spawned: list[int]):
    before = descriptors()
    git.spawn(["cat-file", "--batch"]).close()
    assert descriptors() == before
    assert_reaped(spawned)


def test_the_ignore_rules_of_a_work_tree_can_be_asked(git: Git, tmp_path: Path):
    work = tmp_path / "work"
    work.mkdir()
    (work / ".gitignore").write_text("*.log\n!keep.log\n")
    process = git.spawn(
        ["check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"], work_tree=str(work)
    )
    try:
        said = process.ask(b"./a.log\0./b\0./:odd\0", lambda said: said.count(b"\0") == 12)
    finally:
        process.close()
    fields = said.split(b"\0")
    assert [fields[i + 2 : i + 4] for i in (0, 4, 8)] == [
        [b"*.log", b"./a.log"],
        [b"", b"./b"],
        [b"", b"./:odd"],
    ]


def poison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sets up everything by which an environment can make git run or read something else."""
    ran = tmp_path / "ran"
    evil = script(tmp_path / "evil", f"touch {ran}")
    home = tmp_path / "home"
    (home / "hooks").mkdir(parents=True)
    for hook in ("post-index-change", "reference-transaction", "pre-auto-gc", "pre-commit"):
        script(home / "hooks" / hook, f"touch {ran}")
    (home / ".gitconfig").write_text(
        f"[core]\nhooksPath = {home}/hooks\nfsmonitor = {evil}\npager = {evil}\n"
        f"[diff]\nexternal = {evil}\n[alias]\nx = !{evil}\n[fsck]\nbadFilemode = error\n"
    )
    for name, value in {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "GIT_DIR": str(tmp_path / "elsewhere"),
        "GIT_WORK_TREE": str(tmp_path / "elsewhere"),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "elsewhere"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(tmp_path / "elsewhere"),
        "GIT_COMMON_DIR": str(tmp_path / "elsewhere"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": f"{home}/hooks",
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={evil}'",
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GIT_EXTERNAL_DIFF": evil,
        "GIT_PAGER": evil,
        "GIT_EDITOR": evil,
        "GIT_SSH_COMMAND": evil,
        "GIT_EXEC_PATH": str(tmp_path),
        "GIT_TEMPLATE_DIR": str(home),
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_NAMESPACE": "evil",
        "GIT_LITERAL_PATHSPECS": "1",
        "LD_PRELOAD_NOT": "x",
    }.items():
        monkeypatch.setenv(name, value)
    return ran


def test_a_poisoned_environment_has_no_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
):
    ran = poison(tmp_path, monkeypatch)
    git_dir = str(tmp_path / "store.git")
    git = Git(program, git_dir)
    repository.init(git_dir)
    work = tmp_path / "work"
    work.mkdir()
    (work / "f").write_text("x")
    oid = git.run(["hash-object", "-w", "--stdin"], stdin=b"x").decode().strip()
    git.run(["update-index", "--add", "f"], work_tree=str(work))
    tree = git.run(["write-tree"]).decode().strip()
    git.run(
        [
            "update-ref",
            "refs/takeback/x",
            git.run(
                ["commit-tree", tree],
                env={
                    "GIT_AUTHOR_NAME": "a",
                    "GIT_AUTHOR_EMAIL": "a",
                    "GIT_COMMITTER_NAME": "a",
                    "GIT_COMMITTER_EMAIL": "a",
                },
            )
            .decode()
            .strip(),
        ]
    )
    git.run(["diff-tree", "-p", "--no-ext-diff", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", tree])
    assert Path(f"{git_dir}/objects/{oid[:2]}/{oid[2:]}").exists()
    assert repository.fsck(git) == []
    assert not ran.exists()
    assert not (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "index").exists()
    assert not (tmp_path / "trace").exists()
    assert not (Path(git_dir) / "hooks").exists()
    with pytest.raises(errors.GitFailed):
        git.run(["x"])  # the alias of the poisoned configuration


def test_git_sees_no_variable_that_was_not_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    poison(tmp_path, monkeypatch)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    program = script(tmp_path / "git", "exec env -0")
    said = Git(program, str(tmp_path)).run(["x"], env={"GIT_ALLOW_PROTOCOL": "file"})
    seen = dict(line.split("=", 1) for line in said.decode().split("\0") if line)
    assert seen.pop("GIT_DIR") == str(tmp_path)
    assert seen.pop("GIT_ALLOW_PROTOCOL") == "file"
    assert seen.pop("TMPDIR") == str(tmp_path)
    assert set(seen) - {"PWD", "_", "SHLVL", "OLDPWD"} == {
        "PATH",
        "LC_ALL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_GLOBAL",
        "GIT_ATTR_NOSYSTEM",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_NO_LAZY_FETCH",
        "GIT_TERMINAL_PROMPT",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
        "GIT_OPTIONAL_LOCKS",
        "GIT_PAGER",
    }


def test_fetching_from_anywhere_is_off(git: Git, tmp_path: Path):
    for address in (
        f"file://{tmp_path}",
        "https://127.0.0.1:1/x",
        f"ext::sh -c touch% {tmp_path}/ran",
    ):
        with pytest.raises(errors.GitFailed):
            git.run(["ls-remote", address], timeout=10)
    assert not (tmp_path / "ran").exists()


def test_git_leaves_no_way_to_the_terminal_or_our_group(tmp_path: Path):
    program = script(tmp_path / "git", "ps -o pgid= -p $$ 2>/dev/null || echo $$")
    group = int(Git(program, str(tmp_path)).run(["x"]))
    assert group != os.getpgid(0)


def test_git_works_when_the_host_program_has_closed_its_standard_streams(git: Git):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            for fd in (0, 1, 2):
                os.close(fd)
            data = b"x" * 100_000
            oid = git.run(["hash-object", "-w", "--stdin"], stdin=data).decode().strip()
            status = 0 if git.run(["cat-file", "blob", oid]) == data else 2
        finally:
            os._exit(status)
    assert reap(pid) == 0
