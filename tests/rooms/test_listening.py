"""Whoever listens hears of every change, by the kernel or by looking."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.capture.watching import Listening
from takeback.model import event as events
from takeback.worktree import watch
from tests.support.processes import wait_for


@pytest.fixture(params=["told", "looks"])
def listening(
    request: pytest.FixtureRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Listening]]:
    """Begins to listen, by the kernel where it can be relied on; or by looks alone."""
    if request.param == "looks":
        monkeypatch.setattr(watch, "RELIABLE", frozenset())
    (workspace / "a").write_text("0\n")
    (workspace / "d").mkdir()
    with Engine.open(workspace) as tb, ExitStack() as ends:

        def begin() -> Listening:
            tb.session("sh").tell(events.SESSION_START)
            found = tb.listening()
            ends.callback(found.close)
            return found

        yield begin


def test_it_hears_of_changes_wherever_they_are(
    listening: Callable[[], Listening], workspace: Path
) -> None:
    found = listening()
    assert not found.heard()
    for change in (
        lambda: (workspace / "a").write_text("1\n"),
        lambda: (workspace / "d" / "new").write_text("1\n"),
        lambda: shutil.rmtree(workspace / "d"),
    ):
        change()
        wait_for(found.heard)


def test_what_is_in_a_new_directory_is_heard_after_the_next_capture(
    listening: Callable[[], Listening], workspace: Path
) -> None:
    found = listening()
    (workspace / "new").mkdir()
    (workspace / "new" / "file").write_text("1\n")
    wait_for(found.heard)
    again = listening()
    (workspace / "new" / "file").write_text("2\n")
    wait_for(again.heard)
    assert found.queue is None or found.listen_anew()
    (workspace / "new" / "file").write_text("3\n")
    wait_for(found.heard)
