"""A program that makes a summary has its time, whatever it does with its streams."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.errors import TimedOut
from takeback.fork import summary


def test_a_program_that_closes_its_streams_and_stays_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary, "_SECONDS", 0.5)
    stays = ["/bin/sh", "-c", "exec <&- >&- 2>&-; exec sleep 600"]
    with pytest.raises(TimedOut, match="took longer than"):
        summary._output(stays, str(tmp_path), dict(os.environ), b"")
