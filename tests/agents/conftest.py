"""What the tests with real agents have: the agents, a scratch home and project, a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.agents.installed import PACKAGES, NotInstalled, program_of
from tests.agents.scripted_model import ScriptedModel
from tests.agents.world import World, fill


@pytest.fixture(scope="session")
def installed() -> Callable[[str], Path]:
    """Returns an agent's program; one that cannot be had skips the test, loudly."""
    # Taken before a test's environment is sealed: the cache and npm are the machine's own.
    environ = dict(os.environ)

    @cache
    def found(agent: str) -> Path | NotInstalled:
        try:
            return program_of(PACKAGES[agent], environ)
        except NotInstalled as error:
            return error

    def wanted(agent: str) -> Path:
        program = found(agent)
        if isinstance(program, NotInstalled):
            package = PACKAGES[agent]
            pytest.skip(f"NOT TESTED: {package.name} {package.version}: {program}")
        return program

    return wanted


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A scratch machine; a driver gives its model a script."""
    repo = tmp_path / "project"
    fill(repo)
    (tmp_path / "bin").mkdir()
    with ScriptedModel({}) as model:
        yield World(tmp_path / "home", repo, tmp_path / "bin", model)
