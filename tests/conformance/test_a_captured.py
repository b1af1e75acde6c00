"""A. What is captured, exactly: content, modes, links, names, repositories (1 to 8)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import Cli
from tests.support.git import git, new_repository
from tests.support.journey import (
    checkpoint,
    comes_back,
    commit_all,
    not_held,
    paths,
    reasons,
    rewind,
    same,
    shell,
    undo,
    write_files,
)
from tests.support.trees import Entry, git_state, tree_state

_EVERY_BYTE = bytes(range(256)) * 40


def test_01_every_kind_of_file_comes_back_byte_for_byte(cli: Cli, workspace: Path) -> None:
    """Tracked, untracked, deleted, renamed, binary and empty files come back byte for byte,
    whichever tool or shell command changed them."""
    write_files(
        workspace,
        {
            "edited.txt": b"one\ntwo\n",
            "appended.txt": b"no newline at the end",
            "deleted.txt": b"deleted by rm\n",
            "renamed.txt": b"renamed by git mv\n",
            "moved/whole/directory.txt": b"moved by mv\n",
            "binary.bin": _EVERY_BYTE,
            "emptied.txt": b"emptied by the shell\n",
            "empty.txt": b"",
            "becomes-a-directory": b"a file\n",
            "becomes-a-file/inside.txt": b"inside\n",
            "deep/a/b/c/d.txt": b"deep\n",
        },
    )
    commit_all(workspace)
    write_files(
        workspace,
        {
            "untracked.txt": b"untracked, edited\n",
            "untracked-deleted.txt": b"untracked, deleted\n",
            "untracked-empty": b"",
            "staged.txt": b"staged only\n",
        },
    )
    git(workspace, "add", "staged.txt")

    def change() -> None:
        shell(
            workspace,
            """
            sed -i.orig s/one/1/ edited.txt
            printf ' now' >> appended.txt
            rm deleted.txt untracked-deleted.txt untracked-empty
            git mv renamed.txt renamed-again.txt
            mv moved elsewhere
            printf '\\0\\377' | dd of=binary.bin bs=1 seek=5000 conv=notrunc
            : > emptied.txt
            printf 'not empty' > empty.txt
            rm becomes-a-directory && mkdir becomes-a-directory && echo in > becomes-a-directory/f
            rm -r becomes-a-file && echo out > becomes-a-file
            echo more >> untracked.txt
            git rm --quiet --cached staged.txt
            cp binary.bin copy.bin
            tr a b < deep/a/b/c/d.txt > new.txt
            rm -r deep
            """,
        )
        code = "open('by-python.txt', 'wb').write(bytes(range(256)))"
        subprocess.run([sys.executable, "-c", code], cwd=workspace, check=True)

    comes_back(cli, workspace, change)


def test_02_no_conversion_of_git_changes_a_byte(cli: Cli, workspace: Path, tmp_path: Path) -> None:
    """CRLF, text=auto, eol=, ident, working-tree-encoding, LFS and any clean/smudge filter do
    not change a byte; a required filter that is not installed does not stop a capture."""
    canary = tmp_path / "canary"
    settings = f"""
[core]
    autocrlf = true
    safecrlf = true
    eol = crlf
    fsmonitor = touch {canary}
    hooksPath = {tmp_path}/hooks
[filter "lfs"]
    clean = takeback-test-no-such-program clean %f
    smudge = takeback-test-no-such-program smudge %f
    process = takeback-test-no-such-program process
    required = true
[filter "evil"]
    clean = touch {canary}; tr a-z A-Z
    smudge = touch {canary}; tr A-Z a-z
    required = true
"""
    (tmp_path / "hooks").mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        hook = tmp_path / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
        hook.chmod(0o755)
    with (workspace / ".git" / "config").open("a") as file:
        file.write(settings)
    owner = tmp_path / "gitconfig"
    owner.write_text(settings)
    cli = Cli(workspace, env={"GIT_CONFIG_GLOBAL": str(owner)})
    mixed = b"one\r\ntwo\nthree\r\r\nfour\r$Id$\n$Id: 0123456789 $\r\n"
    files = {
        ".gitattributes": b"*.auto text=auto\n*.auto2 text=auto eol=crlf\n*.crlf text eol=crlf\n"
        b"*.lf text eol=lf\n*.id text ident\n*.wide text working-tree-encoding=UTF-16LE-BOM\n"
        b"*.odd text working-tree-encoding=no-such-encoding\n"
        b"*.lfs filter=lfs diff=lfs merge=lfs -text\n*.evil filter=evil\n",
        "plain.txt": mixed,
        "mixed.auto": mixed,
        "mixed.auto2": mixed,
        "mixed.crlf": mixed,
        "mixed.lf": mixed,
        "mixed.id": mixed,
        "right.wide": b"\xff\xfe" + "grün\r\n".encode("utf-16-le"),
        "wrong.wide": b"\xfe\xffodd number of bytes",
        "some.odd": mixed,
        "pointer.lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:"
        + b"0" * 64
        + b"\nsize 12\n",
        "big.lfs": _EVERY_BYTE,
        "some.evil": b"Lower and UPPER\n",
        "sub/.gitattributes": b"* text=auto eol=crlf ident\n",
        "sub/mixed": mixed,
    }
    write_files(workspace, files)

    def change() -> None:
        for name in files:
            if not name.endswith(".gitattributes"):
                path = workspace / name
                # Line endings alone: to git with text=auto this is no change at all.
                path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
        (workspace / "some.evil").write_bytes(b"LOWER AND UPPER\n")
        (workspace / "big.lfs").write_bytes(_EVERY_BYTE[::-1])

    comes_back(cli, workspace, change)
    assert not canary.exists(), "a hook or filter of the project was run"


@pytest.mark.parametrize(
    ("file_mode", "umask"),
    [("true", 0o000), ("false", 0o077)],
    ids=["umask-000", "fileMode-false-umask-077"],
)
def test_03_modes_come_back_in_full(cli: Cli, workspace: Path, file_mode: str, umask: int) -> None:
    """Modes of files and directories come back in full (0600 stays 0600, 0700 stays 0700, +x
    both ways) also with core.fileMode=false; setuid is never created."""
    git(workspace, "config", "core.fileMode", file_mode)
    file_modes = (0o400, 0o444, 0o500, 0o555, 0o600, 0o640, 0o644, 0o664, 0o700, 0o755, 0o777)
    directory_modes = (0o700, 0o711, 0o750, 0o755, 0o775, 0o777)
    for what in ("changed", "deleted"):
        for mode in file_modes:
            write_files(workspace, {f"{what}-{mode:o}": b"%o" % mode})
            (workspace / f"{what}-{mode:o}").chmod(mode)
        for mode in directory_modes:
            write_files(workspace, {f"{what}-dir-{mode:o}/file": b"%o" % mode})
            (workspace / f"{what}-dir-{mode:o}").chmod(mode)
    write_files(workspace, {"closed/file": b"in a directory that takes no new names"})
    (workspace / "closed").chmod(0o555)

    def change() -> None:
        for mode in file_modes:
            # +x where there was none and the other way round, and every other bit as well
            (workspace / f"changed-{mode:o}").chmod((mode ^ 0o177) | 0o400)
        for mode in directory_modes:
            (workspace / f"changed-dir-{mode:o}").chmod(0o700 if mode != 0o700 else 0o755)
        (workspace / "closed").chmod(0o755)
        shell(workspace, "chmod -R u+w deleted-*; rm -r deleted-*")

    before = os.umask(umask)
    try:
        comes_back(cli, workspace, change)
        _privilege_bits_never_come_back(cli, workspace)
    finally:
        os.umask(before)


def _privilege_bits_never_come_back(cli: Cli, workspace: Path) -> None:
    modes = (0o4755, 0o2755, 0o6711, 0o1644)
    for mode in modes:
        write_files(workspace, {f"deleted-{mode:o}": b"a program", f"changed-{mode:o}": b"another"})
        (workspace / f"deleted-{mode:o}").chmod(mode)
        (workspace / f"changed-{mode:o}").chmod(mode)
    at = checkpoint(cli)
    for mode in modes:
        (workspace / f"deleted-{mode:o}").unlink()
        (workspace / f"changed-{mode:o}").chmod(0o600)
    rewind(cli, at)
    for mode in modes:
        for what in ("deleted", "changed"):
            assert (workspace / f"{what}-{mode:o}").stat().st_mode & 0o7777 == mode & 0o777


def test_04_links_come_back_as_links_and_are_never_followed(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    """Symlinks come back as links, whatever they point to (dangling, outside, a directory,
    themselves), and are never followed."""
    outside = tmp_path / "outside"
    write_files(outside, {"secret.txt": b"outside", "directory/inside.txt": b"outside too"})
    write_files(workspace, {"target.txt": b"target", "real/inside.txt": b"inside"})
    links: dict[str, str | bytes] = {
        "dangling": "no/such/file",
        "to-file": "target.txt",
        "to-directory": "real",
        "to-itself": "to-itself",
        "to-outside-file": str(outside / "secret.txt"),
        "to-outside-directory": str(outside / "directory"),
        "upwards": "../outside/secret.txt",
        "to-root": "/",
        "to-the-workspace": ".",
        "to-git": ".git/config",
        "odd": b"caf\xe9\n \x01'\"",
        "long": "x/" * 2000 + "y",
        "real/below": "../target.txt",
    }
    for name, target in links.items():
        os.symlink(os.fsencode(target), os.fsencode(workspace / name))
    write_files(
        workspace,
        {"was-a-file": b"a file", "was-a-directory/file": b"a file in it", "goes": b"goes"},
    )
    os.symlink("target.txt", workspace / "becomes-a-file")
    os.symlink("real", workspace / "becomes-a-directory")
    outside_before = tree_state(outside, identity=True)

    def change() -> None:
        for number, name in enumerate(links):
            (workspace / name).unlink()
            if number % 3 == 0:
                (workspace / name).write_bytes(b"now a file")
            elif number % 3 == 1:
                os.symlink("changed/target", workspace / name)
        # A directory replaced by a link to one outside: a rewind that follows it writes there.
        shell(workspace, "rm -r was-a-file was-a-directory goes real")
        for name in ("was-a-file", "was-a-directory", "real", "new"):
            os.symlink(outside / "directory", workspace / name)
        (workspace / "becomes-a-file").unlink()
        (workspace / "becomes-a-file").write_bytes(b"file")
        (workspace / "becomes-a-directory").unlink()
        write_files(workspace, {"becomes-a-directory/deep/file": b"deep"})

    comes_back(cli, workspace, change)
    same(outside_before, tree_state(outside, identity=True))


def test_05_empty_directories_come_back_and_new_ones_go(cli: Cli, workspace: Path) -> None:
    """Empty directories come back; new empty directories go."""
    for name in ("removed", "nested/empty/ones", "filled", "replaced-by-a-file", "private"):
        (workspace / name).mkdir(parents=True)
    (workspace / "private").chmod(0o700)
    write_files(workspace, {"emptied/file": b"alone here", "emptied/sub/file": b"x"})

    def change() -> None:
        shell(
            workspace,
            """
            rmdir removed nested/empty/ones nested/empty nested private replaced-by-a-file
            echo file > replaced-by-a-file
            echo file > filled/file
            rm emptied/file emptied/sub/file
            mkdir -p new/and/empty other
            """,
        )

    comes_back(cli, workspace, change, "--allow-mass-delete")
    # A workspace with nothing in it but an empty directory, and with nothing at all.
    shell(workspace, "rm -rf ./*; mkdir only")
    only = checkpoint(cli)
    (workspace / "only").rmdir()
    nothing = checkpoint(cli)
    rewind(cli, only, "--force")
    assert list(tree_state(workspace)) == [b"only"]
    rewind(cli, nothing, "--force")
    assert tree_state(workspace) == {}


_NAMES = (
    b"caf\xe9-latin-1",
    b"\xff\xfe\xfd",
    b"half-a-\xf0\x9f\x98",
    b"\xed\xa0\x80-a-surrogate",
    b"new\nline",
    b"\n",
    b"tab\there",
    b"quote\"and'tick",
    b"back\\slash",
    b"\\",
    b"-n",
    b"--json",
    b"--",
    b":(top)x",
    b":!x",
    b":",
    b" leading and trailing ",
    b" ",
    b"*",
    b"?",
    b"[a]",
    b"!not",
    b"#comment",
    b"$HOME",
    b"%s%n",
    b"~",
    b"...",
    b".. ",
    b"\x01\x02\x7f",
    b"\xe2\x80\xae-right-to-left",
    b"x" * 255,
    b"\xc3\xa9" * 127,
    b"Case",
    b"case",
    b"CASE",
    "caf\u00e9".encode(),
    "cafe\u0301".encode(),
    b".GIT",
    b".Git",
    b"git~1",
    b"GIT~1",
    b".git ",
    b".git.",
    b".gitx",
    b".\xe2\x80\x8cgit",
    b".git\\x",
    b".gitmodules",
    b"con",
    b"nul.txt",
    b"a:b",
    b"takeback",
    b".takeback-notes",
    b"HEAD",
    b"refs",
)


def test_06_names_are_bytes(cli: Cli, workspace: Path) -> None:
    """Names are bytes: non-UTF-8, newline, tab, quote, leading dash, `:(top)x`, 255 bytes, deep
    paths, Case/case, NFC/NFD, .GIT, git~1."""
    root = os.fsencode(workspace)
    as_directory = [name for name in _NAMES if _make_directory(root + b"/in/" + name)]
    for where, names in ((b"files", _NAMES), (b"links", _NAMES)):
        os.mkdir(root + b"/" + where)
        for name in names:
            path = root + b"/" + where + b"/" + name
            if where == b"links":
                os.symlink(name, path)
            else:
                _write_bytes(path, b"content of " + name)
    for name in as_directory:
        _write_bytes(root + b"/in/" + name + b"/" + name, b"below " + name)
    deep = root + b"/deep" + b"/level" * 150
    os.makedirs(deep)
    _write_bytes(deep + b"/file", b"deep")
    widest = (4000 - len(root) - 8) // 201
    wide = root + b"/wide" + (b"/" + b"w" * 200) * widest
    os.makedirs(wide)
    _write_bytes(wide + b"/file", b"wide")

    def change() -> None:
        for number, name in enumerate(_NAMES):
            path = root + b"/files/" + name
            if number % 2:
                os.unlink(path)
            else:
                _write_bytes(path, b"changed")
            os.unlink(root + b"/links/" + name)
            os.rename(root + b"/in/" + name + b"/" + name, root + b"/in/" + name + b"/moved")
        os.unlink(deep + b"/file")
        _write_bytes(wide + b"/file", b"changed")

    at = comes_back(cli, workspace, change, "--allow-mass-delete")

    # One such name can be asked for, and is told apart from the ones that resemble it.
    for name in (b"caf\xe9-latin-1", b"new\nline", b"--json", b":(top)x", b"*", b"Case", b".GIT"):
        content = cli.ok("cat", at, "--", b"files/" + name).stdout_bytes
        assert content == b"content of " + name
    _write_bytes(root + b"/files/*", b"changed by hand")
    _write_bytes(root + b"/files/[a]", b"changed by hand")
    done = rewind(cli, at, "--", b"files/*")
    assert paths(done["written"]) == {b"files/*"}
    assert (workspace / "files" / "[a]").read_bytes() == b"changed by hand"
    # And a name that is not UTF-8 is written in full in the answer.
    assert not os.path.lexists(root + b"/files/\xff\xfe\xfd")
    done = rewind(cli, at, "--", b"files/\xff\xfe\xfd")
    assert paths(done["written"]) == {b"files/\xff\xfe\xfd"}

    _longer_than_a_path_may_be(cli, workspace)


def _make_directory(path: bytes) -> bool:
    os.makedirs(path)
    return True


def _write_bytes(path: bytes, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def _longer_than_a_path_may_be(cli: Cli, workspace: Path) -> None:
    """What lies deeper than any path can say is held, or named: never silently missing."""
    top = workspace / "abyss"
    top.mkdir()
    depth = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for _ in range(25):
            os.mkdir("d" * 200, dir_fd=depth)
            inner = os.open("d" * 200, os.O_RDONLY | os.O_DIRECTORY, dir_fd=depth)
            os.close(depth)
            depth = inner
        with open(os.open("file", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=depth), "wb") as file:
            file.write(b"at the bottom")
        made = cli.ok("--json", "checkpoint").json
        os.unlink("file", dir_fd=depth)
        answer = cli.run("--json", "rewind", made["id"], "--yes")
        assert answer.status in (0, 3), str(answer)
        held = "file" in os.listdir(depth)
        named = [p for p in not_held(cli, made["id"]) if p.startswith(b"abyss")]
        assert held or named, "neither brought back nor named as not held"
    finally:
        os.close(depth)


def _nested_repository(path: Path, *, commits: bool) -> None:
    path.mkdir(parents=True)
    new_repository(path)
    write_files(path, {"tracked.txt": b"tracked there\n", "deep/file.txt": b"deep\n"})
    if commits:
        commit_all(path)
    write_files(path, {"untracked.txt": b"untracked there\n"})


def test_07_nested_repositories_are_files_and_their_git_is_never_touched(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    """A nested git repository's files are captured and restored, with or without commits; its
    .git is never touched, never deleted; submodules alike; `git init` in a sub-folder does not
    stop captures."""
    write_files(workspace, {"file.txt": b"outer\n", "plain/file.txt": b"becomes a repository\n"})
    commit_all(workspace)
    library = tmp_path / "library"
    _nested_repository(library, commits=True)
    allowed = ("-c", "protocol.file.allow=always")
    git(workspace, *allowed, "submodule", "--quiet", "add", str(library), "sub/module")
    _nested_repository(workspace / "with-commits", commits=True)
    _nested_repository(workspace / "without-commits", commits=False)
    _nested_repository(workspace / "with-commits" / "inner" / "most", commits=True)
    nested = ("sub/module", "with-commits", "without-commits", "with-commits/inner/most")

    def change() -> None:
        for name in nested:
            (workspace / name / "tracked.txt").write_bytes(b"changed\n")
            (workspace / name / "new.txt").write_bytes(b"new\n")
            shell(workspace / name, "rm -rf deep untracked.txt")
        git(workspace / "plain", "init", "--quiet")
        (workspace / "plain" / "file.txt").write_bytes(b"changed\n")

    inner_git = {name: git_state(workspace / name, identity=True) for name in nested}
    at = comes_back(cli, workspace, change)
    for name in nested:
        same(inner_git[name], git_state(workspace / name, identity=True))
    assert b"plain/.git" not in not_held(cli, at)

    # A repository that is new since the checkpoint: its files go, its .git stays and is named.
    at = checkpoint(cli)
    _nested_repository(workspace / "new", commits=True)
    newer = checkpoint(cli)
    new_files = tree_state(workspace / "new")
    new_git = git_state(workspace / "new", identity=True)
    answer = cli.run("--json", "rewind", at, "--yes")
    assert answer.status in (0, 3), str(answer)
    assert tree_state(workspace / "new") == {}
    same(new_git, git_state(workspace / "new", identity=True))
    assert b"new" in reasons(answer.json["left_alone"])
    rewind(cli, newer)
    same(new_files, tree_state(workspace / "new"))
    same(new_git, git_state(workspace / "new", identity=True))

    # One that stands where the target has a file: all of it stays.
    write_files(workspace, {"place": b"a file"})
    at = checkpoint(cli)
    (workspace / "place").unlink()
    _nested_repository(workspace / "place", commits=True)
    before = tree_state(workspace / "place", identity=True)
    git_before = git_state(workspace / "place", identity=True)
    done = rewind(cli, at, status=3)
    assert b"place" in reasons(done["left_alone"])
    same(before, tree_state(workspace / "place", identity=True))
    same(git_before, git_state(workspace / "place", identity=True))


def test_08_tracked_but_ignored_files_are_captured_restored_and_never_deleted(
    cli: Cli, workspace: Path
) -> None:
    """A tracked-but-ignored file is captured, restored, never deleted."""
    write_files(
        workspace,
        {
            ".gitignore": b"*.log\nbuild/\n/vendor/*\n",
            "kept.log": b"tracked although ignored\n",
            "build/kept.txt": b"tracked in an ignored directory\n",
            "build/deep/er/kept.txt": b"deeper\n",
            "vendor/lib/kept.txt": b"below a pattern\n",
            "later.log": b"ignored, tracked later\n",
            "build/later.txt": b"ignored with its directory, tracked later\n",
            "build/never.txt": b"ignored for ever\n",
            "never.log": b"ignored for ever\n",
        },
    )
    tracked = ("kept.log", "build/kept.txt", "build/deep/er/kept.txt", "vendor/lib/kept.txt")
    git(workspace, "add", ".gitignore")
    git(workspace, "add", "--force", *tracked)

    before = tree_state(workspace)
    at = checkpoint(cli)
    for name in tracked:
        assert cli.ok("cat", at, name).stdout_bytes == (workspace / name).read_bytes()
    (workspace / "kept.log").unlink()
    (workspace / "build" / "kept.txt").write_bytes(b"changed\n")
    (workspace / "build" / "kept.txt").chmod(0o600)
    shell(workspace, "rm -r build/deep vendor")
    changed = tree_state(workspace)
    # The ignored directory went whole: what else was in it nobody knows, and that is said.
    done = rewind(cli, at, status=3)
    assert paths(done["left_alone"]) == {b"vendor/lib"}
    same(before, tree_state(workspace))
    _undone_or_named(cli, workspace, changed)
    rewind(cli, at, status=3)
    same(before, tree_state(workspace))

    # They are tracked now and were ignored then: the checkpoint says nothing of them.
    git(workspace, "add", "--force", "later.log", "build/later.txt")
    newer = checkpoint(cli)
    assert cli.ok("cat", newer, "build/later.txt").stdout_bytes.startswith(b"ignored with")
    (workspace / "later.log").write_bytes(b"changed since\n")
    (workspace / "build" / "later.txt").write_bytes(b"changed since\n")
    rewind(cli, newer)
    assert (workspace / "build" / "later.txt").read_bytes().startswith(b"ignored with")
    before = tree_state(workspace)
    answer = cli.run("--json", "rewind", at, "--yes")
    assert answer.status in (0, 3), str(answer)
    assert answer.json["deleted"] == []
    same(before, tree_state(workspace))

    # The whole ignored directory gone: what was tracked in it is back, and undo takes it away.
    shell(workspace, "rm -r build kept.log")
    gone = tree_state(workspace)
    rewind(cli, newer, status=3)
    for name in ("kept.log", "build/kept.txt", "build/deep/er/kept.txt", "build/later.txt"):
        assert (workspace / name).read_bytes() == before[name.encode()].content
    _undone_or_named(cli, workspace, gone)


def _undone_or_named(cli: Cli, workspace: Path, wanted: dict[bytes, Entry]) -> None:
    """Undo brings ``wanted`` back; what it leaves of an ignored directory it names."""
    left = reasons(undo(cli)["left_alone"])
    for path, entry in tree_state(workspace).items():
        if path not in wanted:
            assert path.startswith(b"build"), path
            assert any(path == top or path.startswith(top + b"/") for top in left), path
        else:
            assert entry == wanted[path], path
    assert wanted.keys() <= tree_state(workspace).keys()
