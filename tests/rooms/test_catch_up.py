"""The ledger follows the refs, and made anew it says the same."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from takeback.context import Context
from takeback.errors import LedgerUnwritable
from takeback.git.refs import Refs
from takeback.ledger import by_session as questions
from takeback.ledger import file
from takeback.ledger import follow as index_of_a_store
from takeback.ledger import ledger as gaps
from takeback.ledger.attribute import count_lines
from takeback.ledger.file import MIGRATIONS
from takeback.ledger.follow import Index, catch_up, open_ledger, rebuild_ledger
from takeback.ledger.ledger import Ledger
from takeback.model import event as events
from takeback.model.event import AgentEvent
from takeback.store.records import remove_label
from takeback.store.repack import collect
from takeback.store.sink import PackSink
from takeback.store.store import Store
from takeback.timeline.names import label
from takeback.turns.receive import Delivery, receive
from tests.support.engine import (
    NOON,
    Heard,
    checkpoint,
    clock_of,
    garble,
    heard_by,
    refs_of,
    under_lock,
)
from tests.support.git import git


@pytest.fixture
def ledger(workspace: Path, context: Context) -> Iterator[Ledger]:
    """The ledger of a workspace with five checkpoints, caught up one by one."""
    ledger = open_ledger(context.store, context.reporter)
    for number in range(5):
        (workspace / "a").write_text(f"{number}\n" * number)
        (workspace / str(number)).mkdir()
        checkpoint(context, prompt=f"turn {number}")
        catch_up(context.store, ledger, context.reporter)
    yield ledger
    ledger.close()


def ids(ledger: Ledger) -> list[str]:
    return [found.id for found in ledger.checkpoints()]


def rebuilt(context: Context) -> list[str]:
    """Returns the content of a ledger that is made anew."""
    ledger = rebuild_ledger(context.store, Heard())
    content = sorted(ledger.dump())
    ledger.close()
    return content


def test_a_ledger_made_anew_equals_the_one_that_grew(context: Context, ledger: Ledger) -> None:
    first = ledger.checkpoints()[-1]
    label(context, ledger, first, "first")
    catch_up(context.store, ledger, context.reporter)
    before = sorted(ledger.dump())
    ledger.close()
    assert rebuilt(context) == before
    assert any("turn 4" in line for line in before)
    assert any("first" in line for line in before)


def older(ledger: Ledger, store: Store) -> sqlite3.Connection:
    """Makes of a ledger what a takeback left that did not know whose a label is."""
    ledger.close()
    database = sqlite3.connect(store.path("ledger.db"), isolation_level=None)
    database.execute("alter table labels drop column agent")
    database.execute(f"pragma user_version = {len(MIGRATIONS) - 1}")
    return database


def test_an_older_ledger_learns_whose_models_gave_the_labels(
    context: Context, ledger: Ledger
) -> None:
    first, *_, last = ledger.checkpoints()
    label(context, ledger, first, "its", by="claude")
    label(context, ledger, last, "mine")
    catch_up(context.store, ledger, context.reporter)
    older(ledger, context.store).close()
    with closing(open_ledger(context.store, context.reporter)) as found:
        assert [one.label_by for one in found.by_label("its")] == ["claude"]
        assert [one.label_by for one in found.by_label("mine")] == [None]
    assert heard_by(context).notes == []


def test_two_that_find_an_older_ledger_at_once_bring_it_up_to_date(
    context: Context, ledger: Ledger
) -> None:
    with closing(older(ledger, context.store)) as first:
        first.execute("begin immediate")
        first.execute("alter table labels add column agent text")
        first.execute(f"pragma user_version = {len(MIGRATIONS)}")
        with ThreadPoolExecutor(1) as beside:
            second = beside.submit(open_ledger, context.store, context.reporter)
            wait([second], 0.2)
            first.execute("commit")
            second.result(60).close()
    assert heard_by(context).notes == []


def test_each_checkpoint_says_what_changed_since_the_one_before(
    context: Context, ledger: Ledger
) -> None:
    newest, *_, first = ledger.checkpoints()
    count_lines(context.store, ledger, ids(ledger))
    assert [(c.path, c.kind, c.added, c.deleted) for c in ledger.changes(newest.id)] == [
        (b"4", "added", None, None),
        (b"a", "modified", 4, 3),
    ]
    assert ledger.changes(first.id) == []


def test_nothing_new_writes_nothing(context: Context, ledger: Ledger) -> None:
    before = ledger._db.total_changes
    catch_up(context.store, ledger, context.reporter)
    assert ledger._db.total_changes == before


def test_a_label_set_or_taken_off_elsewhere_shows(context: Context, ledger: Ledger) -> None:
    first = ledger.checkpoints()[-1]
    label(context, ledger, first, "good")
    catch_up(context.store, ledger, context.reporter)
    assert [found.id for found in ledger.by_label("good")] == [first.id]
    under_lock(context, lambda it: remove_label(PackSink(it.lock), first, NOON))
    catch_up(context.store, ledger, context.reporter)
    assert ledger.by_label("good") == []


def test_a_session_whose_ref_is_gone_is_forgotten(context: Context, ledger: Ledger) -> None:
    tip = context.store.refs.read(refs_of(context.store, "workspace")[0])
    assert tip is not None
    context.store.refs.delete(refs_of(context.store, "workspace")[0], expect=tip)
    catch_up(context.store, ledger, context.reporter)
    assert (ledger.checkpoints(), ledger.tips()) == ([], {})


def test_a_chain_that_was_written_anew_is_read_anew(context: Context, ledger: Ledger) -> None:
    before = ids(ledger)
    third = ledger.checkpoints()[2]
    tip = context.store.refs.read(refs_of(context.store, "workspace")[0])
    context.store.refs.write(refs_of(context.store, "workspace")[0], third.commit, expect=tip)
    made = checkpoint(context)
    catch_up(context.store, ledger, context.reporter)
    assert ids(ledger) == [made.id, *before[2:]]
    content = sorted(ledger.dump())
    ledger.close()
    assert rebuilt(context) == content


def test_a_damaged_commit_hides_what_is_before_it_and_nothing_else(
    context: Context, ledger: Ledger
) -> None:
    before = ledger.checkpoints()
    ledger.close()
    garble(context.store, before[2].commit)
    context.store.packs.close()
    heard = Heard()
    again = rebuild_ledger(context.store, heard)
    assert ids(again) == [found.id for found in before[:2]]
    assert "cannot be read further back" in heard.notes[0]
    made = checkpoint(context)
    catch_up(context.store, again, heard)
    assert ids(again)[0] == made.id
    again.close()


def test_a_damaged_tree_hides_no_checkpoint(context: Context, ledger: Ledger) -> None:
    before = ids(ledger)
    damaged = ledger.checkpoints()[2]
    ledger.close()
    garble(context.store, bytes.fromhex(damaged.snapshot))
    context.store.packs.close()
    context.store._trees.clear()
    again = rebuild_ledger(context.store, Heard())
    assert ids(again) == before
    assert len(again.changes(again.checkpoints()[0].id)) == 2
    again.close()


@pytest.mark.parametrize("how", ["garbage", "cut short", "a page lost"])
def test_a_damaged_ledger_is_made_anew_with_a_note(
    context: Context, ledger: Ledger, how: str
) -> None:
    before = sorted(ledger.dump())
    ledger._db.execute("pragma wal_checkpoint(truncate)")
    ledger.close()
    path = Path(context.store.path("ledger.db"))
    data = path.read_bytes()
    if how == "garbage":
        path.write_bytes(b"garbage" * 1000)
    elif how == "cut short":
        path.write_bytes(data[: len(data) // 2])
    else:
        path.write_bytes(data[:4096] + bytes(4096) + data[8192:])
    again = open_ledger(context.store, context.reporter)
    assert sorted(again.dump()) == before
    assert "made anew" in heard_by(context).notes[-1]
    again.close()


def test_where_no_ledger_can_be_written_the_command_does_without(
    context: Context, ledger: Ledger
) -> None:
    before = ids(ledger)
    ledger.close()
    path = Path(context.store.path("ledger.db"))
    path.unlink()
    path.mkdir()
    again = open_ledger(context.store, context.reporter)
    assert ids(again) == before
    assert "does without" in heard_by(context).notes[-1]
    again.close()


def test_a_disk_that_takes_no_more_is_no_reason_to_fail(
    context: Context, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two questions the disk fills up; or another process keeps the ledger to itself."""
    monkeypatch.setattr(file, "PATIENCE", 0.2)
    before = ids(ledger)
    ledger.close()
    index = Index(context.store, context.reporter)
    assert index.ask(ids) == before
    made = checkpoint(context)
    with closing(sqlite3.connect(context.store.path("ledger.db"))) as other:
        other.execute("begin immediate")
        assert index.ask(ids) == [made.id, *before]
        assert "does without" in heard_by(context).notes[-1]
        assert index.ask(ids) == [made.id, *before]
        index.close()


def test_a_ledger_that_is_damaged_and_cannot_be_made_anew(context: Context, ledger: Ledger) -> None:
    before = ids(ledger)
    ledger.close()
    path = Path(context.store.path("ledger.db"))
    path.write_bytes(b"garbage" * 1000)
    (path.parent / "ledger.db-wal").unlink(missing_ok=True)
    (path.parent / "ledger.db-wal").mkdir()
    index = Index(context.store, context.reporter)
    assert index.ask(ids) == before
    index.close()
    with pytest.raises(LedgerUnwritable):
        rebuild_ledger(context.store, context.reporter)


def test_a_branch_whose_name_is_not_utf8_stops_nothing(workspace: Path, context: Context) -> None:
    git(workspace, "symbolic-ref", "HEAD", b"refs/heads/caf\xe9")
    made = checkpoint(context)
    ledger = open_ledger(context.store, context.reporter)
    assert ledger.checkpoints() == [made]
    assert made.branch == "caf\udce9"
    ledger.close()


# -- the order in which things happened, whatever the clock says


def play(context: Context, kind: Any, turn: str, session: str = "s1", **fields: str) -> None:
    """Tells one event of an agent, without moving the clock."""
    directory = os.fsdecode(context.workspace.root)
    event = AgentEvent(kind, "mine", session, directory, turn=turn).replace(**fields)
    receive(context, event, delivery=Delivery(context.clock.now(), 1))


def test_a_clock_that_goes_back_moves_no_turn(workspace: Path, context: Context) -> None:
    ledger = open_ledger(context.store, context.reporter)
    for number, back in enumerate((0, 3600, 7200)):
        play(context, events.PROMPT, f"t{number}", prompt=f"do {number}")
        (workspace / f"f{number}").write_text("x\n")
        clock_of(context).time -= back
        play(context, events.TURN_END, f"t{number}")
        catch_up(context.store, ledger, context.reporter)
    found = questions.turns(ledger)
    assert [(turn.number, turn.state) for turn in found] == [
        (3, "ended"),
        (2, "ended"),
        (1, "ended"),
    ]
    changed = [[c.path for c in questions.turn_changes(ledger, turn.id)] for turn in found]
    assert changed == [[b"f2"], [b"f1"], [b"f0"]]
    assert [c.kind for c in ledger.checkpoints()] == ["turn end", "prompt"] * 3
    session = questions.session_by_id(ledger, "mine-s1")
    assert session is not None
    assert session.newest == ledger.checkpoints()[0].id
    before = sorted(ledger.dump())
    ledger.close()
    assert rebuilt(context) == before


def test_sessions_that_take_turns_are_one_line(workspace: Path, context: Context) -> None:
    """What is found changed happened since the state before, of whatever session that was."""
    ledger = open_ledger(context.store, context.reporter)
    for number in range(3):
        for session in ("s1", "s2"):
            play(context, events.PROMPT, f"{session}-{number}", session, prompt="x")
            (workspace / f"{session}-{number}").write_text("x\n")
            play(context, events.TURN_END, f"{session}-{number}", session)
        catch_up(context.store, ledger, context.reporter)
    for turn in questions.turns(ledger):
        (change,) = questions.turn_changes(ledger, turn.id)
        assert change.path.decode() == turn.native
    before = sorted(ledger.dump())
    ledger.close()
    assert rebuilt(context) == before


def test_a_number_that_was_given_twice_is_a_tie_and_no_damage(
    workspace: Path, context: Context
) -> None:
    """After a power loss: the refs are flushed, the file with the last number is not."""
    ledger = open_ledger(context.store, context.reporter)
    play(context, events.PROMPT, "t1", "s1", prompt="one")
    play(context, events.TURN_END, "t1", "s1")
    catch_up(context.store, ledger, context.reporter)
    Path(context.store.path("sequence")).write_text("0\n")
    clock_of(context).time += 1
    (workspace / "a").write_text("x\n")
    play(context, events.PROMPT, "t1", "s2", prompt="two")
    checkpoint(context)
    catch_up(context.store, ledger, context.reporter)
    assert len(ledger.checkpoints()) == 4
    before = sorted(ledger.dump())
    ledger.close()
    assert rebuilt(context) == before


def test_what_was_kept_in_memory_while_another_wrote_goes_back_to_the_file(
    context: Context, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that stays would else keep all of it in memory until it ends."""
    monkeypatch.setattr(file, "PATIENCE", 0.05)
    path = context.store.path("ledger.db")
    with closing(Index(context.store, context.reporter)) as index:
        assert index.ask(lambda found: found.is_stopgap) is False
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("begin immediate")
            checkpoint(context, prompt="meanwhile")
            for _ in range(2):
                assert index.ask(lambda found: found.is_stopgap) is True
            other.execute("rollback")
        assert index.ask(lambda found: found.is_stopgap) is False
        assert index.ask(lambda found: found.checkpoints()[0].prompt) == "meanwhile"


def test_what_nothing_leads_to_any_more_since_the_refs_were_listed_is_no_damage(
    context: Context, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep may write a session anew, and pack everything anew, while another process reads."""
    made = checkpoint(context, prompt="the last one")
    ref, *_ = refs_of(context.store, "workspace")
    old = context.store.refs.read(ref)
    older = context.store.commit(made.commit).parents[0]
    listing = Refs.list

    def then_swept(refs: Refs, *args: Any, **options: Any) -> dict[str, bytes]:
        found = listing(refs, *args, **options)
        if ref in found and found[ref] == old:
            refs.write(ref, older, expect=old)
            collect(context.store, lambda: (), disk_floor=0)
        return found

    monkeypatch.setattr(Refs, "list", then_swept)
    heard = Heard()
    catch_up(context.store, ledger, heard)
    assert heard.notes == []
    assert gaps.unread(ledger) == []
    assert ledger.checkpoints()[0].prompt == "turn 4"
    content = sorted(ledger.dump())
    ledger.close()
    assert rebuilt(context) == content


def test_a_process_that_stays_reads_what_can_be_read_again(
    context: Context, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_of_a_store, "_TRIED_EVERY", 0.0)
    third = ledger.checkpoints()[2]
    before = sorted(ledger.dump())
    ledger.close()
    pack = context.store.path(
        "store.git", "objects", "pack", str(context.store.packs.pack_of(third.commit))
    )
    os.rename(f"{pack}.pack", f"{pack}.away")
    context.store.packs.close()
    file.remove(context.store.path("ledger.db"))
    with closing(Index(context.store, Heard())) as index:
        assert len(index.ask(lambda found: found.checkpoints())) < 5
        os.rename(f"{pack}.away", f"{pack}.pack")
        assert sorted(index.ask(lambda found: found.dump())) == before


def test_a_process_that_stays_uses_the_ledger_that_another_made_anew(
    context: Context, ledger: Ledger
) -> None:
    first = ledger.checkpoints()[-1]
    with closing(Index(context.store, context.reporter)) as index:
        index.ask(lambda found: found.rows("update checkpoints set commit_id = ?", "00" * 20))
        rebuild_ledger(context.store, Heard()).close()
        found = index.ask(lambda found: found.by_id(first.id))
        assert found is not None
        assert found.commit == first.commit
