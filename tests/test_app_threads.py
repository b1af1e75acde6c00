"""One ``Takeback`` shared by threads: its sessions and turns too, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.errors import UsageError, WriteFailed
from takeback.model.agent import FROM
from takeback.model.coverage import Overrides
from takeback.model.event import EDIT, ToolCall
from tests.serve.served import until

WORKERS, TURNS = 6, 4


@pytest.fixture
def tb(workspace: Path) -> Iterator[Takeback]:
    (workspace / "a.txt").write_text("0\n")
    with Takeback.open(workspace) as opened:
        yield opened


def test_threads_share_one_and_nothing_is_lost(tb: Takeback, workspace: Path) -> None:
    at_once = threading.Barrier(WORKERS)

    def work(name: int) -> Sequence[tuple[str, str, bytes]]:
        session, made = tb.session("mine", f"s{name}"), []
        at_once.wait(60)
        for number in range(TURNS):
            with session.turn(f"{name}: {number}") as turn:
                file = workspace / f"{name}.txt"
                file.write_text(f"{number}\n")
                turn.round([ToolCall("edit", EDIT, (file.name,))])
                turn.messages = [*turn.messages, {"role": "user", "content": turn.prompt}]
            assert tb.cat(turn.after, file.name) == b"%d\n" % number
            made.append((turn.before.id, turn.after.id, tb.conversation(turn.after)))
        return made

    with ThreadPoolExecutor(WORKERS) as threads:
        found = list(threads.map(work, range(WORKERS)))
    sessions = {one.session.native: one for one in tb.sessions()}
    assert len(sessions) == WORKERS
    for name, made in enumerate(found):
        assert sessions[f"s{name}"].turns == TURNS
        newest = sessions[f"s{name}"].newest
        assert newest is not None
        assert newest.state == "ended"
        for number, (before, after, said) in enumerate(made):
            assert tb.find(f"s{name}/turn:{number + 1}").id == before
            assert tb.find(f"s{name}/turn:{number + 1}.end").id == after
            assert said.count(b"\n") == number + 1
    tb.rewind("s0/turn:1", scope="files", overrides=Overrides(overwrite_others=True))
    tb.undo()
    assert (workspace / "0.txt").read_text() == f"{TURNS - 1}\n"
    verified = tb.verify(read_data=True)
    assert (verified.checkpoints > 2 * WORKERS * TURNS, verified.problems) == (True, ())


def test_operations_of_several_threads_are_done_one_after_the_other(
    tb: Takeback, workspace: Path
) -> None:
    with tb.session("mine").turn("change a") as turn:
        (workspace / "a.txt").write_text("1\n")

    def there_and_back(_: int) -> None:
        tb.rewind(turn.before, scope="files")
        tb.checkpoints()
        tb.status(look=True)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(there_and_back, range(8)))
    assert (workspace / "a.txt").read_text() == "0\n"
    assert [one.kind for one in tb.operations()].count("rewind") >= 1
    assert tb.verify(read_data=True).problems == ()


def test_a_second_turn_of_a_session_is_refused_while_one_runs(
    tb: Takeback, workspace: Path
) -> None:
    session = tb.session("mine", "s1")
    with session.turn("one"), ThreadPoolExecutor(1) as other:
        for again in (session, tb.session("mine", "s1")):
            refused = other.submit(again.turn("two").__enter__).exception()
            assert isinstance(refused, UsageError)
            assert refused.message == "a turn of session mine-s1 is running"
        with tb.session("mine", "s2").turn("beside it") as beside:
            (workspace / "b.txt").write_text("1\n")
    with session.turn("three") as third:
        pass
    assert (third.before.turn, beside.before.turn) == (2, 1)
    assert {entry.turns for entry in tb.sessions()} == {1, 2}


def test_a_turn_that_could_not_begin_or_end_does_not_block_the_next(tb: Takeback) -> None:
    session = tb.session("mine")
    session.tell("session_start")
    lock = Path(tb.store_directory, "lock")

    def no_lock() -> None:
        lock.unlink()
        lock.mkdir()

    def cannot_end() -> None:
        with session.turn("cannot end"):
            no_lock()

    no_lock()
    with pytest.raises(WriteFailed, match="locking the workspace"):
        session.turn("cannot begin").__enter__()
    lock.rmdir()
    with pytest.raises(WriteFailed, match="locking the workspace"):
        cannot_end()
    lock.rmdir()
    with session.turn("goes on") as third:
        pass
    assert third.after.turn == third.before.turn


def test_who_comes_after_it_was_closed_is_told(tb: Takeback) -> None:
    turn = tb.session("mine").turn("one").__enter__()
    tb.close()
    with pytest.raises(UsageError, match="the workspace was closed"):
        tb.checkpoints()
    with pytest.raises(UsageError, match="the workspace was closed"):
        turn.end()
    tb.close()


def test_what_ended_the_block_is_told_and_not_that_the_workspace_was_closed(tb: Takeback) -> None:
    def work() -> None:
        with tb.session("mine").turn("one"):
            tb.close()
            raise LookupError("the agent's own")

    with pytest.raises(LookupError):
        work()


def test_closing_waits_for_what_another_thread_does(tb: Takeback) -> None:
    begun, closed = threading.Event(), threading.Event()

    def hold() -> None:
        with tb.engine.alone:
            begun.set()
            assert not closed.wait(0.2)

    with ThreadPoolExecutor(2) as threads:
        held = threads.submit(hold)
        begun.wait(20)
        threads.submit(tb.close).add_done_callback(lambda _: closed.set())
        held.result(20)
    assert closed.is_set()


def test_a_function_that_makes_a_summary_may_use_the_workspace_in_another_thread(
    tb: Takeback, workspace: Path
) -> None:
    session = tb.session("mine", "s1")
    for number in (1, 2, 3):
        with session.turn(f"turn {number}") as turn:
            said = {"role": "user", "content": f"words {number}"}
            turn.messages = [*turn.messages, said]

    def by_another_agent(text: str) -> str:
        def work() -> str:
            with tb.session("other", "s2").turn("summarise") as turn:
                (workspace / "made.txt").write_text("meanwhile\n")
            return f"{turn.after.turn} turn of another agent"

        with ThreadPoolExecutor(1) as other:
            return other.submit(work).result(60)

    done = tb.summarise("s1/turn:2", FROM, by=by_another_agent, session="s1")
    resumed = tb.resume(done)
    assert b"1 turn of another agent" in (resumed.conversation or b"")
    assert b"words 3" not in (resumed.conversation or b"")
    assert {entry.session.native for entry in tb.sessions()} >= {"s1", "s2", resumed.native}


def test_a_search_for_what_broke_keeps_no_other_thread_waiting(
    tb: Takeback, workspace: Path, tmp_path: Path
) -> None:
    session = tb.session("mine")
    turns = []
    for number in (1, 2):
        with session.turn(f"turn {number}") as turn:
            (workspace / "a.txt").write_text(f"{number}\n")
        turns.append(turn)
    ready, go = tmp_path / "ready", tmp_path / "go"
    tries = f"touch {ready}; while [ ! -e {go} ]; do sleep 0.02; done; grep -q 1 a.txt"
    with ThreadPoolExecutor(1) as other:
        ends = turns[0].after, turns[1].after
        found = other.submit(tb.bisect, *ends, ["sh", "-c", tries], timeout=60)
        try:
            until(ready.exists)
            with session.turn("meanwhile") as turn:
                pass
            assert not found.done()
        finally:
            go.touch()
        [broken] = found.result(60).broken
    assert broken.turn is not None
    assert (broken.turn.turn.number, turn.before.turn) == (2, 3)
