"""What nothing leads to goes, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback.check.check import verify
from takeback.context import Context
from takeback.errors import WriteFailed
from takeback.git.objects import BLOB
from takeback.git.process import pack_reachable
from takeback.store import journal, repack
from takeback.store.lock import Lock
from takeback.store.repack import Collected, collect
from takeback.store.trust import SOUND, Trust
from tests.support.engine import captured, checkpoint, packing, packs_of, settle, under_lock


def nothing() -> tuple[bytes, ...]:
    return ()


def collected(context: Context, handed_out: Callable[[], tuple[bytes, ...]] = nothing) -> Collected:
    found = collect(context.store, handed_out, disk_floor=0)
    assert found is not None
    return found


def unreferenced(context: Context, data: bytes) -> bytes:
    with packing(context) as sink:
        oid = sink.add(BLOB, data)
        sink.publish()
    return oid


def test_what_nothing_leads_to_goes_and_every_checkpoint_stays(
    context: Context, workspace: Path
) -> None:
    for number in range(5):
        (workspace / "f").write_text(f"version {number}\n" * 200)
        checkpoint(context)
    lost = unreferenced(context, os.urandom(50_000))
    found = collected(context)
    assert found.before - found.after > 50_000
    assert not context.store.packs.has(lost)
    assert len(packs_of(context.store)) == 1
    assert verify(context, read_data=True).problems == ()
    assert all(Trust(context.store).believes(pack.stem) for pack in packs_of(context.store))


def test_half_a_pack_that_a_killed_process_left_goes_too(context: Context, workspace: Path) -> None:
    (workspace / "f").write_text("kept")
    checkpoint(context)
    lost = unreferenced(context, b"never published")
    name = context.store.packs.pack_of(lost)
    assert name is not None
    Path(context.store.git_dir, "objects", "pack", f"{name}.idx").unlink()
    under_lock(context, lambda it: Trust(context.store).forget(it.lock, SOUND))  # nobody knows it
    collected(context)
    assert len(packs_of(context.store)) == 1
    assert Trust(context.store).retired() == []
    assert verify(context, read_data=True).problems == ()


def test_what_the_stat_cache_hands_out_stays(context: Context, workspace: Path) -> None:
    (workspace / "kept").write_text("kept")
    checkpoint(context)
    (workspace / "planned").write_text("captured for a plan, in no checkpoint")
    settle()
    made = captured(context)
    collected(context, lambda: (made.tree,))
    (workspace / "more").write_text("more")
    checkpoint(context)
    assert verify(context, read_data=True).problems == ()


def test_what_is_kept_while_git_packs_is_whole_also_where_it_takes_up_what_nothing_led_to(
    context: Context, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "a").write_text("a")
    checkpoint(context)
    unreferenced(context, b"again")

    def pack_and_capture(*given: object) -> list[str]:
        names = pack_reachable(*given)  # type: ignore[arg-type]
        (workspace / "b").write_text("again")
        checkpoint(context)
        return names

    monkeypatch.setattr(repack, "pack_reachable", pack_and_capture)
    collected(context)
    assert verify(context, read_data=True).problems == ()


def test_it_waits_for_an_interrupted_operation_and_for_another_one(context: Context) -> None:
    checkpoint(context)
    under_lock(context, lambda it: journal.write(it.lock, {}))
    assert collect(context.store, nothing, disk_floor=0) is None
    under_lock(context, lambda it: journal.remove(it.lock))
    lock = Lock(context.store.path("maintenance.lock"))
    lock.acquire("a test", wait=0)
    assert collect(context.store, nothing, disk_floor=0) is None
    lock.release()
    assert collect(context.store, nothing, disk_floor=0) is not None


def test_a_disk_that_could_not_hold_both_is_left_as_it_is(context: Context) -> None:
    checkpoint(context)
    before = packs_of(context.store)
    with pytest.raises(WriteFailed, match="MB are free"):
        collect(context.store, nothing, disk_floor=1 << 60)
    assert packs_of(context.store) == before
