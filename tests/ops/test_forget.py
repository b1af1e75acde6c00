"""Forgetting a workspace: killed anywhere, it has not begun or nothing of it comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback import Takeback, durable
from takeback.errors import NotAWorkspace
from tests.support.engine import KillAt, Killed


@pytest.mark.parametrize("step", ["unlink", "rename", "rmdir"])
def test_a_killed_forget_brings_nothing_back(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    for number in (1, 2, 3):
        (workspace / "file.txt").write_text(f"{step} {number}\n")
        with Takeback.open(workspace) as tb:
            made = tb.checkpoint().checkpoint.id
            kept = {entry.checkpoint.id for entry in tb.checkpoints()}
            monkeypatch.setattr(durable, "faults", KillAt(step, number))
            try:
                tb.forget()
            except Killed:
                pass
            monkeypatch.setattr(durable, "faults", None)
        try:
            with Takeback.open(workspace, create=False) as tb:
                assert {entry.checkpoint.id for entry in tb.checkpoints()} == kept
        except NotAWorkspace:
            with Takeback.open(workspace) as tb:
                assert tb.checkpoints() == []
                assert tb.verify(read_data=True).problems == ()
                again = tb.checkpoint().checkpoint.id
                assert [entry.checkpoint.id for entry in tb.checkpoints()] == [again]
        assert made in kept
