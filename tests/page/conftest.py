"""What the tests of the page have: a browser, and a shop that is served."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.installed import AXE, program_of
from tests.page import world
from tests.page.browser import browser
from tests.page.stage import Stage, living_in, staged
from tests.support.cache import NotInstalled
from tests.support.git import new_repository
from tests.support.sealed import sealed_environment

# Taken before a test's environment is sealed: the browser and npm are the machine's own.
_ENVIRON = dict(os.environ)


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The browser; where there is none the test is skipped, loudly."""
    try:
        return browser(_ENVIRON)
    except NotInstalled as error:
        pytest.skip(f"NOT TESTED: the page, in a browser: {error}")


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that looks for what keeps people out: axe-core, at one version."""
    try:
        return program_of(AXE, _ENVIRON).read_text()
    except NotInstalled as error:
        pytest.skip(f"NOT TESTED: {AXE.name} {AXE.version}: {error}")


@pytest.fixture(scope="module")
def shop(chromium: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A day in a shop, served, for all tests of a module."""
    base = tmp_path_factory.mktemp("page")
    environ = sealed_environment(base)
    root = base / "the-shop"
    root.mkdir()
    with living_in(environ):
        new_repository(root)
        world.tell(root, base / "home")
    with staged(chromium, root, environ) as stage:
        yield stage
