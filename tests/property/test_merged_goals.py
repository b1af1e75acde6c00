"""Random histories of two agents and a person: what a merge leaves equals replaying the rest.

Each file is a list of lines that have numbers. An event sets, deletes or adds lines, with text that
is nowhere else, so that what remains of any selection of the events can be written down directly.
Where two changes touch each other it has to be a conflict, and nowhere else.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.model.conflicts import ConflictChoices
from takeback.model.coverage import Overrides
from takeback.model.operation import Outcome, Plan
from takeback.rewind.request import ALL_OTHERS, EDITS, Keeping
from tests.support.lanes import shares

LINES = 24
FILES = ("a.txt", "b/c.txt", "b/d d.txt", "e.txt")
ME = "me"
AGENTS = ("first", "second")
OTHERS = Overrides(overwrite_others=True)
SETTLED = ConflictChoices(otherwise="ours")


@dataclass(frozen=True)
class Event:
    """What one of them did: per file, (how, line number, text)."""

    who: str
    actions: dict[str, tuple[tuple[str, int, str], ...]]
    number: int = 0
    """Of the agent's turn."""


@dataclass
class Text:
    """The lines of a file, by their first numbers."""

    lines: list[str | None] = field(default_factory=lambda: [f"line {n}" for n in range(LINES)])
    added: dict[int, list[str]] = field(default_factory=dict)

    def do(self, how: str, number: int, text: str) -> None:
        if how == "set":
            self.lines[number] = text
        elif how == "delete":
            self.lines[number] = None
        else:
            self.added.setdefault(number, []).append(text)

    def __str__(self) -> str:
        found: list[str] = []
        for number, line in enumerate(self.lines):
            found += [line] if line is not None else []
            found += self.added.get(number, [])
        return "".join(f"{line}\n" for line in found)


def replayed(events: Iterable[Event], name: str) -> str:
    """What a file holds after some events, whatever else happened."""
    text = Text()
    for event in events:
        for action in event.actions.get(name, ()):
            text.do(*action)
    return str(text)


def hunks(old: str, new: str) -> list[tuple[int, int]]:
    a, b = old.splitlines(), new.splitlines()
    found = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [(start, end) for kind, start, end, _, _ in found if kind != "equal"]


def touch(base: str, ours: str, theirs: str) -> bool:
    """Tells whether the two changed lines that are the same, or side by side."""
    return any(
        start <= other_end and other_start <= end
        for start, end in hunks(base, ours)
        for other_start, other_end in hunks(base, theirs)
    )


class History:
    """A random history, lived through in a workspace."""

    def __init__(self, workspace: Path, tb: Takeback, chance: random.Random) -> None:
        self.workspace = workspace
        self.tb = tb
        self.chance = chance
        self.events: list[Event] = []
        self.examples = 0
        self.sessions = {name: tb.session(agent=name) for name in AGENTS}
        for name in FILES:
            (workspace / name).parent.mkdir(exist_ok=True)
            (workspace / name).write_text(replayed((), name))
        tb.checkpoint()
        for at in range(9):
            self.live(at)

    def live(self, at: int) -> None:
        last = self.events[-1].who if self.events else ME
        who = self.chance.choice([name for name in (*AGENTS, ME) if (name, last) != (ME, ME)])
        number = 1 + sum(event.who == who for event in self.events)
        event = Event(who, self.actions(at), number)
        self.events.append(event)
        if who == ME:
            self.write()
        else:
            with self.sessions[who].turn(f"do {at}"):
                self.write()

    def actions(self, at: int) -> dict[str, tuple[tuple[str, int, str], ...]]:
        found = {}
        for name in self.chance.sample(FILES, self.chance.randint(1, 3)):
            there = Text()
            for event in self.events:
                for action in event.actions.get(name, ()):
                    there.do(*action)
            numbers = [n for n, line in enumerate(there.lines) if line is not None]
            found[name] = tuple(
                (self.chance.choice(("set", "set", "add", "delete")), number, f"{at} at {number}")
                for number in self.chance.sample(numbers, self.chance.randint(1, 2))
            )
        return found

    def write(self) -> None:
        for name, text in self.now().items():
            (self.workspace / name).write_text(text)

    def now(self) -> dict[str, str]:
        return {name: replayed(self.events, name) for name in FILES}

    def found(self) -> dict[str, str]:
        return {name: (self.workspace / name).read_text() for name in FILES}

    def check(self, plan: Plan, done: Outcome, expected: dict[str, str | None]) -> None:
        """Compares what a plan and its outcome say with what is expected; None is a conflict."""
        self.examples += 1
        disputed = {one.path.decode() for one in plan.conflicts}
        assert disputed == {name for name, text in expected.items() if text is None}
        found = self.found()
        for name, text in expected.items():
            if text is not None:
                assert found[name] == text, name
        assert done.verified
        if done.operation is not None:
            self.tb.undo()
        assert self.found() == self.now(), "undo brings every byte back"


def without(events: Sequence[Event], gone: Collection[int], name: str) -> str | None:
    """What is left of a file without some events, taken out newest first; None if disputed."""
    ours = replayed(events, name)
    out: set[int] = set()
    for at in sorted(gone, reverse=True):
        after, before = replayed(events[: at + 1], name), replayed(events[:at], name)
        if touch(after, ours, before):
            return None
        out.add(at)
        ours = replayed((e for n, e in enumerate(events) if n not in out), name)
    return ours


def with_edits(events: Sequence[Event], since: int, name: str) -> str | None:
    """The file before an event, with a person's edits since; None if one of them is disputed."""
    kept = list(range(since))
    for at in range(since, len(events)):
        if events[at].who == ME:
            before, after = replayed(events[:at], name), replayed(events[: at + 1], name)
            if touch(before, replayed((events[n] for n in kept), name), after):
                return None
            kept.append(at)
    return replayed((events[n] for n in kept), name)


HISTORIES = 1_100
"""In a soak, each with about twenty examples: an operation, compared, and its undo."""


@pytest.mark.slow
@shares(HISTORIES, long=13)
def test_what_is_left_is_what_the_others_did(
    workspace: Path, share: int, record_property: Callable[[str, object], None]
) -> None:
    with Takeback.open(workspace) as tb:
        history = History(workspace, tb, random.Random(share))
        explore(history)
        assert tb.verify().problems == ()
    assert history.examples >= 12
    record_property("examples", history.examples)


def explore(history: History) -> None:
    """Takes back each turn, some pairs of turns, and all since each turn in both ways."""
    turns = [at for at, event in enumerate(history.events) if event.who != ME]
    pairs = [history.chance.sample(turns, 2) for _ in range(2)] if len(turns) > 1 else []
    for gone in ([at] for at in turns):
        reverted(history, gone)
    for gone in pairs:
        reverted(history, gone)
    for at in turns:
        gone_back_with_edits(history, at)
        gone_back_alone(history, at)


def reverted(history: History, gone: Sequence[int]) -> None:
    events, engine = history.events, history.tb.engine
    names = [named(history, at) for at in gone]
    plan = engine.plan_revert(names)
    done = engine.revert(names, choices=SETTLED)
    history.check(plan, done, {name: without(events, gone, name) for name in FILES})


def gone_back_with_edits(history: History, at: int) -> None:
    events, engine, target = history.events, history.tb.engine, named(history, at)
    plan = engine.plan(target, scope="files", overrides=OTHERS, keeping=Keeping(EDITS))
    keeping = Keeping(EDITS, SETTLED)
    done = engine.rewind(target, scope="files", overrides=OTHERS, keeping=keeping)
    history.check(plan, done, {name: with_edits(events, at, name) for name in FILES})


def gone_back_alone(history: History, at: int) -> None:
    events, engine, target = history.events, history.tb.engine, named(history, at)
    mine = [n for n in range(at, len(events)) if events[n].who == events[at].who]
    plan = engine.plan(target, scope="files", keeping=Keeping(ALL_OTHERS))
    done = engine.rewind(target, scope="files", keeping=Keeping(ALL_OTHERS, SETTLED))
    history.check(plan, done, {name: without(events, mine, name) for name in FILES})


def named(history: History, at: int) -> str:
    event = history.events[at]
    return f"{history.sessions[event.who].id}/turn:{event.number}"
