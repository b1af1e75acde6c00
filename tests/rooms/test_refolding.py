"""After any prune the ledger says, row by row, what one made anew says.

It is made anew only where single checkpoints went altogether.
"""

from __future__ import annotations

import os
import random
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.context import SilentReporter
from takeback.errors import TakebackError
from takeback.ledger.file import IN_MEMORY, TABLES
from takeback.ledger.follow import catch_up
from takeback.ledger.ledger import Ledger
from takeback.model.checkpoint import Checkpoint
from takeback.model.event import (
    EDIT,
    PROMPT,
    ROUND_END,
    SHELL,
    TURN_END,
    AgentEvent,
    ToolCall,
)
from takeback.model.ids import CheckpointId, SessionId, new_operation_id
from takeback.model.operation import PRUNE, Pruned
from takeback.model.retention import Bounds
from takeback.retention.prune import Inventory
from takeback.retention.shed import Shedding
from takeback.store import pending
from takeback.store.history import Chains, Rewriting, expired
from takeback.store.records import write_operation
from takeback.store.sink import PackSink
from takeback.turns.receive import Delivery, receive, take_waiting
from tests.support.engine import Heard, TestClock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.event import EventKind

_UNRELATED = ("words", "tips", "gone")
"""Compared in their own way, or of no use to compare."""


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
def tb(workspace: Path, clock: TestClock) -> Iterator[Engine]:
    (workspace / "a.txt").write_text("0\n")
    with Engine.open(workspace, clock=clock) as opened:
        yield opened


class Story:
    """Agents and a person at work in one place, by chance; then files expire."""

    def __init__(self, tb: Engine, workspace: Path, clock: TestClock, seed: int) -> None:
        self._tb = tb
        self._workspace = workspace
        self._clock = clock
        self._chance = random.Random(seed)
        self._turns: dict[str, int] = {}
        self._sessions = ["s1", "s2", "s3"]
        self._numbers = 0
        self.forgotten = 0

    def play(self, steps: int) -> None:
        for _ in range(steps):
            act = self._chance.choices((self._event, self._edit, self._travel), weights=(10, 3, 1))[
                0
            ]
            act()

    def _edit(self) -> list[str]:
        paths = self._chance.sample("abcdef", self._chance.randrange(1, 3))
        for path in paths:
            self._numbers += 1
            (self._workspace / path).write_text(f"{self._numbers}\n")
        return paths

    def _event(self) -> None:
        session = self._chance.choice(self._sessions)
        turn = self._turns.get(session, 0)
        kind: EventKind = self._chance.choice((PROMPT, ROUND_END, ROUND_END, TURN_END))
        kind = PROMPT if turn == 0 else kind
        if kind == PROMPT:
            turn = self._turns[session] = turn + 1
        changed = self._edit() if kind != PROMPT or self._chance.random() < 0.3 else []
        named = tuple(str(self._workspace / path) for path in changed)
        tools = self._chance.choice(
            ((), (ToolCall("Edit", EDIT, named[:1]),), (ToolCall("Bash", SHELL, ()),))
        )
        self._tell(kind, session, tools=tools if kind != PROMPT else ())

    def _tell(self, kind: EventKind, session: str, tools: tuple[ToolCall, ...] = ()) -> None:
        turn = self._turns.get(session, 0)
        self._clock.time += self._chance.randrange(1, 4000)
        event = AgentEvent(
            kind,
            "mine",
            session,
            str(self._workspace),
            turn=f"{session}-{turn}",
            prompt=f"do {turn}" if kind == PROMPT else None,
            tools=tools,
        )
        context = self._tb._context
        if self._chance.random() < 0.2:  # recorded late, with the next one
            pending.leave(context.store, event, self._clock.now(), ())
            return
        receive(context, event, delivery=Delivery(self._clock.now(), 1))

    def _travel(self) -> None:
        there = [one for one in self.checkpoints() if one.expired is None]
        there = there or [self._tb.checkpoint().checkpoint]
        act = self._chance.choice(("rewind", "rewind", "undo", "fork", "hand"))
        self._clock.time += 10
        try:
            if act == "rewind":
                self._tb.rewind(self._chance.choice(there).id, scope="files")
            elif act == "undo":
                self._tb.undo()
            elif act == "hand":
                self._tb.checkpoint()
            else:
                self._tb.fork(self._chance.choice(there).id)
        except TakebackError:
            return

    def checkpoints(self) -> list[Checkpoint]:
        return self._tb._ask(lambda ledger: ledger.checkpoints())

    def expire(self) -> None:
        """Takes the files off some checkpoints in a row, or off some here and there."""
        there = self.checkpoints()[::-1]
        start = self._chance.randrange(len(there))
        row = there[start : start + self._chance.randrange(1, 12)]
        spread = [one for one in there if self._chance.random() < 0.1]
        ids = {one.id for one in self._chance.choice((row, spread))} - {there[-1].id}
        prune(self._tb, ids, ())

    def forget(self) -> None:
        """Has expired checkpoints go altogether: the steps of turns, or all that may go."""
        store, upkeep = self._tb._context.store, self._tb._upkeep()
        inventory = Inventory(store, self._clock.now(), Chains(store))
        shedding = Shedding(inventory, upkeep.replace(bounds=Bounds(undo_grace=0.0)))
        shed = self._chance.choice((shedding.steps, shedding.everything))()
        self.forgotten += len(shed.records)
        prune(self._tb, set(), (), forgotten=shed.records)

    def drop_a_session(self) -> None:
        """Takes an agent's session away whole: its turn is over, and none descends from it."""
        found = self.checkpoints()
        sessions = sorted({one.session for one in found} - {found[0].session})
        forked = {one.origin.session for one in found if one.origin is not None}
        free = [one for one in sessions if one not in forked and one.startswith("mine")]
        if free:
            gone = self._chance.choice(free)
            self._tell(TURN_END, gone.removeprefix("mine-"))
            take_waiting(self._tb._context)
            self.checkpoints()  # so that the ledger knows it
            prune(self._tb, set(), (gone,))
            self._turns.pop(gone.removeprefix("mine-"), None)
            self._sessions.append(f"t{len(self._sessions)}")


def prune(
    tb: Engine,
    ids: Collection[CheckpointId],
    sessions: Collection[SessionId],
    forgotten: Collection[CheckpointId] = (),
) -> None:
    """Does what a prune does, to whatever it is told: nothing is pinned."""
    store, now = tb._context.store, tb._context.clock.now()
    with tb._context.locked() as it:
        sink, chains = PackSink(it.lock), Chains(store)
        rewriting = Rewriting(sink, chains)
        gone: list[int] = []
        for session in chains.parents_first():
            records = chains.records_of(session)
            if session in sessions:
                rewriting.drop(session)
            else:
                rewriting.session(session, expired(ids, now), without=forgotten)
                records = [one for one in records if one.meta.get("id") in forgotten]
            gone += [int(one.number("sequence")) for one in records if one.meta.get("agent")]
        id = new_operation_id()
        rewriting.finish(id, now, {SessionId("s"): list(ids) or ["all"]})
        write_operation(
            sink,
            Pruned(
                id=id,
                kind=PRUNE,
                time=now,
                sequence=0,
                machine=it.lock.machine,
                dropped=len(ids),
                sessions=tuple(sessions),
                gone=tuple(sorted(gone)),
                forgotten=len(forgotten),
            ),
        )


def known(ledger: Ledger) -> dict[str, list[tuple[object, ...]]]:
    """All that a ledger says. Lines are counted when somebody looks; positions have gaps."""
    placed = ("checkpoints", "operations")
    places = [row[0] for table in placed for row in rows(ledger, table, "position")]
    rank = {place: number for number, place in enumerate(sorted(map(int, map(str, places))))}
    found: dict[str, list[tuple[object, ...]]] = {}
    for table in TABLES:
        if table in _UNRELATED:
            continue
        names = [str(row[1]) for row in ledger.rows(f"pragma table_info({table})")]
        found[table] = []
        for row in rows(ledger, table, "*"):
            shown = {
                name: rank[int(str(value))] if name == "position" else value
                for name, value in zip(names, row, strict=True)
                if name not in ("added", "deleted") and (table, name) != ("turns", "position")
            }
            found[table].append(tuple(shown.items()))
        found[table].sort(key=repr)
    found["words"] = sorted(rows(ledger, "words", "text, checkpoint, what"), key=repr)
    found["order of turns"] = ledger.rows("select id from turns order by position")
    return found


def rows(ledger: Ledger, table: str, what: str) -> list[tuple[object, ...]]:
    return ledger.rows(f"select {what} from {table}")


def compare(tb: Engine, case: str) -> None:
    store = tb._context.store
    made = Ledger(IN_MEMORY)
    try:
        catch_up(store, made, SilentReporter())
        found, expected = tb._ask(known), known(made)
    finally:
        made.close()
    wrong = {
        table: [
            [row for row in one[table] if row not in other[table]]
            for one, other in ((found, expected), (expected, found))
        ]
        for table in expected
        if found[table] != expected[table]
    }
    assert wrong == {}, case


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(2), id="some"),
        pytest.param(range(10, 20), id="many", marks=pytest.mark.long),
    ],
)
def test_the_ledger_says_what_one_made_anew_says(
    seeds: range,
    tb: Engine,
    workspace: Path,
    clock: TestClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cleared: list[str] = []
    clear = Ledger.clear
    case, forgotten = "", 0

    def count(self: Ledger) -> None:
        cleared.append(case)
        clear(self)

    monkeypatch.setattr(Ledger, "clear", count)
    for seed in seeds:
        story = Story(tb, workspace, clock, seed)
        story.play(25)
        tb._ask(lambda ledger: None)
        for number in range(3):
            case = f"seed {seed}, prune {number}"
            story.expire()
            compare(tb, case)
            case = f"seed {seed}, forgotten {number}"
            story.forget()
            compare(tb, case)
            case = f"seed {seed}, and on {number}"
            story.play(6)
            compare(tb, case)
        forgotten += story.forgotten
        case = f"seed {seed}, a session"
        story.drop_a_session()
        compare(tb, case)
        story.play(6)
        compare(tb, f"{case}, and on")
    assert [one for one in cleared if "forgotten" not in one] == []
    assert forgotten > 0


@pytest.mark.parametrize("seeds", [(1000, 1001), (1012, 1013, 1014)])
def test_turns_around_what_was_forgotten_mean_what_they_mean_without_it(
    seeds: tuple[int, ...], tb: Engine, workspace: Path, clock: TestClock
) -> None:
    for seed in seeds:
        story = Story(tb, workspace, clock, seed)
        story.play(25)
        for number in range(3):
            story.expire()
            compare(tb, f"seed {seed}, prune {number}")
            story.forget()
            compare(tb, f"seed {seed}, forgotten {number}")


def test_what_comes_back_from_the_trash_is_as_it_was(
    tb: Engine, workspace: Path, clock: TestClock
) -> None:
    session = tb.session(agent="mine", native="s")
    for number in range(6):
        with session.turn(f"turn {number}"):
            (workspace / "a.txt").write_text(f"{number}\n")
        (workspace / "mine").write_bytes(os.urandom(20))
    before = tb._ask(known)
    pruning = tb.prune(tb.plan_prune(("turn:2", "turn:4")))
    assert tb._ask(known) != before
    compare(tb, "dropped")
    tb.restore(tb.find("turn:4").id)
    compare(tb, "some of it back")
    tb.restore(pruning.operation)
    compare(tb, "all of it back")
    assert tb._ask(known)["changes"] == before["changes"]


def test_a_ledger_with_something_unreadable_is_made_anew(
    tb: Engine, workspace: Path, clock: TestClock
) -> None:
    story = Story(tb, workspace, clock, 1)
    story.play(20)
    tb._ask(lambda ledger: ledger.rows("insert into unread values ('0', 'r', null, 'row', 'x')"))
    story.expire()
    compare(tb, "made anew")
    heard = Heard()
    with closing(Ledger(IN_MEMORY)) as made:
        catch_up(tb._context.store, made, heard)
    assert heard.notes == []
