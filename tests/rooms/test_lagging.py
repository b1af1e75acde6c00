"""Whoever only looks answers from what the ledger has, and never from half of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from takeback.context import Context
from takeback.errors import LedgerUnwritable, NoSuchCheckpoint
from takeback.ledger.attribute import count_lines
from takeback.ledger.follow import LaggingIndex, open_ledger, rebuild_ledger
from takeback.ledger.ledger import Ledger
from tests.support.engine import checkpoint


class Worker:
    """Catches up when it is told to, unless it is kept from it."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.is_busy = False
        self.asked: list[bool] = []

    def __call__(self, *, long: bool) -> bool:
        self.asked.append(long)
        if self.is_busy and not long:
            return False
        self.is_busy = False
        open_ledger(self.context.store, self.context.reporter).close()
        return True


@pytest.fixture
def worker(workspace: Path, context: Context) -> Worker:
    checkpoint(context, prompt="first")
    return Worker(context)


@pytest.fixture
def index(context: Context, worker: Worker) -> Iterator[LaggingIndex]:
    made = LaggingIndex(context.store, worker)
    yield made
    made.close()


def prompts(ledger: Ledger) -> list[str | None]:
    return [one.prompt for one in ledger.checkpoints()]


def test_what_is_new_is_waited_for_and_one_look_is_enough_for_a_request(
    context: Context, worker: Worker, index: LaggingIndex
) -> None:
    assert index.ask(prompts) == ["first"]
    checkpoint(context, prompt="second")
    assert index.ask(prompts) == ["first"]  # the same look
    assert worker.asked == [True]  # there was none
    index.look_again()
    assert index.ask(prompts) == ["second", "first"]
    index.look_again()
    index.ask(prompts)
    assert worker.asked == [True, False]  # nothing was new


def test_while_another_catches_up_the_state_before_is_read(
    context: Context, worker: Worker, index: LaggingIndex
) -> None:
    assert index.ask(prompts) == ["first"]
    checkpoint(context, prompt="second")
    worker.is_busy = True
    with closing(sqlite3.connect(context.store.path("ledger.db"), isolation_level=None)) as other:
        other.execute("begin immediate")
        other.execute("delete from labels")
        index.look_again()

        def question(ledger: Ledger) -> list[str | None]:
            newest = ledger.checkpoints()[0]
            count_lines(context.store, ledger, [newest.id])  # would have to write
            return index.ask(prompts)  # a question within a question

        assert index.ask(question) == ["first"]
        other.execute("rollback")
    worker.is_busy = False
    index.look_again()
    assert index.ask(prompts) == ["second", "first"]


def test_a_ledger_that_is_being_made_anew_is_not_read(
    context: Context, worker: Worker, index: LaggingIndex
) -> None:
    """Its first batches would look like a timeline in which the newest turns are missing."""
    assert index.ask(prompts) == ["first"]
    checkpoint(context, prompt="second")
    with closing(Ledger(context.store.path("ledger.db"))) as other:
        other.begin()
        other.clear()
        other.set_whole(whole=False)
        other.commit()
    worker.is_busy = True
    index.look_again()
    assert index.ask(prompts) == ["second", "first"]
    assert worker.asked[-1] is True


def test_what_turned_out_to_be_half_a_ledger_is_asked_again(
    context: Context, worker: Worker, index: LaggingIndex
) -> None:
    assert index.ask(prompts) == ["first"]
    asked = 0

    def question(ledger: Ledger) -> list[str | None]:
        nonlocal asked
        asked += 1
        if asked == 1:
            with closing(Ledger(context.store.path("ledger.db"))) as other:
                other.begin()
                other.clear()
                other.set_whole(whole=False)
                other.commit()
            raise NoSuchCheckpoint("there is none in this half")
        return prompts(ledger)

    assert index.ask(question) == ["first"]


def test_a_ledger_that_was_made_anew_as_another_file_is_noticed(
    context: Context, index: LaggingIndex
) -> None:
    assert index.ask(prompts) == ["first"]
    rebuild_ledger(context.store, context.reporter).close()
    checkpoint(context, prompt="second")
    index.look_again()
    assert index.ask(prompts) == ["second", "first"]


def test_where_nobody_can_catch_up_it_says_so(context: Context, worker: Worker) -> None:
    with (
        closing(LaggingIndex(context.store, lambda *, long: False)) as index,
        pytest.raises(LedgerUnwritable),
    ):
        index.ask(prompts)
