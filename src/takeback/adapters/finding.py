"""Finds agents and their files on this machine."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def on_path(program: str, environ: Mapping[str, str]) -> bool:
    """Tells whether a program can be started by its name."""
    from shutil import which

    return which(program, path=environ.get("PATH", "")) is not None


def config_directory(environ: Mapping[str, str], variable: str, name: str) -> str:
    """Returns an agent's directory: the value of a variable, else one in the home directory."""
    return environ.get(variable) or os.path.join(environ.get("HOME", "/"), name)


def newest_in(folder: str, ending: str) -> float | None:
    """Returns when the newest file with this ending in a folder was written; None without any."""
    newest = None
    try:
        with os.scandir(folder) as listing:
            for entry in listing:
                if entry.name.endswith(ending) and entry.is_file():
                    time = entry.stat().st_mtime
                    newest = time if newest is None or time > newest else newest
    except OSError:
        return None
    return newest
