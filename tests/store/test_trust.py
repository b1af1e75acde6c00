"""When "already there" is believed, and when an object is read before it counts as there."""

from __future__ import annotations

import marshal
import os
from pathlib import Path

import pytest

from takeback import durable, kernel
from takeback.context import Context, LockedContext
from takeback.git.objects import BLOB, object_id
from takeback.store import trees
from takeback.store.repack import checksum_holds
from takeback.store.sink import PackSink
from takeback.store.trust import Trust
from tests.support.cli import Cli
from tests.support.engine import (
    Killed,
    captured,
    checkpoint,
    garble,
    heard_by,
    known_packs,
    packing,
    packs_of,
    settle,
    start_machine_anew,
    under_lock,
)

BYTES = b"bytes that are kept\n"
OID = object_id(BLOB, BYTES)


@pytest.fixture
def pack(context: Context) -> Path:
    """The one pack of a store, which holds a blob."""
    with packing(context) as sink:
        sink.add(BLOB, BYTES)
        sink.publish()
    [path] = packs_of(context.store)
    path.chmod(0o600)
    return path


def believed(context: Context, pack: Path) -> bool:
    return Trust(context.store).believes(pack.stem)


def restart(context: Context) -> None:
    start_machine_anew(Path(context.store.directory))


def test_a_pack_that_we_wrote_is_believed(context: Context, pack: Path) -> None:
    assert believed(context, pack)


def test_a_pack_that_was_touched_is_not_believed(context: Context, pack: Path) -> None:
    os.utime(pack)
    assert not believed(context, pack)


def test_a_truncated_pack_is_not_believed(context: Context, pack: Path) -> None:
    times = pack.stat()
    os.truncate(pack, times.st_size - 30)
    os.utime(pack, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not believed(context, pack)


def test_a_pack_with_a_flipped_bit_is_not_believed(context: Context, pack: Path) -> None:
    garble(context.store, OID)
    assert not believed(context, pack)


def test_a_copy_under_the_same_name_is_not_believed(context: Context, pack: Path) -> None:
    times = pack.stat()
    data = pack.read_bytes()
    pack.rename(pack.with_suffix(".old"))
    pack.write_bytes(data)
    os.utime(pack, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not believed(context, pack)


def test_a_pack_that_somebody_else_put_there_is_not_believed(context: Context, pack: Path) -> None:
    Path(context.store.path("trust")).unlink()
    assert not believed(context, pack)


@pytest.mark.parametrize("data", [b"", b"garbage", marshal.dumps(7), marshal.dumps(("b", 7))])
def test_a_damaged_trust_table_believes_nothing(context: Context, pack: Path, data: bytes) -> None:
    Path(context.store.path("trust")).write_bytes(data)
    assert not believed(context, pack)


@pytest.mark.parametrize("lost", ["all", "half a line", "the end of a line"])
def test_a_power_cut_that_takes_what_was_not_flushed_of_the_table_is_no_trouble(
    context: Context, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """The table itself is flushed: what is lost is read again, and nobody is told of damage."""
    for data in (b"one", b"two", b"three"):
        with packing(context) as sink:
            sink.add(BLOB, data)
            sink.publish()
    new = Path(context.store.path("trust.new"))
    size = new.stat().st_size
    os.truncate(new, {"all": 0, "half a line": size // 2, "the end of a line": size - 1}[lost])
    monkeypatch.setattr(kernel, "run_of_machine", lambda: "the next run")
    epoch = context.store.epoch
    assert under_lock(context, lambda it: Trust(it.store).check(it.lock)) is None
    assert context.store.epoch == epoch
    assert all(believed(context, one) for one in packs_of(context.store))


def test_a_line_that_was_torn_takes_no_other_with_it(context: Context, pack: Path) -> None:
    """A kill in the middle of a line, and the next one goes on behind it."""
    new = Path(context.store.path("trust.new"))
    with new.open("ab") as file:
        file.write(b"\n0123")
    with packing(context) as sink:
        sink.add(BLOB, b"after the torn line")
        sink.publish()
    assert all(believed(context, one) for one in packs_of(context.store))


def test_lines_of_another_table_do_not_count(context: Context, pack: Path) -> None:
    """A cut may bring back what came before the table was written anew."""
    new = Path(context.store.path("trust.new"))
    lines = new.read_bytes()
    pack.unlink()
    under_lock(context, lambda it: Trust(it.store).check(it.lock))
    assert not new.exists()
    new.write_bytes(lines)
    assert Trust(context.store).broken() == {pack.stem: "it is gone"}


def test_what_came_since_the_table_stays_short(context: Context) -> None:
    def add(it: LockedContext) -> None:
        [pack] = packs_of(it.store)
        for _ in range(400):
            Trust(it.store).add(it.lock, [pack.stem])

    with packing(context) as sink:
        sink.add(BLOB, BYTES)
        sink.publish()
    under_lock(context, add)
    assert Path(context.store.path("trust.new")).stat().st_size < 20_000
    [pack] = packs_of(context.store)
    assert believed(context, pack)


def test_after_a_restart_a_sound_pack_is_believed_again(context: Context, pack: Path) -> None:
    restart(context)
    assert not believed(context, pack)
    assert under_lock(context, lambda it: Trust(it.store).check(it.lock)) is None
    assert believed(context, pack)


def test_after_a_restart_a_recent_pack_is_read_before_it_is_believed(
    context: Context, pack: Path
) -> None:
    times = pack.stat()
    garble(context.store, OID)
    os.utime(pack, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert believed(context, pack)  # size, time and inode are right: a disk can lie like this
    restart(context)
    said = under_lock(context, lambda it: Trust(it.store).check(it.lock))
    assert said is not None
    assert f"{pack.stem} is damaged" in said
    assert not believed(context, pack)
    assert under_lock(context, lambda it: Trust(it.store).check(it.lock)) is None  # said once
    assert not believed(context, pack)


def test_while_the_machine_runs_no_pack_is_read(context: Context, pack: Path) -> None:
    times = pack.stat()
    garble(context.store, OID)
    os.utime(pack, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert under_lock(context, lambda it: Trust(it.store).check(it.lock)) is None


def test_no_sink_of_another_run_of_the_machine_has_anything(context: Context, pack: Path) -> None:
    restart(context)
    assert not under_lock(context, lambda it: PackSink(it.lock).has(OID))
    with packing(context) as other:
        other.add(BLOB, b"written after the restart, before any capture")
        other.publish()
    assert not believed(context, pack)  # to add a pack vouches for no other
    assert under_lock(context, lambda it: Trust(it.store).check(it.lock)) is None
    assert believed(context, pack)


def test_a_table_that_is_lost_voids_the_stat_cache_also_after_another_pack_was_added(
    context: Context, pack: Path
) -> None:
    Path(context.store.path("trust")).unlink()
    with packing(context) as sink:
        sink.add(BLOB, b"written by somebody who does not capture")
        sink.publish()
    epoch = context.store.epoch
    said = under_lock(context, lambda it: Trust(it.store).check(it.lock))
    assert said is not None
    assert "the table of its packs is gone" in said
    assert context.store.epoch == epoch + 1
    assert believed(context, pack)  # it was read whole
    assert under_lock(context, lambda it: Trust(it.store).check(it.lock)) is None
    assert context.store.epoch == epoch + 1


def test_a_table_of_an_older_takeback_is_as_good_as_none(context: Context, pack: Path) -> None:
    boot, packs = known_packs(Path(context.store.directory))
    old = {name: signature[:3] for name, (_, signature) in packs.items()}
    Path(context.store.path("trust")).write_bytes(marshal.dumps((boot, old)))
    assert not believed(context, pack)
    assert under_lock(context, lambda it: Trust(it.store).check(it.lock)) is not None
    assert believed(context, pack)


def test_the_epoch_is_raised_before_the_table_forgets(
    context: Context, pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at any step in between, the next capture finds the loss again or a raised epoch."""
    pack.unlink()
    epoch = context.store.epoch
    for number in range(1, 30):
        monkeypatch.setattr(durable, "faults", KillAtStep(number))
        try:
            under_lock(context, lambda it: Trust(it.store).check(it.lock))
        except Killed:
            monkeypatch.setattr(durable, "faults", None)
            noticed = Trust(context.store).broken() == {pack.stem: "it is gone"}
            _, table = known_packs(Path(context.store.directory))
            assert noticed
            assert context.store.epoch > epoch or table[pack.stem][0] == "sound"
            continue
        monkeypatch.setattr(durable, "faults", None)
        break
    assert number > 5
    assert context.store.epoch > epoch
    assert not believed(context, pack)


class KillAtStep:
    """Ends the run at the n-th durable step."""

    def __init__(self, number: int) -> None:
        self._left = number

    def step(self, name: str) -> None:
        self._left -= 1
        if self._left == 0:
            raise Killed


def test_blame_of_a_pack_counts_at_once_and_is_answered_by_the_next_capture(
    context: Context, pack: Path
) -> None:
    epoch = context.store.epoch
    context.store.blame(pack.stem)
    context.store.blame(pack.stem)
    assert not under_lock(context, lambda it: PackSink(it.lock).has(OID))
    assert under_lock(context, lambda it: Trust(it.store).check(it.lock)) is not None
    assert context.store.epoch == epoch + 1
    assert context.store.blamed_packs() == set()
    context.store.blame(pack.stem)  # known already: nothing is read anew for it
    context.store.blame("pack-that-is-none-of-ours")
    assert under_lock(context, lambda it: Trust(it.store).check(it.lock)) is None
    assert context.store.epoch == epoch + 1
    assert context.store.blamed_packs() == set()
    assert not under_lock(context, lambda it: PackSink(it.lock).has(OID))


def test_blame_in_a_store_that_cannot_be_written_stops_nothing(
    context: Context, pack: Path
) -> None:
    Path(context.store.path("damaged")).write_bytes(b"in the way")
    context.store.blame(pack.stem)
    assert context.store.blamed_packs() == set()


def test_a_checksum_holds_for_the_whole_pack_only(context: Context, pack: Path) -> None:
    assert checksum_holds(str(pack))
    data = pack.read_bytes()
    for damaged in (data[:-1], data + b"x", b"", data[:20], data[:15] + b"!" + data[16:]):
        pack.write_bytes(damaged)
        assert not checksum_holds(str(pack))
    assert not checksum_holds(str(pack.parent / "missing"))


# -- what it is for


def lost_in(context: Context, path: bytes) -> bytes:
    """Returns the object that the newest capture holds at ``path``, after it was read back."""
    tree = captured(context).tree
    entry = trees.lookup(context.store, tree, path)
    assert entry is not None
    return context.store.blob(entry.oid)


@pytest.mark.parametrize("how", ["truncated", "flipped", "emptied"])
def test_bytes_whose_object_is_lost_are_written_again(
    workspace: Path, context: Context, how: str
) -> None:
    (workspace / "a").write_bytes(BYTES)
    checkpoint(context)
    [pack] = packs_of(context.store)
    if how == "flipped":
        garble(context.store, OID)
    else:
        pack.chmod(0o600)
        os.truncate(pack, 0 if how == "emptied" else pack.stat().st_size - 25)
    context.store.packs.close()
    (workspace / "b").write_bytes(BYTES)
    assert lost_in(context, b"b") == BYTES


def test_after_a_restart_damaged_objects_of_unchanged_files_are_written_again(
    workspace: Path, context: Context
) -> None:
    (workspace / "a").write_bytes(BYTES)
    settle()
    checkpoint(context)
    garble(context.store, OID)
    context.store.packs.close()
    restart(context)
    assert lost_in(context, b"a") == BYTES
    assert "everything is read anew" in heard_by(context).notes[0]


def test_after_a_restart_what_a_second_process_read_is_checked_too(
    workspace: Path, context: Context
) -> None:
    """From 1500 files on a capture reads in two processes, each into a pack of its own."""
    for number in range(1500):
        (workspace / f"{number:04}").write_bytes(b"content of file %d\n" % number)
    settle()
    Cli(workspace).ok("checkpoint")  # a process of its own: one with threads does not fork
    packs = packs_of(context.store)
    assert len(packs) == 2
    first = context.store.packs.pack_of(object_id(BLOB, b"content of file 0\n"))
    [second] = [pack for pack in packs if pack.stem != first]
    second.chmod(0o600)
    os.truncate(second, second.stat().st_size // 2)
    context.store.packs.close()
    restart(context)
    assert lost_in(context, b"1499") == b"content of file 1499\n"
