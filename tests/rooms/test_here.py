"""What a list of the timeline shows: where the files stand, who works, sessions that wait."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.model.coverage import Overrides
from takeback.model.operation import CONVERSATION
from takeback.timeline.timeline import Listing
from takeback.words.listing import stand_elsewhere
from tests.support.journey import write_files
from tests.support.processes import Started

ALL = Overrides.all()


class Mine:
    """An agent that keeps its conversation, in a workspace that is open."""

    def __init__(self, tb: Engine, root: Path, native: str = "s1", agent: str = "mine") -> None:
        self.tb = tb
        self.root = root
        self.session = tb.session(agent=agent, native=native)
        self.said: list[dict[str, str]] = []

    def turn(self, prompt: str, text: str, name: str = "a.txt") -> None:
        with self.session.turn(prompt, conversation=list(self.said)) as turn:
            write_files(self.root, {name: text.encode()})
            self.said += [{"role": "user", "text": prompt}, {"role": "assistant", "text": "done"}]
            turn.end(conversation=self.said)


@pytest.fixture
def tb(workspace: Path) -> Iterator[Engine]:
    write_files(workspace, {"a.txt": b"0\n"})
    with Engine.open(workspace) as tb:
        yield tb


@pytest.fixture
def mine(tb: Engine, workspace: Path) -> Mine:
    """An agent that has worked for four turns."""
    agent = Mine(tb, workspace)
    for number in (1, 2, 3, 4):
        agent.turn(f"do {number}", f"{number}\n")
    return agent


def here(found: Listing) -> tuple[object, str] | None:
    """Returns the number or label of the entry that the files stand at, and the word."""
    if found.here is None:
        return None
    (entry,) = [one for one in found.entries if one.checkpoint.id == found.here[0]]
    name = entry.turn.number if entry.turn is not None else entry.checkpoint.label
    return name or entry.checkpoint.kind, found.here[1]


def numbers(found: Listing) -> list[int | str]:
    return [
        entry.turn.number if entry.turn is not None and entry.turn.number else entry.checkpoint.kind
        for entry in found.entries
    ]


# -- sessions that nobody has gone on with


def test_stepping_back_leaves_no_rows(mine: Mine) -> None:
    tb = mine.tb
    children = []
    for number in (4, 3, 2):
        outcome = tb.rewind(f"mine-s1/turn:{number}", scope="both")
        children.append(str(outcome.session))
        for found in (tb.listing(), tb.listing(session="mine-s1")):
            assert numbers(found) == [4, 3, 2, 1]
            assert here(found) == (number, "before")
    found = tb.listing()
    on = {numbers(found)[at]: found.resumed.get(entry.checkpoint.id, ())
          for at, entry in enumerate(found.entries)}  # fmt: skip
    assert on == {4: (children[0],), 3: (children[1],), 2: (children[2],), 1: ()}
    browsed = tb.browse()
    assert [row.number for row in browsed.rows] == [4, 3, 2, 1]
    assert browsed.resumed == found.resumed
    assert [entry.checkpoint.kind for entry in tb.checkpoints()][:3] == ["fork"] * 3
    assert tb.listing(limit=1).more == 3
    assert tb.browse(limit=4).whole
    assert not tb.browse(limit=3).whole


def test_a_session_gets_rows_with_its_first_turn_or_a_label(mine: Mine) -> None:
    tb = mine.tb
    child = tb.rewind("turn:4.end", scope="both").session
    assert child is not None
    (entry,) = [e for e in tb.listing().entries if e.checkpoint.id in tb.listing().resumed]
    assert entry.turn is not None
    assert entry.turn.number == 4
    again = tb.fork(f"{child}/@").session
    resumed = tb.listing().resumed[entry.checkpoint.id]
    assert set(resumed) >= {child} | ({again} if again else set())
    begun = tb.find(f"{child}/@")
    tb.label(begun, "second try")
    assert here(tb.listing()) is not None
    assert "second try" in [e.checkpoint.label for e in tb.listing().entries]
    tb.label(begun, None)
    other = Mine(tb, mine.root, native=child.removeprefix("mine-"))
    other.said = list(mine.said)
    other.turn("go on", "5\n")
    assert numbers(tb.listing())[:2] == [5, "fork"]


# -- where the files stand


def test_there_is_one_place_where_the_files_stand(mine: Mine) -> None:
    tb = mine.tb
    assert here(tb.listing()) == (4, "after")
    assert here(tb.listing(everything=True)) == ("turn end", "at")
    tb.label("turn:4.end", "good")
    assert here(tb.listing()) == ("good", "at")
    tb.label("turn:4.end", None)
    tb.rewind("turn:2", scope="files")
    assert here(tb.listing()) == (2, "before")
    assert [node.here for node in tb.tree()[0].children] == [None, "before", None, None]
    tb.rewind("turn:3", scope=CONVERSATION)
    assert here(tb.listing()) == (2, "before")  # no file was moved
    write_files(mine.root, {"b.txt": b"mine\n"})
    tb.rewind("turn:4.end", [mine.root / "a.txt"], scope="files")  # type: ignore[list-item]
    assert here(tb.listing()) == (2, "before")  # one file is no other place
    mine.session.tell("session_start")
    assert here(tb.listing()) == (2, "before")  # nor did anything happen to the files
    tb.checkpoint("now")
    assert here(tb.listing()) == ("now", "at")
    assert here(tb.listing(limit=1)) == ("now", "at")
    assert here(tb.listing(session="mine")) is None


def test_where_the_files_stand_is_known_though_it_is_not_in_the_list(mine: Mine) -> None:
    tb = mine.tb
    assert tb.listing(limit=1).elsewhere is None
    tb.rewind("turn:2", scope="files")
    found = tb.listing(limit=2)
    assert found.here is None
    assert found.elsewhere is not None
    assert found.elsewhere.prompt == "do 2"
    assert stand_elsewhere(found.elsewhere, 0.0) == (
        f"The files stand at {found.elsewhere.id} (before turn 2: do 2)"
    )


def test_a_rewind_to_where_an_unused_session_begins_stands_at_its_row(mine: Mine) -> None:
    tb = mine.tb
    for place, stands in (("turn:3", (3, "before")), ("turn:2.end", (2, "after"))):
        child = tb.rewind(f"mine-s1/{place}", scope="both").session
        tb.rewind("mine-s1/turn:4.end", scope="files")
        tb.rewind(f"{child}/@", scope="files")
        assert here(tb.listing()) == stands
        assert tb.browse().here == tb.listing().here


def test_a_command_after_a_turn_does_not_mark_the_place_twice(mine: Mine) -> None:
    tb = mine.tb
    write_files(mine.root, {"c.txt": b"by !command\n"})
    mine.session.tell("turn_end", turn="other")
    assert numbers(tb.listing())[0] == "shell"
    tb.rewind("turn:4.end", scope="files")
    assert here(tb.listing()) == (4, "after")
    nodes = tb.tree()[0].children
    assert [node.here for node in nodes if node.here] == ["after"]


def test_a_turn_that_its_agent_did_not_live_to_end_stands_after_it(mine: Mine) -> None:
    tb = mine.tb
    mine.session.tell("prompt", turn="t5", prompt="do 5")
    write_files(mine.root, {"a.txt": b"5\n"})
    mine.session.tell("session_end")
    assert here(tb.listing()) == (5, "after")


# -- labels of ends, and limits


def test_a_label_on_the_end_of_a_turn_is_in_the_list(mine: Mine) -> None:
    tb = mine.tb
    tb.label("turn:2.end", "works")
    labels = [entry.checkpoint.label for entry in tb.listing().entries]
    assert labels == [None, None, "works", None, None]
    assert tb.listing(limit=2).more == 3
    assert tb.listing(limit=5).more == 0
    assert tb.listing(session="mine-s1", limit=0).more == 5
    assert tb.listing(everything=True, limit=3).more == 5


# -- who works


def test_the_turn_of_a_dead_agent_does_not_run_anywhere(mine: Mine) -> None:
    tb = mine.tb
    with Started(["sleep", "60"]) as agent:
        told = {"turn": "t5", "prompt": "do 5", "process": agent.pid}
        mine.session.tell("prompt", **told)

        def states() -> set[str]:
            node = tb.tree()[0].children[-1]
            assert node.turn is not None
            newest = tb.sessions()[0].newest
            assert newest is not None
            (id,) = [row.id for row in tb.browse().rows if row.number == 5]
            shown = [tb.listing().entries[0], tb.checkpoints()[0], tb.show("turn:5").entry]
            shown += [tb.entries([id])[id]]
            found = {entry.turn.state for entry in shown if entry.turn is not None}
            return found | {node.turn.state, newest.state, str(tb.browse().rows[0].state)}

        assert states() == {"running"}
        assert len(tb.status().running) == 1
        agent.kill()
        agent.wait(60)
    assert states() == {"unfinished"}
    assert tb.status().running == ()


def test_two_agents_step_back_each_for_itself(mine: Mine) -> None:
    tb = mine.tb
    yours = Mine(tb, mine.root, native="s2", agent="yours")
    for number in (1, 2):
        yours.turn(f"write {number}", f"{number}\n", name="b.txt")
    prompts = []
    for session in ("mine", "yours", "mine", "yours"):
        target = tb.before_newest_turn(session)
        prompts.append(target.prompt)
        tb.rewind(target, scope="both", overrides=ALL)
    assert prompts == ["do 4", "write 2", "do 3", "write 1"]
