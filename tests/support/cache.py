"""What tests install, once, outside the tree: agents from npm, packages from PyPI.

$TAKEBACK_AGENTS_CACHE, else $XDG_CACHE_HOME/takeback-agents, else ~/.cache/takeback-agents
    NAME/         whole, or not there: it is renamed when it is done
    NAME.lock     held by the one process that installs
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_SECONDS = 600


class NotInstalled(Exception):
    """Something cannot be had here; the message says why."""


def kept(name: str, environ: Mapping[str, str], install: Callable[[Path], object]) -> Path:
    """Returns a directory of the cache; ``install`` fills it if it is not there.

    Raises NotInstalled. ``environ`` is the machine's own, not a test's.
    """
    places = _cache(environ)
    place = places / name
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.with_name(f"{place.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # other test processes want the same
            if not place.exists():
                unfinished = place.with_name(f"{place.name}.unfinished")
                shutil.rmtree(unfinished, ignore_errors=True)
                unfinished.mkdir()
                try:
                    install(unfinished)
                except NotInstalled:
                    shutil.rmtree(unfinished, ignore_errors=True)
                    raise
                unfinished.rename(place)
    except OSError as error:
        raise NotInstalled(f"{places}: {error.strerror}") from error
    return place


def run(installer: str, argv: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> str:
    """Runs an installer and returns what it printed; raises NotInstalled with the reason."""
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"{installer} took longer than {_SECONDS} s") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        told = [line for line in lines if not line.startswith("WARNING")] or lines
        raise NotInstalled(f"{installer} ended with {done.returncode}: {'; '.join(told[:2])}")
    return done.stdout


def _cache(environ: Mapping[str, str]) -> Path:
    named = environ.get("TAKEBACK_AGENTS_CACHE")
    if named:
        return Path(named)
    caches = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME", ""), ".cache")
    return Path(caches, "takeback-agents")
