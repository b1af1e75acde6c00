"""Finds programs to run, but none that an agent or another user could have put there.

An agent that works in a project can put a program there, and the directories of its environments
(``.venv/bin``, ``node_modules/.bin``) often come first in PATH. So relative and empty entries are
skipped, as is everything in a workspace, and what others may write.
"""

from __future__ import annotations

import os
import sys

from takeback.model.value import Value
from takeback.ownership import others_may_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    IsWorkspace = Callable[[str], bool]


class FoundProgram(Value):
    """A program, None if there is none to run; and why one that exists was skipped."""

    program: str | None
    passed_over: str = ""


def takeback(*words: str) -> list[str]:
    """Returns the command line of this very takeback, isolated as the installed command is.

    What is in the current directory or on PYTHONPATH is not imported, whoever's that is.
    """
    package = os.path.dirname(os.path.abspath(__file__))
    place = os.path.dirname(package)
    option = f"takeback={place}"
    return [sys.executable, "-I", "-S", "-X", option, f"{package}/bin/takeback", *words]


def find(
    name: str,
    environ: Mapping[str, str],
    *,
    recorded: str | None = None,
    is_workspace: IsWorkspace | None = None,
) -> FoundProgram:
    """Looks for a program: takes the one recorded, else searches the PATH of ``environ``.

    A name with a slash is a path; a relative one is skipped like those in PATH.
    """
    programs = [f"{directory}/{name}" for directory in _listed(environ)]
    if "/" in name:
        programs = [name] if name.startswith("/") else []
    passed_over = ""
    for program in [recorded, *programs] if recorded else programs:
        if os.path.isfile(program) and os.access(program, os.X_OK):
            reason = _distrusted(program, is_workspace)
            if not reason:
                return FoundProgram(program)
            passed_over = f"{program} is passed over: {reason}"
    return FoundProgram(None, passed_over)


def trusted_path(environ: Mapping[str, str], is_workspace: IsWorkspace) -> str:
    """Returns PATH without what ``find`` skips, for a program that starts others."""
    return ":".join(
        directory for directory in _listed(environ) if not _distrusted(directory, is_workspace)
    )


def _listed(environ: Mapping[str, str]) -> list[str]:
    path = environ.get("PATH", "/usr/bin:/bin")
    return [directory for directory in path.split(":") if directory.startswith("/")]


def _distrusted(path: str, is_workspace: IsWorkspace | None) -> str:
    """Returns why a path may be somebody else's work; empty if it can be relied on."""
    real = os.path.realpath(path)
    for one in (path, real):
        directory = os.path.realpath(one if os.path.isdir(one) else os.path.dirname(one))
        if others_may_write(directory) or others_may_write(one):
            return "others may write it"
        if is_workspace is None:
            continue
        while True:
            if is_workspace(directory):
                return f"it lies in the workspace {directory}"
            if directory == "/":
                break
            directory = os.path.dirname(directory)
    return ""
