"""Where takeback keeps things, by the XDG rules. The only module that knows the places.

A place is an absolute path. A relative one would lead elsewhere from each directory: in an XDG
variable it is ignored, as the XDG specification says; in TAKEBACK_HOME it is an error, since it was
meant as the one place for all checkpoints.
"""

from __future__ import annotations

import os

from takeback.errors import Refused, UsageError
from takeback.ordinary import ordinary
from takeback.ownership import why_not_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def home_directory(environ: Mapping[str, str]) -> str:
    """Returns ``$HOME``, or what the system has on record; raises UsageError without either."""
    home = environ.get("HOME", "")
    if not home.startswith("/"):
        import pwd

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = ""
    if not home.startswith("/"):
        raise UsageError(
            "there is no home directory: HOME is not an absolute path",
            hint="set HOME, or both TAKEBACK_HOME and XDG_CONFIG_HOME, to an absolute path",
        )
    return home


def takeback_home(environ: Mapping[str, str]) -> str:
    """Returns ``$TAKEBACK_HOME``, or ``$XDG_DATA_HOME/takeback``, or its default.

    Raises UsageError if that is not an absolute path, or if there is no home directory, and Refused
    if others could change what is in it.
    """
    home = home_named(environ)
    check_private(home, os.path.join(home, "bin"), os.path.join(home, "workspaces"))
    return home


def check_private(*directories: str) -> None:
    """Raises Refused for a directory that others own or may write; missing ones are fine.

    Anyone who may write there decides what hooks run and what is restored.
    """
    for directory in directories:
        reason = why_not_private(directory)
        if reason:
            from shlex import quote

            raise Refused(
                f"{directory} is not used: {reason}",
                hint="if nobody else has put anything there: "
                f"chmod 700 {quote(directory)}; or set TAKEBACK_HOME to a directory of your own",
            )


def home_named(environ: Mapping[str, str]) -> str:
    """Returns the same place without checking who may write it; raises UsageError."""
    explicit = environ.get("TAKEBACK_HOME")
    if explicit:
        if not explicit.startswith("/"):
            raise UsageError(
                f"TAKEBACK_HOME must be an absolute path, not {explicit!r}",
                hint='write it in full, say: export TAKEBACK_HOME="$HOME/.takeback"',
            )
        return os.path.abspath(explicit)
    return os.path.join(_xdg(environ, "XDG_DATA_HOME", ".local/share"), "takeback")


def git_record(home: str) -> str:
    """Returns the file that names the git to run."""
    return os.path.join(home, "bin", "git.path")


def recorded_git(home: str) -> str | None:
    """Returns the absolute path of the git that ``takeback init`` recorded; None if it did not."""
    return _recorded(git_record(home))


def settings_record(home: str) -> str:
    """Returns the file that names the person's file of settings."""
    return os.path.join(home, "bin", "settings.path")


def recorded_settings(home: str) -> str | None:
    """Returns the file of settings that ``takeback init`` recorded; None if it did not."""
    return _recorded(settings_record(home))


def _recorded(record: str) -> str | None:
    """Returns the path that a record holds; None without one that is ours."""
    try:
        with open(record, "rb", opener=ordinary) as file:
            path = os.fsdecode(file.read(4096).strip())
    except OSError:
        return None
    return path if path.startswith("/") and not why_not_private(record) else None


def config_file(environ: Mapping[str, str]) -> str:
    """Returns ``$XDG_CONFIG_HOME/takeback/config.toml``, or its default; raises UsageError.

    That is what the variables name; ``config.settings_file`` says which file is in force.
    """
    base = _xdg(environ, "XDG_CONFIG_HOME", ".config")
    return os.path.join(base, "takeback", "config.toml")


def usual_config_file() -> str:
    """Returns the file of a person of whom nothing but the system's record of users is known."""
    return config_file({})


def _xdg(environ: Mapping[str, str], variable: str, default: str) -> str:
    given = environ.get(variable, "")
    return os.path.abspath(
        given if given.startswith("/") else os.path.join(home_directory(environ), default)
    )


def user_home(environ: Mapping[str, str]) -> bytes:
    """Returns the real path of the user's home directory; empty if there is none."""
    try:
        return os.path.realpath(os.fsencode(home_directory(environ)))
    except UsageError:
        return b""
