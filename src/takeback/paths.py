"""Where takeback keeps things, by the XDG rules. The only module that knows the places."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def _home(environ: Mapping[str, str]) -> str:
    return environ.get("HOME") or os.path.expanduser("~")


def takeback_home(environ: Mapping[str, str]) -> str:
    """Returns ``$TAKEBACK_HOME``, or ``$XDG_DATA_HOME/takeback``, or its default."""
    explicit = environ.get("TAKEBACK_HOME")
    if explicit:
        return os.path.abspath(explicit)
    data = environ.get("XDG_DATA_HOME") or os.path.join(_home(environ), ".local", "share")
    return os.path.join(os.path.abspath(data), "takeback")


def git_record(home: str) -> str:
    """Returns the file that names the git to run."""
    return os.path.join(home, "bin", "git.path")


def recorded_git(home: str) -> str | None:
    """Returns the absolute path of the git that ``takeback init`` recorded; None if it did not."""
    try:
        with open(git_record(home), "rb") as file:
            program = os.fsdecode(file.read(4096).strip())
    except OSError:
        return None
    return program if program.startswith("/") else None


def config_file(environ: Mapping[str, str]) -> str:
    """Returns ``$XDG_CONFIG_HOME/takeback/config.toml``, or its default."""
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(_home(environ), ".config")
    return os.path.join(os.path.abspath(base), "takeback", "config.toml")


def user_home(environ: Mapping[str, str]) -> bytes:
    """Returns the real path of the user's home directory."""
    return os.path.realpath(os.fsencode(_home(environ)))
