"""A purge that has begun is finished by whoever takes the lock, or opens the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.context import Context
from takeback.errors import StoreDamaged
from takeback.store import redaction, tombstones
from takeback.store.redaction import PurgeJournal
from tests.support.engine import Heard, checkpoint, refs_of


def begun(context: Context) -> tuple[str, bytes]:
    """Begins one that takes a session back to its first checkpoint and removes two files."""
    first = checkpoint(context)
    checkpoint(context)
    store = context.store
    ref, _ = refs_of(store, "workspace")
    tip = store.refs.read(ref)
    Path(store.path("pending")).mkdir()
    Path(store.path("pending", "one")).write_text("x")
    Path(store.location.home, "log").write_text("x")
    Path(store.git_dir, "objects", "ab").mkdir()
    Path(store.git_dir, "objects", "ab", "c" * 38).write_text("x")
    with store.locked("a test", wait=1) as locked:
        tombstones.stage(locked, tombstones.loaded_or_none_yet(store).of_paths(b"a"))
        journal = PurgeJournal(
            {ref: (tip, first.commit)},
            tuple(store.pack_names()),
            ("pending/one", "pending/gone"),
            ("log",),
        )
        redaction.begin(locked, journal)
    return ref, first.commit


def check(context: Context, ref: str, commit: bytes) -> None:
    store = context.store
    assert not redaction.has_begun(store)
    assert store.refs.read(ref) == commit
    assert not Path(store.path("pending", "one")).exists()
    assert not Path(store.location.home, "log").exists()
    assert not Path(store.path("stat")).exists()
    assert not Path(store.git_dir, "objects", "ab").exists()
    stones = tombstones.load(store)
    assert stones is not None
    assert stones.hides(b"a")


def test_whoever_takes_the_lock_finishes_it_first(context: Context) -> None:
    ref, commit = begun(context)
    with context.store.locked("a capture", wait=1):
        check(context, ref, commit)


def test_whoever_opens_the_workspace_finishes_it_and_says_so(
    context: Context, workspace: Path
) -> None:
    ref, commit = begun(context)
    heard = Heard()
    with Engine.open(workspace, reporter=heard) as tb:
        assert [entry.checkpoint.commit for entry in tb.checkpoints(everything=True)] == [commit]
    check(context, ref, commit)
    assert heard.notes == ["An interrupted purge was found and finished."]


def test_who_cannot_have_the_lock_looks_at_it_as_it_is(context: Context, workspace: Path) -> None:
    begun(context)
    context.store.lock.acquire("another process", wait=1)
    Engine.open(workspace).close()
    context.store.lock.release()
    assert redaction.has_begun(context.store)


def test_a_journal_that_does_not_read_stops_every_change_but_no_look(
    context: Context, workspace: Path
) -> None:
    begun(context)
    journal = Path(context.store.path(redaction.JOURNAL))
    text = journal.read_text()
    for garbled in ("{", text.replace("pack-", "pack_")):
        journal.write_text(garbled)
        with pytest.raises(StoreDamaged, match="interrupted purge is not readable"):
            context.store.locked("a capture", wait=1).__enter__()
    heard = Heard()
    with Engine.open(workspace, reporter=heard) as tb:
        assert len(tb.checkpoints(everything=True)) == 2
        assert [problem.what for problem in tb.verify().problems] == ["purge"]
    assert "An interrupted purge is not finished" in heard.notes[0]


def test_nothing_goes_if_what_it_wrote_is_gone(context: Context) -> None:
    begun(context)
    store = context.store
    lost, *_ = Path(store.git_dir, "objects", "pack").glob("*.idx")
    data = lost.read_bytes()
    lost.unlink()
    with pytest.raises(StoreDamaged, match="what a purge wrote is gone"):
        store.locked("a capture", wait=1).__enter__()
    lost.write_bytes(data)
    with store.locked("a capture", wait=1):
        assert not redaction.has_begun(store)
