"""A project that wants its code run: hooks, filters, helpers, leaked variables, files that hang.

Each poison would touch a witness file if anything it names were run. For those that git itself
falls for, a second test shows that the poison works: git leaves the witness.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.store.store import MOST_PACKS
from tests.support.cli import Cli
from tests.support.git import git, new_repository
from tests.support.lanes import cases
from tests.support.trees import differences, git_state, tree_state

LIMIT = 30
"""Seconds for one command: what waits for a FIFO waits for ever."""


class Project:
    """A git repository with a few files, and the place where witnesses would appear."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "project"
        self.outside = base / "outside"
        self.witnesses = base / "witnesses"
        for directory in (self.root, self.root / "sub", self.outside, self.witnesses):
            directory.mkdir()
        (self.outside / "precious").write_bytes(b"not ours")
        (self.root / "a.txt").write_bytes(b"one\r\n")
        (self.root / "b.bin").write_bytes(b"\0\1\2")
        (self.root / "sub" / "c.txt").write_bytes(b"deep\n")
        new_repository(self.root)
        git(self.root, "add", ".")
        git(self.root, "commit", "--quiet", "-m", "first")

    def command(self, name: str, then: str = "cat") -> str:
        """Returns a program that leaves a witness and, mostly, hands its input on."""
        program = self.base / f"touch-{name}"
        witness = shlex.quote(str(self.witnesses / name))
        program.write_text(f"#!/bin/sh\ntouch {witness}\n{then}\n")
        program.chmod(0o755)
        return str(program)

    def config(self, *settings: tuple[str, str]) -> None:
        for name, value in settings:
            git(self.root, "config", "--add", name, value)

    def attributes(self, text: str) -> None:
        (self.root / ".gitattributes").write_text(text)

    def fifo(self, *names: str) -> Path:
        path = self.base.joinpath(*names) if names else self.base / "fifo"
        if path.exists():
            path.unlink()
        os.mkfifo(path)
        return path

    def seen(self) -> list[str]:
        return sorted(path.name for path in self.witnesses.iterdir())


Poison = Callable[[Project], Mapping[str, str] | None]
Git = Callable[[Project, Mapping[str, str]], object]
POISONS: dict[str, tuple[Poison, Git | None]] = {}


def poison(falls_for: Git | None = None) -> Callable[[Poison], Poison]:
    """Registers a poison; ``falls_for`` is what makes git itself leave the witness."""

    def register(function: Poison) -> Poison:
        POISONS[function.__name__] = (function, falls_for)
        return function

    return register


def running(*args: str) -> Git:
    """Returns a call of the real git in the project, with the poisoned environment."""

    def call(project: Project, environ: Mapping[str, str]) -> None:
        (project.root / "a.txt").write_bytes(b"changed\n")
        subprocess.run(
            ["git", *args],
            cwd=project.root,
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )

    return call


AS_ADA = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


# -- the project's own configuration


@poison(running("status"))
def fsmonitor(project: Project) -> None:
    project.config(("core.fsmonitor", project.command("fsmonitor")))


@poison(running(*AS_ADA, "commit", "-qam", "x"))
def hooks_path(project: Project) -> None:
    hooks = project.base / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "post-index-change", "reference-transaction", "post-checkout"):
        (hooks / name).symlink_to(project.command("hooks_path"))
    project.config(("core.hooksPath", str(hooks)))


@poison(running(*AS_ADA, "commit", "-qam", "x"))
def hooks_in_place(project: Project) -> None:
    for name in ("pre-commit", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        hook = project.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.symlink_to(project.command("hooks_in_place"))


@poison(running("add", "-A"))
def filter_clean_and_smudge(project: Project) -> None:
    command = project.command("filter_clean_and_smudge")
    project.attributes("* filter=evil\n")
    project.config(
        ("filter.evil.clean", command),
        ("filter.evil.smudge", command),
        ("filter.evil.required", "true"),
    )


@poison(running("add", "-A"))
def filter_process(project: Project) -> None:
    project.attributes("* filter=evil\n")
    project.config(("filter.evil.process", project.command("filter_process")))


@poison(running("diff"))
def textconv(project: Project) -> None:
    project.attributes("*.txt diff=evil\n*.bin diff=evil\n")
    project.config(("diff.evil.textconv", project.command("textconv")))


@poison(running("diff"))
def external_diff(project: Project) -> None:
    project.attributes("*.txt diff=evil\n")
    command = project.command("external_diff")
    project.config(("diff.external", command), ("diff.evil.command", command))


@poison(running("cat-file", "-p", "1" * 40))
def promisor(project: Project) -> None:
    """A missing object is fetched from a remote whose upload-pack is any command."""
    project.config(
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "evil"),
        ("remote.evil.url", str(project.outside)),
        ("remote.evil.promisor", "true"),
        ("remote.evil.uploadpack", project.command("promisor", then="exit 1")),
    )


@poison(running("commit", "-qa"))
def editor_pager_ssh_and_the_like(project: Project) -> None:
    command = project.command("editor_pager_ssh_and_the_like")
    project.config(
        ("core.editor", command),
        ("sequence.editor", command),
        ("core.pager", command),
        ("pager.diff", command),
        ("core.sshCommand", command),
        ("core.gitProxy", command),
        ("core.askPass", command),
        ("credential.helper", command),
        ("core.alternateRefsCommand", command),
        ("uploadpack.packObjectsHook", command),
        ("interactive.diffFilter", command),
        ("gpg.program", command),
        ("user.name", "A"),
        ("user.email", "a@b"),
    )


@poison(running("st"))
def alias(project: Project) -> None:
    command = "!" + project.command("alias")
    names = ("st", "takeback", "cat-file", "check-ignore", "diff-tree", "rev-parse", "repack")
    project.config(*((f"alias.{name}", command) for name in names))


@poison(running(*AS_ADA, "merge", "-q", "side"))
def merge_driver(project: Project) -> None:
    """Two sides of one file, so that git would merge it."""
    git(project.root, "checkout", "-q", "-b", "side")
    (project.root / "b.bin").write_bytes(b"side")
    git(project.root, "commit", "-qam", "side")
    git(project.root, "checkout", "-q", "main")
    (project.root / "b.bin").write_bytes(b"main")
    git(project.root, "commit", "-qam", "main")
    project.attributes("*.bin merge=evil\n")
    project.config(("merge.evil.driver", project.command("merge_driver")))


# -- files of the project that mislead or hang


@poison()
def included_fifo(project: Project) -> None:
    with open(project.root / ".git" / "config", "a") as file:
        file.write(f"[include]\n\tpath = {project.fifo()}\n")


@poison()
def included_itself(project: Project) -> None:
    config = project.root / ".git" / "config"
    with open(config, "a") as file:
        file.write(f"[include]\n\tpath = {config}\n" * 50)


@poison()
def excludes_file_is_a_fifo(project: Project) -> None:
    project.config(("core.excludesFile", str(project.fifo())))


@poison()
def excludes_file_never_ends(project: Project) -> None:
    project.config(("core.excludesFile", "/dev/zero"))


@poison()
def git_files_are_fifos(project: Project) -> None:
    for name in ("index", "info/exclude", "packed-refs", "HEAD", "config", "commondir"):
        (project.root / ".git" / "info").mkdir(exist_ok=True)
        project.fifo("project", ".git", *name.split("/"))


@poison()
def rule_files_are_fifos(project: Project) -> None:
    project.fifo("project", ".gitattributes")
    (project.root / "other").mkdir()  # not "sub": a directory with such a file is not captured
    project.fifo("project", "other", ".gitignore")
    project.fifo("project", ".gitmodules")


@poison()
def rule_files_are_links_to_what_never_ends(project: Project) -> None:
    for name in (".gitignore", ".gitattributes", ".mailmap"):
        (project.root / name).symlink_to("/dev/zero")


@poison()
def alternates(project: Project) -> None:
    info = project.root / ".git" / "objects" / "info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"{project.fifo()}\n{project.outside}\n/dev/zero\n")


@poison()
def replace_refs(project: Project) -> None:
    old = git(project.root, "rev-parse", "HEAD:a.txt").strip()
    new = git(project.root, "rev-parse", "HEAD:b.bin").strip()
    git(project.root, "replace", old, new)
    git(project.root, "pack-refs", "--all")


@poison()
def sparse_checkout(project: Project) -> None:
    project.config(("core.sparseCheckout", "true"), ("index.sparse", "true"))
    (project.root / ".git" / "info").mkdir(exist_ok=True)
    (project.root / ".git" / "info" / "sparse-checkout").write_text("/sub/\n")
    git(project.root, "update-index", "--skip-worktree", "a.txt")
    git(project.root, "update-index", "--assume-unchanged", "b.bin")


@poison()
def work_tree_elsewhere(project: Project) -> None:
    project.config(("core.worktree", str(project.outside)), ("core.bare", "false"))


@poison()
def submodules(project: Project) -> None:
    command = project.command("submodules")
    (project.root / ".gitmodules").write_text(
        f'[submodule "x"]\n\tpath = sub\n\turl = ext::{command}\n\tupdate = !{command}\n'
    )
    project.config(("protocol.ext.allow", "always"), ("submodule.x.update", f"!{command}"))


# -- the user's configuration and variables that a hook leaks


@poison(running("status"))
def global_configuration(project: Project) -> Mapping[str, str]:
    home = project.base / "poisoned home"
    template = project.base / "template"
    (template / "hooks").mkdir(parents=True)
    home.mkdir()
    command = project.command("global_configuration")
    for name in ("post-index-change", "reference-transaction", "post-checkout"):
        (template / "hooks" / name).symlink_to(command)
    (home / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {template / 'hooks'}\n\tfsmonitor = {command}\n"
        f"\tpager = {command}\n[init]\n\ttemplateDir = {template}\n"
        f"[diff]\n\texternal = {command}\n"
    )
    return {"HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / ".gitconfig")}


@poison()
def global_configuration_includes_a_fifo(project: Project) -> Mapping[str, str]:
    home = project.base / "poisoned home"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[include]\n\tpath = {project.fifo()}\n")
    return {"HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / ".gitconfig")}


def in_a_new_repository(project: Project, environ: Mapping[str, str]) -> None:
    new = str(project.base / "new")
    running("init", "-q", new)(project, environ)
    running("-C", new, *AS_ADA, "commit", "-q", "--allow-empty", "-m", "x")(project, environ)


@poison(in_a_new_repository)
def template_directory(project: Project) -> Mapping[str, str]:
    """Hooks of a template would become hooks of a store that git makes."""
    hooks = project.base / "template" / "hooks"
    hooks.mkdir(parents=True)
    command = project.command("template_directory")
    for name in ("reference-transaction", "post-index-change", "pre-auto-gc"):
        (hooks / name).symlink_to(command)
    (hooks.parent / "config").write_text(f"[core]\n\tfsmonitor = {command}\n")
    return {"GIT_TEMPLATE_DIR": str(hooks.parent)}


@poison()
def variables_of_a_hook(project: Project) -> Mapping[str, str]:
    """What git sets for a hook, pointing at the project: nothing may be written there."""
    dot_git = project.root / ".git"
    return {
        "GIT_DIR": str(dot_git),
        "GIT_COMMON_DIR": str(dot_git),
        "GIT_WORK_TREE": str(project.outside),
        "GIT_INDEX_FILE": str(dot_git / "index"),
        "GIT_OBJECT_DIRECTORY": str(dot_git / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(project.outside),
        "GIT_QUARANTINE_PATH": str(dot_git / "objects"),
        "GIT_PREFIX": "sub/",
        "GIT_NAMESPACE": "evil",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_CEILING_DIRECTORIES": "/",
    }


@poison(running("status"))
def configuration_in_variables(project: Project) -> Mapping[str, str]:
    command = project.command("configuration_in_variables")
    return {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": command,
        "GIT_CONFIG_KEY_1": "diff.external",
        "GIT_CONFIG_VALUE_1": command,
    }


@poison(running("status"))
def configuration_parameters(project: Project) -> Mapping[str, str]:
    command = project.command("configuration_parameters")
    return {"GIT_CONFIG_PARAMETERS": f"'core.fsmonitor'='{command}'"}


@poison(running("diff"))
def programs_in_variables(project: Project) -> Mapping[str, str]:
    command = project.command("programs_in_variables")
    names = (
        "GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_SSH_COMMAND GIT_SSH GIT_ASKPASS SSH_ASKPASS "
        "GIT_PAGER PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR EDITOR VISUAL BROWSER"
    )
    return dict.fromkeys(names.split(), command)


@poison(running("status"))
def traces(project: Project) -> Mapping[str, str]:
    witness = str(project.witnesses / "traces")
    names = "GIT_TRACE GIT_TRACE_SETUP GIT_TRACE_PACKET GIT_TRACE2 GIT_TRACE2_EVENT GIT_TRACE2_PERF"
    return dict.fromkeys(names.split(), witness)


@poison(running("evil"))
def exec_path(project: Project) -> Mapping[str, str]:
    programs = project.base / "libexec"
    programs.mkdir()
    command = project.command("exec_path")
    for name in ("evil", "check-ignore", "cat-file", "diff-tree", "repack", "pack-objects"):
        (programs / f"git-{name}").symlink_to(command)
    return {"GIT_EXEC_PATH": str(programs)}


@poison(running("evil"))
def git_in_the_project(project: Project) -> Mapping[str, str]:
    """A program named git in the directory that takeback is called in."""
    command = project.command("git_in_the_project")
    for name in ("git", "git-evil", "sh", "python3"):
        (project.root / name).symlink_to(command)
    return {"PATH": f".::{os.environ['PATH']}:."}


# -- the tests


def run_everything(project: Project, environ: Mapping[str, str]) -> None:
    """Uses takeback as a user would, and checks that the files come back."""
    cli = Cli(project.root, env=environ, timeout=LIMIT)
    before = tree_state(project.root)
    made = cli.ok("checkpoint", "--json").json["id"]
    (project.root / "a.txt").write_bytes(b"edited\n")
    (project.root / "b.bin").unlink()
    (project.root / "sub" / "new").write_bytes(b"new")
    edited = tree_state(project.root)
    cli.ok("diff", made)
    cli.ok("show", made)
    cli.ok("rewind", made, "--yes", "--force")
    assert differences(before, tree_state(project.root)) == []
    cli.ok("undo", "--yes")
    assert differences(edited, tree_state(project.root)) == []
    for command in (["verify", "--read-data"], ["status"], ["log"], ["doctor"]):
        cli.ok(*command)


@cases("name", POISONS, each=4)
def test_nothing_of_the_project_runs_or_changes(tmp_path: Path, name: str) -> None:
    project = Project(tmp_path)
    environ = POISONS[name][0](project) or {}
    repository = git_state(project.root, identity=True)
    outside = tree_state(project.outside, identity=True)
    run_everything(project, environ)
    assert project.seen() == []
    assert differences(repository, git_state(project.root, identity=True)) == []
    assert differences(outside, tree_state(project.outside, identity=True)) == []


@pytest.mark.parametrize("name", [name for name, (_, falls_for) in POISONS.items() if falls_for])
def test_git_itself_falls_for_it(tmp_path: Path, name: str) -> None:
    plant, falls_for = POISONS[name]
    project = Project(tmp_path)
    environ = plant(project) or {}
    assert falls_for is not None
    falls_for(project, environ)
    assert project.seen() == [name]


MODULES = (
    "takeback click rich json sqlite3 subprocess tomllib marshal fcntl unicodedata typing re "
    "tempfile datetime shutil sitecustomize usercustomize"
)


def test_modules_of_the_project_are_not_imported(tmp_path: Path) -> None:
    """The installed command, and the process that it leaves behind to combine packs."""
    program = Path(sys.executable).parent / "takeback"
    if not program.exists():
        pytest.skip("takeback is not installed as a command")
    project = Project(tmp_path)
    for name in MODULES.split():
        witness = str(project.witnesses / name)
        (project.root / f"{name}.py").write_text(f"open({witness!r}, 'w').close()\n")
    with Takeback.open(project.root) as takeback:
        for number in range(MOST_PACKS):
            (project.root / "a.txt").write_text(f"{number}\n")
            takeback.checkpoint()
        packs = Path(takeback.store_directory, "store.git", "objects", "pack")
    for number in range(2):
        (project.root / "b.bin").write_text(f"{number}\n")
        done = subprocess.run(
            [program, "checkpoint"],
            cwd=project.root,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
    deadline = time.monotonic() + LIMIT
    while len(list(packs.glob("*.pack"))) > MOST_PACKS:
        assert time.monotonic() < deadline, "the packs were not combined"
        time.sleep(0.05)
    assert project.seen() == []
