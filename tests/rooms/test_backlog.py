"""The backlog is indexed in batches, each a whole beginning of what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from takeback.context import Context
from takeback.ledger import ledger as gaps
from takeback.ledger.file import IN_MEMORY, remove
from takeback.ledger.follow import catch_up, open_ledger, rebuild_ledger
from takeback.ledger.indexing import Backlog
from takeback.ledger.ledger import Ledger
from takeback.model.coverage import Overrides
from takeback.model.event import EDIT, AgentEvent, ToolCall
from takeback.model.turn import FORK
from takeback.store.records import META, read_record, write_record
from takeback.store.sink import PackSink
from takeback.turns.receive import Delivery, receive
from tests.support.engine import (
    Heard,
    Killed,
    carry_out,
    checkpoint,
    clock_of,
    garble,
    refs_of,
    request,
    under_lock,
)


@pytest.fixture
def played(workspace: Path, context: Context) -> Context:
    """Two agents that edit the same files in turns, a person in between, something taken back."""
    (workspace / "own").write_text("own\n")
    first = checkpoint(context)
    for number in range(12):
        for session in ("s1", "s2"):
            clock_of(context).time += 1
            event = AgentEvent("prompt", "mine", session, str(workspace), turn=f"t{number}")
            receive(
                context,
                event.replace(prompt=f"do {number}"),
                delivery=Delivery(context.clock.now(), 1),
            )
        for name in ("both", "s1", "s2"):
            (workspace / name).write_text(f"{name} {number}\n")
        for session in ("s2", "s1"):
            # what the other one did is found at the first end, and claimed by its own tool later
            tools = (ToolCall("Edit", EDIT, (str(workspace / session),)),)
            event = AgentEvent("turn_end", "mine", session, str(workspace), turn=f"t{number}")
            receive(context, event.replace(tools=tools), delivery=Delivery(context.clock.now(), 1))
        if number == 6:
            under_lock(
                context, lambda it: carry_out(it, request(it, first, overrides=Overrides.all()))
            )
        if number == 8:  # a session that is cut from another begins with a copy of a place
            append(context, like=first.commit, kind=FORK, origin=["mine-s1", first.id, None])
    checkpoint(context)
    return context


def dump_of(context: Context, ledger: Ledger) -> list[str]:
    content = sorted(ledger.dump())
    ledger.close()
    return content


def at_once(context: Context) -> list[str]:
    """Returns what a ledger says that was caught up in one step."""
    ledger = Ledger(IN_MEMORY)
    catch_up(context.store, ledger, Heard(), batch=10_000)
    return dump_of(context, ledger)


def test_batches_of_any_size_come_to_the_same_ledger(played: Context) -> None:
    for size in (1, 2, 7, 30):
        ledger = Ledger(IN_MEMORY)
        catch_up(played.store, ledger, Heard(), batch=size)
        assert len(ledger.checkpoints()) > 50
        assert dump_of(played, ledger) == at_once(played), size


class EndsAfter(Ledger):
    """A ledger whose process is killed after so many commits."""

    left = -1

    def commit(self) -> None:
        super().commit()
        self.left -= 1
        if self.left == 0:
            raise Killed


def test_what_was_killed_between_two_batches_goes_on_there(played: Context) -> None:
    for commits in (1, 2, 4, 7):
        remove(played.store.path("ledger.db"))
        kill_and_go_on(played, commits)


def kill_and_go_on(played: Context, commits: int) -> None:
    path = played.store.path("ledger.db")
    ledger = EndsAfter(path)
    ledger.left = commits
    with pytest.raises(Killed):
        catch_up(played.store, ledger, Heard(), batch=6)
    ledger.close()
    again = Ledger(path)
    indexed = {found.id for found in again.checkpoints()}
    assert 6 * commits - 2 <= len(indexed) <= 6 * commits
    rows = again.rows("select count(*) from checkpoints")
    again.rows(
        "create temp trigger kept before delete on checkpoints begin "
        """select raise(abort, 'read anew'); end"""
    )
    catch_up(played.store, again, Heard(), batch=6)
    assert again.rows("select count(*) from checkpoints") > rows
    again.rows("drop trigger kept")
    assert dump_of(played, again) == at_once(played)


class Overtaken(Ledger):
    """A ledger that another process brings on, or makes anew, after its first commit."""

    other: Context | None = None
    batches = 0

    def commit(self) -> None:
        super().commit()
        if self.other is not None:
            context, self.other = self.other, None
            ledger = Ledger(self._path)
            if self.batches:
                ledger.rows("begin immediate")
                ledger.clear()
                ledger.commit()
            catch_up(context.store, ledger, Heard(), batch=self.batches or 1000)
            ledger.close()


def test_two_that_catch_up_at_once_come_to_the_same_ledger(played: Context) -> None:
    for anew in (0, 9):
        remove(played.store.path("ledger.db"))
        ledger = Overtaken(played.store.path("ledger.db"))
        ledger.other, ledger.batches = played, anew
        catch_up(played.store, ledger, Heard(), batch=5)
        assert dump_of(played, ledger) == at_once(played), anew


def test_numbers_that_were_given_twice_stay_in_one_batch(played: Context) -> None:
    """Else the second of them would come late, and all would be read anew."""
    Path(played.store.path("sequence")).write_text("3\n")
    checkpoint(played)
    receive(
        played,
        AgentEvent("prompt", "mine", "s3", str(played.workspace.root), turn="x"),
        delivery=Delivery(0, 1),
    )
    for size in (1, 2, 3, 5):
        ledger = Ledger(IN_MEMORY)
        catch_up(played.store, ledger, Heard(), batch=size)
        assert dump_of(played, ledger) == at_once(played)


# -- records that are not what they should be


def append(context: Context, *, like: bytes | None = None, **odd: Any) -> None:
    """Adds a checkpoint to the session that is like another but for some fields of its record."""
    store = context.store
    tip = store.refs.read(refs_of(store, "workspace")[0])
    assert tip is not None
    record = read_record(store, like or tip)
    entries = tuple(
        (mode, name, oid) for name, (mode, oid) in record.entries.items() if name != META
    )
    with context.locked() as locked:
        sink = PackSink(locked.lock)
        sequence = locked.lock.next_sequence()
        meta = {**record.meta, "id": f"odd{sequence}", "sequence": sequence, **odd}
        commit = write_record(sink, meta, parents=(tip,), time=1.0, message="odd", entries=entries)
        sink.publish()
        store.refs.write(refs_of(store, "workspace")[0], commit, expect=tip)


ODD: dict[str, dict[str, Any]] = {
    "no id": {"id": None},
    "an id that is there": {"id": "first"},
    "a time in no calendar": {"time": 1e300},
    "a turn that is no number": {"turn": 1 << 80},
    "a phase that we do not know": {"phase": "dancing", "agent": "mine", "kind": "turn end"},
    "a tool with half a path": {"tools": [["Edit", "edit", "a\0b"]], "agent": "mine"},
    "nothing that it should have": {"v": 99, "type": "other", "kind": 3},
}


@pytest.mark.parametrize("odd", ODD)
def test_a_record_that_is_odd_takes_no_other_checkpoint_with_it(
    workspace: Path, context: Context, odd: str
) -> None:
    before = [checkpoint(context).id for _ in range(2)]
    fields: dict[str, Any] = {
        key: before[0] if value == "first" else value for key, value in ODD[odd].items()
    }
    append(context, **fields)
    (workspace / "a").write_text("a\n")
    after = [checkpoint(context).id for _ in range(2)]
    heard = Heard()
    ledger = open_ledger(context.store, heard)
    found = [one.id for one in ledger.checkpoints()]
    assert [id for id in found if not id.startswith("odd")] == [*before, *after][::-1]
    assert [change.path for change in ledger.changes(after[0])] == [b"a"]
    assert len(heard.notes) <= 1
    ledger.close()
    again = open_ledger(context.store, heard)
    assert [one.id for one in again.checkpoints()] == found
    assert len(heard.notes) <= 1  # each is told once
    again.close()


def test_many_that_do_not_read_are_not_named_one_by_one(context: Context) -> None:
    made = checkpoint(context)
    for _ in range(20):
        append(context, id=None)
    heard = Heard()
    ledger = open_ledger(context.store, heard)
    assert [one.id for one in ledger.checkpoints()] == [made.id]
    assert len(heard.notes) == 6
    assert "15 more" in heard.notes[-1]
    assert len(gaps.unread(ledger)) == 20
    ledger.close()


def test_a_commit_that_is_lost_later_takes_nothing_from_a_ledger_that_knows_what_is_behind(
    context: Context,
) -> None:
    before = [checkpoint(context) for _ in range(3)]
    ledger = open_ledger(context.store, Heard())
    lost = checkpoint(context)
    garble(context.store, lost.commit)
    context.store.packs.close()
    made = checkpoint(context)
    heard = Heard()
    catch_up(context.store, ledger, heard)
    expected = [made.id, *(one.id for one in before[::-1])]
    assert [one.id for one in ledger.checkpoints()] == expected
    assert "cannot be read further back" in heard.notes[0]
    ledger.close()


def test_what_reads_again_is_indexed_as_if_it_always_had(workspace: Path, context: Context) -> None:
    for number in range(3):
        (workspace / "a").write_text(f"{number}\n")
        made = checkpoint(context)
    checkpoint(context)
    sound = at_once(context)
    for oid in (
        made.commit,
        bytes.fromhex(made.snapshot),
        read_record(context.store, made.commit).entries[b"meta.json"][1],
    ):
        place = context.store.packs.find(oid)
        assert place is not None
        pack = Path(context.store.git_dir, "objects", "pack", place[0] + ".pack")
        whole = pack.read_bytes()
        garble(context.store, oid)
        context.store.reopen_packs()
        context.store._trees.clear()
        ledger = rebuild_ledger(context.store, Heard())
        assert gaps.unread(ledger)
        assert dump_of(context, ledger) != sound
        pack.write_bytes(whole)
        context.store.reopen_packs()
        context.store._trees.clear()
        heard = Heard()
        ledger = open_ledger(context.store, heard)
        assert "can be read now" in heard.notes[0]
        assert dump_of(context, ledger) == sound


def test_a_history_that_is_longer_than_what_is_held_is_read_whole(context: Context) -> None:
    made = [checkpoint(context) for _ in range(6)]
    tip = context.store.refs.read(refs_of(context.store, "workspace")[0])
    assert tip is not None
    backlog = Backlog(context.store, {refs_of(context.store, "workspace")[0]: tip}, {}, held=2)
    assert [one.point(context.store) for one in backlog.take(4)] == made[:4]
    assert [one.point(context.store) for one in backlog.take(4)] == made[4:]
