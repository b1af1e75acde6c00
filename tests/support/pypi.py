"""Python packages that tests run beside takeback, pinned, installed once into the cache (cache.py).

    acp-3.11-9f3c01d2/

What is installed is what ``tests/locks/NAME.txt`` says, each package with its hash: wheels only,
and nothing of a package is run. It is no environment of its own but a directory to go ahead of the
others on ``PYTHONPATH``, so that what such a package needs in another version than takeback's own
tools does not meet them. A new version: change ``tests/locks/NAME.in`` and run ``make locks``; what
``NAME.without`` lists is left out of it, needed or not. What cannot be installed is not tested, and
says so.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.cache import kept, run

LOCKS = Path(__file__).parents[1] / "locks"


def packages(name: str, environ: Mapping[str, str]) -> Path:
    """Returns the directory with the packages of a lock, installed now if they were not.

    Raises NotInstalled. ``environ`` is the machine's own: it says where the cache is.
    """
    lock = LOCKS / f"{name}.txt"
    version = "{}.{}".format(*sys.version_info)
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:8]
    argv = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    argv += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-compile"]

    def install(here: Path) -> None:
        run("pip", [*argv, "--target", str(here), "-r", str(lock)], here, environ)

    return kept(f"{name}-{version}-{digest}", environ, install)


def with_packages(environ: Mapping[str, str], place: Path) -> dict[str, str]:
    """Returns an environment in which Python finds the packages, ahead of its own."""
    return {**environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": ""}
