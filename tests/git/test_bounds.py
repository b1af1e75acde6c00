"""An object takes no more memory than one of its kind may: what says more is damage."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Callable
from functools import cache

import pytest

from takeback import errors
from takeback.git.objects import BLOB, COMMIT, LONGEST, TREE, object_id
from takeback.git.pack import PackWriter, entry_header
from takeback.git.packs import Packs
from takeback.git.process import Git

MIB = 1 << 20
HUGE = 600 * MIB


class Bomb(PackWriter):
    """Writes entries of any head and body into a pack."""

    def plant(self, oid: bytes, raw: bytes) -> None:
        start = self._start()
        self._write(raw)
        self._record(oid, zlib.crc32(raw), start, None)


@cache
def zeros(size: int) -> bytes:
    """Returns so many zeros as zlib has them: a thousandth of that."""
    deflater = zlib.compressobj(1)
    piece = bytes(MIB)
    return b"".join(deflater.compress(piece) for _ in range(size // MIB)) + deflater.flush()


def number(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def honest(git: Git, kind: int) -> bytes:
    """An object that is as long as it says."""
    writer = Bomb(f"{git.git_dir}/objects/pack")
    oid = bytes(range(20))
    writer.plant(oid, entry_header(kind, HUGE) + zeros(HUGE))
    writer.finish()
    return oid


def lying(git: Git, kind: int) -> bytes:
    """An object that says that it is short."""
    writer = Bomb(f"{git.git_dir}/objects/pack")
    oid = bytes(range(20))
    writer.plant(oid, entry_header(kind, 1000) + zeros(HUGE))
    writer.finish()
    return oid


def copied(git: Git, kind: int) -> bytes:
    """A delta that copies its base again and again."""
    writer = Bomb(f"{git.git_dir}/objects/pack")
    base = bytes(0xFFFFFF)
    first = object_id(kind, base)
    writer.plant(first, entry_header(kind, len(base)) + zlib.compress(base))
    copy = bytes([0x80 | 0x70, 0xFF, 0xFF, 0xFF])
    count = HUGE // len(base)
    orders = number(len(base)) + number(len(base) * count) + copy * count
    oid = bytes(range(20))
    writer.plant(oid, entry_header(7, len(orders)) + first + zlib.compress(orders))
    writer.finish()
    return oid


@pytest.mark.parametrize("kind", [TREE, COMMIT, BLOB], ids=["tree", "commit", "blob"])
@pytest.mark.parametrize("made", [honest, lying, copied])
def test_what_says_or_becomes_too_much_is_damage_and_takes_no_memory(
    git: Git, kind: int, made: Callable[[Git, int], bytes]
) -> None:
    if kind == BLOB and made is honest:
        pytest.skip("a file may be as long as it likes; it is read in pieces")
    oid = made(git, kind)
    packs = Packs(f"{git.git_dir}/objects")
    tracemalloc.start()
    try:
        with pytest.raises(errors.StoreDamaged):
            packs.read(oid, most=LONGEST.get(kind, 1 << 29))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * MIB


def test_a_loose_one_too(git: Git) -> None:
    git.run(["hash-object", "-w", "-t", "blob", "--stdin"], stdin=bytes(3 * MIB))
    packs = Packs(f"{git.git_dir}/objects")
    oid = object_id(BLOB, bytes(3 * MIB))
    with pytest.raises(errors.StoreDamaged, match="more than"):
        packs.read(oid, most=2 * MIB)
    assert packs.read(oid, most=3 * MIB) == (BLOB, bytes(3 * MIB))


def test_the_longest_directory_that_is_captured_fits() -> None:
    """500,000 names of 255 bytes: a mode, a blank, the name, a NUL and an id each."""
    assert LONGEST[TREE] > 500_000 * (6 + 1 + 255 + 1 + 20)
