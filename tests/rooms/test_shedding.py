"""Where files alone make no room, the records of the oldest turns go: ``max_bytes`` is held."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.errors import Expired
from takeback.model.checkpoint import Checkpoint
from takeback.model.coverage import Overrides
from takeback.model.retention import DAY
from takeback.retention.prune import Upkeep
from takeback.retention.sweep import index_anew, pack_anew, sweep
from takeback.store.repack import size_on_disk
from takeback.words import pruning
from takeback.words.status import status_lines
from takeback.words.text import Paint
from takeback.words.text import size as in_words
from tests.rooms.test_prune import set_
from tests.support.engine import TestClock

SESSIONS = 6
TURNS = 12


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
def tb(workspace: Path, clock: TestClock) -> Iterator[Engine]:
    (workspace / "a.txt").write_text("0\n")
    with Engine.open(workspace, clock=clock) as opened:
        yield opened


def work(tb: Engine, workspace: Path, clock: TestClock, name: str, *, turns: int = TURNS) -> str:
    """Plays a session with much to say and little to keep; returns its id."""
    session = tb.session(agent="mine", native=name)
    for number in range(turns):
        clock.time += DAY / turns
        said = os.urandom(2_000).hex().encode()  # nothing of it can be packed smaller
        with session.turn(f"{name} {number}", conversation=said):
            (workspace / "a.txt").write_text(f"{name} {number}\n")
    return session.id


@pytest.fixture
def names(tb: Engine, workspace: Path, clock: TestClock) -> list[str]:
    """Six sessions, of which only the newest is younger than ``max_age_days``."""
    found = [work(tb, workspace, clock, f"s{number}") for number in range(SESSIONS - 1)]
    clock.time += 31 * DAY
    found.append(work(tb, workspace, clock, "newest"))
    return found


def upkeep(tb: Engine, most: int) -> Upkeep:
    keeping = tb._upkeep()
    return keeping.replace(bounds=keeping.bounds.replace(max_bytes=most, keep_newest=3))


def size(tb: Engine) -> int:
    return size_on_disk(tb._context.store).all


def swept_small(tb: Engine) -> int:
    """Returns the size of a store of which all files are gone that may go for their age."""
    set_(tb, keep_newest=3)
    tb.prune(tb.plan_prune())
    for trash in tb.trash():
        assert trash.dropped
    sweep(upkeep(tb, 0).replace(bounds=upkeep(tb, 0).bounds.replace(grace=0.0)))
    index_anew(tb._upkeep())
    pack_anew(tb._upkeep())
    return size(tb)


def everything(tb: Engine) -> list[Checkpoint]:
    return [one.checkpoint for one in tb.checkpoints(everything=True)][::-1]


def sessions_of(tb: Engine) -> list[str]:
    return list(dict.fromkeys(one.session for one in everything(tb)))


_KNOWN = (
    "id, commit_id from checkpoints order by position",
    "checkpoint, path, kind, who, session, turn from changes order by 1, 2",
    "turn, path, kind, who from turn_changes order by 1, 2",
    "id, session, number, before, after, state from turns order by position",
    "* from sessions order by id",
    "id from expired order by id",
)
"""All but the positions: a ledger that followed a prune has gaps in them, which mean nothing."""


def known(tb: Engine) -> list[object]:
    return tb._ask(lambda ledger: [ledger.rows(f"select {what}") for what in _KNOWN])


def known_anew(tb: Engine) -> list[object]:
    tb.doctor(rebuild=True)
    return known(tb)


def test_the_oldest_turns_and_sessions_go_until_the_rest_fits(tb: Engine, names: list[str]) -> None:
    before = swept_small(tb)
    there = [one.id for one in everything(tb)]
    assert sessions_of(tb) == names
    most = before * 3 // 4
    made = sweep(upkeep(tb, most))
    assert made is not None
    gone = len(made.for_room)
    assert 0 < gone < SESSIONS - 1
    assert size(tb) <= most
    left = [one.id for one in everything(tb)]
    assert left == [id for id in there if id in left]
    assert sessions_of(tb) == names[gone:], "the oldest first"
    assert known(tb) == known_anew(tb)
    assert tb.verify(read_data=True).problems == ()


@pytest.mark.parametrize("most", [97, 75])
def test_a_prune_says_before_what_goes_and_why_and_it_comes_back(
    tb: Engine, names: list[str], most: int
) -> None:
    before = swept_small(tb)
    there = [(one.id, one.commit) for one in everything(tb)]
    set_(tb, max_bytes=before * most // 100)
    outlook = tb.plan_prune().outlook()
    assert outlook.for_room == outlook.sessions == tuple(names[: len(outlook.sessions)])
    assert outlook.bytes > before // 100
    said = "\n".join(pruning.outlook_lines(outlook))
    if outlook.sessions:
        assert f"Session {names[0]} goes whole, so that the rest fits (max_bytes)." in said
    else:
        number = len(outlook.forgotten)
        assert f"{number} expired checkpoints go altogether (" in said
        assert "so that the rest fits (max_bytes)." in said
    made = tb.plan_prune().carry_out()
    assert (made.for_room, made.forgotten) == (outlook.for_room, outlook.forgotten)
    assert len(everything(tb)) < len(there)
    tb.restore(made.operation)
    assert [(one.id, one.commit) for one in everything(tb)] == there
    assert known(tb) == known_anew(tb)


def test_a_checkpoint_that_went_altogether_comes_back_by_its_name(
    tb: Engine, names: list[str]
) -> None:
    before = swept_small(tb)
    tb.label(everything(tb)[0].id, "here it began")  # so that its session does not go whole
    there = {one.id for one in everything(tb)}
    set_(tb, max_bytes=before * 3 // 4)
    made = tb.plan_prune().carry_out()
    one = made.forgotten[0]
    tb.restore(one)
    assert one in {found.id for found in everything(tb)}
    assert {found.id for found in everything(tb)} < there
    assert tb.verify().problems == ()


def test_what_is_needed_stays_however_small_the_bound_and_status_says_so(
    tb: Engine, names: list[str], workspace: Path, clock: TestClock
) -> None:
    labelled = next(one for one in everything(tb) if one.session == names[1])
    tb.label(labelled.id, "kept")
    parent = next(one for one in everything(tb) if one.session == names[3])
    child = tb.fork(parent.id, files=False).session
    undo = next(one for one in everything(tb) if one.kind == "undo")
    swept_small(tb)
    sweep(upkeep(tb, 1))
    left = set(sessions_of(tb))
    assert left == {names[1], names[3], names[-1], undo.session, child}
    assert tb.find(labelled.id).expired is None
    found = tb.status().replace(budget=1000)
    assert found.is_at_floor
    said = "\n".join(status_lines(found, Paint(on=False), clock.time))
    assert f"What no sweep drops takes {in_words(found.floor)}, more than 1000 bytes" in said
    assert abs(found.floor - size(tb)) < 64 << 10
    sweep(upkeep(tb, 1 << 30))
    assert not tb.status().replace(budget=1000).is_at_floor


def test_a_line_of_sessions_goes_together_once_nothing_of_it_is_needed(
    tb: Engine, names: list[str], workspace: Path, clock: TestClock
) -> None:
    parent = next(one for one in everything(tb) if one.session == names[0])
    child = tb.rewind(parent.id, scope="both", overrides=Overrides.all()).session
    clock.time += 40 * DAY
    last = work(tb, workspace, clock, "last")
    swept_small(tb)
    assert {names[0], child} <= set(sessions_of(tb))
    sweep(upkeep(tb, 1))
    assert sessions_of(tb) == [last]
    with pytest.raises(Expired):
        tb.undo()
    assert tb.verify(read_data=True).problems == ()
    assert known(tb) == known_anew(tb)


def test_a_ledger_gives_back_the_room_of_what_is_gone(tb: Engine, names: list[str]) -> None:
    swept_small(tb)
    ledger = Path(tb.store_directory, "ledger.db")
    sweep(upkeep(tb, size(tb) - 1000))
    before = ledger.stat().st_size
    sweep(upkeep(tb, 1))
    assert sessions_of(tb) == names[-1:]
    assert ledger.stat().st_size < before - (50 << 10)
