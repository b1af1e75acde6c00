"""The sink: one pack per capture, none when nothing is new."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from takeback.capture.capture import capture
from takeback.context import Context, LockedContext
from takeback.errors import CaptureFailed, WriteFailed
from takeback.git import objects
from takeback.git.objects import BLOB, LONGEST, TREE, object_id
from takeback.git.packfile import PackList
from takeback.git.packs import Collision, Packs
from takeback.store import sink as module
from takeback.store.sink import PackSink
from takeback.store.trust import Trust
from takeback.worktree import read as reading
from tests.support.engine import clock_of, garble, packs_of, settle


@pytest.fixture
def context(context: Context) -> Iterator[LockedContext]:
    """The workspace, opened, and locked for as long as a test lasts."""
    with context.locked() as locked:
        yield locked


def test_what_is_published_is_one_pack_that_reads_back(context: LockedContext) -> None:
    sink = PackSink(context.lock)
    oids = [sink.add(BLOB, b"%d" % number) for number in range(20)]
    assert packs_of(context.store) == []
    assert all(sink.has(oid) for oid in oids)
    sink.publish()
    [pack] = packs_of(context.store)
    assert pack.stat().st_mode & 0o077 == 0
    assert [context.store.blob(oid) for oid in oids] == [b"%d" % number for number in range(20)]
    assert Trust(context.store).believes(pack.stem)


def test_nothing_new_writes_nothing(context: LockedContext) -> None:
    sink = PackSink(context.lock)
    before = sorted(Path(context.store.directory).rglob("*"))
    assert not sink.has(object_id(BLOB, b"unknown"))
    sink.publish()
    assert sorted(Path(context.store.directory).rglob("*")) == before


def test_what_is_discarded_leaves_no_file_and_is_not_had(context: LockedContext) -> None:
    sink = PackSink(context.lock)
    oid = sink.add(BLOB, os.urandom(9 << 20))  # more than a pack is kept in memory
    directory = Path(context.store.git_dir, "objects", "pack")
    assert len(os.listdir(directory)) == 1
    sink.discard()
    assert os.listdir(directory) == []
    assert not sink.has(oid)
    assert sink.add(BLOB, b"usable again") == object_id(BLOB, b"usable again")
    sink.publish()
    assert not sink.has(oid)


def test_below_the_floor_of_free_space_nothing_is_written(context: LockedContext) -> None:
    sink = PackSink(context.lock, disk_floor=1 << 60)
    assert not sink.has(object_id(BLOB, b"x"))
    with pytest.raises(WriteFailed, match="less than the floor") as raised:
        sink.add(BLOB, b"x")
    assert "disk_floor_mb" in raised.value.hint
    sink.publish()
    assert packs_of(context.store) == []


def test_a_file_that_is_not_of_the_size_it_was_is_not_added(
    tmp_path: Path, context: LockedContext
) -> None:
    (tmp_path / "f").write_bytes(b"0123456789")
    sink = PackSink(context.lock)
    for size in (9, 11):
        with open(tmp_path / "f", "rb") as file:
            assert sink.add_stream(BLOB, file.fileno(), size) is None
    with open(tmp_path / "f", "rb") as file:
        assert sink.add_stream(BLOB, file.fileno(), 10) == object_id(BLOB, b"0123456789")


def test_a_long_file_that_is_kept_is_not_written_again(
    tmp_path: Path, context: LockedContext
) -> None:
    data = os.urandom(3 << 20)
    (tmp_path / "f").write_bytes(data)
    for _ in range(2):
        sink = PackSink(context.lock)
        with open(tmp_path / "f", "rb") as file:
            assert sink.add_stream(BLOB, file.fileno(), len(data)) == object_id(BLOB, data)
        sink.publish()
    assert len(packs_of(context.store)) == 1
    garble(context.store, object_id(BLOB, data))
    sink = PackSink(context.lock)
    with open(tmp_path / "f", "rb") as file:
        assert sink.add_stream(BLOB, file.fileno(), len(data)) == object_id(BLOB, data)
    assert sink.publish(), "what is damaged is not kept"


def test_a_long_file_that_is_written_to_meanwhile_collides_with_nothing(
    tmp_path: Path, context: LockedContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = os.urandom(3 << 20)
    (tmp_path / "f").write_bytes(data)
    with open(tmp_path / "f", "rb") as file:
        sink = PackSink(context.lock)
        sink.add_stream(BLOB, file.fileno(), len(data))
        sink.publish()
    known = objects.stream_id

    def hashed_and_written(kind: int, fd: int, size: int) -> bytes | None:
        oid = known(kind, fd, size)
        (tmp_path / "f").write_bytes(b"x" + data[1:])
        return oid

    monkeypatch.setattr(module, "stream_id", hashed_and_written)
    with open(tmp_path / "f", "rb") as file:
        sink = PackSink(context.lock)
        found = sink.add_stream(BLOB, file.fileno(), len(data))
    assert found == object_id(BLOB, b"x" + data[1:])


def test_two_sinks_publish_side_by_side(context: LockedContext) -> None:
    one, other = PackSink(context.lock), PackSink(context.lock)
    oids = [one.add(BLOB, b"one"), other.add(BLOB, b"other")]
    child = one.fork()
    oids.append(child.add(BLOB, b"child"))
    for sink in (child, other, one):
        sink.publish()
    assert [context.store.blob(oid) for oid in oids] == [b"one", b"other", b"child"]


def test_what_a_forked_sink_wrote_is_believed_once_its_parent_takes_it_over(
    context: LockedContext,
) -> None:
    parent = PackSink(context.lock)
    child = parent.fork()
    parent.add(BLOB, b"parent")
    child.add(BLOB, b"child")
    names = child.publish()
    assert not Trust(context.store).believes(names[0])
    parent.adopt(names)
    parent.publish()
    trust = Trust(context.store)
    assert [trust.believes(pack.stem) for pack in packs_of(context.store)] == [True, True]


def test_new_objects_do_not_cost_a_look_at_the_directory_of_packs_each(
    context: LockedContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    is_stale = PackList.is_stale

    def counted(self: PackList) -> bool:
        looks.append(1)
        return is_stale(self)

    monkeypatch.setattr(PackList, "is_stale", counted)
    other = PackSink(context.lock)
    written = other.add(BLOB, b"of another sink")
    other.publish()
    sink = PackSink(context.lock)
    looks.clear()
    for number in range(100):
        assert not sink.has(object_id(BLOB, b"%d" % number))
        assert not sink.holds(object_id(BLOB, b"%d" % number), b"%d" % number)
    assert sink.holds(written, b"of another sink")
    assert len(looks) == 1
    own = sink.add(BLOB, b"of this one")
    sink.publish()
    assert sink.holds(own, b"of this one")
    assert len(looks) == 2


def test_a_tree_that_could_not_be_read_back_is_not_written(
    context: LockedContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LONGEST, TREE, 1000)
    sink = PackSink(context.lock)
    with pytest.raises(CaptureFailed, match="could not be read back"):
        sink.add(TREE, bytes(1001))
    sink.add(BLOB, bytes(1001))
    sink.discard()


def test_bytes_that_are_there_are_compared_and_others_of_their_id_told_apart(
    context: LockedContext,
) -> None:
    """No two contents with one SHA-1 are at hand: one is said to have the other's id."""
    one, other = b"one content", b"two content"
    sink = PackSink(context.lock)
    oid = sink.add(BLOB, one)
    assert sink.holds(oid, one)
    with pytest.raises(Collision):
        sink.holds(oid, other)
    sink.publish()
    assert sink.holds(oid, one)
    assert not sink.holds(object_id(BLOB, other), other)
    with pytest.raises(Collision):
        sink.holds(oid, other)


def test_a_damaged_copy_is_not_taken_for_what_is_to_be_kept(context: LockedContext) -> None:
    data = os.urandom(5000)
    sink = PackSink(context.lock)
    oid = sink.add(BLOB, data)
    sink.publish()
    [pack] = [path for path in packs_of(context.store) if path.suffix == ".pack"]
    pack.chmod(0o600)
    raw = bytearray(pack.read_bytes())
    raw[2000] ^= 1
    pack.write_bytes(raw)
    context.store.reopen_packs()
    assert not PackSink(context.lock).holds(oid, data)


def test_a_file_whose_id_is_that_of_another_is_named_and_not_confused(
    context: LockedContext, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when all files are read anew: only those that look as before are not compared."""
    compared: list[bytes] = []
    read: list[bytes] = []
    holds_among = Packs.holds_among

    def counted(self: Packs, oid: bytes, data: bytes, believed: Callable[[str], bool]) -> bool:
        compared.append(data)
        return holds_among(self, oid, data, believed)

    def same_id(kind: int, data: bytes) -> bytes:
        read.append(data)
        return object_id(kind, data.replace(b"EVIL", b"good"))

    monkeypatch.setattr(Packs, "holds_among", counted)
    monkeypatch.setattr(reading, "object_id", same_id)
    for name in ("a", "b"):
        (workspace / name).write_bytes(b"good" + name.encode())
    settle()
    clock_of(context).time = (workspace / "a").stat().st_mtime
    capture(context).keep()
    assert sorted(compared) == [b"gooda", b"goodb"]
    compared.clear()
    read.clear()
    clock_of(context).time += 25 * 3600
    capture(context).keep()
    assert sorted(read) == [b"gooda", b"goodb"]
    assert compared == []
    (workspace / "a").write_bytes(b"EVILa")
    clock_of(context).time += 25 * 3600
    found = capture(context)
    assert compared == [b"EVILa"]
    assert found.coverage.reason_for(b"a") == "unreadable"
    assert found.coverage.reason_for(b"b") is None
