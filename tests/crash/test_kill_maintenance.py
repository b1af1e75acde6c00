"""Maintenance killed at every durable step, with git in the middle, and beside four captures.

Nothing is dropped here: whatever becomes of the packs, every checkpoint has to come back.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.errors import InUse
from takeback.retention import due
from takeback.retention import sweep as sweep_room
from takeback.retention.sweep import pack_anew, sweep
from takeback.store.repack import combine_packs
from takeback.store.trust import Trust
from tests.crash.world import World
from tests.support.engine import packs_of
from tests.support.faults import Faults, start
from tests.support.lanes import shares

TURNS = 4
WRITERS = 4


def prepared(base: Path) -> World:
    """A workspace with turns, each with a version of one file, and a plan that left a pack."""
    world = World(base)
    with opened(world) as tb:
        session = tb.session(agent="mine", native="s")
        for number in range(1, TURNS + 1):
            with session.turn(f"turn {number}"):
                (world.root / "f").write_bytes(content(number))
        tb.label("turn:2.end", "kept")
        (world.root / "f").write_bytes(os.urandom(3000))
        tb.plan("turn:1.end")
        (world.root / "f").write_bytes(content(TURNS))
        Path(tb.store_directory, ".left.99999.tmp").write_bytes(b"by a killed process")
        os.utime(Path(tb.store_directory, ".left.99999.tmp"), (1, 1))
    return world


def content(number: int) -> bytes:
    return b"%d" % number * 2000


def opened(world: World) -> Engine:
    return Engine.open(world.root, environ=world.environ)


def anew(world: World) -> None:
    with opened(world) as tb:
        assert pack_anew(tb._upkeep()) is not None


def combined(world: World) -> None:
    with opened(world) as tb:
        assert combine_packs(tb._context.store, disk_floor=0)


def swept(world: World) -> None:
    """All that a sweep does that nobody asked for, as if the store were large."""
    due._WORTH_IT = 0  # in a process of its own
    os.environ.update(world.environ)
    with opened(world) as tb:
        sweep_room.run(tb.store_directory, at_start=False)


def check(world: World) -> None:
    """Every checkpoint comes back whole, no half of a pack is left, a capture works."""
    with opened(world) as tb:
        assert tb.verify(read_data=True).problems == ()
        for number in range(1, TURNS + 1):
            assert tb.cat(f"mine-s/turn:{number}.end", str(world.root / "f")) == content(number)
        assert tb.find("kept").label == "kept"
        tb.checkpoint()
        assert tb.verify(read_data=True).problems == ()


def make_tidy(world: World) -> None:
    """Maintenance that is not disturbed finishes all that the other one left undone."""
    for act in (anew, swept):
        ran = world.run(partial(act, world))
        assert ran.done, ran.text
    check(world)
    with opened(world) as tb:
        store = tb._context.store
        directory = Path(store.git_dir, "objects", "pack")
        assert {path.suffix for path in directory.iterdir()} == {".pack", ".idx"}
        assert len(packs_of(store)) == len([*directory.glob("*.idx")]) <= 3
        assert Trust(store).retired() == []
        assert not Path(tb.store_directory, ".left.99999.tmp").exists()


@pytest.mark.parametrize("fault", [0, pytest.param(errno.ENOSPC, marks=pytest.mark.long)])
@pytest.mark.parametrize("act", [anew, swept])
@shares(30, long=4)
def test_maintenance_disturbed_at_each_step_loses_nothing(
    tmp_path: Path, share: int, act: Callable[[World], None], fault: int
) -> None:
    for at in range(1 + share, 10_000, 30):
        world = prepared(tmp_path / str(at))
        ran = world.run(partial(act, world), Faults(at, errno=fault, sticky=True))
        assert ran.killed or ran.done or ran.clean, ran.text
        check(world)
        make_tidy(world)
        world.remove()
        if len(ran.steps) < at and not ran.killed:
            return


KILLED_BEFORE = (
    'head -c 500 /dev/urandom > "$last"; mv "$last" "${last%/*}/tmp_pack_x"; kill -9 $PPID'
)
KILLED_AFTER = '"$real" "$@"; kill -9 $PPID'


@pytest.mark.parametrize("how", [KILLED_BEFORE, KILLED_AFTER], ids=["before", "after"])
@pytest.mark.parametrize("act", [anew, combined])
def test_a_kill_while_git_writes_the_pack_loses_nothing(
    tmp_path: Path, act: Callable[[World], None], how: str
) -> None:
    world = prepared(tmp_path)
    real = shutil.which("git")
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(
        f"#!/bin/sh\nreal={real}\nfor last; do :; done\n"
        f'case "$*" in *pack-objects*) {how} ;; *) exec "$real" "$@" ;; esac\n'
    )
    shim.chmod(0o755)
    path = world.environ["PATH"]
    world.environ["PATH"] = f"{shim.parent}:{path}"
    assert world.run(partial(act, world)).killed
    world.environ["PATH"] = path
    check(world)
    make_tidy(world)


def capture_often(world: World, number: int, times: int) -> list[tuple[str, str]]:
    made = []
    with Engine.open(world.root, environ=world.environ) as tb:
        for count in range(times):
            text = f"{number} {count} " * 300
            (world.root / f"w{number}").write_text(text)
            made.append((str(tb.checkpoint().checkpoint.id), text))
    return made


def maintain_often(world: World, times: int) -> int:
    """Packs anew, combines and sweeps again and again; returns how often it had its way."""
    done = 0
    for _ in range(times):
        with opened(world) as tb:
            keeping = tb._upkeep().replace(wait=20.0)
            done += combine_packs(tb._context.store, disk_floor=0)
            done += pack_anew(keeping) is not None
            try:
                sweep(keeping)
            except InUse:
                continue
    return done


@pytest.mark.parametrize(
    ("captures", "rounds"), [(8, 5), pytest.param(60, 40, marks=pytest.mark.long)]
)
def test_four_who_capture_beside_maintenance_lose_nothing(
    tmp_path: Path, captures: int, rounds: int
) -> None:
    world = prepared(tmp_path)
    writers = [start(partial(capture_often, world, number, captures)) for number in range(WRITERS)]
    keeper = start(partial(maintain_often, world, rounds))
    made = [ran.answer for ran in (one.outcome() for one in writers)]
    kept = keeper.outcome()
    assert kept.done, kept.text
    assert kept.answer > 0
    with opened(world) as tb:
        assert tb.verify(read_data=True).problems == ()
        for number, answers in enumerate(made):
            assert len(answers) == captures
            for id, text in answers:
                assert tb.cat(id, str(world.root / f"w{number}")) == text.encode()
    check(world)
