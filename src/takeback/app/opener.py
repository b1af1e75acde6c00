"""Opens a file for the person with the system's own program, never with one from a workspace."""

from __future__ import annotations

import os

from takeback import programs
from takeback.paths import takeback_home
from takeback.store.location import is_known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
