"""The only code that starts git, and only on our own store.

git gets an environment made from scratch (no inherited ``GIT_*``, no system or global
configuration, no hooks, no prompts, no network) and a process group of its own, so that it can be
ended with all its children.
"""

from __future__ import annotations

import os

from takeback import errors, programs
from takeback.git.child import GitProcess, ProcessResult, last_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

OLDEST = (2, 39)
"""Debian 12's git: the first with all of ``merge-tree --write-tree``, ``repack --geometric`` and
``core.fsync`` that is widely installed."""

_SEALED = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.pager", "cat"),
    ("gc.auto", "0"),
    ("protocol.allow", "never"),
)


def find_git(
    environ: Mapping[str, str],
    *,
    recorded: str | None = None,
    is_workspace: Callable[[str], bool] | None = None,
) -> str:
    """Returns the absolute path of git: the one recorded, else from the PATH of ``environ``.

    See ``programs``. Raises GitUnusable if there is none to run.
    """
    found = programs.find("git", environ, recorded=recorded, is_workspace=is_workspace)
    if found.program is not None:
        return found.program
    passed_over = f"; {found.passed_over}" if found.passed_over else ""
    raise errors.GitUnusable(
        f"git is not installed, or not in PATH{passed_over}",
        hint="install git 2.39 or newer (package: git)",
    )


def check_version(program: str) -> tuple[int, int]:
    """Returns the version of git, or raises GitUnusable if it is too old to trust."""
    words = Git(program, "/").run(["version"]).split()
    numbers = (words[2] if len(words) > 2 else b"").split(b".")
    if len(numbers) < 2 or not (numbers[0].isdigit() and numbers[1].isdigit()):
        raise errors.GitUnusable(f"{program} does not tell its version")
    version = (int(numbers[0]), int(numbers[1]))
    if version < OLDEST:
        raise errors.GitUnusable(
            f"{program} is version {version[0]}.{version[1]}, and takeback needs 2.39",
            hint="install git 2.39 or newer (package: git)",
        )
    return version


class Git:
    """git on one store: ``program`` and ``git_dir`` are absolute paths."""

    def __init__(self, program: str, git_dir: str) -> None:
        if not (program.startswith("/") and git_dir.startswith("/")):
            raise ValueError("git and its store are given by absolute paths")
        self.program = program
        self.git_dir = git_dir

    def run(
        self,
        args: Sequence[str],
        *,
        stdin: bytes = b"",
        work_tree: str | None = None,
        config: Sequence[tuple[str, str]] = (),
        env: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        ok: Container[int] = (0,),
    ) -> bytes:
        """Runs git to its end and returns its stdout.

        Raises GitFailed if its status is not in ``ok`` and TimedOut, with git and all its
        children ended, after ``timeout`` seconds.
        """
        outcome = self.outcome(
            args, stdin=stdin, work_tree=work_tree, config=config, env=env, timeout=timeout
        )
        if outcome.status not in ok:
            raise errors.GitFailed(args, outcome.status, last_line(outcome.stderr))
        return outcome.stdout

    def outcome(
        self,
        args: Sequence[str],
        *,
        stdin: bytes = b"",
        work_tree: str | None = None,
        config: Sequence[tuple[str, str]] = (),
        env: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> ProcessResult:
        """Runs git to its end and returns how it ended, whatever its status."""
        process = self.spawn(args, work_tree=work_tree, config=config, env=env)
        try:
            return process.finish(stdin, timeout=timeout)
        finally:
            process.close()

    def spawn(
        self,
        args: Sequence[str],
        *,
        work_tree: str | None = None,
        config: Sequence[tuple[str, str]] = (),
        env: Mapping[str, str] | None = None,
    ) -> GitProcess:
        """Starts git and leaves it running, to answer questions; the caller closes it."""
        argv = [self.program, "-C", self.git_dir]
        for key, value in (*_SEALED, *config):
            argv += ["-c", f"{key}={value}"]
        argv += args
        environment = self._environment(work_tree)
        environment.update(env or {})
        return GitProcess(argv, environment, tuple(args))

    def _environment(self, work_tree: str | None) -> dict[str, str]:
        environment = {
            "PATH": f"{os.path.dirname(self.program)}:/usr/bin:/bin",
            "LC_ALL": "C",
            "GIT_DIR": self.git_dir,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "/bin/false",
            "SSH_ASKPASS": "/bin/false",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_PAGER": "cat",
        }
        temporary = os.environ.get("TMPDIR", "")
        if temporary.startswith("/"):
            environment["TMPDIR"] = temporary
        if work_tree is not None:
            environment["GIT_WORK_TREE"] = work_tree
        return environment
