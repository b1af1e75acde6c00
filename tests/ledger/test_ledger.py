"""The ledger: what goes in comes out, and a file that is no ledger is told apart."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from takeback.errors import LedgerDamaged, LedgerUnwritable
from takeback.ledger import ledger as gaps
from takeback.ledger.by_session import add_turn, index_words, note_session, set_turn_changes
from takeback.ledger.expired import note_expired, note_gone
from takeback.ledger.file import IN_MEMORY, MIGRATIONS, PATIENCE, TABLES, LedgerRefused, remove
from takeback.ledger.ledger import Ledger, Point
from takeback.model.checkpoint import MANUAL, UNDO, Checkpoint, Origin, Process, TranscriptPart
from takeback.model.entries import RUNNING, OwnedChange, Turn
from takeback.model.event import EDIT, ToolCall
from takeback.model.ids import CheckpointId, MachineId, OperationId, SessionId, SnapshotId
from takeback.model.operation import REWIND, Move

CHANGES = [
    OwnedChange(b"a\xff\n", "modified", 3, 0, "tool edit", SessionId("s"), CheckpointId("t")),
    OwnedChange(b"b", "added", None, None, "outside"),
]


def made(name: str, time: float, *, session: str = "s", kind: Any = MANUAL) -> Checkpoint:
    return Checkpoint(
        id=CheckpointId(name),
        session=SessionId(session),
        kind=kind,
        time=time,
        snapshot=SnapshotId("a" * 40),
        commit=b"c" * 20,
        complete=True,
        files=2,
        sequence=7,
        machine=MachineId("m"),
    )


FULL = made("full", 5.25).replace(
    complete=False,
    saved="b" * 40,
    prompt="fix\nit ☃",
    turn=3,
    branch="main",
    head="d" * 40,
    agent="mine",
    native="n/1",
    directory="/w",
    turn_id="t3",
    phase="running",
    unfinished=True,
    transcript=(TranscriptPart("/t.jsonl", 17),),
    tools=(ToolCall("Edit", EDIT, ("a b", "c")),),
    origin=Origin(SessionId("parent"), CheckpointId("there"), "/elsewhere"),
    process=Process(4711, "99"),
    resume=("mine", "--resume", "{session}"),
    late=True,
)


def operation(name: str, after: str) -> Move:
    return Move(
        id=OperationId(name),
        kind=REWIND,
        session=SessionId("s"),
        time=1.0,
        target=CheckpointId("target"),
        before=CheckpointId("before"),
        after=SnapshotId(after),
        sequence=8,
        machine=MachineId("m"),
    )


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db")


@pytest.fixture
def ledger(path: str) -> Iterator[Ledger]:
    ledger = Ledger(path)
    yield ledger
    ledger.close()


def ids(found: list[Checkpoint]) -> list[str]:
    return [checkpoint.id for checkpoint in found]


def test_a_checkpoint_comes_back_whole_with_its_changes(ledger: Ledger) -> None:
    ledger.add(FULL, 0, CHANGES)
    assert ledger.by_id("full") == FULL
    assert ledger.changes(FULL.id) == CHANGES
    assert ledger.by_id("ful") is None


@pytest.mark.parametrize("field", ["prompt", "branch", "native", "directory"])
def test_text_that_is_not_unicode_comes_back(ledger: Ledger, field: str) -> None:
    odd = FULL.replace(**{field: "caf\udce9"})
    ledger.add(odd, 0, [])
    assert ledger.by_id("full") == odd


def test_a_label_that_is_not_unicode_is_found(ledger: Ledger) -> None:
    ledger.add(FULL, 0, [])
    ledger.set_labels([(FULL.id, "caf\udce9", None)])
    assert ids(ledger.by_label("caf\udce9")) == ["full"]
    assert ledger.by_label("\udcff") == []
    assert ledger.by_id("\udcff") is None
    assert ledger.by_prefix("\udcff") == []


def test_checkpoints_come_newest_first_whatever_the_clock_said(ledger: Ledger) -> None:
    for place, name, time in [(2, "b", 2.0), (1, "a", 2.0), (3, "late", 1.5), (0, "old", 1.0)]:
        ledger.add(made(name, time), place, [])
    assert ids(ledger.checkpoints()) == ["late", "b", "a", "old"]
    assert ids(ledger.checkpoints(limit=2)) == ["late", "b"]


def test_kinds_and_other_sessions_are_left_out_if_asked(ledger: Ledger) -> None:
    ledger.add(made("one", 1.0), 0, [])
    ledger.add(made("two", 2.0, kind=UNDO), 1, [])
    ledger.add(made("three", 3.0, session="other"), 2, [])
    ledger.add(made("four", 4.0, kind="round"), 3, [])
    assert ids(ledger.checkpoints(without=(UNDO,))) == ["four", "three", "one"]
    assert ids(ledger.checkpoints(without=(UNDO, "round"))) == ["three", "one"]
    assert ids(ledger.checkpoints(session="s")) == ["four", "two", "one"]
    assert ids(ledger.checkpoints(session="s", without=(UNDO, "round"), limit=5)) == ["one"]
    assert ledger.counts() == (3, 1, 2)


def test_two_checkpoints_never_have_one_place(ledger: Ledger) -> None:
    """The place is the order over all sessions in which things happened."""
    ledger.add(made("one", 1.0), 0, [])
    with pytest.raises(LedgerRefused):
        ledger.add(made("two", 2.0, session="other"), 0, [])


def test_a_row_that_no_ledger_takes_is_no_damage_and_leaves_nothing(ledger: Ledger) -> None:
    ledger.add(made("one", 1.0), 0, [])
    before = ledger.dump()
    ledger.begin()
    for odd, changes in (
        (made("one", 2.0), []),
        (made("two", 2.0).replace(turn=1 << 70), []),
        (made("two", 2.0), [*CHANGES, CHANGES[0]]),
    ):
        write = partial(ledger.add, odd, 1, changes)
        with pytest.raises(LedgerRefused):
            ledger.all_or_nothing(write)
    ledger.all_or_nothing(lambda: ledger.add(made("three", 3.0), 1, []))
    ledger.commit()
    assert ids(ledger.checkpoints()) == ["three", "one"]
    assert set(before) < set(ledger.dump())


def test_what_came_after_a_checkpoint_is_its_session_oldest_first(ledger: Ledger) -> None:
    for place, name in enumerate("abcde"):
        session = "other" if name in "bd" else "s"
        ledger.add(made(name, 1.0, session=session), place, [])
    (start,) = ledger.by_prefix("a")
    assert ids(ledger.after(start)) == ["c", "e"]
    assert ledger.after(ledger.checkpoints()[0]) == []


def test_children_are_found_by_what_they_descend_from(ledger: Ledger) -> None:
    origin = Origin(SessionId("s"), CheckpointId("one"))
    ledger.add(made("one", 1.0), 0, [])
    ledger.add(made("two", 2.0, session="child").replace(origin=origin), 1, [])
    ledger.add(made("three", 3.0, session="child"), 2, [])
    assert ids(ledger.children(CheckpointId("one"))) == ["two"]
    assert ledger.children(CheckpointId("two")) == []


def test_the_last_point_is_a_checkpoint_or_where_an_operation_left_the_files(
    ledger: Ledger,
) -> None:
    assert ledger.last_point() is None
    ledger.add(made("one", 1.0), 0, [])
    assert ledger.last_point() == Point(0, 7, SnapshotId("a" * 40))
    ledger.add_operation(operation("op", after="b" * 40), 1)
    assert ledger.last_point() == Point(1, 8, SnapshotId("b" * 40))
    ledger.add(made("two", 3.0, kind=UNDO).replace(snapshot=SnapshotId("c" * 40)), 2, [])
    assert ledger.last_point() == Point(2, 7, SnapshotId("c" * 40))
    assert ledger.last_point(undo=False) == Point(1, 8, SnapshotId("b" * 40))


def test_the_newest_at_or_before_a_moment_is_found(ledger: Ledger) -> None:
    for place, time in enumerate([10.0, 20.0, 30.0]):
        kind = UNDO if time == 20 else MANUAL
        ledger.add(made(f"at{time:.0f}", time, kind=kind), place, [])
    found = [ledger.at_or_before(time) for time in (9.9, 10.0, 25.0, 99.0)]
    assert [checkpoint and checkpoint.id for checkpoint in found] == [None, "at10", "at10", "at30"]
    assert ledger.at_or_before(99.0, session="other") is None


def test_a_beginning_is_taken_literally(ledger: Ledger) -> None:
    ledger.add(made("abcd", 1.0), 0, [])
    ledger.add(made("abce", 2.0), 1, [])
    assert ids(ledger.by_prefix("abc")) == ["abce", "abcd"]
    assert ids(ledger.by_prefix("abcd")) == ["abcd"]
    for pattern in ("a%", "____", "ABC", "bcd"):
        assert ledger.by_prefix(pattern) == []


def test_labels_are_replaced_as_a_whole(ledger: Ledger) -> None:
    ledger.add(made("one", 1.0), 0, [])
    ledger.add(made("two", 2.0), 1, [])
    ledger.set_labels([(CheckpointId("one"), "first", None)])
    ledger.set_labels([(CheckpointId("two"), "second", None)])
    assert [checkpoint.label for checkpoint in ledger.checkpoints()] == ["second", None]
    assert ids(ledger.by_label("second")) == ["two"]
    assert ledger.by_label("first") == []


def test_a_cleared_ledger_has_forgotten_everything(ledger: Ledger) -> None:
    ledger.add(FULL, 0, CHANGES)
    ledger.add_operation(operation("op", after="b" * 40), 1)
    ledger.set_labels([(FULL.id, "good", None)])
    ledger.set_tips({"ref": "tip"})
    note_session(ledger, FULL, event=True)
    turn = Turn(
        id=FULL.id,
        session=FULL.session,
        number=1,
        kind="prompt",
        prompt="p",
        native=None,
        before=FULL.id,
        after=FULL.id,
        began=1.0,
        ended=None,
        state=RUNNING,
    )
    add_turn(ledger, turn)
    set_turn_changes(ledger, turn.id, CHANGES)
    index_words(ledger, [("fix it", FULL.id, "prompt")])
    gaps.note_uncounted(ledger, [gaps.Uncounted(FULL.id, gaps.TURN, "a" * 40, "b" * 40)])
    gaps.note_unread(ledger, gaps.Unread("c" * 40, "ref", None, gaps.RECORD, "it is damaged"))
    gaps.note_unfolded(ledger, [turn.id])
    note_expired(ledger, FULL.id, 0, "m")
    note_gone(ledger, [1])
    assert {line.partition(":")[0] for line in ledger.dump()} == set(TABLES)
    ledger.clear()
    assert ledger.dump() == []


def test_a_row_that_is_no_checkpoint_is_damage(ledger: Ledger) -> None:
    ledger.add(FULL, 0, [])
    for meta in ("[]", "{}", "not JSON", '{"id": 3}'):
        ledger.rows("update checkpoints set meta = ?", meta)
        with pytest.raises(LedgerDamaged):
            ledger.by_id("full")


def test_what_is_rolled_back_was_never_there(ledger: Ledger) -> None:
    ledger.begin()
    ledger.add(FULL, 0, CHANGES)
    ledger.set_tips({"ref": "tip"})
    ledger.rollback()
    assert ledger.checkpoints() == []
    assert ledger.tips() == {}
    ledger.rollback()


def test_a_ledger_is_private_and_kept(path: str) -> None:
    first = Ledger(path)
    first.add(FULL, 0, CHANGES)
    before = first.dump()
    first.close()
    assert Path(path).stat().st_mode & 0o777 == 0o600
    again = Ledger(path)
    assert again.dump() == before
    again.close()


@pytest.mark.parametrize("data", [b"not a database at all, " * 50, b"SQLite format 3\0garbage"])
def test_a_file_that_is_no_ledger_is_damaged(path: str, data: bytes) -> None:
    Path(path).write_bytes(data)
    with pytest.raises(LedgerDamaged):
        Ledger(path)
    assert open_files(path) == []


def open_files(path: str) -> list[str]:
    """Returns the descriptors of this process that lead to a ledger's files."""
    found = []
    for name in os.listdir("/dev/fd"):
        try:
            if os.path.realpath(f"/dev/fd/{name}").startswith(path):
                found.append(name)
        except OSError:
            continue
    return found


def test_a_ledger_that_another_process_keeps_to_itself_is_not_waited_for_long(path: str) -> None:
    ledger = Ledger(path)
    assert ledger.rows("pragma busy_timeout") == [(int(PATIENCE * 1000),)]
    assert PATIENCE <= 5
    ledger.rows("pragma busy_timeout = 200")
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("begin exclusive")
        assert ledger.checkpoints() == []  # to read it is no need to wait
        with pytest.raises(LedgerUnwritable):
            ledger.begin()
    ledger.close()


def test_a_ledger_without_its_tables_is_damaged(path: str) -> None:
    database = sqlite3.connect(path)
    database.execute(f"pragma user_version = {len(MIGRATIONS)}")
    database.close()
    ledger = Ledger(path)
    with pytest.raises(LedgerDamaged):
        ledger.checkpoints()
    ledger.close()


def test_a_ledger_of_a_newer_takeback_is_not_touched(path: str, ledger: Ledger) -> None:
    ledger.close()
    database = sqlite3.connect(path)
    database.execute("pragma user_version = 999")
    database.close()
    with pytest.raises(LedgerUnwritable, match="newer"):
        Ledger(path)
    database = sqlite3.connect(path)
    assert database.execute("pragma user_version").fetchone() == (999,)
    database.close()


def test_a_place_that_takes_no_file_is_not_damage(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").mkdir()
    with pytest.raises(LedgerUnwritable):
        Ledger(str(tmp_path / "ledger.db"))
    assert open_files(str(tmp_path / "ledger.db")) == []


def test_a_ledger_in_memory_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path / "run")
    ledger = Ledger(IN_MEMORY)
    ledger.add(FULL, 0, CHANGES)
    assert ledger.by_id("full") == FULL
    ledger.close()
    assert list((tmp_path / "run").iterdir()) == []


def test_remove_takes_all_its_files_and_none_is_no_error(path: str) -> None:
    ledger = Ledger(path)
    ledger.add(FULL, 0, CHANGES)
    place = Path(path).parent
    assert len(list(place.glob("ledger.db*"))) == 3
    remove(path)
    ledger.close()
    remove(path)
    assert list(place.glob("ledger.db*")) == []


def test_what_was_once_much_to_write_does_not_stay_on_the_disk(path: str, ledger: Ledger) -> None:
    """A program that keeps it open would hold the space, which counts as the store's."""
    ledger.begin()
    for number in range(2_000):
        ledger.add(made(f"c{number}", 1.0).replace(prompt="p" * 3_000), number, ())
    ledger.commit()
    waiting = Path(f"{path}-wal")
    assert waiting.stat().st_size > 4 << 20
    for number in range(2_000, 2_004):
        ledger.add(made(f"c{number}", 1.0), number, ())
    assert waiting.stat().st_size <= 1 << 20


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_a_link_leads_to_nobody_elses_database(tmp_path: Path, suffix: str) -> None:
    theirs = tmp_path / "theirs.db"
    other = sqlite3.connect(theirs)
    other.execute("create table work (x)")
    other.commit()
    other.close()
    theirs.chmod(0o644)
    before = theirs.read_bytes()
    (tmp_path / f"ledger.db{suffix}").symlink_to(theirs)
    with pytest.raises(LedgerDamaged, match="is a link"):
        Ledger(str(tmp_path / "ledger.db"))
    assert (theirs.read_bytes(), theirs.stat().st_mode & 0o777) == (before, 0o644)
