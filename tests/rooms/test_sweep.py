"""What a sweep does beside dropping: it packs anew, and removes what is left over."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.check.finding import BROKEN
from takeback.git.pack import TEMPORARY
from takeback.ledger import file
from takeback.model.event import EDIT, PROMPT, TOOL_BEFORE, TURN_END, AgentEvent, ToolCall
from takeback.model.ids import SessionId, new_operation_id
from takeback.retention import due
from takeback.retention.due import is_outgrown
from takeback.retention.prune import Prune, Selection, Upkeep
from takeback.retention.sweep import empty_trash, index_anew, pack_anew, sweep
from takeback.store.history import Chains, Rewriting
from takeback.store.records import Record, read_record
from takeback.store.repack import has_garbage, note_garbage, size_on_disk
from takeback.store.sink import PackSink
from takeback.store.store import Store
from takeback.turns.receive import Delivery, receive
from tests.support.engine import packs_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.event import EventKind


def unwatched(tb: Engine) -> Upkeep:
    return tb._upkeep().replace(wait=0.0)


def test_leftovers_of_killed_processes_go_with_a_sweep(workspace: Path) -> None:
    with Engine.open(workspace) as tb:
        tb.checkpoint()
        packs = Path(tb._context.store.git_dir, "objects", "pack")
        left = [
            packs / f"{TEMPORARY}x",
            packs / "tmp_pack_abc",
            Path(tb.store_directory, ".a.7.tmp"),
        ]
        for path in left:
            path.write_bytes(b"x")
            os.utime(path, (time.time() - 7200,) * 2)
        young = Path(tb.store_directory, ".b.8.tmp")
        young.write_bytes(b"x")
        sweep(unwatched(tb))
        assert [path for path in left if path.exists()] == []
        assert young.exists()


def test_what_plans_captured_goes_once_as_much_came_as_there_was(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due, "_WORTH_IT", 0)
    with Engine.open(workspace) as tb:
        store = tb._context.store
        (workspace / "a").write_bytes(os.urandom(300_000))
        made = tb.checkpoint().checkpoint
        (workspace / "a").write_bytes(os.urandom(200_000))
        tb.plan(made)  # captures, and makes no checkpoint
        sweep(unwatched(tb))
        assert len(packs_of(store)) > 1, "not for so little"
        (workspace / "a").write_bytes(os.urandom(200_000))
        tb.plan(made)
        assert is_outgrown(store)
        (workspace / "a").write_bytes(b"small")
        tb.checkpoint()
        sweep(unwatched(tb))
        assert sum(path.stat().st_size for path in packs_of(store)) < 310_000
        assert not is_outgrown(store)
        assert tb.verify(read_data=True).problems == ()


def test_a_disk_without_room_stops_the_packing_and_nothing_else(workspace: Path) -> None:
    with Engine.open(workspace) as tb:
        store = tb._context.store
        session = tb.session(agent="mine", native="s")
        for number in range(3):
            with session.turn(f"turn {number}"):
                (workspace / "a").write_bytes(os.urandom(10_000))
        with tb._context.locked() as locked:
            note_garbage(locked.lock)
        keeping = unwatched(tb).replace(disk_floor=1 << 60)
        bounds = keeping.bounds.replace(max_snapshots=1, keep_newest=1, undo_grace=0.0)
        made = sweep(keeping.replace(bounds=bounds))
        assert made is not None
        assert made.dropped, "what is to go goes"
        assert has_garbage(store), "and its space later"
        tb._context = tb._context.replace(policy=tb._context.policy.replace(disk_floor=1 << 60))
        [warning] = [one for one in tb.status().warnings if one.about == "maintenance"]
        assert re.search(r"may need \d+ MB for a while, and only \d+ MB are free", warning.message)


def test_doctor_goes_on_where_packs_cannot_be_combined(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine.open(workspace) as tb:
        for number in range(3):
            (workspace / "a").write_text(str(number))
            tb.checkpoint()
        monkeypatch.setattr("takeback.store.store.MOST_PACKS", 1)
        tb._context = tb._context.replace(policy=tb._context.policy.replace(disk_floor=1 << 60))
        [found] = [one for one in tb.doctor(fix=True) if one.about == "packs"]
        assert found.state == BROKEN
        assert "MB are free" in found.message


def test_what_the_trash_keeps_of_records_counts_too(workspace: Path) -> None:
    """Each prune writes its sessions anew; those that were stay with the trash until it goes."""
    with Engine.open(workspace) as tb:
        session = tb.session(agent="mine", native="s")
        for number in range(30):
            with session.turn(f"turn {number}"):
                (workspace / "a").write_text(f"{number}\n")
        for number in range(2, 8):
            tb.prune(tb.plan_prune((f"turn:{number}",)))
        assert len(tb.trash()) == 6
        keeping = unwatched(tb)
        pack_anew(keeping)
        most = size_on_disk(tb._context.store).all - (8 << 10)
        kept = len([one for one in tb.checkpoints() if one.checkpoint.expired is None])
        sweep(keeping.replace(bounds=keeping.bounds.replace(max_bytes=most, keep_newest=100)))
        assert size_on_disk(tb._context.store).all <= most
        assert len([one for one in tb.checkpoints() if one.checkpoint.expired is None]) == kept
        assert tb.verify(read_data=True).problems == ()


def test_a_bound_that_records_nearly_fill_leaves_files_what_room_there_is(workspace: Path) -> None:
    """Records, conversations and the ledger stay: files have what is left beside them."""
    with Engine.open(workspace) as tb:
        session = tb.session(agent="mine", native="s")
        for number in range(30):
            with session.turn(f"turn {number}"):
                (workspace / "a").write_bytes(os.urandom(2_000))
        assert len(tb.checkpoints()) == 30  # there is a ledger
        keeping = unwatched(tb)
        index_anew(keeping)
        pack_anew(keeping)
        most = size_on_disk(tb._context.store).all - (20 << 10)
        sweep(keeping.replace(bounds=keeping.bounds.replace(max_bytes=most, keep_newest=1)))
        kept = [one for one in tb.checkpoints() if one.checkpoint.expired is None]
        assert 5 < len(kept) < 30


def test_a_prune_and_the_trash_that_it_empties_read_each_record_once(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read twice, the history would be in memory twice."""
    read: list[bytes] = []

    def counted(store: Store, oid: bytes) -> Record:
        read.append(oid)
        return read_record(store, oid)

    with Engine.open(str(workspace)) as tb:
        for number in range(12):
            (workspace / "f").write_text(str(number))
            tb.checkpoint()
        middle = tb.checkpoints()[5].checkpoint.id  # those before it are not written anew
        planned = tb.plan_prune((middle,))
        with tb._context.locked() as locked:
            note_garbage(locked.lock)  # so that all is packed anew
        before = set(planned.stock.chains()._read)
        assert len(before) == 12
        monkeypatch.setattr("takeback.store.history.read_record", counted)
        assert tb.prune(planned).dropped
        assert not has_garbage(tb._context.store)
    assert len(read) == len(set(read))
    assert before.isdisjoint(read)


def test_to_drop_what_a_person_names_nothing_has_to_be_weighed(workspace: Path) -> None:
    """However large the store is: that is a walk through all that is kept."""
    with Engine.open(workspace) as tb:
        for number in range(3):
            (workspace / "f").write_text(str(number))
            tb.checkpoint()
        keeping = unwatched(tb)
        keeping = keeping.replace(bounds=keeping.bounds.replace(max_bytes=1))
        named = Selection(checkpoints=(tb.checkpoints()[1].checkpoint.id,))
        assert Prune(keeping)._scales is not None
        planned = Prune(keeping, named)
        assert planned._scales is None
        assert list(planned.outlook().dropped) == list(named.checkpoints)


def tell(tb: Engine, workspace: Path, kind: EventKind, turn: int, *tools: ToolCall) -> None:
    """Tells an event as hooks do: the ledger does not hear of it."""
    said = f"do {turn}" if kind == PROMPT else None
    event = AgentEvent(kind, "mine", "s", str(workspace), turn=f"t{turn}", prompt=said, tools=tools)
    context = tb._context
    receive(context, event, delivery=Delivery(context.clock.now(), 1))


def play(tb: Engine, workspace: Path, turns: range) -> None:
    """Plays turns that each change a file, and one that git ignores, which is saved before."""
    (workspace / ".gitignore").write_text("*.env\n")
    for number in turns:
        tell(tb, workspace, PROMPT, number)
        (workspace / "a").write_text(f"{number}\n")
        tell(tb, workspace, TOOL_BEFORE, number, ToolCall("Edit", EDIT, ("x.env",)))
        (workspace / "x.env").write_text(f"{number}\n")
        tell(tb, workspace, TURN_END, number)


def give_up_saved(tb: Engine) -> None:
    """Drops what the session saved before its tools, as a prune does that leaves none of it."""
    with tb._context.locked() as locked:
        rewriting = Rewriting(PackSink(locked.lock), Chains(locked.store))
        rewriting.local(SessionId("mine-s"), lambda record: False)
        rewriting.finish(new_operation_id(), 0.0, {SessionId("mine-s"): ["what it saved"]})


def test_what_was_saved_since_somebody_looked_is_not_missed_when_it_goes(workspace: Path) -> None:
    (workspace / "x.env").write_text("0\n")
    with Engine.open(workspace) as tb:
        play(tb, workspace, range(1, 4))
        tb.checkpoint()
        assert len(tb.checkpoints()) > 3  # the ledger is there
        play(tb, workspace, range(4, 6))
        give_up_saved(tb)
        assert tb.verify(read_data=False).problems == ()


def test_nothing_leaves_the_trash_before_the_ledger_knows_that_it_went(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process was writing it just then: what it knew of would be missed later."""
    (workspace / "x.env").write_text("0\n")
    monkeypatch.setattr(file, "PATIENCE", 0.05)
    with Engine.open(workspace) as tb:
        play(tb, workspace, range(1, 4))
        tb.checkpoint()
        assert len(tb.checkpoints()) > 3
        keeping = unwatched(tb)
        keeping = keeping.replace(bounds=keeping.bounds.replace(grace=0.0))
        give_up_saved(tb)
        path = tb._context.store.path("ledger.db")
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("begin immediate")
            assert empty_trash(keeping).trash == ()
            other.execute("rollback")
        assert tb.verify(read_data=False).problems == ()
        assert len(empty_trash(keeping).trash) == 1
        assert [one for one in tb.verify(read_data=False).problems if "refs/" in one.what] == []
