from __future__ import annotations

import errno
import os
import random
from pathlib import Path

import pytest

from takeback import durable
from takeback.git import pack, process
from takeback.git.objects import BLOB, COMMIT, TREE, Commit, encode_commit, encode_tree, object_id
from takeback.git.pack import PackWriter, SourceFailed
from takeback.git.packs import Packs
from takeback.git.process import Git
from takeback.git.refs import Refs
from takeback.store.namespace import is_name
from tests.support.processes import reap


def pack_dir(git: Git) -> str:
    return f"{git.git_dir}/objects/pack"


def noise(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def open_file(path: Path, data: bytes) -> int:
    path.write_bytes(data)
    return os.open(path, os.O_RDONLY)


class FailAt:
    """Fails the Nth step of the disk, as a full one would."""

    def __init__(self, number: int) -> None:
        self.left = number
        self.seen: list[str] = []

    def step(self, name: str) -> None:
        self.seen.append(name)
        self.left -= 1
        if self.left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")


def test_git_accepts_a_pack_written_by_hand(git: Git):
    writer = PackWriter(pack_dir(git))
    blob = writer.add(BLOB, b"hello")
    entries = [(0o100600, b"f", blob), (0o40750, b".GIT", writer.add(TREE, b""))]
    tree = writer.add(TREE, encode_tree(entries))
    commit = writer.add(COMMIT, encode_commit(Commit(tree, (), 1, "one")))
    for size in (15, 16, 2047, 2048, 100_000):
        writer.add(BLOB, noise(size))
    (name,) = writer.finish()
    Refs(git.git_dir, is_name).write("refs/takeback/one", commit, expect=None)
    path = f"{pack_dir(git)}/{name}"
    git.run(["verify-pack", f"{path}.idx"])
    git.run(["index-pack", "--verify", f"{path}.pack"])
    # the index is byte for byte the one that git would write
    git.run(["index-pack", "-o", f"{git.git_dir}/again.idx", f"{path}.pack"])
    assert Path(f"{git.git_dir}/again.idx").read_bytes() == Path(f"{path}.idx").read_bytes()
    assert git.outcome(["fsck", "--full", "--strict", "--no-dangling"]).status == 0
    assert process.fsck(git) == []
    assert git.run(["cat-file", "blob", blob.hex()]) == b"hello"


def test_a_pack_is_named_by_its_checksum_and_read_only(git: Git):
    writer = PackWriter(pack_dir(git))
    writer.add(BLOB, b"hello")
    (name,) = writer.finish()
    data = Path(f"{pack_dir(git)}/{name}.pack").read_bytes()
    assert name == f"pack-{data[-20:].hex()}"
    for suffix in (".pack", ".idx"):
        assert os.stat(f"{pack_dir(git)}/{name}{suffix}").st_mode & 0o777 == 0o400


def test_nothing_is_written_for_no_objects(git: Git):
    assert PackWriter(pack_dir(git)).finish() == []
    assert os.listdir(pack_dir(git)) == []


def test_an_object_added_twice_is_written_once(git: Git, tmp_path: Path):
    writer = PackWriter(pack_dir(git))
    oid = writer.add(BLOB, b"same")
    assert writer.add(BLOB, b"same") == oid
    assert writer.add(BLOB, b"not looked at", oid) == oid
    fd = open_file(tmp_path / "same", b"same")
    assert writer.add_stream(BLOB, fd, 4) == oid
    os.close(fd)
    assert oid in writer
    assert bytes(20) not in writer
    assert writer.count == 1
    (name,) = writer.finish()
    assert list(Packs(f"{git.git_dir}/objects").iterate(name)) == [oid]


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 7, 9 << 20])
def test_a_stream_gives_the_same_object_as_its_bytes(git: Git, tmp_path: Path, size: int):
    data = noise(size)
    fd = open_file(tmp_path / "f", data)
    writer = PackWriter(pack_dir(git))
    assert writer.add_stream(BLOB, fd, size) == object_id(BLOB, data)
    os.close(fd)
    (name,) = writer.finish()
    git.run(["index-pack", "--verify", f"{pack_dir(git)}/{name}.pack"])
    assert git.run(["cat-file", "blob", object_id(BLOB, data).hex()]) == data


@pytest.mark.parametrize("said", [-1, +1])
@pytest.mark.parametrize("size", [100, 20 << 20])
def test_a_file_of_another_size_leaves_no_trace(git: Git, tmp_path: Path, size: int, said: int):
    fd = open_file(tmp_path / "f", noise(size))
    writer = PackWriter(pack_dir(git))
    before = writer.add(BLOB, b"before")
    assert writer.add_stream(BLOB, fd, size + said) is None
    os.close(fd)
    after = writer.add(BLOB, b"after")
    assert writer.count == 2
    (name,) = writer.finish()
    git.run(["index-pack", "--verify", f"{pack_dir(git)}/{name}.pack"])
    assert set(Packs(f"{git.git_dir}/objects").iterate(name)) == {before, after}
    assert os.stat(f"{pack_dir(git)}/{name}.pack").st_size < 200


def test_a_streamed_pack_from_which_all_was_taken_back_vanishes(git: Git, tmp_path: Path):
    fd = open_file(tmp_path / "f", noise(20 << 20))
    writer = PackWriter(pack_dir(git))
    assert writer.add_stream(BLOB, fd, 30 << 20) is None
    os.close(fd)
    assert writer.finish() == []
    assert os.listdir(pack_dir(git)) == []


def test_a_source_that_cannot_be_read_leaves_the_writer_usable(git: Git, tmp_path: Path):
    writer = PackWriter(pack_dir(git))
    fd = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(SourceFailed, match="directory"):
        writer.add_stream(BLOB, fd, 10)
    os.close(fd)
    assert not writer.aborted
    oid = writer.add(BLOB, b"fine")
    (name,) = writer.finish()
    assert list(Packs(f"{git.git_dir}/objects").iterate(name)) == [oid]


def test_a_large_pack_streams_to_disk_and_is_sound(git: Git):
    writer = PackWriter(pack_dir(git))
    ids = [writer.add(BLOB, noise(1 << 20, seed)) for seed in range(20)]
    assert [name for name in os.listdir(pack_dir(git)) if name.startswith(pack.TEMPORARY)]
    (name,) = writer.finish()
    git.run(["index-pack", "--verify", f"{pack_dir(git)}/{name}.pack"])
    reader = Packs(f"{git.git_dir}/objects")
    assert [reader.read(oid)[1] for oid in ids] == [noise(1 << 20, seed) for seed in range(20)]


def test_a_pack_that_grows_past_its_limit_is_split(git: Git):
    writer = PackWriter(pack_dir(git), split_at=10_000)
    ids = [writer.add(BLOB, noise(3000, seed)) for seed in range(20)]
    assert writer.add(BLOB, noise(3000, 0)) == ids[0]
    names = writer.finish()
    assert len(names) == 5
    for name in names:
        git.run(["index-pack", "--verify", f"{pack_dir(git)}/{name}.pack"])
    listed = [oid for name in names for oid in Packs(f"{git.git_dir}/objects").iterate(name)]
    assert sorted(listed) == sorted(ids)


def test_the_same_objects_again_replace_a_damaged_pack(git: Git):
    def write() -> str:
        writer = PackWriter(pack_dir(git))
        writer.add(BLOB, b"same")
        return writer.finish()[0]

    name = write()
    path = f"{pack_dir(git)}/{name}.pack"
    os.chmod(path, 0o600)
    os.truncate(path, 20)
    assert write() == name
    git.run(["index-pack", "--verify", path])
    assert len(os.listdir(pack_dir(git))) == 2


def test_abort_removes_every_temporary_and_never_raises(git: Git):
    writer = PackWriter(pack_dir(git))
    writer.add(BLOB, noise(9 << 20))
    assert len(os.listdir(pack_dir(git))) == 1
    os.unlink(f"{pack_dir(git)}/{os.listdir(pack_dir(git))[0]}")
    writer.abort()
    writer.abort()
    with pytest.raises(ValueError, match="given up"):
        writer.add(BLOB, b"more")


def test_abort_after_finish_keeps_the_pack(git: Git):
    writer = PackWriter(pack_dir(git))
    writer.add(BLOB, b"kept")
    (name,) = writer.finish()
    writer.abort()
    assert sorted(os.listdir(pack_dir(git))) == [f"{name}.idx", f"{name}.pack"]


@pytest.mark.parametrize("size", [100, pytest.param(9 << 20, marks=pytest.mark.slow)])
def test_a_full_disk_at_any_step_shows_no_pack_and_leaves_nothing(
    git: Git, monkeypatch: pytest.MonkeyPatch, size: int
):
    data = noise(size)
    oid = object_id(BLOB, data)
    for number in range(1, 30):
        faults = FailAt(number)
        monkeypatch.setattr(durable, "faults", faults)
        writer = PackWriter(pack_dir(git))
        try:
            writer.add(BLOB, data)
            writer.finish()
        except OSError:
            pass
        else:
            break
        finally:
            monkeypatch.setattr(durable, "faults", None)
        assert writer.aborted
        # after the second rename only the flush of the directory can fail: it is all there
        left = {name.rpartition(".")[2] for name in os.listdir(pack_dir(git))}
        assert left in (set(), {"pack"}, {"pack", "idx"})
        assert not [n for n in os.listdir(pack_dir(git)) if n.startswith(pack.TEMPORARY)]
        if "idx" not in left:
            assert not Packs(f"{git.git_dir}/objects").has(oid)
        for name in os.listdir(pack_dir(git)):
            os.unlink(f"{pack_dir(git)}/{name}")
    assert number > 8
    assert Packs(f"{git.git_dir}/objects").read(object_id(BLOB, noise(size)))[1] == noise(size)


def test_names_left_by_a_dead_process_of_our_number_do_not_disturb(git: Git):
    for number in range(3):
        Path(f"{pack_dir(git)}/{pack.TEMPORARY}{os.getpid()}_{number}.pack").write_bytes(b"old")
    writer = PackWriter(pack_dir(git))
    writer.add(BLOB, b"new")
    (name,) = writer.finish()
    git.run(["index-pack", "--verify", f"{pack_dir(git)}/{name}.pack"])


def test_forked_workers_write_beside_each_other(git: Git):
    children = []
    for seed in range(4):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                writer = PackWriter(pack_dir(git))
                for number in range(12):
                    writer.add(BLOB, noise(1 << 20, seed * 100 + number))
                writer.finish()
                status = 0
            finally:
                os._exit(status)
        children.append(pid)
    assert [reap(pid) for pid in children] == [0] * 4
    reader = Packs(f"{git.git_dir}/objects")
    assert len(reader.names()) == 4
    for seed in range(4):
        for number in range(12):
            data = noise(1 << 20, seed * 100 + number)
            assert reader.read(object_id(BLOB, data)) == (BLOB, data)


def test_a_limit_that_needs_large_offsets_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="2 GB"):
        PackWriter(str(tmp_path), split_at=(2 << 30) + 1)
