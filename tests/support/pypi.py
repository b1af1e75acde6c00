"""Python packages that tests run beside takeback, pinned, installed once into the agents' cache.

    takeback-agents/acp-3.11-9f3c01d2/     whole, or not there: it is renamed when it is done

What is installed is what ``tests/locks/NAME.txt`` says, each package with its hash: wheels only,
and nothing of a package is run. It is no environment of its own but a directory to go ahead of the
others on ``PYTHONPATH``, so that what such a package needs in another version than takeback's own
tools does not meet them. A new version: change ``tests/locks/NAME.in`` and run ``make locks``; what
``NAME.without`` lists is left out of it, needed or not. What cannot be installed is not tested, and
says so.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.agents.installed import NotInstalled, cache

LOCKS = Path(__file__).parents[1] / "locks"
_SECONDS = 600


def packages(name: str, environ: Mapping[str, str]) -> Path:
    """Returns the directory with the packages of a lock, installed now if they were not.

    Raises NotInstalled. ``environ`` is the machine's own: it says where the cache is.
    """
    lock = LOCKS / f"{name}.txt"
    version = "{}.{}".format(*sys.version_info)
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:8]
    places = cache(environ)
    place = places / f"{name}-{version}-{digest}"
    try:
        places.mkdir(parents=True, exist_ok=True)
        with (places / f"{place.name}.lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)  # other test processes want the same
            if not place.exists():
                _install(lock, place, environ)
    except OSError as error:
        raise NotInstalled(f"{places}: {error.strerror}") from error
    return place


def with_packages(environ: Mapping[str, str], place: Path) -> dict[str, str]:
    """Returns an environment in which Python finds the packages, ahead of its own."""
    return {**environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": ""}


def _install(lock: Path, place: Path, environ: Mapping[str, str]) -> None:
    unfinished = place.with_name(f"{place.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    argv = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    argv += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-compile"]
    try:
        done = subprocess.run(
            [*argv, "--target", str(unfinished), "-r", str(lock)],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"pip took longer than {_SECONDS} s") from error
    if done.returncode != 0:
        last = [line for line in done.stderr.splitlines() if line.startswith("ERROR")][:1]
        raise NotInstalled(f"pip ended with {done.returncode}: {' '.join(last)}")
    unfinished.rename(place)
