"""An owner who closed a directory to themselves: the bits come back by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.cli import Cli
from tests.support.trees import differences, tree_state
from tests.support.unprivileged import unprivileged


@pytest.mark.parametrize("bits", [0o000, 0o300, 0o400, 0o500])
def test_a_directory_closed_to_its_owner_comes_back(workspace: Path, bits: int) -> None:
    cli = unprivileged(Cli(workspace))
    directory = workspace / "d"
    (directory / "sub").mkdir(parents=True)
    (directory / "f").write_text("then")
    (directory / "sub" / "g").write_text("then")
    cli.ok("checkpoint", "-m", "then")
    then = tree_state(workspace)
    (directory / "f").write_text("now")
    directory.chmod(bits)
    try:
        answer = cli.run("rewind", "then", "--files", "--yes", "--force")
        found = directory.stat().st_mode & 0o777
    finally:
        directory.chmod(0o755)
    assert found == 0o755, str(answer)
    again = cli.run("rewind", "then", "--files", "--yes", "--force")
    assert again.status == 0, str(again)
    assert differences(then, tree_state(workspace)) == []
    assert os.listdir(directory / "sub") == ["g"]
