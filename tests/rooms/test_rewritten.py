"""A session that was rewritten, as pruning does it: the ledger follows, and reads no other one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.context import Context, LockedContext
from takeback.errors import TimedOut
from takeback.git.objects import COMMIT, encode_commit
from takeback.ledger.file import IN_MEMORY
from takeback.ledger.follow import catch_up
from takeback.ledger.ledger import Ledger
from takeback.model.event import EDIT, AgentEvent, ToolCall
from takeback.store.records import chain
from takeback.store.sink import PackSink
from takeback.turns.receive import Delivery, receive
from tests.support.engine import Heard, Killed, clock_of, garble, refs_of, under_lock


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Closes every ledger that a test made."""
    made: list[Ledger] = []
    begin = Ledger.__init__

    def remember(self: Ledger, path: str) -> None:
        begin(self, path)
        made.append(self)

    monkeypatch.setattr(Ledger, "__init__", remember)
    yield
    for ledger in made:
        ledger.close()


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(IN_MEMORY)


@pytest.fixture
def played(workspace: Path, context: Context, ledger: Ledger) -> Context:
    """Two sessions that take turns, each turn in two rounds, all of it indexed."""
    for number in range(3):
        for session in ("s1", "s2"):
            tell(context, session, "prompt", f"t{number}", prompt=f"do {number}")
            for part in range(2):
                (workspace / session).write_text(f"{number} {part}\n")
                (workspace / f"{session}-{number}-{part}").write_text("new\n")
                tool = ToolCall("Edit", EDIT, (str(workspace / session),))
                tell(context, session, "round_end", f"t{number}", tools=(tool,))
            tell(context, session, "turn_end", f"t{number}")
    catch_up(context.store, ledger, Heard())
    return context


def tell(context: Context, session: str, kind: str, turn: str, **more: object) -> None:
    clock_of(context).time += 1
    root = str(Path(context.workspace.root.decode()))
    event = AgentEvent(kind, "mine", session, root, turn=turn).replace(**more)  # type: ignore[arg-type]
    receive(context, event, delivery=Delivery(context.clock.now(), 1))


def rewrite(context: Context, session: str, *, without: set[int]) -> list[str]:
    """Writes a session's chain anew without some of its checkpoints; returns the ids of those."""
    store, (ref, _) = context.store, refs_of(context.store, session)
    tip = store.refs.read(ref)
    records = list(chain(store, tip))[::-1]
    gone = [str(record.meta["id"]) for n, record in enumerate(records) if n in without]

    def write(it: LockedContext) -> None:
        sink = PackSink(it.lock)
        parents: tuple[bytes, ...] = ()
        for number, record in enumerate(records):
            if number not in without:
                commit = record.commit.replace(parents=parents)
                parents = (sink.add(COMMIT, encode_commit(commit)),)
        sink.publish()
        if parents:
            store.refs.write(ref, parents[0], expect=tip)
        elif tip is not None:
            store.refs.delete(ref, expect=tip)

    under_lock(context, write)
    return gone


def rows(ledger: Ledger, question: str, *values: object) -> list[tuple[object, ...]]:
    return ledger.rows(question, *values)


def facts(ledger: Ledger) -> dict[str, list[tuple[object, ...]]]:
    """What a ledger says that does not depend on how it came to know it."""
    return {
        "checkpoints": rows(
            ledger, "select id, commit_id, turn from checkpoints order by position"
        ),
        "changes": sorted(rows(ledger, "select checkpoint, path, kind from changes"), key=repr),
        "turns": sorted(rows(ledger, "select id, before, after, state from turns"), key=repr),
        "turn_changes": sorted(rows(ledger, "select turn, path, kind from turn_changes"), key=repr),
        "sessions": sorted(rows(ledger, "select id, newest, began, last from sessions"), key=repr),
        "tips": sorted(rows(ledger, "select ref, tip from tips"), key=repr),
        "words": sorted(rows(ledger, "select checkpoint, what, text from words"), key=repr),
    }


def anew(context: Context) -> dict[str, list[tuple[object, ...]]]:
    made = Ledger(IN_MEMORY)
    catch_up(context.store, made, Heard())
    found = facts(made)
    made.close()
    return found


WITHOUT = {
    "a round": {1},
    "the last of a turn": {3},
    "several in a row": {1, 2, 3},
    "the newest": {11},
    "the first": {0},
    "a whole turn": {4, 5, 6, 7},
    "all but one": set(range(11)),
    "everything": set(range(12)),
}


def test_the_ledger_says_what_one_made_anew_says(played: Context) -> None:
    ref, _ = refs_of(played.store, "mine-s1")
    tip = played.store.refs.read(ref)
    assert tip is not None
    for case, without in WITHOUT.items():
        ledger, heard = Ledger(IN_MEMORY), Heard()
        catch_up(played.store, ledger, heard)
        gone = rewrite(played, "mine-s1", without=without)
        catch_up(played.store, ledger, heard)
        found, expected = facts(ledger), anew(played)
        words = found.pop("words")
        del expected["words"]
        assert found == expected, case
        assert not [row for row in words if row[0] in gone], case
        assert rows(ledger, "select * from unfolded") == [], case
        assert heard.notes == [], case
        ledger.close()
        played.store.refs.write(ref, tip, expect=played.store.refs.read(ref))


def test_no_other_session_is_read_and_nothing_of_it_is_written(
    played: Context, ledger: Ledger
) -> None:
    other = "select * from checkpoints where session = 'mine-s2' order by position"
    before = rows(ledger, other)
    rewrite(played, "mine-s1", without={11})
    for _, commit in rows(ledger, "select id, commit_id from checkpoints where session like '%s2'"):
        garble(played.store, bytes.fromhex(str(commit)))
    played.store.reopen_packs()
    written, heard = ledger._db.total_changes, Heard()
    catch_up(played.store, ledger, heard)
    assert (rows(ledger, other), heard.notes) == (before, [])
    assert ledger._db.total_changes - written < 80


def test_it_goes_on_where_it_was_rewritten(played: Context, ledger: Ledger) -> None:
    rewrite(played, "mine-s1", without={1, 2})
    (Path(played.workspace.root.decode()) / "later").write_text("x\n")
    tell(played, "s1", "prompt", "t9", prompt="go on")
    tell(played, "s2", "prompt", "t9", prompt="go on")
    catch_up(played.store, ledger, Heard(), batch=1)
    found, expected = facts(ledger), anew(played)
    del found["words"], expected["words"]
    assert found == expected


def folds(context: Context, batch: int) -> list[str]:
    """Returns each folding of a turn while a ledger is caught up in batches of some size."""
    said: list[str] = []
    made = Ledger(IN_MEMORY)
    made._db.set_trace_callback(said.append)
    catch_up(context.store, made, Heard(), batch=batch)
    made.close()
    return [line for line in said if line.startswith("delete from turn_changes where")]


def test_a_turn_is_folded_once_however_many_batches_it_spans(played: Context) -> None:
    assert len(folds(played, 1)) == len(folds(played, 1000)) == 2 * 6


class EndsAfter(Ledger):
    """A ledger whose process is killed after a number of commits."""

    left = 0

    def commit(self) -> None:
        super().commit()
        self.left -= 1
        if self.left == 0:
            raise Killed


def test_turns_that_were_not_folded_yet_are_folded_by_the_next_that_looks(
    played: Context, ledger: Ledger
) -> None:
    late = EndsAfter(IN_MEMORY)
    late.left = 1
    with pytest.raises(Killed):
        catch_up(played.store, late, Heard(), batch=1000)
    assert len(rows(late, "select * from unfolded")) == 6
    assert rows(late, "select * from turn_changes") == []
    catch_up(played.store, late, Heard())
    assert sorted(late.dump()) == sorted(ledger.dump())


class RunsOut(Ledger):
    """A ledger that is caught up by somebody whose time runs out in a batch."""

    left = 0

    def last_position(self) -> int:
        self.left -= 1
        if self.left == 0:
            raise TimedOut("there is no more time")
        return super().last_position()


def test_a_time_limit_costs_the_batch_that_it_rings_in(played: Context, ledger: Ledger) -> None:
    late = RunsOut(IN_MEMORY)
    late.left = 4
    with pytest.raises(TimedOut):
        catch_up(played.store, late, Heard(), batch=5)
    assert len(late.checkpoints()) == 15
    catch_up(played.store, late, Heard(), batch=5)
    assert sorted(late.dump()) == sorted(ledger.dump())
