"""A real browser for the tests of the page: Debian's chromium, driven by playwright."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.support.debian import program

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",  # as root there is none
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers have 64 MB of it
    "--disable-background-networking",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
]


def browser(environ: Mapping[str, str]) -> Path:
    """Returns the browser, installed now if it was not; raises NotInstalled."""
    return program(_NAMES, "chromium", environ)
