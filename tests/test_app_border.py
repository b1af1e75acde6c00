"""What leaves the Python API when things go wrong: errors of ours, and nothing else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from takeback import Takeback, durable
from takeback.app.border import guarded
from takeback.errors import Bug, CaptureFailed, TakebackError, WriteFailed
from takeback.model.checkpoint import Checkpoint
from takeback.model.event import AgentEvent
from takeback.turns.receive import Delivery
from tests.support.faults import Faults
from tests.support.processes import lock_holder

CALLS: list[Callable[[Takeback, Checkpoint], object]] = [
    lambda tb, cp: tb.checkpoint("x"),
    lambda tb, cp: tb.plan(cp),
    lambda tb, cp: tb.rewind(cp),
    lambda tb, cp: tb.undo(),
    lambda tb, cp: tb.redo(),
    lambda tb, cp: tb.fork(cp, files=True),
    lambda tb, cp: tb.label(cp, "name"),
    lambda tb, cp: tb.find("@"),
    lambda tb, cp: tb.checkpoints(),
    lambda tb, cp: tb.show(cp),
    lambda tb, cp: tb.diff(cp),
    lambda tb, cp: tb.cat(cp, "a"),
    lambda tb, cp: tb.status(),
    lambda tb, cp: tb.doctor(rebuild=True),
    lambda tb, cp: tb.verify(read_data=True),
    lambda tb, cp: tb.sessions(),
    lambda tb, cp: tb.engine.browse(),
    lambda tb, cp: tb.conversation(cp),
    lambda tb, cp: tb.session("mine").turn("go").__enter__(),
    lambda tb, cp: tb.forget(),
]


@pytest.fixture
def tb(workspace: Path) -> Iterator[Takeback]:
    (workspace / "a").write_text("1\n")
    with Takeback.open(workspace) as opened:
        opened.checkpoint("first")
        yield opened


def store_gone(tb: Takeback) -> None:
    shutil.rmtree(tb.store_directory)


def store_a_file(tb: Takeback) -> None:
    store_gone(tb)
    Path(tb.store_directory).write_text("no directory")


def objects_gone(tb: Takeback) -> None:
    shutil.rmtree(Path(tb.store_directory, "store.git", "objects"))
    os.symlink("objects", Path(tb.store_directory, "store.git", "objects"))


def workspace_gone(tb: Takeback) -> None:
    shutil.rmtree(tb.root)


def records_garbled(tb: Takeback) -> None:
    for name in ("format", "sequence", "workspace.json", "ledger.db"):
        Path(tb.store_directory, name).write_bytes(b"\xff" * 100)


def only_ours_comes_out(
    tb: Takeback, number: int, checkpoint: Checkpoint, break_it: Callable[[Takeback], None]
) -> None:
    (Path(os.fsdecode(tb.root)) / "a").write_text("2\n")
    break_it(tb)
    said: TakebackError | None = None
    try:
        CALLS[number](tb, checkpoint)
    except TakebackError as error:
        said = error
    assert not isinstance(said, Bug), (number, said)
    assert said is None or said.message, number


@pytest.mark.parametrize("break_it", [store_gone, store_a_file, objects_gone, records_garbled])
def test_only_errors_of_ours_come_out(
    tb: Takeback, workspace: Path, tmp_path: Path, break_it: Callable[[Takeback], None]
) -> None:
    [entry] = tb.checkpoints()
    store, whole = Path(tb.store_directory), tmp_path / "whole"
    shutil.copytree(store, whole, symlinks=True)
    for number in range(len(CALLS)):
        with Takeback.open(workspace) as again:
            only_ours_comes_out(again, number, entry.checkpoint, break_it)
        if store.is_dir():
            shutil.rmtree(store)
        else:
            store.unlink(missing_ok=True)
        shutil.copytree(whole, store, symlinks=True)


def test_only_errors_of_ours_come_out_where_the_workspace_is_gone(tmp_path: Path) -> None:
    for number in range(len(CALLS)):
        workspace = tmp_path / f"workspace{number}"
        workspace.mkdir()
        (workspace / "a").write_text("1\n")
        with Takeback.open(workspace) as tb:
            made = tb.checkpoint("first").checkpoint
            only_ours_comes_out(tb, number, made, workspace_gone)


@pytest.mark.parametrize("home", ["relative", "/dev/null/x", "/proc/nowhere", "\udcff/x"])
def test_opening_where_nothing_can_be_kept(workspace: Path, home: str) -> None:
    with pytest.raises(TakebackError):
        Takeback.open(workspace, environ={**os.environ, "TAKEBACK_HOME": home}).checkpoint()


def test_a_turn_whose_checkpoint_cannot_be_made_is_not_begun(tb: Takeback) -> None:
    store_gone(tb)
    begun = False
    with pytest.raises(TakebackError), tb.session("mine").turn("go"):
        begun = True
    assert not begun


def test_what_ends_the_block_is_not_replaced_by_an_error_of_ours(tb: Takeback) -> None:
    def work() -> None:
        with tb.session("mine").turn("go"):
            store_gone(tb)
            raise LookupError("the agent's own")

    with pytest.raises(LookupError):
        work()


def test_a_turn_in_a_workspace_that_is_in_use_has_no_checkpoint_yet(tb: Takeback) -> None:
    session = tb.session("mine")
    session.tell("session_start")
    with lock_holder(os.path.join(tb.store_directory, "lock")):
        turn = session.turn("go")
        turn._before = tb.engine.record(  # what __enter__ does, without half a minute of waiting
            _event(tb, session.native), delivery=Delivery(tb.engine.now, 0)
        ).checkpoint
        with pytest.raises(CaptureFailed, match="no checkpoint before this turn"):
            turn.before  # noqa: B018


def _event(tb: Takeback, native: str) -> AgentEvent:
    return AgentEvent("prompt", "mine", native, os.fsdecode(tb.root), turn="t", prompt="go")


@guarded
class Guarded:
    def __init__(self) -> None:
        self._error: Exception = ValueError("odd\nthing")

    def fails(self, error: Exception) -> int:
        """Raises what it is given."""
        raise error

    @property
    def prop(self) -> int:
        raise self._error

    @classmethod
    def of_class(cls) -> int:
        raise RecursionError("deep")

    @staticmethod
    def of_none(number: int) -> int:
        return number + 1


def test_what_is_guarded_raises_errors_of_ours_only() -> None:
    one = Guarded()
    with pytest.raises(WriteFailed, match="fails failed: No space left on device"):
        one.fails(OSError(28, "full"))
    with pytest.raises(Bug, match="This is a bug in takeback: MemoryError") as raised:
        one.fails(MemoryError())
    assert isinstance(raised.value.__cause__, MemoryError)
    assert raised.value.exit_status == 70
    with pytest.raises(Bug, match="ValueError: odd thing"):
        one.prop  # noqa: B018
    with pytest.raises(Bug, match="RecursionError"):
        Guarded.of_class()
    assert Guarded.of_none(1) == 2
    with pytest.raises(TypeError):  # the caller's own mistake
        one.fails()  # type: ignore[call-arg]
    assert Guarded.fails.__doc__ == "Raises what it is given."


def test_a_bug_in_what_writes_is_told_although_nothing_of_it_can_be_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken(Faults):
        def step(self, name: str) -> None:
            raise ZeroDivisionError(name)

    monkeypatch.setattr(durable, "faults", Broken())
    with pytest.raises(Bug, match="This is a bug in takeback: ValueError: odd thing") as raised:
        Guarded().prop  # noqa: B018
    assert "run it again with -v" in str(raised.value.hint)


def test_closed_twice_it_closes_no_descriptor_of_others(workspace: Path) -> None:
    tb = Takeback.open(workspace)
    tb.close()
    theirs = [os.open(workspace, os.O_RDONLY) for _ in range(20)]  # those numbers are free again
    tb.close()
    for fd in theirs:
        os.close(fd)  # raises if it is closed
