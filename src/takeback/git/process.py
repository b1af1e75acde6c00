"""The only code that starts git, and only on our own store.

git gets an environment made from nothing (no inherited ``GIT_*``, no system or global
configuration, no hooks, no prompts, no network) and a process group of its own, so that it
can be ended whole.
"""

from __future__ import annotations

import os

from takeback import errors
from takeback.git.child import GitProcess, Outcome, last_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

OLDEST = (2, 39)
"""Debian 12's git: the first with all of ``merge-tree --write-tree``, ``repack --geometric`` and
``core.fsync`` that is widely installed."""

_SYSTEM_GROUPS = 100

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

    An agent that works in a project can put a program called git there, and the directories of
    its environments (``.venv/bin``, ``node_modules/.bin``) often come first in PATH. So relative
    and empty entries are passed over, whatever lies in a directory for which ``is_workspace``
    holds, and what others may write. Raises GitUnusable if nothing is left.
    """
    listed = environ.get("PATH", "/usr/bin:/bin").split(":")
    programs = [f"{directory}/git" for directory in listed if directory.startswith("/")]
    passed_over = ""
    for program in [recorded, *programs] if recorded else programs:
        if os.path.isfile(program) and os.access(program, os.X_OK):
            reason = _distrusted(program, is_workspace)
            if not reason:
                return program
            passed_over = f"; {program} is passed over: {reason}"
    raise errors.GitUnusable(
        f"git is not installed, or not in PATH{passed_over}",
        hint="install git 2.39 or newer (package: git)",
    )


def _distrusted(program: str, is_workspace: Callable[[str], bool] | None) -> str:
    """Returns why a program may be somebody else's doing; empty if it may be run."""
    real = os.path.realpath(program)
    for path in (program, real):
        directory = os.path.realpath(os.path.dirname(path))
        if _others_may_write(directory) or _others_may_write(path):
            return "others may write it"
        while is_workspace is not None:
            if is_workspace(directory):
                return f"it lies in the workspace {directory}"
            if directory == "/":
                break
            directory = os.path.dirname(directory)
    return ""


def _others_may_write(path: str) -> bool:
    """Tells whether another user than root may change a file or the entries of a directory.

    Groups below 100 are the system's own (root; staff and admin, who may become root); a group
    with the user's own number is theirs alone.
    """
    try:
        status = os.stat(path)
    except OSError:
        return True
    if status.st_uid not in (0, os.geteuid()):
        return True
    if status.st_mode & 0o002:
        return True
    return bool(status.st_mode & 0o020) and not (
        status.st_gid < _SYSTEM_GROUPS or status.st_gid == os.geteuid()
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
    ) -> Outcome:
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
        """Starts git and leaves it running, to be asked; the caller closes it."""
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
