"""What is asked for each checkpoint of a catch-up is found by an index: its cost does not grow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.context import Context
from takeback.ledger import by_session as questions
from takeback.ledger import ledger as ledgers
from takeback.ledger.file import LedgerFile
from takeback.ledger.follow import catch_up
from takeback.ledger.ledger import Ledger
from takeback.model import event as events
from takeback.model.checkpoint import Checkpoint
from takeback.model.event import EDIT, SHELL, AgentEvent, ToolCall
from takeback.store import store as stores
from takeback.turns.receive import Delivery, receive

GROWING = ("checkpoints", "turns", "turn_changes", "changes", "sessions", "other")
"""The tables with a row for each checkpoint, turn or change, as the plans name them."""
FEW = "INDEX turns_open"
"""An index that has only the turns that are open."""


def scans(ledger: Ledger, statement: str) -> list[str]:
    """Returns the steps of a statement that go through one of these tables from end to end."""
    steps = [str(row[3]) for row in ledger.rows(f"explain query plan {statement}")]
    return [
        step
        for step in steps
        if step.startswith("SCAN ") and step.split()[1] in GROWING and not step.endswith(FEW)
    ]


def play(context: Context, workspace: Path, turns: int) -> None:
    """Plays turns of two sessions that work at the same time, and of a person between them."""
    for number in range(turns):
        for session in ("one", "two"):
            event = AgentEvent(
                kind=events.PROMPT,
                agent="mine",
                session=session,
                directory=str(workspace),
                turn=f"{session} {number}",
                prompt=f"do {number}",
            )
            delivery = Delivery(context.clock.now(), 5.0)
            receive(context, event, delivery=delivery)
            (workspace / session).write_text(f"{number}\n")
            tools = (ToolCall("Edit", EDIT, (session,)), ToolCall("Bash", SHELL, ()))
            receive(context, event.replace(kind=events.ROUND_END, tools=tools), delivery=delivery)
            (workspace / "by hand").write_text(f"{session} {number}\n")
            receive(context, event.replace(kind=events.TURN_END), delivery=delivery)


def test_a_catch_up_goes_through_no_table_that_grows(workspace: Path, context: Context) -> None:
    ledger = Ledger(":memory:")
    asked: dict[str, None] = {}
    ledger._db.set_trace_callback(lambda statement: asked.update({statement: None}))
    play(context, workspace, 2)
    catch_up(context.store, ledger, context.reporter, batch=3)
    play(context, workspace, 1)
    catch_up(context.store, ledger, context.reporter, batch=3)
    ledger._db.set_trace_callback(None)
    once = "machine != "  # of what came from elsewhere, when a machine makes its first checkpoint
    begins = ("select", "insert into", "insert or", "update", "delete")
    found = {
        statement: steps
        for statement in asked
        if statement.lower().startswith(begins)
        and once not in statement
        and (steps := scans(ledger, statement))
    }
    assert len(asked) > 50
    assert "\n".join(f"{a}: {b}" for a, b in found.items()) == ""
    assert len(questions.turns(ledger)) == 6
    ledger.close()


def test_what_can_be_searched_for_is_written_once_a_batch(
    workspace: Path, context: Context
) -> None:
    """At the end of a part SQLite writes out all new words, and merges them with all others."""
    ledger = Ledger(":memory:")
    asked: list[str] = []
    play(context, workspace, 2)
    ledger._db.set_trace_callback(asked.append)
    catch_up(context.store, ledger, context.reporter, batch=1000)
    ledger._db.set_trace_callback(None)
    first, last = (
        max(number for number, said in enumerate(asked) if said.startswith(words))
        for words in ("insert into checkpoints", "insert into words")
    )
    assert "release part" in asked[first:last], "words are written when all parts have ended"
    parts = [said for said in asked[last:] if said == "savepoint part"]
    assert len(parts) == len(questions.turns(ledger))  # each turn is folded, and adds no words
    assert questions.search(ledger, ["do 1"])
    ledger.close()


@pytest.mark.parametrize("machine", [None, "a-machine"])
def test_open_turns_are_found_without_going_through_all(machine: str | None) -> None:
    ledger = Ledger(":memory:")
    asked: list[str] = []
    ledger._db.set_trace_callback(asked.append)
    questions.open_turns(ledger, machine)
    ledger._db.set_trace_callback(None)
    assert [scans(ledger, statement) for statement in asked] == [[]]
    ledger.close()


def test_a_turn_of_a_long_timeline_takes_no_more_reads_than_one_of_a_short_one(
    workspace: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the trees of a few turns stay in memory, as in a catch-up of thousands."""
    monkeypatch.setattr(stores, "_ENTRIES_KEPT", 700)
    for name in range(12):
        (workspace / f"beside {name}").write_text("x")
    read = 0
    whole = context.store.packs.read

    def counted(oid: bytes, most: int | None = None) -> tuple[int, bytes]:
        nonlocal read
        read += 1
        return whole(oid, most)

    monkeypatch.setattr(context.store.packs, "read", counted)
    reads: list[float] = []
    for turns in (5, 25):
        play(context, workspace, turns - len(reads) * 5)
        context.store._trees.clear()
        ledger, read = Ledger(":memory:"), 0
        catch_up(context.store, ledger, context.reporter, batch=6)
        reads.append(read / len(questions.turns(ledger)))
        ledger.close()
    few, many = reads
    assert many <= few


def test_status_and_sessions_read_no_checkpoint_to_count_them(
    workspace: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(context, workspace, 2)
    asked: list[str] = []
    prepare = LedgerFile._prepare

    def traced(self: LedgerFile) -> None:
        prepare(self)
        self._db.set_trace_callback(asked.append)

    with Engine.open(workspace) as tb:
        tb.checkpoints()  # it has caught up
    monkeypatch.setattr(LedgerFile, "_prepare", traced)
    decoded = 0
    decode = ledgers._checkpoint

    def counted(row: Sequence[object]) -> Checkpoint:
        nonlocal decoded
        decoded += 1
        return decode(row)

    monkeypatch.setattr(ledgers, "_checkpoint", counted)
    with Engine.open(workspace) as tb:
        assert tb.status(look=True).checkpoints == 12
        assert tb.sessions()[0].checkpoints == 6
        tb.agents()
    ledger = Ledger(":memory:")
    newest = "order by position desc limit 1"  # is found at once, from that end
    found = {
        step
        for statement in asked
        if not statement.endswith(newest)
        for step in scans(ledger, statement)
    }
    few = {"SCAN sessions", "SCAN sessions USING INDEX sqlite_autoindex_sessions_1"}
    assert {step for step in found if "COVERING INDEX" not in step} <= few
    assert decoded < 6
    ledger.close()
