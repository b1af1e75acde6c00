"""Finds agents and their files on this machine."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def on_path(program: str, environ: Mapping[str, str]) -> bool:
    """Tells whether a program can be started by its name."""
    places = (f"{folder}/{program}" for folder in environ.get("PATH", "").split(":") if folder)
    return any(os.path.isfile(one) and os.access(one, os.X_OK) for one in places)


def config_directory(environ: Mapping[str, str], variable: str, name: str) -> str:
    """Returns an agent's directory: the value of a variable, else one in the home directory."""
    return environ.get(variable) or os.path.join(environ.get("HOME", "/"), name)


def files_in(folder: str, ending: str) -> tuple[tuple[str, float], ...]:
    """Returns the files with this ending in a folder, and when each was written."""
    try:
        with os.scandir(folder) as listing:
            found = [one for one in listing if one.name.endswith(ending) and one.is_file()]
            return tuple((one.path, one.stat().st_mtime) for one in found)
    except OSError:
        return ()
