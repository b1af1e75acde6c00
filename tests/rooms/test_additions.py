"""A model's doings buy no room: what one turn added pushes out nothing of before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from takeback.app.engine import Engine
from takeback.app.session import AgentTurn
from takeback.gate.living import Living
from takeback.model.checkpoint import Checkpoint
from takeback.model.ids import CheckpointId, MachineId, SessionId, SnapshotId
from takeback.model.retention import DAY
from takeback.model.turn import IDLE, RUNNING
from takeback.retention.prune import Prune, Upkeep
from takeback.retention.shed import Doings
from takeback.retention.sweep import sweep
from takeback.store.repack import size_on_disk
from takeback.words import pruning
from takeback.words.status import status_lines
from takeback.words.text import Paint
from tests.support.engine import TestClock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.turn import CheckpointKind, Phase

KB, MB = 1 << 10, 1 << 20
MOST = 6 * MB


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
def tb(workspace: Path, clock: TestClock) -> Iterator[Engine]:
    (workspace / "mine").write_text("0\n")
    with Engine.open(workspace, clock=clock) as opened:
        yield opened


def upkeep(tb: Engine, **bounds: object) -> Upkeep:
    keeping = tb._upkeep().replace(wait=0.0)
    return keeping.replace(bounds=keeping.bounds.replace(max_bytes=MOST, **bounds))


def size(tb: Engine) -> int:
    return size_on_disk(tb._context.store).all


def work(tb: Engine, workspace: Path, clock: TestClock, turns: int, *, of: int = 200 * KB) -> None:
    """Plays turns that each leave a file of their own."""
    session = tb.session(agent="mine", native="s")
    for number in range(turns):
        clock.time += 60
        with session.turn(f"turn {number + 1}"):
            (workspace / "mine").write_bytes(os.urandom(of))


def flood(
    tb: Engine,
    workspace: Path,
    clock: TestClock,
    times: int = 12,
    *,
    label: bool = False,
    by: str | None = None,
) -> AgentTurn:
    """Plays a turn whose model makes checkpoints of junk; returns it, still running."""
    turn = tb.session(agent="mine", native="s").turn("flood").__enter__()
    for number in range(times):
        clock.time += 1
        (workspace / "junk").write_bytes(os.urandom(MB))
        tb.checkpoint_of(by, f"x{number}" if label else None)
    return turn


def files_of(tb: Engine) -> set[str]:
    """The checkpoints of ``s`` that have their files, by turn and kind."""
    points = [entry.checkpoint for entry in tb.checkpoints(everything=True)]
    return {
        f"{one.turn} {one.kind}"
        for one in points
        if one.expired is None and one.session == "mine-s"
    }


def ends(*turns: int) -> set[str]:
    return {f"{turn} {end}" for turn in turns for end in ("prompt", "turn end")}


def test_checkpoints_of_junk_in_one_turn_push_out_no_turn_of_before(
    tb: Engine, workspace: Path, clock: TestClock
) -> None:
    work(tb, workspace, clock, 4)
    turn = flood(tb, workspace, clock)
    sweep(upkeep(tb, keep_newest=3))
    assert size(tb) <= MOST
    turn.end()
    sweep(upkeep(tb, keep_newest=3))
    assert ends(1, 2, 3, 4, 5) <= files_of(tb)
    assert size(tb) <= MOST
    assert tb.verify(read_data=True).problems == ()


def test_labels_that_a_model_gives_in_a_turn_keep_nothing_that_turns_made(
    tb: Engine, workspace: Path, clock: TestClock
) -> None:
    work(tb, workspace, clock, 4)
    before = tb.checkpoint("mine")  # a person's, in no turn
    turn = flood(tb, workspace, clock, label=True, by="mine")
    sweep(upkeep(tb, keep_newest=3))
    assert size(tb) <= MOST
    turn.end()
    assert ends(1, 2, 3, 4) | {"5 prompt"} <= files_of(tb)
    points = [entry.checkpoint for entry in tb.checkpoints(everything=True)]
    assert sum(1 for one in points if one.label and one.expired) > 5
    assert tb.find("mine").id == before.checkpoint.id
    assert tb.find("mine").expired is None


def test_checkpoints_made_in_a_turn_are_not_counted_among_the_newest(
    tb: Engine, workspace: Path, clock: TestClock
) -> None:
    work(tb, workspace, clock, 4)
    flood(tb, workspace, clock).end()
    clock.time += 31 * DAY
    tb.checkpoint()
    sweep(upkeep(tb, keep_newest=6))
    assert ends(1, 2, 3, 4, 5) <= files_of(tb)


@pytest.mark.parametrize("how", ["left", "labelled", "invented", "said"])
def test_what_a_turn_added_and_no_sweep_drops_pushes_out_nothing_and_is_said(
    tb: Engine, workspace: Path, clock: TestClock, how: str
) -> None:
    """Nor does it empty the trash within its grace."""
    work(tb, workspace, clock, 6)
    tb.prune(tb.plan_prune(("turn:2",)))
    turn = flood(tb, workspace, clock, 12, label=True) if how == "labelled" else None
    turn = turn or flood(tb, workspace, clock, 0)
    if how == "left":
        (workspace / "junk").write_bytes(os.urandom(12 * MB))
    elif how == "invented":
        for number in range(12):
            with tb.session(agent="helper", native=f"h{number}").turn("x"):
                (workspace / "junk").write_bytes(os.urandom(MB))
    said = os.urandom(12 * MB) if how == "said" else b"done"
    turn.end(conversation=said)
    for _ in range(3):
        clock.time += 60
        sweep(upkeep(tb, keep_newest=2))
    assert ends(1, 3, 4, 5, 6, 7) <= files_of(tb)
    assert size(tb) > MOST
    planned = Prune(upkeep(tb, keep_newest=2)).outlook()
    assert planned.is_idle
    assert planned.beside > 5 * MB
    assert any("beyond their part" in line for line in pruning.outlook_lines(planned))
    tb._context = tb._context.replace(policy=tb._context.policy.replace(max_bytes=MOST))
    lines = [*status_lines(tb.status(), Paint(on=False), clock.time)]
    assert any("What no sweep drops takes" in line for line in lines)
    tb.restore()
    assert ends(1, 2, 3, 4, 5, 6, 7) <= files_of(tb)
    assert tb.verify(read_data=True).problems == ()


def test_what_a_sweep_took_beside_a_flood_comes_back_and_the_flood_leaves_the_trash(
    tb: Engine, workspace: Path, clock: TestClock
) -> None:
    work(tb, workspace, clock, 3)
    clock.time += 40 * DAY
    work(tb, workspace, clock, 3)
    turn = flood(tb, workspace, clock)
    sweep(upkeep(tb, keep_newest=3))
    assert size(tb) <= MOST
    assert not ends(1) & files_of(tb), "it is too old"
    assert [trash.excess for trash in tb.trash()] == [False]
    turn.end()
    tb.restore()
    assert ends(1, 2, 3, 4, 5, 6, 7) <= files_of(tb)
    assert tb.verify(read_data=True).problems == ()


def test_turns_after_a_flood_go_only_where_that_ends_it(
    tb: Engine, workspace: Path, clock: TestClock
) -> None:
    """What lay in the workspace for some turns goes with them, and nothing of before."""
    work(tb, workspace, clock, 3)
    turn = flood(tb, workspace, clock, 0)
    (workspace / "junk").write_bytes(os.urandom(7 * MB))
    turn.end()
    work(tb, workspace, clock, 2)
    sweep(upkeep(tb, keep_newest=1))
    assert ends(1, 2, 3, 4, 5, 6) <= files_of(tb), "the newest still has it"
    (workspace / "junk").unlink()
    work(tb, workspace, clock, 3)
    sweep(upkeep(tb, keep_newest=2))
    assert files_of(tb) == ends(1, 2, 3, 7, 8, 9)
    assert size(tb) <= MOST


def test_two_agents_at_once_have_their_newest_turns_each(
    tb: Engine, workspace: Path, clock: TestClock
) -> None:
    """A turn within another one's pushes none out of the newest, and stays among its like."""
    work(tb, workspace, clock, 2)
    turn = flood(tb, workspace, clock, 0)
    for number in range(4):
        with tb.session(agent="other", native="o").turn(f"beside {number}"):
            (workspace / "mine").write_text(f"o{number}\n")
    turn.end()
    clock.time += 31 * DAY
    tb.checkpoint()
    sweep(upkeep(tb, keep_newest=3))
    kept = {
        f"{one.checkpoint.turn} {one.checkpoint.kind}"
        for one in tb.checkpoints(everything=True)
        if one.checkpoint.expired is None and one.checkpoint.session == "other-o"
    }
    assert (files_of(tb), kept) == (ends(2, 3), ends(2, 3, 4))


class Record:
    """One made after another, of a session, with what it is known by."""

    def __init__(self) -> None:
        self.sessions: dict[SessionId, list[Checkpoint]] = {}
        self._number = 0

    def add(self, session: str, kind: CheckpointKind, turn: int, phase: Phase, **more: Any) -> int:
        self._number += 1
        made = Checkpoint(
            id=CheckpointId(f"{self._number}"),
            session=SessionId(session),
            kind=kind,
            time=float(self._number),
            snapshot=SnapshotId(""),
            commit=b"",
            complete=True,
            files=0,
            agent="mine",
            turn=turn,
            phase=phase,
            sequence=self._number,
            machine=MachineId("m"),
        )
        self.sessions.setdefault(made.session, []).append(made.replace(**more))
        return self._number

    def told(self, at_work: str | None = None) -> dict[int, str]:
        """Whose doing each is: ``a1`` is turn 1 of session a."""
        doings = Doings(self.sessions, [SessionId(at_work)] if at_work else [])
        return {
            one.sequence: "".join(
                map(
                    str,
                    doings.of(one.machine, one.sequence, session=session, by=one.asked_by)
                    or ("-",),
                )
            )
            for session, points in self.sessions.items()
            for one in points
        }


def test_turns_at_once_are_the_doing_of_the_one_that_began_first() -> None:
    it = Record()
    it.add("a", "prompt", 1, RUNNING)
    it.add("hand", "manual", 0, IDLE, agent=None)
    it.add("b", "prompt", 1, RUNNING)
    it.add("a", "turn end", 1, IDLE)
    it.add("a", "prompt", 2, RUNNING)
    it.add("b", "turn end", 1, IDLE)
    it.add("hand", "manual", 0, IDLE, agent=None)
    it.add("a", "turn end", 2, IDLE)
    it.add("hand", "manual", 0, IDLE, agent=None)
    told = it.told()
    assert [told[n] for n in range(1, 10)] == ["a1", "a1", "a1", "a1", "b1", "b1", "a2", "a2", "-"]


def test_an_end_that_a_model_has_told_ends_no_doing_of_its_own() -> None:
    """What follows shows that it went on; what it asks for is its own whatever was told."""
    it = Record()
    it.add("a", "prompt", 1, RUNNING)
    it.add("a", "turn end", 1, IDLE)
    it.add("hand", "manual", 0, IDLE, agent=None, asked_by="a")
    it.add("x", "prompt", 1, RUNNING, below="a")
    it.add("x", "turn end", 1, IDLE, below="a")
    it.add("y", "prompt", 1, RUNNING, below="x")
    it.add("y", "turn end", 1, IDLE, below="x")
    it.add("z", "session start", 0, IDLE, below="y")
    told = it.told()
    assert {told[number] for number in range(1, 9)} == {"a1"}
    it.add("hand", "manual", 0, IDLE, agent=None)
    it.add("a", "round", 1, IDLE)
    it.add("hand", "manual", 0, IDLE, agent=None)
    assert [it.told()[number] for number in (9, 10, 11)] == ["a1", "a1", "-"]


def test_a_turn_that_nobody_ended_goes_on_while_its_agent_is_at_work() -> None:
    it = Record()
    it.add("a", "prompt", 1, RUNNING)
    it.add("a", "round", 1, RUNNING)
    it.add("hand", "manual", 0, IDLE, agent=None)
    assert [it.told("a")[3], it.told()[3]] == ["a1", "-"]
    it.add("other", "manual", 0, IDLE, agent=None, machine=MachineId("n"))
    assert it.told("a")[4] == "-", "another machine's numbers are its own"
    it.add("a", "prompt", 2, RUNNING, unfinished=True)
    it.add("loop", "prompt", 1, IDLE, below="loop")
    assert it.told()[6] == "loop1"


def test_checkpoints_that_a_model_asks_for_once_it_has_told_the_end_push_out_nothing(
    tb: Engine, workspace: Path, clock: TestClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(tb, workspace, clock, 4)
    flood(tb, workspace, clock, 0).end()
    monkeypatch.setattr(tb, "asking_model", lambda: Living(SessionId("mine-s"), "mine", ""))
    for _ in range(12):
        clock.time += 1
        (workspace / "junk").write_bytes(os.urandom(MB))
        tb.checkpoint()
    sweep(upkeep(tb, keep_newest=3))
    assert ends(1, 2, 3, 4, 5) <= files_of(tb)
    assert size(tb) <= MOST
