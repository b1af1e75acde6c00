"""Proposals: what every face plans, shows and carries out in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.app import proposal
from takeback.app.engine import Engine
from takeback.errors import Refused
from takeback.model.coverage import Overrides


@pytest.fixture
def tb(workspace: Path) -> Iterator[Engine]:
    (workspace / "a.txt").write_text("0\n")
    with Engine.open(workspace) as opened:
        opened.checkpoint("start")
        (workspace / "a.txt").write_text("1\n")
        yield opened


def test_a_plan_that_was_shown_is_carried_out_and_taken_back(tb: Engine, workspace: Path) -> None:
    going = proposal.rewind(tb.find("start"), scope="files")
    done = going.go(tb, shown=going.plan(tb))
    assert done is not None
    assert done.kind == going.kind == "rewind"
    assert (workspace / "a.txt").read_text() == "0\n"
    back = proposal.step("undo", tb.next_undo().operation)
    assert back.go(tb, shown=back.plan(tb)) is not None
    assert (workspace / "a.txt").read_text() == "1\n"
    again = proposal.step("redo", tb.next_redo().operation)
    assert again.go(tb, shown=again.plan(tb)) is not None
    assert (workspace / "a.txt").read_text() == "0\n"


def test_another_plan_than_the_one_shown_is_not_carried_out(tb: Engine, workspace: Path) -> None:
    going = proposal.rewind(tb.find("start"), scope="files")
    shown = going.plan(tb)
    (workspace / "b.txt").write_text("new\n")
    assert going.go(tb, shown=shown) is None
    assert (workspace / "a.txt").read_text() == "1\n"
    assert tb.operations() == []


def test_what_came_to_speak_against_it_makes_another_plan(tb: Engine, workspace: Path) -> None:
    going = proposal.rewind(tb.find("start"), scope="files")
    shown = going.plan(tb)
    tb.session(agent="busy").turn("work").__enter__()
    assert going.go(tb, shown=shown) is None
    allowed = Overrides(during_turn=True)
    assert going.go(tb, allowed, shown=going.plan(tb, allowed)) is not None


def test_a_refusal_that_was_shown_is_an_error(tb: Engine) -> None:
    tb.session(agent="busy").turn("work").__enter__()
    going = proposal.rewind(tb.find("start"), scope="files")
    with pytest.raises(Refused, match="busy is working on"):
        going.go(tb, shown=going.plan(tb))


def test_the_plan_of_a_fork_that_moves_no_file_is_refused_by_no_running_turn(
    tb: Engine, workspace: Path, tmp_path: Path
) -> None:
    session = tb.session(agent="mine")
    with session.turn("one", conversation=b"") as turn:
        (workspace / "a.txt").write_text("2\n")
    tb.session(agent="busy").turn("work").__enter__()
    for going in (
        proposal.fork(turn.before),
        proposal.fork(turn.before, worktree=str(tmp_path / "race")),
    ):
        plan = going.plan(tb)
        assert (plan.refused, plan.is_empty, plan.scope) == ((), True, "conversation")
        assert plan.prompt == "one"
    assert proposal.fork(turn.before, files=True).plan(tb).refused
