"""Checkpoints lose their files, and get them back out of the trash."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from takeback.capture.capture import capture, draft, record
from takeback.context import Context, LockedContext
from takeback.model.checkpoint import MANUAL, Checkpoint
from takeback.model.ids import CheckpointId, SessionId
from takeback.store.history import Chains, Rewriting, all_trash, expired, remove_trash, restored
from takeback.store.namespace import LABELS, TRASH
from takeback.store.records import Label, checkpoints_back, newest_checkpoint, write_label
from takeback.store.sink import PackSink
from tests.support.engine import NOON, checkpoint, refs_of, under_lock


def made(context: Context, workspace: Path, *contents: str) -> list[Checkpoint]:
    found = []
    for text in contents:
        (workspace / "f").write_text(text)
        found.append(checkpoint(context))
    return found


def chain_of(context: Context, session: SessionId) -> list[Checkpoint]:
    """The checkpoints of a session, oldest first."""
    tip = context.store.refs.read(refs_of(context.store, session)[0])
    return list(checkpoints_back(context.store, tip))[::-1]


def begin(it: LockedContext) -> Rewriting:
    return Rewriting(PackSink(it.lock), Chains(it.store))


def expire(context: Context, session: SessionId, ids: Collection[CheckpointId]) -> None:
    def write(it: LockedContext) -> None:
        rewriting = begin(it)
        rewriting.session(session, expired(ids, NOON))
        rewriting.finish("sweep", NOON, {session: ids})

    under_lock(context, write)


def test_an_expired_checkpoint_stays_without_its_files(context: Context, workspace: Path) -> None:
    one, two, three = made(context, workspace, "1", "2", "3")
    expire(context, one.session, {two.id})
    found = chain_of(context, one.session)
    assert [point.id for point in found] == [one.id, two.id, three.id]
    assert [point.expired for point in found] == [None, NOON, None]
    assert found[0].commit == one.commit
    assert found[1] == two.replace(commit=found[1].commit, expired=NOON, saved=None)
    assert found[2] == three.replace(commit=found[2].commit)
    assert list(context.store.commit(found[1].commit).parents) == [one.commit]
    newest = newest_checkpoint(context.store, one.session)
    assert newest is not None
    assert newest.id == three.id


def test_what_is_dropped_is_in_the_trash_and_comes_back(context: Context, workspace: Path) -> None:
    before = made(context, workspace, "1", "2", "3")
    session = before[0].session
    expire(context, session, {before[0].id, before[1].id})
    later = made(context, workspace, "4")
    [trash] = all_trash(context.store)
    assert trash.dropped == {session: tuple(sorted([before[0].id, before[1].id]))}
    assert trash.tips == {refs_of(context.store, session)[0]: before[2].commit}

    def back(it: LockedContext) -> None:
        rewriting = begin(it)
        rewriting.session(session, restored(it.store, trash, session, {before[0].id, before[1].id}))
        rewriting.finish("back", NOON, {})

    under_lock(context, back)
    found = chain_of(context, session)
    wanted = [*before, *later]
    assert [point.replace(commit=b"") for point in found] == [
        point.replace(commit=b"") for point in wanted
    ]
    assert [point.commit for point in found[:3]] == [point.commit for point in before]


def test_a_session_that_descends_from_another_follows_it(context: Context, workspace: Path) -> None:
    one, two = made(context, workspace, "1", "2")
    name = SessionId("child")

    def fork(it: LockedContext) -> Checkpoint:
        return record(it, capture(it), draft(it, kind=MANUAL, session=name), base=two)

    child = under_lock(context, fork)
    under = under_lock(context, fork)

    def write(it: LockedContext) -> None:
        rewriting = begin(it)
        rewriting.session(one.session, expired({one.id}, NOON))
        rewriting.session(child.session, expired((), NOON))
        rewriting.finish("sweep", NOON, {one.session: [one.id]})

    under_lock(context, write)
    ids = [point.id for point in chain_of(context, child.session)]
    assert ids == [one.id, two.id, child.id, under.id]
    old = {one.commit, two.commit}
    assert not old & {point.commit for point in chain_of(context, child.session)}


def test_a_label_leads_to_its_checkpoint_and_to_no_other(context: Context, workspace: Path) -> None:
    one, two = made(context, workspace, "1", "2")
    under_lock(context, lambda it: write_label(PackSink(it.lock), two, Label("kept"), NOON))
    expire(context, one.session, {one.id})
    [tip] = context.store.refs.list(LABELS).values()
    assert context.store.commit(tip).parents == (chain_of(context, one.session)[1].commit,)


def test_a_whole_session_goes_and_comes_back_below_what_was_recorded_since(
    context: Context, workspace: Path
) -> None:
    one, two = made(context, workspace, "1", "2")

    def drop(it: LockedContext) -> None:
        rewriting = begin(it)
        rewriting.drop(one.session)
        rewriting.finish("sweep", NOON, {one.session: [one.id, two.id]})

    under_lock(context, drop)
    assert chain_of(context, one.session) == []
    [three] = made(context, workspace, "3")
    [trash] = all_trash(context.store)

    def back(it: LockedContext) -> None:
        rewriting = begin(it)
        rewriting.rejoin(one.session, trash)
        rewriting.finish("back", NOON, {})

    under_lock(context, back)
    assert [point.id for point in chain_of(context, one.session)] == [one.id, two.id, three.id]


def test_nothing_to_do_writes_nothing(context: Context, workspace: Path) -> None:
    [one] = made(context, workspace, "1")
    expire(context, one.session, ())
    assert context.store.refs.list(TRASH) == {}
    assert chain_of(context, one.session)[0].commit == one.commit


def test_the_trash_is_emptied(context: Context, workspace: Path) -> None:
    one, _ = made(context, workspace, "1", "2")
    expire(context, one.session, {one.id})
    [trash] = all_trash(context.store)
    under_lock(context, lambda it: remove_trash(it.lock, trash))
    assert all_trash(context.store) == []
