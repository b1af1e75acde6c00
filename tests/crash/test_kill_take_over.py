"""kill -9 at every durable step of a take-over: neither store is lost, each can be had."""

from __future__ import annotations

import errno
import shutil
from functools import partial
from pathlib import Path

import pytest

from takeback.app.beginning import Unclaimed
from takeback.app.engine import Engine
from takeback.errors import NotAWorkspace
from takeback.model.coverage import Overrides
from tests.crash.world import World
from tests.support.faults import Faults
from tests.support.lanes import cases


def made_anew(base: Path) -> World:
    """A workspace with one checkpoint, at a path of which another one is kept."""
    world = World(base)
    for content in (b"old", b"new"):
        shutil.rmtree(world.root)
        world.root.mkdir()
        (world.root / "a").write_bytes(content)
        with world.open() as takeback:
            world.checkpoints.append(takeback.checkpoint(content.decode()).checkpoint.id)
    return world


def adopt(world: World) -> None:
    Engine.adopt("", world.root, environ=world.environ)


def rewind(world: World) -> None:
    [old] = Engine.earlier(world.root, environ=world.environ)
    with Unclaimed.looking(old, world.root, warning="", environ=world.environ) as takeback:
        takeback.rewind("old", overrides=Overrides.all())


def kept(world: World) -> set[str]:
    """Returns the checkpoints of the present store and of those that are offered."""
    found: set[str] = set()
    try:
        with Engine.open(world.root, create=False, environ=world.environ) as takeback:
            found = {entry.checkpoint.id for entry in takeback.checkpoints()}
    except NotAWorkspace:
        pass
    for one in Engine.earlier(world.root, environ=world.environ):
        with Unclaimed.looking(one, world.root, warning="", environ=world.environ) as takeback:
            found |= {entry.checkpoint.id for entry in takeback.checkpoints()}
    return found


@cases("operation, fault", [adopt, rewind], [0, errno.ENOSPC], each=3)
def test_take_over_disturbed(tmp_path: Path, operation: object, fault: int) -> None:
    action = adopt if operation is adopt else rewind
    step = 1 if action is adopt else 7  # of the rewind itself each step is killed elsewhere
    for at in range(1, 10_000, step):
        world = made_anew(tmp_path / str(at))
        ran = world.run(partial(action, world), Faults(at, errno=fault, sticky=True))
        assert ran.killed or ran.done or ran.clean, ran.text
        assert (world.root / "a").read_bytes() in (b"old", b"new")
        assert set(world.checkpoints) <= kept(world), f"lost at step {at}: {ran.steps}"
        world.checkpoint()  # hooks go on, and recover nothing themselves
        for _ in range(3):
            with world.open() as takeback:
                takeback.recover()
                labels = {entry.checkpoint.label for entry in takeback.checkpoints()}
                offered = takeback.engine.earlier_stores
            if "old" in labels:
                break
            wanted = next(one for one in offered if one.newest and one.newest.label == "old")
            Engine.adopt(wanted.name, world.root, environ=world.environ)
        else:
            pytest.fail("the old checkpoints could not be had")
        assert set(world.checkpoints) <= kept(world)
        world.remove()
        if len(ran.steps) < at:
            return
