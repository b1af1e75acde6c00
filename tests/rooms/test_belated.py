"""A turn that nobody announced begins with the files as they were last kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.app.session import AgentSession
from takeback.errors import InUse
from takeback.model import event as events
from takeback.model.checkpoint import Checkpoint
from tests.support.processes import lock_holder


@pytest.fixture
def tb(workspace: Path) -> Iterator[Engine]:
    (workspace / "a").write_text("0\n")
    (workspace / "b").write_text("0\n")
    with Engine.open(workspace) as opened:
        yield opened


@pytest.fixture
def run(tb: Engine) -> AgentSession:
    session = tb.session("sh")
    session.tell(events.SESSION_START)
    return session


def found(
    tb: Engine, run: AgentSession, *, always: bool = False, besides: tuple[bytes, ...] = ()
) -> tuple[Checkpoint, ...]:
    told = [
        run.event(events.PROMPT, turn="t", prompt="words"),
        run.event(events.TURN_END, turn="t"),
    ]
    return tb.record_belated(told, always=always, besides=besides, wait=0.0)


def test_its_beginning_has_the_files_from_before_it(
    tb: Engine, run: AgentSession, workspace: Path
) -> None:
    (workspace / "a").write_text("1\n")
    before, after = found(tb, run)
    assert (before.kind, after.kind, after.turn) == ("prompt", "turn end", 1)
    [entry] = tb.checkpoints()
    assert [change.path for change in entry.done] == [b"a"]
    tb.rewind(before)
    assert (workspace / "a").read_text() == "0\n"


def test_without_a_change_there_was_no_turn(tb: Engine, run: AgentSession) -> None:
    assert found(tb, run) == ()
    assert len(found(tb, run, always=True)) == 2


def test_what_a_program_writes_for_itself_is_no_turn(
    tb: Engine, run: AgentSession, workspace: Path
) -> None:
    (workspace / ".own").write_text("1\n")
    assert found(tb, run, besides=(b".own",)) == ()
    (workspace / "a").write_text("1\n")
    assert len(found(tb, run, besides=(b".own",))) == 2


def test_what_an_operation_did_is_no_turn_and_what_follows_it_is(
    tb: Engine, run: AgentSession, workspace: Path
) -> None:
    (workspace / "a").write_text("1\n")
    before, _ = found(tb, run)
    tb.rewind(before)
    assert found(tb, run) == ()
    (workspace / "b").write_text("2\n")
    begun, _ = found(tb, run)
    assert begun.snapshot == before.snapshot
    [newest, *_] = tb.checkpoints()
    assert [change.path for change in newest.done] == [b"b"]


def test_while_another_agent_is_at_work_only_the_files_are_kept(
    tb: Engine, run: AgentSession, workspace: Path
) -> None:
    with tb.session("other").turn("mine"):
        (workspace / "a").write_text("1\n")
        [kept] = found(tb, run)
        assert kept.kind == "session start"
    [only] = tb.checkpoints()
    assert (only.checkpoint.agent, [c.path for c in only.done]) == ("other", [b"a"])


def test_an_open_turn_goes_on_beside_another_agents(
    tb: Engine, run: AgentSession, workspace: Path
) -> None:
    begun = [run.event(events.PROMPT, turn="t", prompt="words")]
    tb.record_belated(begun, always=True, besides=(), wait=0.0)
    with tb.session("other").turn("mine"):
        (workspace / "a").write_text("1\n")
        rounds = [run.event(events.ROUND_END, turn="t")]
        [kept] = tb.record_belated(rounds, always=False, besides=(), wait=0.0)
        assert (kept.kind, kept.phase) == ("round", "running")


def test_a_workspace_in_use_is_left_for_later(
    tb: Engine, run: AgentSession, workspace: Path
) -> None:
    (workspace / "a").write_text("1\n")
    with lock_holder(f"{tb.store_directory}/lock"), pytest.raises(InUse):
        found(tb, run)
    assert len(found(tb, run)) == 2
