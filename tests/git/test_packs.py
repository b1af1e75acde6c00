from __future__ import annotations

import os
import random
import time
import tracemalloc
import zlib
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from takeback import errors
from takeback.git import process
from takeback.git.objects import (
    BLOB,
    COMMIT,
    TREE,
    Commit,
    ObjectId,
    encode_commit,
    encode_tree,
    object_id,
)
from takeback.git.pack import PackWriter
from takeback.git.packs import Packs
from takeback.git.process import Git
from takeback.git.refs import Refs
from takeback.store.namespace import is_name

Objects = dict[ObjectId, tuple[int, bytes]]


def write(git: Git, *blobs: bytes) -> str:
    writer = PackWriter(f"{git.git_dir}/objects/pack")
    for data in blobs:
        writer.add(BLOB, data)
    return writer.finish()[0]


def reader(git: Git) -> Packs:
    return Packs(f"{git.git_dir}/objects")


def path_of(git: Git, name: str, suffix: str) -> Path:
    path = Path(f"{git.git_dir}/objects/pack/{name}.{suffix}")
    path.chmod(0o600)
    return path


def history(git: Git, *, seed: int = 7, session: str = "a") -> Objects:
    """Thirty versions of two files and of their tree, all reachable: food for deltas."""
    rng = random.Random(seed)
    lines = [rng.randbytes(12).hex() for _ in range(400)]
    made: Objects = {}
    parent: tuple[bytes, ...] = ()
    writer = PackWriter(f"{git.git_dir}/objects/pack")

    def add(kind: int, data: bytes) -> ObjectId:
        oid = writer.add(kind, data)
        made[oid] = (kind, data)
        return oid

    for version in range(30):
        lines[rng.randrange(400)] = f"changed in {version}"
        blob = add(BLOB, "\n".join(lines).encode())
        more = add(
            BLOB, b"\n".join([b"%d" % version, *[bytes([i % 90 + 33]) * 9 for i in range(99)]])
        )
        entries = [(0o100644, b"file%d" % i, more) for i in range(50)]
        tree = add(TREE, encode_tree([*entries, (0o100600, b"main", blob)]))
        parent = (add(COMMIT, encode_commit(Commit(tree, parent, version, f"v{version}"))),)
    writer.finish()
    Refs(git.git_dir, is_name).write(f"refs/takeback/sessions/{session}", parent[0], expect=None)
    return made


def delta_kinds(git: Git) -> set[int]:
    """The kinds of the entries in the packs: 6 and 7 are the deltas."""
    kinds = set()
    for name in reader(git).names():
        data = path_of(git, name, "pack").read_bytes()
        position = 12
        while position < len(data) - 20:
            kind = data[position] >> 4 & 7
            kinds.add(kind)
            while data[position] & 0x80:
                position += 1
            position += 1
            if kind == 6:
                while data[position] & 0x80:
                    position += 1
                position += 1
            elif kind == 7:
                position += 20
            inflater = zlib.decompressobj()
            inflater.decompress(data[position:])
            position = len(data) - len(inflater.unused_data)
    return kinds


def test_what_was_written_is_read_back(git: Git):
    data = [b"", b"a", b"b" * 5000, random.Random(1).randbytes(3 << 20)]
    name = write(git, *data)
    packs = reader(git)
    for content in data:
        oid = object_id(BLOB, content)
        assert packs.has(oid)
        assert packs.pack_of(oid) == name
        assert packs.read(oid) == (BLOB, content)
        assert packs.size_of(oid) == len(content)
    assert packs.damaged == {}
    packs.close()
    assert packs.read(object_id(BLOB, b"a")) == (BLOB, b"a")


@pytest.mark.parametrize("offsets", ["true", "false"])
def test_deltas_that_git_made_are_read_back(git: Git, offsets: str):
    made = history(git)
    git.run(["repack", "-adfq", "--depth=50"], config=[("repack.useDeltaBaseOffset", offsets)])
    assert (6 if offsets == "true" else 7) in delta_kinds(git)
    packs = reader(git)
    assert len(packs.names()) == 1
    for oid, (kind, data) in made.items():
        assert packs.read(oid) == (kind, data)
        assert packs.size_of(oid) == len(data)
        pieces: list[bytes] = []
        assert packs.open_stream(oid, pieces.append) == len(data)
        assert b"".join(pieces) == data


@pytest.mark.parametrize("remembered", [0, 60_000, 4 << 20])
def test_whatever_is_remembered_of_deltas_each_object_is_itself(
    git: Git, remembered: int, monkeypatch: pytest.MonkeyPatch
):
    made = history(git)
    git.run(["repack", "-adfq", "--depth=50"])
    monkeypatch.setattr("takeback.git.packfile._REMEMBERED", remembered)
    packs = reader(git)
    order = [*made, *made, *made]
    random.Random(3).shuffle(order)
    assert {oid: packs.read(oid) for oid in order} == made
    held = packs._list._bases._found
    assert held.weight <= remembered
    assert bool(held) is bool(remembered)


def test_what_is_remembered_of_deltas_is_bounded_for_all_packs_together(
    git: Git, monkeypatch: pytest.MonkeyPatch
):
    made = {}
    for number in range(6):
        made.update(history(git, seed=number, session=f"a{number}"))
        before = set(reader(git).names())
        git.run(["repack", "-adfq", "--depth=50"])
        for name in set(reader(git).names()) - before:
            Path(f"{git.git_dir}/objects/pack/{name}.keep").touch()
    monkeypatch.setattr("takeback.git.packfile._REMEMBERED", 60_000)
    packs = reader(git)
    assert len(packs.names()) > 1
    assert {oid: packs.read(oid) for oid in made} == made
    assert 0 < packs._list._bases._found.weight <= 60_000


def test_a_short_object_is_read_back_also_as_a_delta_of_a_longer_one(git: Git):
    """A piece of a transcript may be one of a file that is longer than any piece."""
    lines = [b"%d %d\n" % (number, number**5 % 9973) for number in range(6_000)]
    versions = [b"".join(lines[:count]) for count in range(2_500, 6_000, 250)]
    writer = PackWriter(f"{git.git_dir}/objects/pack")
    entries = [(0o100644, b"%03d" % n, writer.add(BLOB, v)) for n, v in enumerate(versions)]
    tree = writer.add(TREE, encode_tree(entries))
    commit = writer.add(COMMIT, encode_commit(Commit(tree, (), 0, "all")))
    writer.finish()
    Refs(git.git_dir, is_name).write("refs/takeback/sessions/a", commit, expect=None)
    git.run(["repack", "-adfq", "--depth=50"])
    assert 6 in delta_kinds(git)
    for data in versions:
        assert reader(git).read(object_id(BLOB, data), most=len(data)) == (BLOB, data)
    short, *_, longest = versions
    with pytest.raises(errors.StoreDamaged, match="more than"):
        reader(git).read(object_id(BLOB, longest), most=len(short))


def test_loose_objects_are_read_back(git: Git):
    for data in (b"", b"loose", b"l" * (3 << 20)):
        said = git.run(["hash-object", "-w", "--stdin"], stdin=data)
        oid = bytes.fromhex(said.decode().strip())
        packs = reader(git)
        assert packs.has(oid)
        assert packs.pack_of(oid) is None
        assert packs.find(oid) is None
        assert packs.read(oid) == (BLOB, data)
        assert packs.size_of(oid) == len(data)
        pieces: list[bytes] = []
        assert packs.open_stream(oid, pieces.append) == len(data)
        assert b"".join(pieces) == data
        assert max(map(len, pieces), default=0) <= 1 << 20


def test_a_missing_object_is_named(git: Git):
    write(git, b"something")
    packs = reader(git)
    for call in (packs.read, packs.size_of, lambda oid: packs.open_stream(oid, print)):
        with pytest.raises(errors.ObjectMissing, match="ab" * 20):
            call(b"\xab" * 20)
    assert not packs.has(b"\xab" * 20)
    assert packs.pack_of(b"\xab" * 20) is None


def test_a_store_without_packs_misses_everything(tmp_path: Path):
    packs = Packs(str(tmp_path / "nowhere"))
    assert packs.names() == []
    assert not packs.has(bytes(20))
    with pytest.raises(errors.ObjectMissing):
        packs.read(bytes(20))


def test_an_open_reader_follows_a_repack(git: Git):
    made = history(git)
    packs = reader(git)
    first = next(iter(made))
    assert packs.read(first) == made[first]
    write(git, b"another pack")
    git.run(["repack", "-adfq"])
    git.run(["prune-packed"])
    for oid, expected in made.items():
        assert packs.read(oid) == expected
    write(git, b"written later")
    assert packs.read(object_id(BLOB, b"written later")) == (BLOB, b"written later")
    assert packs.damaged == {}


def test_a_reader_that_listed_but_not_opened_follows_a_repack(git: Git):
    made = history(git)
    packs = reader(git)
    packs.names()
    git.run(["repack", "-adfq"])
    for oid, expected in made.items():
        assert packs.read(oid) == expected
    assert packs.damaged == {}


@pytest.mark.parametrize("repacks", [1, 2, 3])
def test_a_reader_whose_packs_are_replaced_while_it_lists_them_looks_again(
    git: Git, monkeypatch: pytest.MonkeyPatch, repacks: int
):
    """As by a sweep beside a process that has to wait for its turn."""
    made = history(git)
    listing = os.scandir
    left = [*range(repacks)]

    def then_replaced(path: str) -> AbstractContextManager[list[os.DirEntry[str]]]:
        with listing(path) as entries:
            found = list(entries)
        if left and any(entry.name.endswith(".idx") for entry in found):
            history(git, seed=left.pop(), session=f"later{len(left)}")
            git.run(["repack", "-adfq"])
        return nullcontext(found)

    monkeypatch.setattr(os, "scandir", then_replaced)
    packs = reader(git)
    oid = next(iter(made))
    assert packs.has(oid)
    assert packs.read(oid) == made[oid]
    assert packs.damaged == {}


def test_a_pack_that_came_within_the_tick_in_which_packs_were_listed_is_seen(
    git: Git, monkeypatch: pytest.MonkeyPatch
):
    """The time of a directory is as coarse as the kernel's clock."""
    packs = reader(git)
    directory = f"{git.git_dir}/objects/pack"
    monkeypatch.setattr(time, "time_ns", lambda: os.stat(directory).st_mtime_ns + 1_000_000)
    for number in range(20):
        data = b"pack %d" % number
        assert not packs.has(object_id(BLOB, data))
        listed = os.stat(directory).st_mtime_ns
        write(git, data)
        os.utime(directory, ns=(listed, listed))
        assert packs.has(object_id(BLOB, data))


def test_packs_that_are_combined_keep_unreferenced_objects(git: Git):
    for number in range(20):
        write(git, b"only %d" % number)
    before = reader(git).names()
    process.pack_together(git, f"{git.git_dir}/objects/pack", before)
    packs = reader(git)
    [combined] = set(packs.names()) - set(before)
    assert len(list(packs.iterate(combined))) == 20
    for name in before:  # the caller removes them
        os.unlink(f"{git.git_dir}/objects/pack/{name}.idx")
    packs = reader(git)
    assert packs.names() == [combined]
    for number in range(20):
        assert packs.read(object_id(BLOB, b"only %d" % number))[1] == b"only %d" % number


def test_a_stream_hands_out_pieces_and_the_size(git: Git):
    data = random.Random(3).randbytes(5 << 20) + bytes(5 << 20)
    write(git, data)
    pieces: list[bytes] = []
    assert reader(git).open_stream(object_id(BLOB, data), pieces.append) == len(data)
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= 1 << 20


def test_a_full_disk_while_streaming_is_not_called_damage(git: Git):
    write(git, b"content")
    packs = reader(git)

    def full(_: bytes) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        packs.open_stream(object_id(BLOB, b"content"), full)
    assert packs.damaged == {}


def test_iterating_a_pack_gives_its_ids_in_order(git: Git):
    blobs = [b"%d" % number for number in range(5000)]
    name = write(git, *blobs)
    packs = reader(git)
    assert list(packs.iterate(name)) == sorted(object_id(BLOB, data) for data in blobs)
    with pytest.raises(errors.StoreDamaged):
        list(packs.iterate("pack-none"))


def test_every_object_of_a_large_index_is_found(git: Git):
    blobs = [b"%d" % number for number in range(5000)]  # more than is read whole
    write(git, *blobs)
    packs = reader(git)
    assert all(packs.has(object_id(BLOB, data)) for data in blobs)
    assert not any(packs.has(object_id(BLOB, b"not %d" % n)) for n in range(2000))


def test_a_damaged_copy_is_passed_over_for_a_sound_one(git: Git):
    data = random.Random(5).randbytes(4000)
    oid = object_id(BLOB, data)
    names = [write(git, data, b"one"), write(git, data, b"two")]
    newest = reader(git).pack_of(oid)
    assert newest in names
    path = path_of(git, newest or "", "pack")
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    path.write_bytes(raw)
    packs = reader(git)
    assert packs.read(oid) == (BLOB, data)
    assert list(packs.damaged) == [newest]
    assert packs.pack_of(oid) != newest
    pieces: list[bytes] = []
    assert reader(git).open_stream(oid, pieces.append) == len(data)
    assert b"".join(pieces) == data


def test_a_loose_copy_stands_in_for_a_damaged_pack(git: Git):
    data = b"precious"
    name = write(git, data)
    git.run(["hash-object", "-w", "--stdin"], stdin=data)
    oid = object_id(BLOB, data)
    # git did not write it loose: it has it already. Make it anew beside the pack.
    packed = path_of(git, name, "pack").read_bytes()
    path_of(git, name, "pack").write_bytes(packed[:20])
    git.run(["hash-object", "-w", "--stdin"], stdin=data, ok=range(256))
    loose = Path(f"{git.git_dir}/objects/{oid.hex()[:2]}/{oid.hex()[2:]}")
    loose.parent.mkdir(exist_ok=True)
    if not loose.exists():
        loose.write_bytes(zlib.compress(b"blob 8\0" + data))
    packs = reader(git)
    assert packs.read(oid) == (BLOB, data)
    assert name in packs.damaged


def test_an_emptied_pack_is_not_believed_to_have_its_objects(git: Git):
    name = write(git, b"poison")
    oid = object_id(BLOB, b"poison")
    path_of(git, name, "pack").write_bytes(b"")
    packs = reader(git)
    assert not packs.has(oid)
    assert name in packs.damaged
    write(git, b"poison")
    assert packs.has(oid)
    assert packs.read(oid) == (BLOB, b"poison")


def test_an_object_that_did_not_read_back_is_no_longer_had(git: Git):
    data = random.Random(5).randbytes(4000)
    oid = object_id(BLOB, data)
    name = write(git, data)
    raw = bytearray(path_of(git, name, "pack").read_bytes())
    raw[2000] ^= 0xFF
    path_of(git, name, "pack").write_bytes(raw)
    packs = reader(git)
    assert packs.has(oid)
    with pytest.raises(errors.StoreDamaged, match=f"{oid.hex()} in {name}"):
        packs.read(oid)
    assert not packs.has(oid)


def test_a_pack_that_lost_its_end_still_gives_its_beginning(git: Git):
    blobs = [random.Random(seed).randbytes(1000) for seed in range(10)]
    name = write(git, *blobs)
    size = path_of(git, name, "pack").stat().st_size
    os.truncate(path_of(git, name, "pack"), size // 2)
    packs = reader(git)
    assert packs.read(object_id(BLOB, blobs[0])) == (BLOB, blobs[0])
    assert name in packs.damaged
    with pytest.raises(errors.StoreDamaged, match=name):
        packs.read(object_id(BLOB, blobs[9]))


@pytest.mark.parametrize("suffix", ["idx", "pack"])
def test_a_pack_without_one_of_its_files_is_no_crash(git: Git, suffix: str):
    name = write(git, b"alone")
    path_of(git, name, suffix).unlink()
    packs = reader(git)
    with pytest.raises(errors.ObjectMissing):
        packs.read(object_id(BLOB, b"alone"))
    assert list(packs.damaged) == ([name] if suffix == "pack" else [])


@pytest.mark.parametrize("suffix", ["idx", "pack"])
def test_a_directory_or_fifo_or_link_in_place_of_a_pack_is_no_crash(git: Git, suffix: str):
    name = write(git, b"alone")
    path = path_of(git, name, suffix)
    for make in (os.mkdir, os.mkfifo, lambda p: os.symlink("/dev/zero", p)):
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
        make(path)
        packs = reader(git)
        with pytest.raises(errors.StoreDamaged):
            packs.read(object_id(BLOB, b"alone"))
        assert not packs.has(object_id(BLOB, b"alone"))


def try_everything(git: Git, made: Objects) -> int:
    """Reads every object in every way; returns how many reads were refused."""
    refused = 0
    packs = reader(git)
    for oid, (kind, data) in made.items():
        packs.has(oid)
        packs.find(oid)
        try:
            assert packs.read(oid) == (kind, data)
        except errors.StoreDamaged:
            refused += 1
        try:
            packs.size_of(oid)
        except errors.StoreDamaged:
            refused += 1
        pieces: list[bytes] = []
        try:
            packs.open_stream(oid, pieces.append)
            assert b"".join(pieces) == data
        except errors.StoreDamaged:
            refused += 1
    for name in packs.names():
        try:
            list(packs.iterate(name))
        except errors.StoreDamaged:
            continue
    packs.close()
    return refused


@pytest.mark.parametrize("deltas", [False, True])
@pytest.mark.parametrize("suffix", ["idx", "pack"])
def test_damage_anywhere_gives_no_wrong_bytes_and_no_raw_exception(
    git: Git, suffix: str, deltas: bool
):
    made = history(git)
    if deltas:
        git.run(["repack", "-adfq"], config=[("repack.useDeltaBaseOffset", "false")])
    (name,) = reader(git).names()
    path = path_of(git, name, suffix)
    whole = path.read_bytes()
    few = dict(list(made.items())[::7])
    rng = random.Random(11)
    assert try_everything(git, few) == 0
    positions = [*range(48), *range(len(whole) - 48, len(whole))]
    positions += [rng.randrange(len(whole)) for _ in range(120)]
    refused = 0
    for position in positions:
        changed = bytearray(whole)
        changed[position] ^= rng.choice((0xFF, 0x01, 0x80, 0x70))
        path.write_bytes(changed)
        refused += try_everything(git, few)
    assert refused
    for length in (0, 1, 11, 12, 31, 1031, 1032, 1072, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        try_everything(git, few)
    for start in range(0, len(whole), len(whole) // 20):
        path.write_bytes(whole[:start] + bytes(4096) + whole[start + 4096 :])
        try_everything(git, few)
    path.write_bytes(rng.randbytes(len(whole)))
    try_everything(git, few)
    path.write_bytes(whole)
    assert try_everything(git, few) == 0


def test_damage_anywhere_in_a_loose_object_is_found(git: Git):
    data = b"some content that is long enough to be compressed " * 3
    said = git.run(["hash-object", "-w", "--stdin"], stdin=data).decode().strip()
    path = Path(f"{git.git_dir}/objects/{said[:2]}/{said[2:]}")
    path.chmod(0o600)
    whole = path.read_bytes()
    made = {bytes.fromhex(said): (BLOB, data)}
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        try_everything(git, made)
        path.write_bytes(whole[:position])
        assert try_everything(git, made) > 0
    for header in (
        b"",
        b"blob",
        b"blob 5",
        b"blob x\0",
        b"blob 9\0aaaaa",
        b"blob 1\0aaaaa",
        b"q 1\0a",
    ):
        path.write_bytes(zlib.compress(header))
        assert try_everything(git, made) > 0


def test_a_delta_that_is_its_own_base_ends(git: Git):
    data = b"victim"
    name = write(git, data)
    oid = object_id(BLOB, data)
    raw = path_of(git, name, "pack").read_bytes()
    delta = zlib.compress(b"\x06\x06\x06victim")
    looped = raw[:12] + bytes([0x70 | 9]) + oid + delta + raw[-20:]
    path_of(git, name, "pack").write_bytes(looped)
    with pytest.raises(errors.StoreDamaged, match="no end"):
        reader(git).read(oid)


def test_thousands_of_packs_do_not_exhaust_descriptors(git: Git):
    for number in range(300):
        write(git, b"pack %d" % number)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    packs = reader(git)
    for number in range(300):
        assert packs.read(object_id(BLOB, b"pack %d" % number))[1] == b"pack %d" % number
    if before:
        assert len(os.listdir("/proc/self/fd")) - before <= 40
    packs.close()
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def test_versions_of_a_large_file_are_stored_as_deltas_and_never_read_whole(git: Git) -> None:
    """Of one that is stored as its difference from another, that other one is in memory."""
    first = random.Random(1).randbytes(24 << 20)
    second = first[:-1] + b"!"
    write(git, first)
    write(git, second)
    pack_dir = f"{git.git_dir}/objects/pack"
    [new] = process.pack_together(git, pack_dir, reader(git).names())
    assert os.stat(f"{pack_dir}/{new}.pack").st_size < 25 << 20
    for name in os.listdir(pack_dir):
        if not name.startswith(new):
            os.unlink(f"{pack_dir}/{name}")
    packs = reader(git)
    tracemalloc.start()
    try:
        for data in (first, second):
            packs.check(object_id(BLOB, data))
            assert packs.open_stream(object_id(BLOB, data), lambda piece: None) == len(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        packs.close()
    assert peak < (2 * 24 + 8) << 20, f"{peak >> 20} MB"
