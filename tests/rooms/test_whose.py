"""Which session is meant: by a name, and without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from takeback.errors import NoSuchCheckpoint, WhichSession
from takeback.ledger.by_session import add_turn, note_session
from takeback.ledger.file import IN_MEMORY
from takeback.ledger.ledger import Ledger
from takeback.model.checkpoint import Checkpoint, Origin
from takeback.model.entries import ENDED, PROMPTED, Candidate, Turn
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.timeline.sessions import Around, Meant, meant
from takeback.turns.running import RunningTurn
from tests.support.engine import NOON

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


class World:
    """A ledger to which sessions are added, and in which their agents speak."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._number = 0
        self.place: str | None = None
        """The checkpoint that the files are at: the newest turn's, or where a rewind went."""
        self.running: list[RunningTurn] = []

    def _add(self, session: str, ago: float, kind: Any, **fields: object) -> Checkpoint:
        self._number += 1
        agent, _, native = session.partition("-")
        one = Checkpoint(
            id=CheckpointId(f"c{self._number}"),
            session=SessionId(session),
            kind=kind,
            time=NOON - ago,
            snapshot=SnapshotId("a" * 40),
            commit=b"c" * 20,
            complete=True,
            files=1,
            agent=agent,
            native=native,
        ).replace(**fields)
        self.ledger.add(one, self._number, [])
        note_session(self.ledger, one, event=kind != "fork")
        return one

    def speaks(self, session: str, ago: float, prompt: str = "do it") -> Checkpoint:
        """A person prompts the session's agent."""
        one = self._add(session, ago, "prompt", prompt=prompt)
        turn = Turn(
            one.id, one.session, 1, PROMPTED, prompt, None, one.id, one.id, one.time, None, ENDED
        )
        add_turn(self.ledger, turn)
        self.place = one.id
        return one

    def starts(self, session: str, ago: float) -> Checkpoint:
        """An agent starts, and nobody prompts it."""
        return self._add(session, ago, "session start")

    def works(self, session: str, *, background: bool = False) -> None:
        """A turn of the session is running, or only what it left in the background."""
        self.running.append(RunningTurn(SessionId(session), "", "", background))

    def cut(self, session: str, ago: float, origin: Checkpoint) -> Checkpoint:
        """A rewind makes a child of a session; nobody has gone on with it yet."""
        return self._add(session, ago, "fork", origin=Origin(origin.session, origin.id))

    def named(self, text: str) -> str:
        return str(self.whose(text).session)

    def meant(self) -> str | None:
        return self.whose(None).session

    def whose(self, text: str | None) -> Meant:
        around = Around(NOON, lambda: self.place, lambda: self.running)
        return meant(self.ledger, text, around)


@pytest.fixture
def world() -> Iterator[World]:
    ledger = Ledger(IN_MEMORY)
    yield World(ledger)
    ledger.close()


@pytest.mark.parametrize("text", ["claude-2a8f", "claude-2", "claude", "2a8f", "2a", "cl"])
def test_a_session_is_named_by_its_id_the_agents_own_id_or_the_agent(
    world: World, text: str
) -> None:
    world.speaks("claude-2a8f", HOUR)
    assert world.named(text) == "claude-2a8f"


@pytest.mark.parametrize("text", ["", "nobody", "2a8f0", "Claude", "\udcff", "%"])
def test_what_names_no_session_says_which_there_are(world: World, text: str) -> None:
    world.speaks("claude-2a8f", HOUR, "fix it")
    with pytest.raises(NoSuchCheckpoint, match="does not name one session") as raised:
        world.named(text)
    assert raised.value.hint == 'sessions: claude-2a8f (claude, 1h ago, "fix it")'


def test_the_agents_name_can_be_said_again_after_each_rewind(world: World) -> None:
    first = world.speaks("beta-s1", 3 * HOUR)
    for number in range(3):
        world.cut(f"beta-s1.c{number}", HOUR - number, first)
        for text in ("beta", "beta-s", "s1", "s"):
            assert world.named(text) == "beta-s1", text
    world.speaks("beta-s1.c1", MINUTE)
    world.cut("beta-s1.c4", 30, first)
    assert [world.named(text) for text in ("beta", "beta-s", "s")] == ["beta-s1.c1"] * 3
    assert world.meant() == "beta-s1.c1"
    assert [world.named(text) for text in ("s1", "beta-s1", "s1.c2", "s1.c4")] == [
        "beta-s1",
        "beta-s1",
        "beta-s1.c2",
        "beta-s1.c4",
    ]
    world.speaks("beta-s1", 1)  # gone on with again, as Claude's own /resume does
    assert (world.named("beta"), world.meant()) == ("beta-s1", "beta-s1")  # two side by side


def test_the_short_id_of_a_list_can_be_typed(world: World) -> None:
    first = world.speaks("beta-b-22222222", HOUR)
    world.cut("beta-b-22222222.590a77aa", MINUTE, first)
    world.speaks("beta-b-33333333", HOUR)
    for text in ("b-22.590a", "beta b-22.590a"):
        assert world.named(text) == "beta-b-22222222.590a77aa"
    assert world.named("beta b-33") == "beta-b-33333333"


def test_a_grandchild_of_a_child_that_nobody_used_is_the_current_one(world: World) -> None:
    first = world.speaks("beta-s1", 3 * HOUR)
    child = world.cut("beta-x", 2 * HOUR, first)
    world.cut("beta-y", HOUR, child)
    world.speaks("beta-y", MINUTE)
    assert (world.named("beta"), world.meant()) == ("beta-y", "beta-y")


def test_a_sibling_that_had_fallen_silent_when_the_other_was_cut_is_left(world: World) -> None:
    first = world.speaks("beta-s1", 5 * HOUR)
    world.cut("beta-x", 4 * HOUR, first)
    world.speaks("beta-x", 3 * HOUR)
    world.cut("beta-y", 2 * HOUR, first)
    world.speaks("beta-y", HOUR)
    assert world.meant() == "beta-y"
    world.speaks("beta-x", MINUTE)  # both are worked with now
    assert (world.named("beta"), world.meant()) == ("beta-x", "beta-x")


def test_what_begins_the_ids_of_several_sessions_lists_them_with_what_they_are_known_by(
    world: World,
) -> None:
    for number in range(7):
        world.speaks(f"beta-s{number}", (7 - number) * HOUR, f"do\n  {number}")
    with pytest.raises(NoSuchCheckpoint, match="'beta-s' could be 7 sessions") as raised:
        world.named("beta-s")
    assert raised.value.hint.startswith('say which: beta-s6 (beta, 1h ago, "do 6"), beta-s5 (')
    assert raised.value.hint.count("ago") == 7
    assert raised.value.about[-1] == 'beta, 7h ago, "do 0"'


def test_without_a_name_the_session_of_the_newest_turn_is_meant_and_named(world: World) -> None:
    world.speaks("beta-s1", 2 * DAY)
    assert world.whose(None) == Meant(SessionId("beta-s1"))
    world.speaks("beta-s2", 2 * HOUR)
    world.speaks("other-s3", HOUR, "x" * 50)
    known = Candidate(SessionId("other-s3"), "other", NOON - HOUR, f"{'x' * 39}…")
    assert world.whose(None) == Meant(SessionId("other-s3"), known)
    assert world.whose("other-s3").default is None
    assert world.named("beta") == "beta-s2"


def test_a_session_that_only_started_is_not_meant_and_nobody_is_asked(world: World) -> None:
    world.starts("beta-s0", HOUR)
    assert world.whose(None) == Meant(SessionId("beta-s0"))  # there is no other
    world.speaks("beta-s1", HOUR)
    world.starts("beta-s2", MINUTE)
    for text in (None, "beta"):
        assert world.whose(text) == Meant(SessionId("beta-s1"))


def test_a_child_that_was_only_resumed_is_not_meant(world: World) -> None:
    first = world.speaks("beta-s1", HOUR)
    world.cut("beta-s1.c1", MINUTE, first)
    world.starts("beta-s1.c1", 1)
    assert world.meant() == "beta-s1"


def test_the_session_that_the_files_stand_at_is_meant(world: World) -> None:
    first = world.speaks("beta-s1", 3 * HOUR)
    world.speaks("beta-s2", 2 * HOUR)
    world.place = first.id  # a rewind went there
    assert world.meant() == "beta-s1"
    by_hand = world._add("workspace", MINUTE, "manual", agent=None)
    world.place = by_hand.id
    assert world.meant() == "beta-s2"
    world.place = "unknown"
    assert world.meant() == "beta-s2"


def test_only_beside_another_session_at_work_is_it_not_clear(world: World) -> None:
    world.speaks("beta-s1", 3 * HOUR, "write it")
    world.speaks("beta-s2", 2 * HOUR, "test it")
    world.works("beta-s2")
    world.works("beta-s1", background=True)
    assert world.meant() == "beta-s2"
    world.works("beta-s1")
    for text in (None, "beta"):
        with pytest.raises(WhichSession) as refused:
            world.whose(text)
        assert refused.value.message == (
            "several sessions could be meant by that: "
            'beta-s2 (beta, 2h ago, running, "test it"), '
            'beta-s1 (beta, 3h ago, running, "write it")'
        )
        assert refused.value.sessions == ("beta-s2", "beta-s1")
    assert world.named("beta-s1") == "beta-s1"
    world.speaks("other-s3", HOUR)
    assert world.named("other") == "other-s3"
