"""An open workspace with its store, in the test's own process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.context import Context
from tests.support.engine import opened


@pytest.fixture
def context(workspace: Path) -> Iterator[Context]:
    """The workspace, opened; its clock stands at noon."""
    with opened(workspace) as context:
        yield context
