"""A. What is captured, exactly: whatever state the project's git is in (9 to 11, 16 to 18)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cli import Answer, Cli
from tests.support.git import git
from tests.support.journey import (
    checkpoint,
    comes_back,
    commit_all,
    log,
    not_held,
    path_of,
    paths,
    rewind,
    same,
    shell,
    store_of,
    undo,
    write_files,
)
from tests.support.trees import git_state
from tests.support.unprivileged import unprivileged

_FILES = {
    ".gitignore": b"*.log\nbuild/\n",
    "tracked.txt": b"tracked\n",
    "deleted.txt": b"deleted later\n",
    "sub/tracked.txt": b"in a directory\n",
    "away/tracked.txt": b"in another one\n",
    "kept.log": b"tracked although ignored\n",
    "build/kept.txt": b"tracked in an ignored directory\n",
}


def _committed(root: Path) -> None:
    write_files(root, _FILES)
    git(root, "add", "--all", "--force")
    git(root, "commit", "--quiet", "--message=all")
    write_files(root, {"untracked.txt": b"untracked\n", "ignored.log": b"ignored\n"})


def _anew(root: Path, *options: str) -> None:
    shutil.rmtree(root / ".git", ignore_errors=True)
    git(root, "init", "--quiet", "--initial-branch=main", *options)


def _assume_unchanged(root: Path) -> None:
    _committed(root)
    git(root, "update-index", "--assume-unchanged", "tracked.txt", "deleted.txt", "kept.log")


def _skip_worktree(root: Path) -> None:
    _committed(root)
    git(root, "update-index", "--skip-worktree", "tracked.txt", "deleted.txt", "kept.log")


def _intent_to_add(root: Path) -> None:
    _committed(root)
    git(root, "add", "--intent-to-add", "untracked.txt")
    git(root, "add", "--intent-to-add", "--force", "ignored.log")


def _sparse_checkout(root: Path) -> None:
    _committed(root)
    git(root, "sparse-checkout", "set", "sub", "build")
    assert not (root / "away").exists()


def _sparse_index(root: Path) -> None:
    _committed(root)
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "sub", "build")
    assert not (root / "away").exists()


def _split_index(root: Path) -> None:
    _committed(root)
    git(root, "config", "splitIndex.maxPercentChange", "100")
    git(root, "update-index", "--split-index")
    write_files(root, {"second.log": b"tracked in the upper half\n"})
    git(root, "add", "--force", "second.log")
    git(root, "rm", "--quiet", "--cached", "build/kept.txt")
    git(root, "add", "--force", "build/kept.txt")
    assert list((root / ".git").glob("sharedindex.*"))


def _index_version_4(root: Path) -> None:
    _committed(root)
    git(root, "update-index", "--index-version", "4")


def _index_with_extensions(root: Path) -> None:
    _committed(root)
    git(root, "config", "index.recordEndOfIndexEntries", "true")
    git(root, "config", "index.recordOffsetTable", "true")
    git(root, "config", "index.threads", "2")
    git(root, "update-index", "--force-untracked-cache")
    git(root, "status")


def _unmerged(root: Path) -> None:
    _committed(root)
    for branch, content in (("one", b"one\n"), ("two", b"two\n")):
        git(root, "checkout", "--quiet", "-b", branch, "main")
        write_files(root, {"tracked.txt": content, "kept.log": content})
        git(root, "commit", "--quiet", "--all", "--message=" + branch)
    with pytest.raises(AssertionError):
        git(root, "merge", "one")
    assert git(root, "ls-files", "--unmerged")


def _held_locks(root: Path) -> None:
    _committed(root)
    for name in ("index.lock", "HEAD.lock", "config.lock", "refs/heads/main.lock"):
        (root / ".git" / name).write_bytes(b"")


def _unborn(root: Path) -> None:
    write_files(root, _FILES)
    git(root, "add", "--force", "kept.log", "build/kept.txt")


def _no_index(root: Path) -> None:
    # Nothing is tracked, so what is ignored stays ignored.
    write_files(root, {**_FILES, ".gitignore": b""})
    assert not (root / ".git" / "index").exists()


def _detached(root: Path) -> None:
    _committed(root)
    git(root, "checkout", "--quiet", "--detach")


def _sha256(root: Path) -> None:
    _anew(root, "--object-format=sha256")
    _committed(root)


def _reftable(root: Path) -> None:
    try:
        _anew(root, "--ref-format=reftable")
        _committed(root)
    except AssertionError:  # git before 2.45 makes none: the same files, as a newer one leaves them
        _anew(root)
        _committed(root)
        git(root, "config", "core.repositoryFormatVersion", "1")
        git(root, "config", "extensions.refStorage", "reftable")
        shutil.rmtree(root / ".git" / "refs")
        (root / ".git" / "HEAD").write_bytes(b"ref: refs/heads/.invalid\n")
        write_files(
            root / ".git",
            {
                "refs/heads": b"this repository uses the reftable format\n",
                "reftable/tables.list": b"0x000000000001-0x000000000002-ab12cd34.ref\n",
                "reftable/0x000000000001-0x000000000002-ab12cd34.ref": b"REFT\x01",
            },
        )


def _separate_git_directory(root: Path) -> None:
    _anew(root, "--separate-git-dir", str(root.parent / "elsewhere.git"))
    _committed(root)


def _no_identity(root: Path) -> None:
    _committed(root)
    git(root, "config", "user.useConfigOnly", "true")
    tried = subprocess.run(["git", "var", "GIT_AUTHOR_IDENT"], cwd=root, capture_output=True)
    assert tried.returncode != 0, "the test has an identity"


def _unsafe_directory(root: Path) -> None:
    _committed(root)
    try:
        for path in [root / ".git", *(root / ".git").rglob("*")]:
            os.chown(path, os.geteuid() + 1, -1)
    except PermissionError:
        pytest.skip("only root can give a directory to another user")
    tried = subprocess.run(["git", "status"], cwd=root, capture_output=True)
    assert b"dubious ownership" in tried.stderr, "git itself trusts it"


def _damaged_repository(root: Path) -> None:
    _committed(root)
    shutil.rmtree(root / ".git" / "objects")
    (root / ".git" / "config").write_bytes(b"[core\nthis is no configuration")


_STATES: tuple[tuple[Callable[[Path], None], tuple[str, ...]], ...] = (
    (_assume_unchanged, ()),
    (_skip_worktree, ()),
    (_intent_to_add, ()),
    (_sparse_checkout, ()),
    (_sparse_index, ()),
    (_split_index, ()),
    (_index_version_4, ()),
    (_index_with_extensions, ()),
    (_unmerged, ("--during-git",)),
    (_held_locks, ()),
    (_unborn, ()),
    (_no_index, ()),
    (_detached, ()),
    (_sha256, ()),
    (_reftable, ()),
    (_separate_git_directory, ()),
    (_no_identity, ()),
    (_unsafe_directory, ()),
    (_damaged_repository, ()),
)


@pytest.mark.parametrize(
    ("arrange", "flags"), _STATES, ids=[state.__name__.strip("_") for state, _ in _STATES]
)
def test_09_captures_work_in_every_state_of_git(
    cli: Cli, workspace: Path, arrange: Callable[[Path], None], flags: tuple[str, ...]
) -> None:
    """assume-unchanged, skip-worktree, intent-to-add, sparse checkout, split index, an unmerged
    index, a held index.lock, an unborn HEAD, a detached HEAD, a sha256 or reftable repository,
    no git identity, safe.directory: captures work as ever."""
    arrange(workspace)

    def change() -> None:
        for name in ("tracked.txt", "kept.log", "build/kept.txt", "sub/tracked.txt"):
            if (workspace / name).exists():
                (workspace / name).write_bytes(b"changed\n")
        (workspace / "deleted.txt").unlink(missing_ok=True)
        write_files(workspace, {"new.txt": b"new\n", "away/new.txt": b"new\n"})

    at = comes_back(cli, workspace, change, *flags)
    assert cli.ok("--json", "show", at).json["complete"] is True


def test_10_a_directory_without_git_works_the_same(tmp_path: Path) -> None:
    """A directory without git works the same."""
    plain = tmp_path / "plain"
    write_files(plain, _FILES)
    (plain / "empty").mkdir()
    os.symlink("tracked.txt", plain / "link")
    cli = Cli(plain)

    def change() -> None:
        shell(plain, "echo more >> tracked.txt; rm -r deleted.txt empty link; echo new > new.txt")

    at = comes_back(cli, plain, change)
    # Nothing is tracked here, so what .gitignore names is not part of the snapshot.
    assert not_held(cli, at) == {b"kept.log": "ignored", b"build": "ignored"}
    # A `git init` later does not make it another workspace.
    git(plain, "init", "--quiet")
    git_before = git_state(plain, identity=True)
    rewind(cli, at)
    assert (plain / "deleted.txt").read_bytes() == _FILES["deleted.txt"]
    same(git_before, git_state(plain, identity=True))


def test_11_the_whole_workspace_from_anywhere_in_it(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    """Started in a sub-directory, the whole workspace is captured and restored; a linked worktree
    is its own workspace and never restores another's state."""
    _committed(workspace)
    below = Cli(workspace / "sub")

    def change() -> None:
        shell(workspace, "echo more >> tracked.txt; rm deleted.txt; echo x > sub/new.txt")

    at = comes_back(below, workspace, change)
    assert [line["id"] for line in log(cli)] == [at]
    # A path is meant from where the command is started.
    done = rewind(below, at, "--", "../tracked.txt", "new.txt")
    assert paths(done["written"]) == {b"tracked.txt"}
    assert paths(done["deleted"]) == {b"sub/new.txt"}
    assert below.ok("cat", at, "tracked.txt").stdout_bytes == _FILES["sub/tracked.txt"]
    rewind(below, at)
    plain = tmp_path / "plain"
    write_files(plain, {"top.txt": b"top", "a/b/deep.txt": b"deep"})
    checkpoint(Cli(plain))
    assert len(log(Cli(plain / "a" / "b"))) == 1, "no second workspace inside one that has a store"
    _worktrees_are_apart(cli, workspace, tmp_path / "beside")


def _worktrees_are_apart(cli: Cli, workspace: Path, beside: Path) -> None:
    git(workspace, "worktree", "add", "--quiet", "-b", "feature", str(beside))
    git(workspace, "worktree", "add", "--quiet", "-b", "inside", "nested/tree")
    inside = workspace / "nested" / "tree"
    mine = checkpoint(cli)
    ours: dict[Path, str] = {}
    for tree in (beside, inside):
        (tree / "tracked.txt").write_bytes(b"of this worktree\n")
        ours[tree] = checkpoint(Cli(tree / "sub"))
        assert [line["id"] for line in log(Cli(tree))] == [ours[tree]]
        refused = Cli(tree).run("--json", "rewind", mine, "--yes")
        assert refused.status == 12, str(refused)
    assert not_held(cli, mine)[b"nested/tree"] == "other workspace"
    assert not {line["id"] for line in log(cli)} & set(ours.values())
    (beside / "tracked.txt").write_bytes(b"changed there\n")
    (inside / "tracked.txt").write_bytes(b"changed there\n")
    (workspace / "tracked.txt").write_bytes(b"changed here\n")
    git_before = git_state(workspace, identity=True)
    done = rewind(cli, mine)
    assert paths(done["written"]) == {b"tracked.txt"}
    for tree in (beside, inside):
        assert (tree / "tracked.txt").read_bytes() == b"changed there\n"
        rewind(Cli(tree), ours[tree])
        assert (tree / "tracked.txt").read_bytes() == b"of this worktree\n"
    assert (workspace / "tracked.txt").read_bytes() == _FILES["tracked.txt"]
    same(git_before, git_state(workspace, identity=True))


def _looking_commands(cli: Cli, at: str) -> Iterator[Answer]:
    """Runs every command that is not a rewind."""
    for args in (
        ("checkpoint",),
        ("checkpoint", "-m", "a label"),
        ("status",),
        (),
        ("log",),
        ("log", "--all"),
        ("log", "--operations"),
        ("show", at),
        ("diff", at),
        ("diff", at, "--stat"),
        ("diff", at, "@"),
        ("cat", at, "tracked.txt"),
        ("label", at, "another label"),
        ("label", at),
        ("--dry-run", "rewind", at),
        ("--dry-run", "rewind", at, "--ignored"),
        ("verify",),
        ("verify", "--read-data"),
        ("doctor",),
        ("doctor", "--rebuild"),
        ("config",),
        ("completion", "bash"),
        ("--help",),
    ):
        yield cli.ok(*args)


def _busy_project(workspace: Path) -> None:
    """A project with a stash, reflogs, staged and racy files, hooks, packed and loose refs."""
    _committed(workspace)
    write_files(workspace, {"tracked.txt": b"stashed\n"})
    git(workspace, "stash", "push", "--quiet")
    git(workspace, "tag", "packed")
    git(workspace, "pack-refs", "--all")
    git(workspace, "branch", "loose")
    write_files(workspace, {"staged.txt": b"staged\n", "tracked.txt": b"not staged\n"})
    git(workspace, "add", "staged.txt")
    hook = workspace / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    (workspace / ".git" / "a file of mine").write_bytes(b"mine")
    # Same bytes, new time: `git status` would write the index anew.
    os.utime(workspace / "deleted.txt")


def test_16_the_projects_git_is_never_touched(cli: Cli, workspace: Path) -> None:
    """The project's .git (every byte under it), index, HEAD, stash, reflog, config are the same
    before and after every command."""
    _busy_project(workspace)
    before = git_state(workspace, identity=True)
    at = checkpoint(cli)
    same(before, git_state(workspace, identity=True))
    shell(workspace, "echo more >> tracked.txt; rm staged.txt deleted.txt; mkdir -p x; echo > x/y")
    for answer in _looking_commands(cli, at):
        now = git_state(workspace, identity=True)
        assert now == before, f"{answer.argv} touched .git"
    for args in (("rewind", at), ("undo",), ("redo",), ("undo",), ("rewind", at, "--ignored")):
        cli.ok(*args, "--yes")
        same(before, git_state(workspace, identity=True))


def _marks(root: Path) -> dict[bytes, tuple[int, ...]]:
    """Returns all that a write leaves behind, of the directories and of .git too."""
    found: dict[bytes, tuple[int, ...]] = {}
    for base, directories, files in os.walk(os.fsencode(root)):
        for name in (b"", *directories, *files):
            path = os.path.join(base, name)
            status = os.lstat(path)
            found[path] = (
                status.st_ino,
                status.st_mode,
                status.st_size,
                status.st_mtime_ns,
                status.st_ctime_ns,
            )
    return found


def test_17_only_a_rewind_writes_into_the_workspace(cli: Cli, workspace: Path) -> None:
    """Nothing is written into the workspace except by a rewind."""
    _busy_project(workspace)
    before = _marks(workspace)
    at = checkpoint(cli)
    assert _marks(workspace) == before
    shell(workspace, "echo more >> tracked.txt; rm staged.txt; echo new > sub/new.txt")
    before = _marks(workspace)
    for answer in _looking_commands(cli, at):
        assert _marks(workspace) == before, f"{answer.argv} wrote into the workspace"
    answer = cli.run("rewind", at)
    assert answer.status == 13, str(answer)
    assert _marks(workspace) == before
    # Nor does it need to: a workspace that cannot be written is captured all the same.
    shell(workspace, "chmod -R a-w .")
    try:
        bare = unprivileged(cli)
        assert cli.ok("--json", "checkpoint").json["complete"] is True
        made = bare.ok("--json", "checkpoint").json
        assert made["complete"] is True
        assert bare.ok("cat", made["id"], "sub/new.txt").stdout_bytes == b"new\n"
    finally:
        shell(workspace, "chmod -R u+w .")
    # A rewind writes what the plan says, and leaves nothing else behind.
    rewind(cli, at)
    undo(cli)
    assert set(_marks(workspace)) == set(before)


def test_18_a_git_hooks_environment_changes_nothing(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    """Running inside a git hook (GIT_DIR, GIT_INDEX_FILE, ... set) changes nothing of the above."""
    _committed(workspace)
    plain_answer = cli.ok("--json", "checkpoint").json
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    write_files(other, {"other.txt": b"of the other repository\n"})
    commit_all(other)
    canary = tmp_path / "canary"
    template = tmp_path / "template"
    write_files(template, {"hooks/post-index-change": b"#!/bin/sh\ntouch %s\n" % bytes(canary)})
    (template / "hooks" / "post-index-change").chmod(0o755)
    poisoned = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_COMMON_DIR": str(other / ".git"),
        "GIT_INDEX_FILE": str(other / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git" / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(workspace / ".git" / "objects"),
        "GIT_QUARANTINE_PATH": str(other / ".git" / "objects"),
        "GIT_NAMESPACE": "elsewhere",
        "GIT_PREFIX": "sub/",
        "GIT_CEILING_DIRECTORIES": str(tmp_path),
        "GIT_DEFAULT_HASH": "sha256",
        "GIT_TEMPLATE_DIR": str(template),
        "GIT_EXEC_PATH": str(tmp_path / "no-such-directory"),
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "0",
        "GIT_REPLACE_REF_BASE": "refs/heads",
        "GIT_EXTERNAL_DIFF": f"touch {canary}",
        "GIT_PAGER": f"touch {canary}",
        "GIT_EDITOR": f"touch {canary}",
        "GIT_SSH_COMMAND": f"touch {canary}",
        "GIT_TRACE": str(canary),
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_CONFIG_KEY_1": "core.fsmonitor",
        "GIT_CONFIG_VALUE_1": f"touch {canary}",
        "GIT_CONFIG_PARAMETERS": "'core.hooksPath'='/nonexistent'",
        "GIT_AUTHOR_DATE": "not a date",
    }
    hooked = Cli(workspace, env=poisoned)
    before, other_before = git_state(workspace, identity=True), git_state(other, identity=True)
    assert hooked.ok("--json", "checkpoint").json["snapshot"] == plain_answer["snapshot"]
    # Its own home: the store is made, maintained and read in that environment, too.
    hooked = Cli(workspace, env={**poisoned, "TAKEBACK_HOME": str(tmp_path / "second")})

    def change() -> None:
        shell(workspace, "echo more >> tracked.txt; rm deleted.txt; echo new > new.txt")
        (workspace / "kept.log").write_bytes(b"changed\n")

    at = comes_back(hooked, workspace, change)
    made = hooked.ok("--json", "show", at).json
    assert made["snapshot"] == plain_answer["snapshot"]
    changed = hooked.ok("--json", "diff", at, "--stat").json["changes"]
    assert {path_of(item) for item in changed} == {
        b"tracked.txt",
        b"deleted.txt",
        b"new.txt",
        b"kept.log",
    }
    assert hooked.ok("diff", at).stdout.count("diff --git") == 4
    hooked.ok("verify", "--read-data")
    hooked.doctor()
    same(before, git_state(workspace, identity=True))
    same(other_before, git_state(other, identity=True))
    assert not canary.exists(), "something of the hook's environment was run or written"
    _in_a_real_hook(cli, workspace)


def _in_a_real_hook(cli: Cli, workspace: Path) -> None:
    """git commit -a and git commit FILE give their hooks an index of their own."""
    hook = workspace / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    told = workspace.parent / "told"
    hook.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m takeback --json checkpoint > "{told}" 2>&1\n'
    )
    hook.chmod(0o755)
    for options in (("--all",), ("--", "kept.log")):
        count = len(log(cli))
        write_files(workspace, {"tracked.txt": b"for %d\n" % count, "kept.log": b"%d\n" % count})
        git(workspace, "commit", "--quiet", "--message=hooked", *options)
        assert len(log(cli)) == count + 1, told.read_text()
        assert git(workspace, "show", "HEAD:kept.log") == b"%d\n" % count
        assert cli.ok("cat", "@", "tracked.txt").stdout_bytes == b"for %d\n" % count
        git(workspace, "fsck", "--strict")
    assert git(workspace, "diff", "--name-only").splitlines() == [b"tracked.txt"]
    assert store_of(cli).is_dir()
