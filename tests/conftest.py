"""What every test has: a sealed environment, a fresh workspace, takeback as a process."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
import traceback
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.cache import NotInstalled
from tests.support.cli import Cli
from tests.support.git import new_repository
from tests.support.lanes import SLOW, has_long
from tests.support.pypi import packages
from tests.support.sealed import end_standby, sealed_environment

pytest_plugins = ["tests.support.alarm"]

# Examples run git and fsync: how long one takes says nothing about the code.
_UNTIMED = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile(
    "ci",
    max_examples=300,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=_UNTIMED,
)
settings.register_profile("soak", settings.get_profile("ci"), max_examples=20_000)
settings.load_profile("soak" if os.environ.get("TAKEBACK_SOAK") == "1" else "ci")

_INSTALLING = frozenset(("from_pypi", "installed"))

# A shell starts jobs in the background with SIGINT ignored, nohup with SIGHUP, and children inherit
# that. What Python itself ignores stays so.
for _one in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
    if signal.getsignal(_one) is signal.SIG_IGN:
        _is_key = _one == signal.SIGINT
        signal.signal(_one, signal.default_int_handler if _is_key else signal.SIG_DFL)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves files of another lane unread: importing all of them costs each worker 15 s."""
    wanted = config.option.markexpr
    if "not slow" in wanted and _is_slow(collection_path):
        return True
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if wanted.startswith("long") and is_test and not has_long(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what is too slow for `make quick`, and gives time to what may install something."""
    for item in items:
        if _is_slow(item.path):
            item.add_marker(pytest.mark.slow)
        installs = _INSTALLING.intersection(getattr(item, "fixturenames", ()))
        if installs and item.get_closest_marker("bound") is None:
            item.add_marker(pytest.mark.bound(600))


def _is_slow(path: Path) -> bool:
    below = path.relative_to(Path(__file__).parent).as_posix()
    return f"{below}/".startswith(SLOW) or below.startswith(SLOW)


@pytest.fixture(autouse=True)
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replaces the whole environment; HOME, XDG_* and TAKEBACK_HOME are in ``tmp_path``."""
    environment = sealed_environment(tmp_path)
    for name in set(os.environ) - set(environment):
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    time.tzset()
    yield
    end_standby(Path(environment["TAKEBACK_HOME"]))
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(autouse=True)
def databases() -> Iterator[None]:
    """Fails a test that leaves an SQLite database open, also where Python says nothing of it.

    It says so from 3.13 on, and only when the collector comes by: in some later test.
    """
    connect = sqlite3.connect
    made: list[tuple[sqlite3.Connection, traceback.StackSummary]] = []

    def noted(*given: Any, **options: Any) -> sqlite3.Connection:
        database: sqlite3.Connection = connect(*given, **options)
        frames = traceback.walk_stack(None)
        where = traceback.StackSummary.extract(frames, limit=8, lookup_lines=False)
        made.append((database, where))
        return database

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", noted)
        yield
    for database, where in made:
        if _is_open(database):
            pytest.fail(f"a database is still open:\n{''.join(where.format())}", pytrace=False)


def _is_open(database: sqlite3.Connection) -> bool:
    try:
        return database.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


@pytest.fixture(scope="session")
def from_pypi() -> Callable[[str], Path]:
    """Returns the directory with the packages of a lock; what cannot be had skips, loudly."""
    environ = dict(os.environ)  # taken before a test's environment is sealed

    @cache
    def found(name: str) -> Path | NotInstalled:
        try:
            return packages(name, environ)
        except NotInstalled as error:
            return error

    def wanted(name: str) -> Path:
        place = found(name)
        if isinstance(place, NotInstalled):
            pytest.skip(f"NOT TESTED: what tests/locks/{name}.txt pins: {place}")
        return place

    return wanted


@pytest.fixture
def soak() -> bool:
    """True in the long campaigns: a test multiplies its counts."""
    return os.environ.get("TAKEBACK_SOAK") == "1"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A fresh directory with an empty git repository on branch main."""
    directory = tmp_path / "workspace"
    directory.mkdir()
    new_repository(directory)
    return directory


@pytest.fixture
def cli(workspace: Path) -> Cli:
    """takeback in ``workspace``."""
    return Cli(workspace)
