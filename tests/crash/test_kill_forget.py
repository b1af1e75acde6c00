"""kill -9 and a full disk at every durable step of forgetting and of bringing back.

A store is in use, in the trash or an earlier one of its path, whole, until it is deleted for good.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from takeback.app.beginning import Unclaimed
from takeback.app.engine import Engine
from takeback.errors import NotAWorkspace
from tests.crash.world import World
from tests.support.faults import Faults
from tests.support.lanes import shares

Action = Callable[[World], None]


def forget(world: World) -> None:
    with Engine.open(world.root, create=False, environ=world.environ) as tb:
        tb.forget()


def bring_back(world: World) -> None:
    Engine.bring_back(world.root, environ=world.environ)


def delete(world: World) -> None:
    found = Engine.forgotten(world.root, environ=world.environ)
    Engine.delete_forgotten(found, environ=world.environ)


def checkpoint(world: World, content: bytes) -> None:
    (world.root / "a").write_bytes(content)
    with world.open() as takeback:
        world.checkpoints.append(takeback.checkpoint(content.decode()).checkpoint.id)


def in_use(base: Path) -> World:
    world = World(base)
    checkpoint(world, b"old")
    return world


def in_trash(base: Path) -> World:
    world = in_use(base)
    forget(world)
    return world


def followed(base: Path) -> World:
    """One in the trash, and a new one of the same directory."""
    world = in_trash(base)
    checkpoint(world, b"new")
    return world


def ids(takeback: Engine) -> set[str]:
    assert takeback.verify(read_data=True).problems == ()
    return {entry.checkpoint.id for entry in takeback.checkpoints(everything=True)}


def offered(world: World) -> set[str]:
    """Returns the checkpoints of the present store and of the earlier ones, all whole."""
    found: set[str] = set()
    try:
        with Engine.open(world.root, create=False, environ=world.environ) as takeback:
            found = ids(takeback)
    except NotAWorkspace:
        pass
    for one in Engine.earlier(world.root, environ=world.environ):
        with Unclaimed.looking(one, world.root, warning="", environ=world.environ) as takeback:
            found |= ids(takeback)
    return found


def kept(world: World) -> int:
    """Returns how many checkpoints there are: in use, earlier or in the trash."""
    in_trash = Engine.forgotten(environ=world.environ)
    return len(offered(world)) + sum(one.checkpoints for one in in_trash)


def all_back(world: World) -> None:
    """Whatever is in the trash comes back, and all there ever was is offered."""
    while Engine.forgotten(environ=world.environ):
        bring_back(world)
    assert set(world.checkpoints) == offered(world)
    assert trash(world) == []


def trash(world: World) -> list[str]:
    place = Path(world.environ["TAKEBACK_HOME"], "forgotten")
    return [name for _, _, names in os.walk(place) for name in names]


@shares(4, long=1)
@pytest.mark.parametrize("fault", [0, errno.ENOSPC])
@pytest.mark.parametrize(
    ("prepare", "action"),
    [(in_use, forget), (in_trash, bring_back), (followed, bring_back)],
    ids=["forget", "bring back", "bring back in exchange"],
)
def test_nothing_is_lost(
    tmp_path: Path, prepare: Callable[[Path], World], action: Action, fault: int, share: int
) -> None:
    for at in range(1 + share, 10_000, 4):
        world = prepare(tmp_path / str(at))
        ran = world.run(partial(action, world), Faults(at, errno=fault, sticky=True))
        assert ran.killed or ran.done or ran.clean, ran.text
        assert kept(world) == len(world.checkpoints), f"lost at step {at}: {ran.steps}"
        assert (world.root / "a").exists()
        checkpoint(world, b"hooks go on")
        all_back(world)
        world.remove()
        if len(ran.steps) < at:
            return


@shares(4, long=1)
@pytest.mark.parametrize("fault", [0, errno.EIO])
def test_what_is_deleted_is_there_whole_or_gone(tmp_path: Path, fault: int, share: int) -> None:
    for at in range(1 + share, 10_000, 4):
        world = in_trash(tmp_path / str(at))
        ran = world.run(partial(delete, world), Faults(at, errno=fault, sticky=True))
        assert ran.killed or ran.done or ran.clean, ran.text
        assert kept(world) in (0, 1)
        if kept(world):
            all_back(world)
            forget(world)
            delete(world)
        checkpoint(world, b"new")
        forget(world)  # clears what is left of the other
        assert [one.checkpoints for one in Engine.forgotten(environ=world.environ)] == [1]
        delete(world)
        assert trash(world) == []
        world.remove()
        if len(ran.steps) < at:
            return
