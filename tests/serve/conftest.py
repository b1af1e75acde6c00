"""A workspace with some turns, and the server for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.served import InProcess
from tests.support.cli import Cli
from tests.support.host import Host


@pytest.fixture
def host(cli: Cli, tmp_path: Path) -> Host:
    """A session with three turns, which write a.txt, b.txt and a.txt again."""
    agent = Host(cli, tmp_path)
    agent.turn("write a", {"a.txt": b"one\ntwo\nthree\n"})
    agent.turn("write b", {"b.txt": b"b\n"})
    agent.turn("change a", {"a.txt": b"one\n2\nthree\n"})
    return agent


@pytest.fixture
def served() -> Iterator[InProcess]:
    """The application, asked without a socket."""
    made = InProcess()
    yield made
    made.close()
