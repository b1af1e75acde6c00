"""A rewind that was killed and cannot be finished, because a version it needs is damaged.

Recovery goes back to the state before it, and that can be killed as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from takeback.errors import StoreDamaged
from tests.crash.test_kill_every_step import SHARES, changing_steps, count_steps, every, share
from tests.crash.world import World, prepare
from tests.support.faults import Faults
from tests.support.git import git

DAMAGED = b"deep 1"
"""The target's version of deep/er/edited: a rewind needs it, and nothing else does."""


@contextmanager
def damaged(world: World) -> Iterator[None]:
    """Flips one bit of one object of the store for as long as it lasts."""
    pack, offset = _place(world)
    whole = pack.read_bytes()
    mode = pack.stat().st_mode
    pack.chmod(0o600)
    # Behind the object's header, which is a byte or two, and zlib's two bytes.
    at = offset + 6
    pack.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
    yield
    pack.write_bytes(whole)
    pack.chmod(mode)


def _place(world: World) -> tuple[Path, int]:
    oid = git(world.base, "hash-object", "--stdin", stdin=DAMAGED).decode().strip()
    for index in (world.base / "takeback").rglob("*.idx"):
        listed = git(world.base, "show-index", stdin=index.read_bytes())
        for line in listed.decode().splitlines():
            offset, name, *_ = line.split()
            if name == oid:
                return index.with_suffix(".pack"), int(offset)
    raise AssertionError("the object is in no pack")


def check_rolled_back(world: World) -> None:
    """The files are as before the rewind; once the store is mended the rewind can be done."""
    world.check_is(world.old)
    world.check_outside()
    with world.open() as takeback:
        assert not takeback.interrupted
        assert takeback.operations() == []
        world.check_store(takeback)
    assert world.rewind() == []
    world.check_is(world.new)


@share
def test_what_cannot_be_finished_is_rolled_back(tmp_path: Path, share: int, soak: bool) -> None:
    steps = changing_steps(count_steps(tmp_path, "rewind"))
    # Before the damaged version is in its place: afterwards there is nothing left to restore.
    for at in steps[share :: SHARES if soak else 3 * SHARES]:
        world = prepare(tmp_path / str(at), "rewind")
        world.run(world.operate, Faults(at))
        with damaged(world):
            with world.open() as takeback:
                recovered = takeback.recover()
            assert recovered is not None
            assert not recovered.finished
            assert [item for item in recovered.left_alone if not item.by_rule] == []
        check_rolled_back(world)
        world.remove()


@share
def test_roll_back_killed_at_every_step(tmp_path: Path, share: int) -> None:
    steps = changing_steps(count_steps(tmp_path, "rewind"))
    for at in every(share):
        world = prepare(tmp_path / str(at), "rewind")
        world.run(world.operate, Faults(steps[len(steps) // 2]))
        with damaged(world):
            ran = world.run(world.recover, Faults(at))
            world.check_paths()
            again = world.run(world.recover)
            assert again.done, again.text
        check_rolled_back(world)
        world.remove()
        if not ran.killed:
            assert ran.done, ran.text
            return


def test_a_damaged_target_is_restored_around(tmp_path: Path) -> None:
    """Nothing was killed: the damaged path is named and left, the rest is brought back."""
    world = prepare(tmp_path / "world", "rewind")
    with damaged(world):
        assert world.rewind() == [b"deep/er/edited"]
        with world.open() as takeback, pytest.raises(StoreDamaged):
            takeback.cat(world.target, bytes(world.root / "deep/er/edited"))
    world.check_is(world.new | {b"deep/er/edited": world.old[b"deep/er/edited"]})
