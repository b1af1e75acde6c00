"""Checkpoints as commits: what is kept of one, and that it is there as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback import durable
from takeback.context import Context
from takeback.errors import StoreDamaged
from takeback.git.objects import BLOB, EMPTY_TREE, TREE
from takeback.model.checkpoint import MANUAL, Checkpoint, Process, TranscriptPart
from takeback.model.coverage import IGNORED, UNREADABLE, Coverage, NotHeld
from takeback.model.event import ToolCall
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.store.conversation import Part, read_conversation, write_conversation
from takeback.store.records import (
    chain,
    checkpoint_of,
    conversation_tree,
    newest_checkpoint,
    read_coverage,
    read_record,
    write_checkpoint,
    write_record,
)
from takeback.store.sink import PackSink
from takeback.store.trees import build
from tests.support.engine import NOON, Killed, file_entry, packing, refs_of

EVERYTHING = Checkpoint(
    id=CheckpointId("abcdefghjkmn"),
    session=SessionId("s"),
    kind=MANUAL,
    time=NOON + 0.25,
    snapshot=SnapshotId(EMPTY_TREE.hex()),
    commit=b"",
    complete=False,
    files=3,
    prompt="fix the login\nand more \udcff",
    turn=4,
    branch="main",
    head="a" * 40,
    operation="opopopopopop",
    agent="mine",
    native="1",
    turn_id="t4",
    phase="running",
    transcript=(TranscriptPart("/t.jsonl", 17),),
    tools=(ToolCall("Edit", "edit", ("a", "b")),),
    process=Process(4711, "99"),
    resume=("mine", "--resume", "{session}"),
    late=True,
)
COVERAGE = Coverage([NotHeld(b"x\xff", UNREADABLE), NotHeld(b"build", IGNORED)])


def write(context: Context, checkpoint: Checkpoint, saved: bytes | None = None) -> Checkpoint:
    """Keeps a checkpoint, with an ignored file beside it if its bytes are given."""
    with context.locked() as locked:
        sink = PackSink(locked.lock)
        if saved is not None:
            sink.add(BLOB, saved)
            tree = build(sink, {b".env": file_entry(saved)})
            checkpoint = checkpoint.replace(saved=tree.hex())
        return write_checkpoint(sink, checkpoint, COVERAGE)


def tip(context: Context) -> Checkpoint:
    oid = context.store.refs.read(refs_of(context.store, "s")[0])
    assert oid is not None
    return checkpoint_of(read_record(context.store, oid))


def test_every_field_reads_back(context: Context) -> None:
    made = write(context, EVERYTHING, b"SECRET=1")
    assert made.commit == context.store.refs.read(refs_of(context.store, "s")[0])
    assert made.saved is not None
    assert tip(context) == made
    assert read_coverage(context.store, made.commit) == COVERAGE


def test_optional_fields_that_are_absent_stay_absent(context: Context) -> None:
    bare = EVERYTHING.replace(prompt=None, turn=None, branch=None, head=None, operation=None)
    assert write(context, bare) == tip(context)
    by_hand = bare.replace(agent=None, native=None, turn_id=None, phase=None, transcript=())
    by_hand = by_hand.replace(tools=(), process=None, resume=(), late=False)
    assert write(context, by_hand) == tip(context)


def test_a_conversation_is_kept_beside_the_files(context: Context) -> None:
    with context.locked() as locked:
        sink = PackSink(locked.lock)
        tree = write_conversation(sink, [Part(b"older\n"), Part(b"hello\n")])
        made = write_checkpoint(sink, EVERYTHING, COVERAGE, conversation=tree)
    record = read_record(context.store, made.commit)
    assert conversation_tree(record) == tree
    assert read_conversation(context.store, tree) == (b"older\n", b"hello\n")
    assert checkpoint_of(record) == made


def test_the_first_one_of_a_child_descends_from_its_parent_s_commit(context: Context) -> None:
    parent = write(context, EVERYTHING)
    child = EVERYTHING.replace(session=SessionId("child"))
    with context.locked() as it:
        first, second = (
            write_checkpoint(PackSink(it.lock), child, COVERAGE, base=parent.commit)
            for _ in range(2)
        )
    assert context.store.commit(first.commit).parents == (parent.commit,)
    assert context.store.commit(second.commit).parents == (first.commit,)
    newest = newest_checkpoint(context.store, "child")
    assert newest == second
    assert newest_checkpoint(context.store, "s") == parent
    assert newest_checkpoint(context.store, "nobody") is None


def test_each_checkpoint_has_the_one_before_it_as_its_parent(context: Context) -> None:
    made = [write(context, EVERYTHING.replace(id=CheckpointId(c * 12))) for c in "abc"]
    records = chain(context.store, made[-1].commit)
    assert [checkpoint_of(record).id for record in records] == [c * 12 for c in "cba"]


def test_saved_files_are_a_commit_of_their_own_and_the_same_ones_are_not_kept_twice(
    context: Context,
) -> None:
    write(context, EVERYTHING)
    assert context.store.refs.read(refs_of(context.store, "s")[1]) is None
    write(context, EVERYTHING, b"1")
    first = context.store.refs.read(refs_of(context.store, "s")[1])
    write(context, EVERYTHING, b"1")
    assert context.store.refs.read(refs_of(context.store, "s")[1]) == first
    write(context, EVERYTHING, b"2")
    second = context.store.refs.read(refs_of(context.store, "s")[1])
    assert second is not None
    assert context.store.commit(second).parents == (first,)
    session = context.store.refs.read(refs_of(context.store, "s")[0])
    assert session is not None
    names = {name for _, name, _ in context.store.tree(context.store.commit(session).tree)}
    assert names == {b"files", b"coverage", b"meta.json"}


class _KillAtAny:
    """Ends the run before its n-th step, whatever that is."""

    def __init__(self, number: int) -> None:
        self.left = number

    def step(self, name: str) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed


def test_a_killed_write_leaves_the_old_chain_or_the_new_one(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write(context, EVERYTHING, b"1")
    for step in range(1, 100):
        new = EVERYTHING.replace(id=CheckpointId(f"step{step:08}"))
        with monkeypatch.context() as patch:
            patch.setattr(durable, "faults", _KillAtAny(step))
            try:
                write(context, new, b"%d" % step)
            except Killed:
                done = False
            else:
                done = True
        context.store.packs.close()
        at = tip(context)
        assert at.id in (old.id, new.id)
        assert read_coverage(context.store, at.commit) == COVERAGE
        if done:
            assert step > 10
            assert at.id == new.id
            break
        old = at


def test_the_empty_tree_is_an_object_like_any_other(context: Context) -> None:
    write(context, EVERYTHING)
    assert context.store.packs.read(EMPTY_TREE) == (TREE, b"")


def test_a_message_is_one_line_for_people(context: Context) -> None:
    long = EVERYTHING.replace(prompt="\n  " + "long " * 100 + "\nsecond")
    message = context.store.commit(write(context, long).commit).message
    assert message.startswith("manual abcdefghjkmn: long long")
    assert "\n" not in message
    assert len(message) < 150
    assert context.store.commit(write(context, EVERYTHING.replace(prompt="")).commit).message == (
        "manual abcdefghjkmn"
    )


def test_a_record_without_files_or_coverage_is_damage(context: Context, tmp_path: Path) -> None:
    with packing(context) as sink:
        oid = write_record(sink, {"type": "checkpoint"}, parents=(), time=NOON, message="")
        sink.publish()
    with pytest.raises(StoreDamaged, match="has no files"):
        checkpoint_of(read_record(context.store, oid))
    with pytest.raises(StoreDamaged, match="does not say what it covers"):
        read_coverage(context.store, oid)
