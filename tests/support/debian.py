"""Programs of Debian's packages, for tests that need them: found, or installed with apt-get.

They are installed where that can be done without a question: as root on Debian or Ubuntu. What
cannot be had is not tested, and the test that is skipped says so.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.cache import NotInstalled

_SECONDS = 600
_SYSTEM = ("/usr/sbin", "/sbin")
"""Where programs of root lie, which not everybody's PATH has."""


def program(names: Sequence[str], package: str, environ: Mapping[str, str]) -> Path:
    """Returns a program by one of its names, installed now if it was not; raises NotInstalled."""
    found = _found(names, environ)
    if found is not None:
        return found
    if os.geteuid() != 0 or shutil.which("apt-get", path=environ.get("PATH")) is None:
        raise NotInstalled(f"none of {', '.join(names)} is in PATH: install Debian's {package}")
    # Other test processes want the same; apt has a lock, but ends at once if it is held.
    with Path(tempfile.gettempdir(), "takeback-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = _found(names, environ)
        if found is None:
            _install(package, environ)
            found = _found(names, environ)
    if found is None:
        raise NotInstalled(f"apt-get installed {package}, but {names[0]} is not in PATH")
    return found


def _found(names: Sequence[str], environ: Mapping[str, str]) -> Path | None:
    path = os.pathsep.join((environ.get("PATH", ""), *_SYSTEM))
    places = (shutil.which(name, path=path) for name in names)
    return next((Path(place) for place in places if place is not None), None)


def _install(package: str, environ: Mapping[str, str]) -> None:
    quiet = {**environ, "DEBIAN_FRONTEND": "noninteractive"}
    for argv in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", package],
    ):
        try:
            done = subprocess.run(
                argv,
                env=quiet,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NotInstalled(f"{argv[1]} of apt-get took longer than {_SECONDS} s") from error
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.strip()][-1:]
            raise NotInstalled(f"apt-get {argv[1]} ended with {done.returncode}: {' '.join(said)}")
