"""The workspaces of this machine, without opening one."""

from __future__ import annotations

import os
from pathlib import Path

from takeback import Takeback


def test_every_workspace_with_a_store_is_listed_there_or_not(workspace: Path) -> None:
    assert Takeback.workspaces() == []
    other = workspace.parent / "another"
    other.mkdir()
    for root in (workspace, other):
        with Takeback.open(root) as tb:
            tb.checkpoint()
    found = Takeback.workspaces()
    assert [os.fsdecode(one.root) for one in found] == sorted([str(workspace), str(other)])
    assert all(one.is_there and Path(one.store).is_dir() for one in found)
    other.rename(workspace.parent / "moved")
    assert {os.fsdecode(one.root): one.is_there for one in Takeback.workspaces()} == {
        str(workspace): True,
        str(other): False,
    }
