"""Packs are combined beside the work, and nothing is lost or trusted too little by it."""

from __future__ import annotations

import os
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Thread

import pytest

from takeback import durable
from takeback.check.check import verify
from takeback.context import Context
from takeback.errors import WriteFailed
from takeback.git.objects import BLOB, object_id
from takeback.model.checkpoint import Checkpoint
from takeback.store import notes, repack, trees
from takeback.store.location import read_location
from takeback.store.lock import Lock
from takeback.store.sink import PackSink
from takeback.store.store import MOST_PACKS, Store
from takeback.store.trust import Trust
from tests.support.engine import (
    checkpoint,
    garble,
    heard_by,
    opened,
    packing,
    packs_of,
    settle,
    under_lock,
)
from tests.support.faults import Faults, run, start
from tests.support.git import git
from tests.support.processes import join, wait_for


def wait_for_the_end(context: Context) -> None:
    """Waits until no maintenance runs any more."""
    lock = Lock(context.store.path("maintenance.lock"))
    lock.acquire("a test", wait=30)
    lock.release()


def write_packs(context: Context, count: int) -> list[bytes]:
    """Writes packs of one blob each and returns the blobs."""
    oids = []
    for number in range(count):
        with packing(context) as sink:
            oids.append(sink.add(BLOB, b"number %d\n" % number * 50))
            sink.publish()
    return oids


def holds(context: Context, made: Checkpoint, data: bytes) -> bool:
    entry = trees.lookup(context.store, bytes.fromhex(made.snapshot), b"a")
    return entry is not None and context.store.blob(entry.oid) == data


def test_sixty_checkpoints_leave_few_packs_and_all_of_them_can_be_gone_to(
    workspace: Path, context: Context
) -> None:
    made = []
    for number in range(60):
        (workspace / "a").write_text(f"version {number}\n")
        made.append(checkpoint(context, prompt=f"turn {number}"))
    wait_for(lambda: len(packs_of(context.store)) <= MOST_PACKS)
    wait_for_the_end(context)
    assert len(packs_of(context.store)) <= MOST_PACKS + 5
    assert notes.read_log(context.store) == []
    for number, one in enumerate(made):
        assert holds(context, one, b"version %d\n" % number)
    assert verify(context, read_data=True).problems == ()
    store = Path(context.store.git_dir)
    patches = git(store, "log", "-p", "--all")
    for number in range(1, 60):
        assert b"manual %s: turn %d\n" % (made[number].id.encode(), number) in patches
        assert b"-version %d\n+version %d\n" % (number - 1, number) in patches
    assert git(store, "show", f"{made[7].commit.hex()}:files/a") == b"version 7\n"
    assert git(store, "fsck", "--full", "--strict") == b""


def test_combining_keeps_every_object_referred_to_or_not(context: Context) -> None:
    oids = write_packs(context, 6)
    assert repack.combine_packs(context.store, disk_floor=0)
    assert len(packs_of(context.store)) == 1
    assert [context.store.blob(oid) for oid in oids] == [b"number %d\n" % n * 50 for n in range(6)]


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [
        ([], 0),
        ([5], 0),
        ([5, 10, 20], 0),
        ([1, 1, 2, 3, 20, 50, 200], 4),
        ([3, 3, 11, 40], 3),  # what becomes of two is too large for the third
        ([7] * 50, 50),
        ([1] * 50 + [1000], 50),
    ],
)
def test_a_byte_is_written_anew_only_as_often_as_the_store_doubles(
    sizes: list[int], chosen: int
) -> None:
    named = {f"pack-{number:02}": size for number, size in enumerate(sizes)}
    found = repack.to_combine(named)
    assert found == sorted(named)[:chosen]
    left = sorted([sum(named[name] for name in found), *sizes[chosen:]])
    assert all(larger >= 2 * smaller for smaller, larger in pairwise(left))


def test_a_disk_without_room_for_the_combined_pack_is_left_as_it_is(context: Context) -> None:
    write_packs(context, 6)
    before = packs_of(context.store)
    with pytest.raises(WriteFailed, match=r"may need .* MB for a while, and only .* MB are free"):
        repack.combine_packs(context.store, disk_floor=1 << 60)
    assert packs_of(context.store) == before


def test_after_a_failure_it_is_not_tried_again_at_each_capture(context: Context) -> None:
    oids = write_packs(context, 6)
    garble(context.store, oids[2])
    assert run(partial(repack.main, context.store.directory)).done
    repack.start_detached(context.store)
    wait_for_the_end(context)
    assert len(notes.read_log(context.store)) == 1
    failed = context.store.path("maintenance.failed")
    hour_ago = time.time() - 3601
    os.utime(failed, (hour_ago, hour_ago))
    repack.start_detached(context.store)
    wait_for(lambda: len(notes.read_log(context.store)) == 2)


def test_a_combined_pack_is_believed(context: Context) -> None:
    write_packs(context, 6)
    repack.combine_packs(context.store, disk_floor=0)
    [pack] = packs_of(context.store)
    assert Trust(context.store).believes(pack.stem)


def test_an_open_reader_finds_objects_whose_pack_was_replaced(context: Context) -> None:
    oids = write_packs(context, 6)
    assert context.store.blob(oids[0])
    assert under_lock(context, lambda it: PackSink(it.lock).has(oids[0]))
    repack.combine_packs(context.store, disk_floor=0)
    with packing(context) as sink:
        assert all(sink.has(oid) and context.store.blob(oid) for oid in oids)


@pytest.mark.parametrize("moment", [1, 2])
def test_combining_in_the_middle_of_a_capture_harms_neither(
    context: Context, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """The capture has written its pack and is about to give the two files their names.

    The combined pack is made meanwhile; the old ones go when the capture lets go of the lock.
    """
    oids = write_packs(context, 6)
    other = Store.open(context.store.location, os.environ)
    combining = Thread(target=repack.combine_packs, args=(other,), kwargs={"disk_floor": 0})

    class Meanwhile:
        left = moment

        def step(self, name: str) -> None:
            if name == "rename":
                self.left -= 1
                if self.left == 0:
                    monkeypatch.setattr(durable, "faults", None)
                    before = packs_of(context.store)
                    combining.start()
                    wait_for(lambda: packs_of(context.store) != before)

    with packing(context) as sink:
        oids.append(sink.add(BLOB, b"of the capture"))
        monkeypatch.setattr(durable, "faults", Meanwhile())
        sink.publish()
    join(combining)
    other.close()
    assert len(packs_of(context.store)) == 2
    assert context.store.blob(oids[-1]) == b"of the capture"
    assert all(context.store.blob(oid) for oid in oids)


def test_it_is_due_above_the_limit(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("takeback.store.store.MOST_PACKS", 3)
    write_packs(context, 3)
    assert not context.store.has_many_packs
    write_packs(context, 4)
    assert context.store.has_many_packs


def test_combining_alarms_no_capture(workspace: Path, context: Context) -> None:
    (workspace / "a").write_bytes(b"stays")
    settle()
    checkpoint(context)
    write_packs(context, 6)
    epoch = context.store.epoch
    assert repack.combine_packs(context.store, disk_floor=0)
    assert len(packs_of(context.store)) == 1
    made = checkpoint(context)
    assert holds(context, made, b"stays")
    assert (context.store.epoch, heard_by(context).notes) == (epoch, [])
    assert notes.read_log(context.store) == []


@pytest.mark.slow
def test_a_capture_finds_everything_wherever_combining_was_killed(tmp_path: Path) -> None:
    """Killed for real before each durable step, then a capture, then the combining again."""
    killed = 0
    for number in range(1, 60):
        root = tmp_path / f"w{number}"
        root.mkdir()
        (root / "a").write_bytes(b"stays")
        settle()
        with opened(root) as context:
            first = checkpoint(context)
            oids = write_packs(context, 3)
            directory = context.store.directory
        ran = run(partial(_combine, directory), Faults(number))
        with opened(root) as context:
            epoch = context.store.epoch
            made = checkpoint(context)
            assert made.snapshot == first.snapshot
            assert holds(context, made, b"stays")
            assert (context.store.epoch, heard_by(context).notes) == (epoch, [])
            with packing(context) as sink:
                assert all(sink.has(oid) and context.store.blob(oid) for oid in oids)
            assert repack.combine_packs(context.store, disk_floor=0)
            assert verify(context, read_data=True).problems == ()
            names = {path.stem for path in packs_of(context.store)}
            indexes = Path(context.store.git_dir, "objects", "pack").glob("*.idx")
            assert names == {path.stem for path in indexes}  # no half of a pack is left
            assert Trust(context.store).retired() == []
            assert len(names) <= 3
        killed += ran.killed
        if not ran.killed:
            break
    assert not ran.killed
    assert killed > 10  # two tables, eight files removed, their directory


def test_the_name_of_a_combined_pack_is_flushed_before_the_table_has_it(
    tmp_path: Path, context: Context
) -> None:
    """git flushes what it writes, but not its name: on btrfs a power cut took that alone."""
    write_packs(context, 3)
    steps = run(partial(_combine, context.store.directory), Faults()).steps
    assert "sync" in steps[: steps.index("append")], steps


def test_where_a_combined_pack_has_lost_its_name_those_it_was_made_from_count_again(
    workspace: Path, context: Context
) -> None:
    (workspace / "a").write_bytes(b"stays")
    made, oids = checkpoint(context), write_packs(context, 3)
    for number in range(1, 30):
        run(partial(_combine, context.store.directory), Faults(number))
        if Trust(context.store).retired():  # and none of them is removed yet
            break
    [combined] = [one for one in packs_of(context.store) if Trust(context.store).believes(one.stem)]
    combined.rename(combined.with_name("tmp_pack_x"))
    (workspace / "b").write_bytes(b"the next capture")
    again = checkpoint(context)
    assert holds(context, made, b"stays")
    assert repack.combine_packs(context.store, disk_floor=0)
    assert [context.store.blob(oid) for oid in oids]
    assert holds(context, again, b"stays")
    named = verify(context, read_data=True).problems
    assert {one.what for one in named} == {f"pack {combined.stem}"}, "what else there is is whole"


def _combine(directory: str) -> None:
    location = read_location(directory)
    assert location is not None
    store = Store.open(location, os.environ)
    assert repack.combine_packs(store, disk_floor=0)
    store.close()


@pytest.mark.slow
def test_combining_beside_captures_of_another_process_alarms_nobody(
    workspace: Path, context: Context
) -> None:
    """Captures go on in this process while others combine: each is whole, none reads anew."""
    (workspace / "a").write_bytes(b"stays")
    settle()
    checkpoint(context)
    epoch = context.store.epoch
    for number in range(12):
        write_packs(context, 4)
        combining = start(lambda: _combine_if_free(context.store.directory))
        (workspace / "b").write_bytes(b"version %d" % number)
        made = [checkpoint(context) for _ in range(4)]
        assert combining.outcome().done
        assert all(holds(context, one, b"stays") for one in made)
    assert (context.store.epoch, heard_by(context).notes) == (epoch, [])
    assert verify(context, read_data=True).problems == ()


def _combine_if_free(directory: str) -> None:
    location = read_location(directory)
    assert location is not None
    store = Store.open(location, os.environ)
    repack.combine_packs(store, disk_floor=0)
    store.close()


def test_two_do_not_combine_at_once(context: Context) -> None:
    write_packs(context, 3)
    lock = Lock(context.store.path("maintenance.lock"))
    lock.acquire("another", wait=0)
    assert not repack.combine_packs(context.store, disk_floor=0)
    assert len(packs_of(context.store)) == 3
    lock.release()


def test_a_damaged_object_stops_the_combining_and_every_pack_stays(context: Context) -> None:
    oids = write_packs(context, 6)
    garble(context.store, oids[2])
    before = packs_of(context.store)
    repack.start_detached(context.store)
    wait_for(lambda: notes.read_log(context.store) != [])
    wait_for_the_end(context)
    assert "maintenance failed" in notes.read_log(context.store)[0]
    assert packs_of(context.store) == before


def test_the_detached_process_runs_no_code_of_the_project(
    workspace: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = f"open({str(workspace / 'sprung')!r}, 'w').close()\n"
    for name in ("takeback/__init__.py", "bisect.py", "fcntl.py", "sitecustomize.py"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text(trap)
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("PYTHONPATH", str(workspace))
    monkeypatch.syspath_prepend("")
    write_packs(context, 6)
    repack.start_detached(context.store)
    wait_for(lambda: len(packs_of(context.store)) == 1)
    assert not (workspace / "sprung").exists()


def test_a_process_that_cannot_be_started_is_a_line_in_the_log(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    repack.start_detached(context.store)
    assert "could not be started" in notes.read_log(context.store)[0]


def test_what_the_detached_process_prints_or_holds_is_not_ours(context: Context) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    write_packs(context, 2)
    context.store.packs.close()
    repack.start_detached(context.store)
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before
    wait_for(lambda: len(packs_of(context.store)) == 1)
    wait_for_the_end(context)
    assert not context.store.packs.has(object_id(BLOB, b"never written"))
