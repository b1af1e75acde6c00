"""A workspace with a story: two checkpoints, and an edit after them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.cli import Cli


@dataclass(frozen=True, slots=True)
class Story:
    """``first`` has a and b; ``second`` has a changed and c instead of b; d is not captured."""

    cli: Cli
    workspace: Path
    first: str
    second: str

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.workspace.iterdir() if path.is_file()}


FIRST = {"a": "a\n", "b": "b\n"}
SECOND = {"a": "changed\n", "c": "c\n"}
NOW = {**SECOND, "d": "mine\n"}


@pytest.fixture
def story(cli: Cli, workspace: Path) -> Story:
    (workspace / "a").write_text("a\n")
    (workspace / "b").write_text("b\n")
    first = cli.ok("--json", "checkpoint", "-m", "start").json["id"]
    (workspace / "a").write_text("changed\n")
    (workspace / "b").unlink()
    (workspace / "c").write_text("c\n")
    second = cli.ok("--json", "checkpoint").json["id"]
    (workspace / "d").write_text("mine\n")
    return Story(cli, workspace, first, second)
