"""Checkpoints lose their files by the settings or by name, and everything around stays right."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from takeback.app.engine import Engine
from takeback.app.session import AgentSession
from takeback.context import SilentReporter
from takeback.errors import Expired, NoSuchCheckpoint, Refused
from takeback.git.refs import Refs
from takeback.ledger import file
from takeback.ledger.follow import Index, rebuild_ledger
from takeback.ledger.ledger import Ledger
from takeback.model import retention
from takeback.model.checkpoint import UNDO, Checkpoint
from takeback.model.entries import OUTSIDE, UNKNOWN
from takeback.model.event import PROMPT, TURN_END, AgentEvent
from takeback.model.operation import CONVERSATION, Pruned
from takeback.model.retention import DAY
from takeback.retention.prune import Prune, Pruning, Selection
from takeback.retention.sweep import sweep
from takeback.store.namespace import LABELS, LOCAL, labelled_by
from takeback.store.records import remove_label
from takeback.store.repack import has_garbage
from takeback.store.sink import PackSink
from tests.support.engine import TestClock, refs_of


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
def tb(workspace: Path, clock: TestClock) -> Iterator[Engine]:
    (workspace / "a.txt").write_text("0\n")
    with Engine.open(workspace, clock=clock) as opened:
        yield opened


class Talk:
    """A session of the Python agent ``mine``, a turn a day."""

    def __init__(self, tb: Engine, workspace: Path, clock: TestClock, native: str = "s") -> None:
        self._workspace = workspace
        self._clock = clock
        self.session: AgentSession = tb.session(agent="mine", native=native)

    def turn(self, text: str, *files: str) -> None:
        """Asks for something; writes the files with the text of it."""
        self._clock.time += DAY
        with self.session.turn(text, conversation=f"{text}\n".encode()):
            for name in files:
                (self._workspace / name).write_text(text)


@pytest.fixture
def talk(tb: Engine, workspace: Path, clock: TestClock) -> Talk:
    made = Talk(tb, workspace, clock)
    for number in range(1, 6):
        made.turn(f"turn {number}", "a.txt", f"f{number}")
    return made


def pruned(tb: Engine, *names: str, **options: object) -> Pruning:
    return tb.prune(tb.plan_prune(names, **options))  # type: ignore[arg-type]


def set_(tb: Engine, **values: object) -> None:
    tb.settings._values.update(values)


def everything(tb: Engine) -> list[Checkpoint]:
    return [one.checkpoint for one in tb.checkpoints(everything=True)][::-1]


def expired(tb: Engine) -> set[str]:
    return {f"{one.turn} {one.kind}" for one in everything(tb) if one.expired is not None}


_KNOWN = (
    "id, position, commit_id from checkpoints",
    "checkpoint, path, kind, who, session, turn from changes",
    "turn, path, kind, who from turn_changes",
    "* from turns",
    "* from sessions",
    "* from expired",
    "* from unread",
    "* from operations",
)


def dump(tb: Engine) -> list[object]:
    """All that the ledger knows, lines apart: those are counted when somebody looks."""
    return tb._ask(_known)


def _known(ledger: Ledger) -> list[object]:
    return [sorted(ledger.rows(f"select {what}"), key=repr) for what in _KNOWN]


def dump_anew(tb: Engine) -> list[object]:
    ledger = rebuild_ledger(tb._context.store, SilentReporter())
    try:
        return _known(ledger)
    finally:
        ledger.close()


# -- what goes


def test_a_named_turn_goes_with_both_its_ends_and_the_rest_stays_right(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    before = everything(tb)
    made = pruned(tb, "turn:3")
    assert sorted(made.dropped.values()) == [retention.NAMED] * 2
    assert expired(tb) == {"3 prompt", "3 turn end"}
    after = everything(tb)
    assert [(one.id, one.turn, one.prompt, one.kind) for one in after] == [
        (one.id, one.turn, one.prompt, one.kind) for one in before
    ]
    turns = {entry.turn.number: entry for entry in tb.checkpoints() if entry.turn is not None}
    assert {number: [c.path for c in turns[number].done] for number in turns} == {
        1: [b"a.txt", b"f1"],
        2: [b"a.txt", b"f2"],
        3: [],
        4: [b"a.txt", b"f4"],
        5: [b"a.txt", b"f5"],
    }
    assert dump(tb) == dump_anew(tb)
    assert tb.verify(read_data=True).problems == ()
    tb.rewind("turn:2")
    assert (workspace / "a.txt").read_text() == "turn 1"
    tb.undo()
    assert (workspace / "a.txt").read_text() == "turn 5"


def test_what_changed_in_a_gap_is_nobodys_own_edit(tb: Engine, talk: Talk, workspace: Path) -> None:
    pruned(tb, "turn:3")
    after_gap = tb.find("turn:4")
    found = tb._ask(lambda ledger: ledger.changes(after_gap.id))
    assert {(one.path, one.who, one.session) for one in found} == {
        (b"a.txt", UNKNOWN, talk.session.id),
        (b"f3", UNKNOWN, talk.session.id),
    }
    assert tb.plan("turn:2").outside == ()
    (workspace / "mine").write_text("by hand")
    talk.turn("turn 6", "f6")
    own = tb._ask(lambda ledger: ledger.changes(tb.find("turn:6").id))
    assert [(one.path, one.who) for one in own] == [(b"mine", OUTSIDE)]


def test_what_is_really_needed_does_not_go_even_if_it_is_named(
    tb: Engine, talk: Talk, clock: TestClock
) -> None:
    tb.label("turn:2", "kept")
    for name, why in (
        ("turn:2", retention.LABELLED),
        ("turn:5", retention.HERE),
    ):
        with pytest.raises(Refused, match=why):
            pruned(tb, name)
    tb.rewind("turn:4")
    [undo] = [one for one in everything(tb) if one.kind == UNDO]
    with pytest.raises(Refused, match=retention.UNDOABLE):
        pruned(tb, undo.id)
    with pytest.raises(NoSuchCheckpoint):
        pruned(tb, "nobody")
    assert expired(tb) == set()


def test_an_expired_checkpoint_has_no_files_and_says_what_is_near(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    pruned(tb, "turn:3")
    calls: dict[str, Callable[[], object]] = {
        "rewind": lambda: tb.rewind("turn:3"),
        "files": lambda: tb.rewind("turn:3", scope="files"),
        "plan": lambda: tb.plan("turn:3"),
        "preview": lambda: tb.preview("turn:3"),
        "diff": lambda: tb.diff("turn:3"),
        "states": lambda: tb.states("turn:3"),
        "cat": lambda: tb.cat("turn:3", str(workspace / "a.txt")),
        "fork": lambda: tb.fork("turn:3", files=True),
        "directory": lambda: tb.fork("turn:3", worktree=str(workspace.parent / "new")),
    }
    for name, call in calls.items():
        with pytest.raises(Expired) as found:
            call()
        if name != "states":
            assert f"prune --restore {tb.find('turn:3').id}" in found.value.hint, name
            assert tb.find("turn:2.end").id in found.value.hint, name
            assert tb.find("turn:4").id in found.value.hint, name
        assert (found.value.code, found.value.exit_status) == ("expired", 12)
    assert tb.show("turn:3").not_held == ()
    assert not (workspace.parent / "new").exists()


def test_its_conversation_goes_on_without_the_files(
    tb: Engine, talk: Talk, workspace: Path
) -> None:
    pruned(tb, "turn:3")
    assert "have expired" in tb.plan("turn:3", scope=CONVERSATION).warnings[0]
    done = tb.rewind("turn:3", scope=CONVERSATION)
    assert done.conversation_error is None
    assert (workspace / "a.txt").read_text() == "turn 5"
    forked = tb.fork("turn:3.end")
    assert forked.conversation_error is None
    assert tb.verify().problems == ()
    tb.undo()
    child = tb.session(agent="mine", native=(forked.session or "").removeprefix("mine-"))
    with child.turn("goes on"):
        (workspace / "new").write_text("new")
    assert tb.verify().problems == ()
    assert dump(tb) == dump_anew(tb)


def test_undo_over_an_expired_snapshot_is_the_same_clear_error(
    tb: Engine, talk: Talk, clock: TestClock
) -> None:
    tb.rewind("turn:4", scope="files")
    clock.time += 8 * DAY
    talk.turn("turn 6", "f6")
    set_(tb, keep_newest=0, max_age_days=7)
    pruned(tb)
    with pytest.raises(Expired):
        tb.undo()


# -- by the settings


@pytest.mark.parametrize(
    ("settings", "gone"),
    [
        ({}, []),
        ({"max_age_days": 2}, [1, 2]),
        ({"max_age_days": 2, "keep_newest": 4}, [1]),
        ({"max_age_days": 2, "keep_newest": 5}, []),
        ({"max_snapshots": 2}, [1, 2, 3]),
        ({"max_bytes": "1KB", "thin": False}, [1, 2, 3, 4]),
        ({"max_bytes": 0, "thin": False}, []),
    ],
)
def test_the_settings_say_what_goes(
    tb: Engine, talk: Talk, settings: dict[str, object], gone: list[int]
) -> None:
    set_(tb, **{"max_age_days": 0, "keep_newest": 0, **settings})
    pruned(tb)
    found = {int(name.split()[0]) for name in expired(tb)}
    assert sorted(found) == gone


@pytest.mark.parametrize(("thin", "oldest"), [(True, True), (False, False)])
def test_old_turns_are_thinned_before_the_oldest_goes(
    tb: Engine, workspace: Path, clock: TestClock, thin: bool, oldest: bool
) -> None:
    made = Talk(tb, workspace, clock)
    made.turn("oldest", "f0")
    for number in range(4):
        made.turn(f"turn {number}", f"f{number}")
        clock.time -= DAY - 60
    clock.time += 3 * DAY
    made.turn("newest", "f9")
    set_(tb, keep_newest=0, max_snapshots=4, thin=thin)
    pruned(tb)
    assert ("1 prompt" not in expired(tb)) is oldest
    assert len(expired(tb)) > 0


def test_the_trash_keeps_as_long_as_the_settings_say(tb: Engine, talk: Talk) -> None:
    pruned(tb, "turn:2")
    assert len(tb.trash()) == 1
    set_(tb, grace_days=0)
    pruned(tb, "turn:3")
    assert tb.trash() == []
    assert tb.verify(read_data=True).problems == ()


def test_a_store_that_is_small_enough_is_not_weighed(tb: Engine, talk: Talk) -> None:
    set_(tb, max_age_days=0, keep_newest=0, max_bytes="1GB")
    assert pruned(tb).dropped == {}


def test_labels_pin_unless_the_settings_say_otherwise(tb: Engine, talk: Talk) -> None:
    tb.label("turn:1", "kept")
    set_(tb, max_age_days=1, keep_newest=0)
    assert tb.plan_prune().outlook().pinned[tb.find("turn:1").id] == retention.LABELLED
    pruned(tb)
    assert "1 prompt" not in expired(tb)
    set_(tb, keep_labelled=False)
    pruned(tb)
    assert "1 prompt" in expired(tb)


def test_a_label_that_was_taken_off_while_the_ledger_was_busy_is_not_missed(
    tb: Engine, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever brings the ledger up to date next must not take its ref for one that was lost."""
    tb.label("turn:2", "good")
    assert tb.find("good").label == "good"
    monkeypatch.setattr(file, "PATIENCE", 0.05)
    path = tb._context.store.path("ledger.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        tb.checkpoint()
        tb.label("good", None)
        other.execute("rollback")
    with pytest.raises(NoSuchCheckpoint):
        tb.find("good")
    assert tb.verify().problems == ()


def test_what_a_label_was_goes_with_the_next_that_is_dropped(tb: Engine, talk: Talk) -> None:
    for turn, name in (("turn:2", "off"), ("turn:3", "on"), ("turn:4", "again")):
        tb.label(turn, name)
    tb.label("off", None)
    tb.label("again", None)
    tb.label("turn:4", "again")
    pruned(tb, "turn:1", "turn:2")
    labels = tb._context.store.refs.list(LABELS)
    assert {labelled_by(ref) for ref in labels} == {tb.find("on").id, tb.find("again").id}
    assert tb.verify().problems == ()
    sweep(tb._upkeep())
    assert tb.verify(read_data=True).problems == ()


def test_a_label_that_was_taken_off_and_dropped_before_anybody_looked_is_not_missed(
    tb: Engine, talk: Talk, workspace: Path, clock: TestClock
) -> None:
    tb.label("turn:1", "good")
    assert tb.find("good").label == "good"
    found = tb.find("good")
    with tb._context.locked() as locked:
        assert remove_label(PackSink(locked.lock), found, clock.time)
    prune = Prune(tb._upkeep(), Selection(checkpoints=(found.id,)))
    assert prune.carry_out().dropped
    assert tb.verify().problems == ()
    clock.time += 8 * DAY
    sweep(tb._upkeep())
    assert tb.trash() == []
    assert tb.verify(read_data=True).problems == ()


def test_who_listed_the_refs_before_a_prune_misses_nothing_after_the_trash_was_emptied(
    tb: Engine, talk: Talk, workspace: Path, clock: TestClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that has to wait for its turn brings the ledger up to date by what it saw."""
    other = Talk(tb, workspace, clock, native="other")
    other.turn("first", "o1")
    tb.label("turn:1", "good")
    tb.label("good", None)
    tb.checkpoints()
    talk.turn("turn 6", "f6")
    listing = Refs.list
    swept: list[str] = []

    def then_swept(refs: Refs, prefix: str, **options: Any) -> dict[str, bytes]:
        found = listing(refs, prefix, **options)
        if prefix == LOCAL and not swept:
            swept.append(prefix)
            with Engine.open(workspace, clock=clock) as sweeper:
                pruned(sweeper, session=other.session.id, everything=True)
                clock.time += 8 * DAY
                sweep(sweeper._upkeep())
                assert sweeper.trash() == []
        return found

    monkeypatch.setattr(Refs, "list", then_swept)
    with closing(Index(tb._context.store, SilentReporter())) as late:
        late.ask(lambda ledger: None)
    assert swept
    assert tb.verify(read_data=True).problems == ()
    assert {one.session for one in everything(tb)} == {talk.session.id}


def test_undo_snapshots_are_kept_for_their_grace(tb: Engine, talk: Talk, clock: TestClock) -> None:
    tb.rewind("turn:4", scope="files")
    talk.turn("turn 6", "f6")
    clock.time += 3 * DAY
    set_(tb, max_age_days=1, keep_newest=0, undo_grace_days=7)
    pruned(tb)
    assert not any("undo" in name for name in expired(tb))
    set_(tb, undo_grace_days=1)
    pruned(tb)
    assert any("undo" in name for name in expired(tb))


def test_the_newest_turns_count_together_or_line_by_line(
    tb: Engine, talk: Talk, workspace: Path, clock: TestClock
) -> None:
    other = Talk(tb, workspace, clock, native="other")
    other.turn("first", "o1")
    other.turn("second", "o2")
    clock.time += 40 * DAY
    set_(tb, keep_newest=2)
    assert len(tb.plan_prune().outlook().pinned) == 4
    set_(tb, retention_scope="lineage")
    assert len(tb.plan_prune().outlook().pinned) == 8


def test_a_session_alone_is_swept_or_goes_whole(
    tb: Engine, talk: Talk, workspace: Path, clock: TestClock
) -> None:
    other = Talk(tb, workspace, clock, native="other")
    other.turn("first", "o1")
    set_(tb, max_age_days=1, keep_newest=0)
    clock.time += 2 * DAY
    pruned(tb, session=talk.session.id)
    assert {one.session for one in everything(tb) if one.expired} == {talk.session.id}
    before = everything(tb)
    made = pruned(tb, session=talk.session.id, everything=True)
    assert made.sessions == (talk.session.id,)
    assert {one.session for one in everything(tb)} == {other.session.id}
    assert tb.verify(read_data=True).problems == ()
    tb.restore()
    assert [one.id for one in everything(tb)] == [one.id for one in before]


def test_what_a_session_that_is_gone_changed_is_nobodys_own_edit(
    tb: Engine, talk: Talk, workspace: Path, clock: TestClock
) -> None:
    """Neither the person's nor another agent's, in a ledger that was made anew too."""
    other = Talk(tb, workspace, clock, native="other")
    other.turn("first", "o1")
    (workspace / "mine").write_text("by hand")
    talk.turn("turn 6", "f6")
    assert pruned(tb, session=other.session.id, everything=True).sessions == (other.session.id,)
    tb.doctor(rebuild=True)
    found = tb._ask(lambda ledger: ledger.changes(tb.find("turn:6").id))
    assert {(one.path, one.who, one.session) for one in found} == {
        (b"o1", UNKNOWN, None),
        (b"mine", UNKNOWN, None),
    }
    assert tb.plan("turn:5").outside == ()
    (workspace / "later").write_text("by hand")
    talk.turn("turn 7", "f7")
    own = tb._ask(lambda ledger: ledger.changes(tb.find("turn:7").id))
    assert [(one.path, one.who) for one in own] == [(b"later", OUTSIDE)]
    tb.restore()
    tb.doctor(rebuild=True)
    back = tb._ask(lambda ledger: ledger.changes(tb.find("turn:6").id))
    assert [(one.path, one.who) for one in back] == [(b"mine", OUTSIDE)]


def test_a_session_that_others_descend_from_stays_without_files(tb: Engine, talk: Talk) -> None:
    child = tb.fork("turn:2.end").session
    made = pruned(tb, session=talk.session.id, everything=True)
    assert made.sessions == ()
    assert talk.session.id in {one.session for one in everything(tb)}
    assert {one.session for one in everything(tb) if one.expired is None} >= {child}


# -- the trash


def test_what_was_dropped_comes_back_as_it_was(tb: Engine, talk: Talk, workspace: Path) -> None:
    before = [(one.id, one.commit) for one in everything(tb)]
    made = pruned(tb, "turn:2", "turn:3")
    with pytest.raises(NoSuchCheckpoint, match="is not in the trash"):
        tb.restore("turn:1")
    only = tb.restore(tb.find("turn:3").id)
    assert set(only.checkpoints) == {tb.find("turn:3").id, tb.find("turn:3.end").id}
    assert expired(tb) == {"2 prompt", "2 turn end"}
    tb.restore(made.operation)
    assert expired(tb) == set()
    assert [(one.id, one.commit) for one in everything(tb)] == before
    with pytest.raises(Refused, match="trash is empty"):
        tb.restore()
    assert dump(tb) == dump_anew(tb)
    kinds = [one for one in tb.operations() if isinstance(one, Pruned)]
    assert [(one.dropped, len(one.restored)) for one in kinds] == [(4, 0), (0, 2), (0, 4)]


def test_what_came_back_is_not_swept_at_once(tb: Engine, talk: Talk, clock: TestClock) -> None:
    set_(tb, max_age_days=2, keep_newest=0)
    pruned(tb)
    tb.restore()
    assert pruned(tb).dropped == {}
    clock.time += 3 * DAY
    assert pruned(tb).dropped != {}


def test_after_its_grace_the_trash_is_gone_and_the_space_is_free(
    tb: Engine, talk: Talk, workspace: Path, clock: TestClock
) -> None:
    (workspace / "big").write_bytes(os.urandom(300_000))
    talk.turn("turn 6", "f6")
    (workspace / "big").unlink()
    talk.turn("turn 7", "f7")
    talk.turn("turn 8", "f8")
    size = tb.status().snapshot_bytes
    made = pruned(tb, "turn:6", "turn:7")
    assert made.bytes > 290_000
    clock.time += 6 * DAY
    sweep(tb._upkeep())
    assert len(tb.trash()) == 1
    clock.time += 2 * DAY
    sweep(tb._upkeep())
    assert tb.trash() == []
    assert tb.status().snapshot_bytes < size - 250_000
    assert tb.verify(read_data=True).problems == ()
    assert dump(tb) == dump_anew(tb)
    with pytest.raises(Expired) as found:
        tb.rewind("turn:6")
    assert "restore" not in found.value.hint


def test_the_bound_counts_more_than_the_grace(
    tb: Engine, talk: Talk, workspace: Path, clock: TestClock
) -> None:
    for number in range(6, 12):
        (workspace / "big").write_bytes(os.urandom(1_000_000))
        talk.turn(f"turn {number}")
    set_(tb, keep_newest=1, max_bytes="4MB")
    sweep(tb._upkeep())
    assert tb.status().bytes < 4 << 20
    assert {"6 prompt", "7 prompt"} <= expired(tb)
    assert "11 prompt" not in expired(tb)
    assert tb.verify(read_data=True).problems == ()


def test_a_session_that_does_not_read_is_left_alone_and_named(
    tb: Engine, talk: Talk, workspace: Path, clock: TestClock
) -> None:
    other = Talk(tb, workspace, clock, native="other")
    other.turn("first", "o1")
    store = tb._context.store
    name = refs_of(store, other.session.id)[0]
    ref, tip = Path(store.git_dir) / name, store.refs.read(name)
    assert tip is not None
    ref.write_text("1" * 40 + "\n")
    clock.time += 40 * DAY
    set_(tb, keep_newest=0)
    made = pruned(tb)
    assert list(made.unread) == [other.session.id]
    ref.write_text(tip.hex() + "\n")
    assert {one.session for one in everything(tb) if one.expired} == {talk.session.id}


def test_nothing_is_dropped_where_a_ref_does_not_read(
    tb: Engine, talk: Talk, clock: TestClock
) -> None:
    store = tb._context.store
    ref = Path(store.git_dir) / refs_of(store, "broken")[0]
    ref.write_text("nothing\n")
    clock.time += 40 * DAY
    set_(tb, keep_newest=0)
    with pytest.raises(Exception, match="broken"):
        pruned(tb)
    ref.unlink()
    assert expired(tb) == set()


def test_an_empty_store_stays_as_it_is(workspace: Path) -> None:
    with Engine.open(workspace) as tb:
        assert pruned(tb).dropped == {}
        sweep(tb._upkeep())


def test_a_session_whose_transcript_and_agent_are_gone_goes_whole(
    tb: Engine, talk: Talk, workspace: Path, clock: TestClock, tmp_path: Path
) -> None:
    transcript = tmp_path / "transcript"
    transcript.write_text("said\n")
    told = AgentEvent(
        agent="mine",
        session="dead",
        kind=PROMPT,
        prompt="hello",
        directory=str(workspace),
        transcript=str(transcript),
    )
    tb.receive(told)
    tb.receive(told.replace(kind=TURN_END, prompt=None))
    clock.time += 31 * DAY
    talk.turn("turn 6", "f6")
    set_(tb, keep_newest=0)
    assert tb.plan_prune().outlook().sessions == ()
    transcript.unlink()
    assert pruned(tb).sessions == ("mine-dead",)
    assert "mine-dead" not in {one.session for one in everything(tb)}


def test_a_disk_without_room_to_pack_anew_keeps_it_for_later(
    tb: Engine, talk: Talk, clock: TestClock
) -> None:
    pruned(tb, "turn:2")
    clock.time += 8 * DAY
    full = tb._upkeep().replace(disk_floor=1 << 60)
    sweep(full)
    assert tb.trash() == []
    assert has_garbage(tb._context.store)
    before = tb.status().snapshot_bytes
    sweep(tb._upkeep())
    assert tb.status().snapshot_bytes < before
    assert not has_garbage(tb._context.store)
    assert tb.verify(read_data=True).problems == ()
