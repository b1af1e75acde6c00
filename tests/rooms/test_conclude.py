"""After a rewind: the look at what it wrote, and what others did meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from takeback import Takeback, durable, kernel
from takeback.model.operation import Move
from tests.support.engine import settle
from tests.support.journey import write_files
from tests.support.trees import tree_state


class AtTheFirst:
    """Does something just before the first durable step of a kind."""

    def __init__(self, step: str, action: Callable[[], object]) -> None:
        self._step = step
        self._action: Callable[[], object] | None = action

    def step(self, name: str) -> None:
        if name == self._step and self._action is not None:
            action, self._action = self._action, None
            action()

    @property
    def done(self) -> bool:
        return self._action is None


@contextmanager
def meanwhile(step: str, action: Callable[[], object]) -> Iterator[None]:
    durable.faults = others = AtTheFirst(step, action)
    try:
        yield
    finally:
        durable.faults = None
    assert others.done


@pytest.fixture
def takeback(workspace: Path) -> Iterator[Takeback]:
    with Takeback.open(workspace) as opened:
        yield opened


def make_files(root: Path) -> None:
    for directory in ("here", "here/below", "elsewhere", "elsewhere/below"):
        (root / directory).mkdir()
        (root / directory / "file").write_text("then")


def test_a_rewind_is_verified_by_what_it_wrote_and_what_others_do_elsewhere_is_theirs(
    workspace: Path, takeback: Takeback
) -> None:
    make_files(workspace)
    with takeback.session(agent="test").turn("edit") as turn:
        (workspace / "here" / "below" / "file").write_text("now")
    settle()
    with meanwhile("exchange", lambda: (workspace / "elsewhere" / "file").write_text("mine")):
        outcome = takeback.rewind(turn.before, scope="files")
    assert outcome.verified
    assert outcome.left_alone == ()
    assert (workspace / "elsewhere" / "file").read_text() == "mine"
    [operation] = takeback.operations()
    assert isinstance(operation, Move)
    assert operation.after == turn.before.snapshot, "what the operation did is not what others did"
    assert takeback.checkpoint().checkpoint.snapshot != operation.after
    assert takeback.plan(turn.before).outside == (b"elsewhere/file",)


@pytest.mark.parametrize(
    "path", ["here/below/file", "here/below/new", "here/new", "new", "here/file"]
)
def test_what_others_do_where_it_wrote_is_seen_and_it_is_not_verified(
    workspace: Path, takeback: Takeback, path: str
) -> None:
    make_files(workspace)
    then = takeback.checkpoint().checkpoint
    (workspace / "here" / "below" / "file").write_text("now")
    settle()
    with meanwhile("exchange", lambda: (workspace / path).write_text("mine")):
        outcome = takeback.rewind(then, scope="files")
    assert not outcome.verified
    assert (workspace / path).read_text() == "mine"


def test_the_capture_after_a_rewind_knows_all_of_it(workspace: Path, takeback: Takeback) -> None:
    """The stat cache of both looks, saved once, says what a look at every file would say."""
    make_files(workspace)
    then = takeback.checkpoint().checkpoint
    (workspace / "here" / "file").unlink()
    (workspace / "here" / "below").rename(workspace / "moved")
    (workspace / "elsewhere" / "below" / "file").unlink()
    (workspace / "elsewhere" / "below").rmdir()
    (workspace / "elsewhere" / "below").write_text("a file now")
    (workspace / "elsewhere").chmod(0o700)
    settle()
    takeback.rewind(then, scope="files")
    assert takeback.checkpoint().checkpoint.snapshot == then.snapshot
    takeback.undo()
    before = tree_state(workspace)
    after_undo = takeback.checkpoint().checkpoint.snapshot
    (workspace / "elsewhere" / "file").write_text("one more")
    settle()
    (workspace / "elsewhere" / "file").write_text("then")
    assert takeback.checkpoint().checkpoint.snapshot == after_undo
    assert tree_state(workspace) == before


class Steps:
    """Counts the durable steps."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def step(self, name: str) -> None:
        self.names.append(name)


def rewind_of_fourteen(
    workspace: Path, takeback: Takeback, monkeypatch: pytest.MonkeyPatch, *, unwritten: int
) -> list[str]:
    """Takes 14 files in 14 directories back; returns the durable steps of it.

    ``unwritten`` is what all programs of the machine have still to write.
    """
    monkeypatch.setattr(kernel, "unwritten_bytes", lambda: unwritten)
    places = [workspace / f"directory{number}" for number in range(14)]
    for place in places:
        place.mkdir()
        (place / "file").write_text("then")
        (place / "gone").write_text("then")
    then = takeback.checkpoint().checkpoint
    before = tree_state(workspace)
    (workspace / "new").write_text("for a first rewind, which makes the log")
    takeback.rewind(then, scope="files")
    for place in places[:10]:
        (place / "file").write_text("now")
    for place in places[10:12]:
        (place / "new").write_text("now")
    for place in places[12:]:
        (place / "gone").unlink()
    settle()
    steps = Steps()
    monkeypatch.setattr(durable, "faults", steps)
    outcome = takeback.rewind(then, scope="files")
    assert outcome.verified
    assert (len(outcome.written), len(outcome.deleted)) == (12, 2)
    assert tree_state(workspace) == before
    return steps.names


def test_a_rewind_of_fourteen_files_flushes_no_more_than_twelve_times(
    workspace: Path, takeback: Takeback, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = rewind_of_fourteen(workspace, takeback, monkeypatch, unwritten=1 << 20)
    assert steps.count("sync") <= 12


def test_while_a_build_writes_each_file_is_flushed_by_itself(
    workspace: Path, takeback: Takeback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To flush the whole disk would wait for the build."""
    monkeypatch.setattr(kernel, "flush_file_system", lambda fd: pytest.fail("waits for others"))
    steps = rewind_of_fourteen(workspace, takeback, monkeypatch, unwritten=1 << 30)
    assert steps.count("sync") > 12 + 14


def test_many_files_of_one_new_directory_are_flushed_at_once_even_while_a_build_writes(
    workspace: Path, takeback: Takeback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand flushes take longer than what the build has written."""
    write_files(workspace, {f"crowd/{number}": b"then" for number in range(1000)})
    then = takeback.checkpoint().checkpoint
    before = tree_state(workspace)
    shutil.rmtree(workspace / "crowd")
    settle()
    monkeypatch.setattr(kernel, "unwritten_bytes", lambda: 1 << 30)
    steps = Steps()
    monkeypatch.setattr(durable, "faults", steps)
    takeback.rewind(then, scope="files")
    assert tree_state(workspace) == before
    assert steps.names.count("sync") < 100
