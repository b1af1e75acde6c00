"""A server's place on the machine: private files, and the program that opens one of them."""

from __future__ import annotations

import os
import socket

from takeback import durable, programs
from takeback.errors import UsageError
from takeback.paths import check_private, takeback_home
from takeback.store.location import is_known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self


# -- files of a running server: a secret, a page that leads to it, a socket; only for the user


_FOLDER = "serve"
_LONGEST = 100
"""The longest path of a socket, in bytes, that every system takes."""


class PrivateFiles:
    """A directory of one process below takeback's home, 0700; it goes with the process.

    What a killed process left behind is removed by the next one.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._base = os.path.join(takeback_home(environ), _FOLDER)
        self.directory = os.path.join(self._base, str(os.getpid()))

    def __enter__(self) -> Self:
        check_private(self._base)
        durable.make_directories(self._base)
        for name in os.listdir(self._base):
            if name == str(os.getpid()) or not _runs(name):
                _remove(os.path.join(self._base, name))
        durable.mkdir(self.directory, mode=0o700)
        durable.make_private(self.directory, 0o700)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove_all()

    def remove_all(self) -> None:
        """Removes the directory and all that is in it."""
        _remove(self.directory)

    def write(self, name: str, data: bytes) -> str:
        """Makes a file that only the user can read; returns its path."""
        path = os.path.join(self.directory, name)
        durable.replace_file(path, data, flush=False, mode=0o600)
        return path

    def socket(self, name: str) -> tuple[socket.socket, str]:
        """Makes a Unix socket that listens; returns it and its path."""
        path = os.path.join(self.directory, name)
        if len(os.fsencode(path)) > _LONGEST:
            raise UsageError(
                f"{path} is too long for a socket",
                hint="set TAKEBACK_HOME to a directory with a shorter path",
            )
        door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        durable.bind(door, path)
        durable.make_private(path, 0o600)
        door.listen(socket.SOMAXCONN)
        return door, path

    def remove(self, name: str) -> None:
        """Removes a file; one that is gone is fine."""
        try:
            durable.unlink(os.path.join(self.directory, name))
        except FileNotFoundError:
            pass


def _runs(name: str) -> bool:
    """Tells whether the process that a directory is of may still run."""
    if not name.isdecimal():
        return False
    try:
        os.kill(int(name), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _remove(directory: str) -> None:
    """Removes a directory of ours with the files in it; of a link, the link alone."""
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        _remove_entry(directory)
        return
    try:
        for name in os.listdir(fd):
            durable.unlink(name, dir_fd=fd)
        durable.rmdir(directory)
    except OSError:  # another process removes it, too, or something else lies there
        pass
    finally:
        os.close(fd)


def _remove_entry(path: str) -> None:
    """Removes what is no directory, whatever it is."""
    try:
        durable.unlink(path)
    except OSError:
        pass


# -- opens a file for the person with the system's own program, never with one from a workspace


_OPENERS = ("xdg-open", "wslview", "open")
"""On Linux, on Linux under Windows, on macOS."""
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""What says, over ssh, that a program can show something to the person at the other end."""


def open_file(path: str, environ: Mapping[str, str]) -> bool:
    """Starts what opens a file, and does not wait for it; False if there is nothing to start.

    Nothing is started over ssh where the person could not see it.
    """
    import subprocess

    if "SSH_CONNECTION" in environ and not any(environ.get(name) for name in _SCREENS):
        return False

    home = takeback_home(environ)

    def is_workspace(directory: str) -> bool:
        return is_known(home, os.fsencode(directory))

    for name in _OPENERS:
        found = programs.find(name, environ, is_workspace=is_workspace).program
        if found is None:
            continue
        trusted = {**environ, "PATH": programs.trusted_path(environ, is_workspace)}
        nothing = subprocess.DEVNULL
        try:
            subprocess.Popen(
                [found, path],
                stdin=nothing,
                stdout=nothing,
                stderr=nothing,
                env=trusted,
                start_new_session=True,
            )
        except OSError:
            continue
        return True
    return False
