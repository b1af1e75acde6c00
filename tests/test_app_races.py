"""What is decided before the lock is had is looked at again under it."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from takeback import durable, rooms
from takeback.app.engine import Engine
from takeback.context import LockedContext
from takeback.errors import Refused, TakebackError, UsageError
from takeback.model.coverage import Overrides
from takeback.model.event import PROMPT, AgentEvent
from takeback.model.operation import moves
from takeback.paths import takeback_home
from takeback.store import journal, location, pending
from takeback.store.store import Store
from takeback.workspaces import LockedStore, Making, locate
from tests.support.engine import Heard, KillAt, Killed, carry_out, request
from tests.support.processes import join


class Raced:
    """Something that is begun while another has the lock, and goes on when that lets go of it."""

    def __init__(self, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._workspace = workspace
        self._waits = threading.Event()
        self.heard = Heard()
        self.error: TakebackError | None = None
        self.result: Any = None
        flock = fcntl.flock

        def observed(fd: int, how: int) -> None:
            try:
                flock(fd, how)
            except BlockingIOError:
                self._waits.set()
                raise

        monkeypatch.setattr(fcntl, "flock", observed)

    def run(
        self, act: Callable[[Engine], object], meanwhile: Callable[[LockedContext], object]
    ) -> None:
        with Engine.open(self._workspace) as other, other._context.locked() as locked:
            thread = self.begin(self._workspace, act)
            meanwhile(locked)
        join(thread)

    def begin(self, workspace: Path, act: Callable[[Engine], object]) -> threading.Thread:
        """Starts something in a thread of its own; returns when it waits for a lock."""
        self.error = None
        self._waits.clear()
        thread = threading.Thread(target=self._act, args=(workspace, act))
        thread.start()
        assert self._waits.wait(30)
        return thread

    def _act(self, workspace: Path, act: Callable[[Engine], object]) -> None:
        try:
            with Engine.open(workspace, reporter=self.heard) as tb:
                self.result = act(tb)
        except TakebackError as error:
            self.error = error


@pytest.fixture
def raced(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Raced:
    return Raced(workspace, monkeypatch)


def test_a_rewind_that_was_killed_meanwhile_is_recovered_first(
    workspace: Path, raced: Raced, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine.open(workspace) as tb:
        for text in ("1", "2", "3"):
            for name in ("a", "b"):
                (workspace / name).write_text(text)
            tb.checkpoint(f"v{text}")
        first, second = tb.find("v1"), tb.find("v2")

    def killed(locked: LockedContext) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(durable, "faults", KillAt("exchange", 2))
            with pytest.raises(Killed):
                carry_out(locked, request(locked, first, overrides=Overrides.all()))
        assert journal.exists(locked.store)

    raced.run(lambda tb: tb.rewind(second), killed)
    assert raced.error is None
    assert raced.heard.notes == ["An interrupted rewind was found and finished."]
    assert [(workspace / name).read_text() for name in ("a", "b")] == ["2", "2"]
    with Engine.open(workspace) as tb:
        assert [op.target for op in moves(tb.operations())] == [first.id, second.id]
        tb.undo()
        assert [(workspace / name).read_text() for name in ("a", "b")] == ["1", "1"]
        tb.undo()
        assert [(workspace / name).read_text() for name in ("a", "b")] == ["3", "3"]


def test_a_label_that_another_took_meanwhile_is_refused(workspace: Path, raced: Raced) -> None:
    with Engine.open(workspace) as tb:
        made = tb.checkpoint().checkpoint
    raced.run(
        lambda tb: tb.checkpoint("good"), lambda locked: rooms.names.put_label(locked, made, "good")
    )
    assert isinstance(raced.error, UsageError)
    with Engine.open(workspace) as tb:
        assert tb.find("good").id == made.id
        other = tb.checkpoint().checkpoint
    raced.run(
        lambda tb: tb.label(other, "best"),
        lambda locked: rooms.names.put_label(locked, made, "best"),
    )
    assert isinstance(raced.error, UsageError)
    assert f"the label 'best' is on checkpoint {made.id}" in str(raced.error)


def test_a_directory_that_another_made_meanwhile_is_not_taken_for_the_fork(
    workspace: Path, raced: Raced, tmp_path: Path
) -> None:
    with Engine.open(workspace) as tb:
        (workspace / "a").write_text("of the checkpoint")
        with tb.session(agent="mine").turn("one", conversation=b"one\n") as turn:
            pass
    there = tmp_path / f"{workspace.name}-race"

    def strangers(locked: LockedContext) -> None:
        there.mkdir()
        (there / "a").write_text("a stranger's")

    raced.run(lambda tb: tb.fork(turn.before, worktree=str(there)), strangers)
    assert isinstance(raced.error, UsageError)
    assert [path.name for path in there.iterdir()] == ["a"]
    assert (there / "a").read_text() == "a stranger's"


def test_a_directory_that_appears_while_the_fork_is_made_is_left_alone_and_said(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / f"{workspace.name}-race"

    class Stranger:
        def step(self, name: str) -> None:
            if journal.exists(tb._context.store) and not there.exists():  # before it is filled
                there.mkdir()
                (there / "a").write_text("a stranger's")

    with Engine.open(workspace) as tb:
        (workspace / "a").write_text("of the checkpoint")
        with tb.session(agent="mine").turn("one", conversation=b"one\n") as turn:
            pass
        monkeypatch.setattr(durable, "faults", Stranger())
        done = tb.fork(turn.before, worktree=str(there))
        monkeypatch.setattr(durable, "faults", None)
        assert done.conversation_error is not None
        assert "File exists" in done.conversation_error
        assert done.session is None
        assert [path.name for path in there.iterdir()] == ["a"]
        assert (there / "a").read_text() == "a stranger's"
        assert [path.name for path in tmp_path.iterdir() if ".takeback-" in path.name] == []


class Prompting:
    """A clock; when it is first asked after ``armed`` was set, an agent's prompt comes in."""

    def __init__(self, workspace: Path) -> None:
        self._event = AgentEvent(PROMPT, "mine", "s", str(workspace), prompt="second", turn="t2")
        self.store: Store | None = None

    def now(self) -> float:
        store, self.store = self.store, None
        if store is not None:
            pending.leave(store, self._event, time.time(), ())
        return time.time()


def test_a_prompt_that_comes_in_while_a_rewind_begins_is_what_it_is_decided_on(
    workspace: Path,
) -> None:
    """It waits, since the lock is held; the rewind records it, and so it knows of it."""
    clock = Prompting(workspace)
    (workspace / "b").write_text("stays")
    with Engine.open(workspace, clock=clock) as tb:
        with tb.session(agent="mine", native="s").turn("first") as turn:
            (workspace / "a").write_text("of the first turn")
        clock.store = tb._context.store
        with pytest.raises(Refused, match="is working on"):
            tb.rewind(turn.before, scope="files")
        assert (workspace / "a").read_text() == "of the first turn"
        assert tb.rewind(turn.before, scope="files", overrides=Overrides(during_turn=True)).whole


def test_a_yes_to_one_undo_is_no_yes_to_another(workspace: Path) -> None:
    """They would do the same to the files; the operations that they take back are two."""
    with Engine.open(workspace) as tb:
        (workspace / "a").write_text("1")
        first = tb.checkpoint().checkpoint
        (workspace / "a").write_text("2")
        tb.rewind(first)
        shown = tb.plan_undo()
        (workspace / "a").write_text("2")
        tb.rewind(first)
        assert tb.plan_undo().writes == shown.writes
        with pytest.raises(Refused, match="changed since the plan was shown"):
            tb.undo(shown=shown)
        tb.undo(shown=tb.plan_undo())
        assert (workspace / "a").read_text() == "2"


def test_a_moved_workspace_that_another_takes_over_meanwhile_is_opened_with_its_checkpoints(
    workspace: Path, raced: Raced
) -> None:
    with Engine.open(workspace) as tb:
        made = tb.checkpoint().checkpoint
        before, home = tb._context.store.location, takeback_home(os.environ)
    moved = workspace.rename(workspace.parent / "moved")
    after = locate(os.fsencode(moved), os.environ, foreign_owner=False)
    with (
        Making(home),
        LockedStore(Store.open(before, os.environ), "taking over a moved workspace") as locked,
    ):
        thread = raced.begin(moved, lambda tb: tb.find(made.id))
        location.take_over(locked, after)
    join(thread)
    assert raced.error is None
    assert raced.result == made
