"""What the tests with real agents have: the agents, a scratch home and project, a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.agents.installed import PACKAGES, program_of, wanted
from tests.agents.scripted_model import ScriptedModel
from tests.agents.tried import AGENT, Note
from tests.agents.world import World, fill
from tests.support.cache import NotInstalled


@pytest.fixture(scope="session")
def machine() -> Callable[[str], Path | NotInstalled | None]:
    """Returns an agent's program, why there is none, or None if it is not asked for."""
    # Taken before a test's environment is sealed: the cache and npm are the machine's own.
    environ = dict(os.environ)

    @cache
    def found(agent: str) -> Path | NotInstalled | None:
        package = wanted(agent, environ)
        if package is None:
            return None
        try:
            return program_of(package, environ)
        except NotInstalled as error:
            return error

    return found


@pytest.fixture
def installed(
    machine: Callable[[str], Path | NotInstalled | None], record_property: Note
) -> Callable[[str], Path]:
    """Returns an agent's program; one that cannot be had skips the test, loudly."""

    def had(agent: str) -> Path:
        program = machine(agent)
        if program is None:
            pytest.skip(f"{agent} is not asked for")
        if isinstance(program, NotInstalled):
            package = PACKAGES[agent]
            pytest.skip(f"NOT TESTED: {package.name} {package.version}: {program}")
        record_property(AGENT, agent)
        return program

    return had


@pytest.fixture
def world(tmp_path: Path, record_property: Note) -> Iterator[World]:
    """A scratch machine; a driver gives its model a script."""
    repo = tmp_path / "project"
    fill(repo)
    (tmp_path / "bin").mkdir()
    with ScriptedModel({}) as model:
        yield World(tmp_path / "home", repo, tmp_path / "bin", model, record_property)
