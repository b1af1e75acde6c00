"""Rows as people see them: a prompt with what it caused, own edits where they were made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.app.session import AgentSession
from takeback.timeline.timeline import TimelineEntry
from takeback.words.changes import views
from takeback.words.outcomes import shown_lines
from takeback.words.text import Paint


@pytest.fixture
def tb(workspace: Path) -> Iterator[Engine]:
    (workspace / "a.txt").write_text("0\n")
    with Engine.open(workspace) as opened:
        yield opened


@pytest.fixture
def session(tb: Engine) -> AgentSession:
    return tb.session(agent="mine", native="s1")


def row(tb: Engine, prompt: str) -> TimelineEntry:
    (found,) = [one for one in tb.checkpoints() if one.checkpoint.prompt == prompt]
    return found


def paths(entry: TimelineEntry) -> list[tuple[bytes, str, int | None, int | None]]:
    return [(one.path, one.kind, one.added, one.deleted) for one in entry.shown]


def test_a_steer_shows_what_it_caused(tb: Engine, session: AgentSession, workspace: Path) -> None:
    session.tell("prompt", prompt="work", turn="t1")
    (workspace / "l1.txt").write_text("1\n")
    session.tell("prompt", prompt="and this", turn="t1", steer=True)
    (workspace / "m.txt").write_text("1\n")
    (workspace / "gone.txt").write_text("1\n")
    session.tell("round_end", turn="t1")
    (workspace / "m.txt").write_text("1\n2\n")
    (workspace / "gone.txt").unlink()
    session.tell("prompt", prompt="and that", turn="t1", steer=True)
    (workspace / "l1.txt").write_text("2\n")
    session.tell("turn_end", turn="t1")
    assert paths(row(tb, "and this")) == [(b"m.txt", "added", 2, 0)]
    assert paths(row(tb, "and that")) == [(b"l1.txt", "modified", 1, 1)]
    assert [path for path, *_ in paths(row(tb, "work"))] == [b"l1.txt", b"m.txt"]
    assert [one.path for one in tb.show(row(tb, "and that").checkpoint).entry.done] == [b"l1.txt"]
    this = row(tb, "and this")
    found = tb.file_diff(tb.states(this.checkpoint), b"m.txt")
    assert (found.old, found.new is not None) == (None, True), "the picker's diff is of the same"
    assert views(this)[0] == "what it changed"
    with session.turn("later"):
        (workspace / "z.txt").write_text("1\n")
    assert paths(row(tb, "and that")) == [(b"l1.txt", "modified", 1, 1)]


def test_own_edits_before_a_resumed_session_stand_at_its_first_turn(
    tb: Engine, session: AgentSession, workspace: Path
) -> None:
    with session.turn("one"):
        (workspace / "a.txt").write_text("1\n")
    (workspace / "mine.txt").write_text("1\n")
    session.tell("session_end", reason="quit")
    session.tell("session_start", reason="resume")
    (workspace / "more.txt").write_text("2\n")
    with session.turn("two"):
        (workspace / "b.txt").write_text("1\n")
    two = row(tb, "two")
    assert [one.path for one in two.outside] == [b"mine.txt", b"more.txt"]
    assert [one.path for one in two.done] == [b"b.txt"]
    lines = list(shown_lines(tb.show(two.checkpoint), Paint(on=False), 0.0))
    at = lines.index("changed before it:")
    assert [line.split()[1] for line in lines[at + 1 : at + 3]] == ["mine.txt", "more.txt"]
    browsed = {one.prompt: one.outside for one in tb.browse().rows}
    assert browsed == {"one": 0, "two": 2}
    with session.turn("three"):
        pass
    assert row(tb, "three").outside == ()


def test_a_compaction_is_one_row(tb: Engine, session: AgentSession, workspace: Path) -> None:
    with session.turn("one"):
        (workspace / "a.txt").write_text("1\n")
    session.tell("compact", reason="manual")
    session.tell("session_start", reason="compact")
    assert [one.checkpoint.kind for one in tb.checkpoints()].count("compaction") == 1
    with session.turn("two"):
        pass
    session.tell("compact", reason="auto")
    (workspace / "meanwhile.txt").write_text("1\n")
    session.tell("session_start", reason="compact")
    kinds = [one.checkpoint.kind for one in tb.checkpoints()]
    assert kinds.count("compaction") == 2, "one of each"


def test_a_long_page_takes_no_more_queries_than_a_short_one(
    tb: Engine, session: AgentSession, workspace: Path
) -> None:
    for number in range(12):
        with session.turn(f"turn {number}"):
            (workspace / "a.txt").write_text(f"{number + 1}\n")
    whole = tb.checkpoints(limit=12)  # and their lines are counted
    asked: list[str] = []
    tb._opened_index().ask(lambda ledger: ledger._db.set_trace_callback(asked.append))
    spent = []
    for limit in (2, 12):
        asked.clear()
        found = tb.checkpoints(limit=limit)
        assert found == whole[:limit]
        assert [path for path, *_ in paths(found[0])] == [b"a.txt"]
        spent.append(len(asked))
    assert spent[0] == spent[1] > 0
