"""A real browser for the tests of the page: Debian's chromium, driven by playwright.

It is found in PATH, or installed with apt-get where that can be done without a question: as root on
Debian or Ubuntu. What cannot be had is not tested, and says so.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SECONDS = 600
ARGUMENTS = [
    "--no-sandbox",  # as root there is none
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers have 64 MB of it
    "--disable-background-networking",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
]


class NoBrowser(Exception):
    """There is no browser here; the message says why."""


def browser(environ: Mapping[str, str]) -> Path:
    """Returns the browser, installed now if it was not; raises NoBrowser."""
    found = _found(environ)
    if found is not None:
        return found
    if os.geteuid() != 0 or shutil.which("apt-get", path=environ.get("PATH")) is None:
        raise NoBrowser(f"none of {', '.join(_NAMES)} is in PATH: install Debian's chromium")
    # Other test processes want the same; apt has a lock, but ends at once if it is held.
    with Path(tempfile.gettempdir(), "takeback-browser.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = _found(environ)
        if found is None:
            _install(environ)
            found = _found(environ)
    if found is None:
        raise NoBrowser("apt-get installed chromium, but it is not in PATH")
    return found


def _found(environ: Mapping[str, str]) -> Path | None:
    places = (shutil.which(name, path=environ.get("PATH")) for name in _NAMES)
    return next((Path(place) for place in places if place is not None), None)


def _install(environ: Mapping[str, str]) -> None:
    quiet = {**environ, "DEBIAN_FRONTEND": "noninteractive"}
    for argv in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", "chromium"],
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
            raise NoBrowser(f"{argv[1]} of apt-get took longer than {_SECONDS} s") from error
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.strip()][-1:]
            raise NoBrowser(f"apt-get {argv[1]} ended with {done.returncode}: {' '.join(said)}")
