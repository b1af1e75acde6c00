"""The disk fails at every step: a clear error, the old content there, the next command works."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from takeback.model.coverage import Overrides
from takeback.model.operation import moves
from tests.crash import world as worlds
from tests.crash.test_kill_every_step import SHARES, check_capture, every, is_thorough, share
from tests.crash.world import World, prepare
from tests.support.faults import Faults, Ran
from tests.support.lanes import cases, shares
from tests.support.removal import remove_tree

ERRORS = {"full": errno.ENOSPC, "broken": errno.EIO, "forbidden": errno.EACCES}
MERGES = ("revert", "keep_edits")
SPARSE = 11
"""Of the rarer kinds only every so many steps are tried, all of them in a soak."""


def check_error(ran: Ran) -> None:
    assert not ran.killed
    assert ran.clean, ran.text


def check_after_fault(world: World, ran: Ran, *, thorough: bool) -> None:
    """The disk is well again: whatever state the operation is in, both ends can be reached."""
    check_error(ran)
    world.check_paths()
    if ran.answer:
        check_partly_done(world, ran.answer)
    else:
        world.check_operation(by="checkpoint", thorough=thorough)


def check_partly_done(world: World, left: list[bytes]) -> None:
    """Some paths could not be changed and were named; the rest is new; a second try does all."""
    found = world.state()
    for path in sorted(filter(worlds.is_scratch, found)):
        place = world.root / os.fsdecode(path)
        if not place.name.startswith(".takeback-"):
            continue  # inside one
        # An old version that could not be removed stays beside its path, which is named for it.
        assert path.rpartition(b"/")[0] in {named.rpartition(b"/")[0] for named in left}, path
        if place.is_dir() and not place.is_symlink():
            remove_tree(place)
        else:
            place.unlink()
    for path in world.old.keys() | world.new.keys():
        if not any(path == place or path.startswith(place + b"/") for place in left):
            assert worlds.bare(found.get(path)) == worlds.bare(world.new.get(path)), path
    with world.open() as takeback:
        assert not takeback.interrupted
        world.check_store(takeback)
    if world.operation == "rewind":
        world.rewind()
        wanted = dict(world.new)
        if b".gitignore" not in left:  # the ignore rule went, so this is the target's business now
            del wanted[b"later.ign"]
        world.check_is(wanted)
        world.undo()
        world.undo()
        world.check_is(world.old)
    elif world.operation in MERGES:
        world.undo()
        world.check_is(world.old)
        assert world.operate() == []
        world.check_is(world.new)
    else:
        world.redo()
        world.check_is(world.old)
        with world.open() as takeback:
            before = moves(takeback.operations())[0].before
            takeback.rewind(before, ignored=True, overrides=Overrides.all())
        world.check_is(world.new)


def steps_of(share: int, sparse: int) -> Iterator[int]:
    return islice(every(share), share % sparse, None, sparse)


def fail_operation(
    tmp_path: Path, operation: str, steps: Iterator[int], fault: Callable[[int], Faults]
) -> None:
    for at in steps:
        world = prepare(tmp_path / str(at), operation)
        ran = world.run(world.operate, fault(at))
        check_after_fault(world, ran, thorough=is_thorough(at))
        world.remove()
        if len(ran.steps) < at:
            return


def fail_capture(tmp_path: Path, steps: Iterator[int], fault: Callable[[int], Faults]) -> None:
    for at in steps:
        world = prepare(tmp_path / str(at), "rewind")
        ran = world.run(world.checkpoint, fault(at))
        check_error(ran)
        check_capture(world)
        world.remove()
        if len(ran.steps) < at:
            return


@share
@pytest.mark.parametrize("operation", ["rewind", "undo"])
def test_disk_full_for_one_step_of_an_operation(tmp_path: Path, operation: str, share: int) -> None:
    fail_operation(tmp_path, operation, every(share), partial(Faults, errno=errno.ENOSPC))


@shares(SHARES, long=2)
@cases("operation, kind, sticky", MERGES, ["full", "forbidden"], [False, True], each=5)
def test_disk_fails_while_something_is_merged(
    tmp_path: Path, operation: str, kind: str, sticky: bool, share: int, soak: bool
) -> None:
    steps = steps_of(share, 1 if soak else SPARSE)
    fault = partial(Faults, errno=ERRORS[kind], sticky=sticky)
    fail_operation(tmp_path, operation, steps, fault)


@share
def test_disk_full_for_one_step_of_a_capture(tmp_path: Path, share: int) -> None:
    fail_capture(tmp_path, every(share), partial(Faults, errno=errno.ENOSPC))


@share
@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("operation", ["rewind", "undo"])
def test_disk_fails_from_a_step_on(
    tmp_path: Path, operation: str, kind: str, share: int, soak: bool
) -> None:
    steps = steps_of(share, 1 if soak else SPARSE)
    fault = partial(Faults, errno=ERRORS[kind], sticky=True)
    fail_operation(tmp_path, operation, steps, fault)


@share
@pytest.mark.parametrize("kind", ["broken", "forbidden"])
@pytest.mark.parametrize("operation", ["rewind", "undo"])
def test_disk_fails_for_one_step(
    tmp_path: Path, operation: str, kind: str, share: int, soak: bool
) -> None:
    steps = steps_of(share, 1 if soak else SPARSE)
    fail_operation(tmp_path, operation, steps, partial(Faults, errno=ERRORS[kind]))


@share
@pytest.mark.parametrize("sticky", [False, True], ids=["once", "from there on"])
@pytest.mark.parametrize("kind", ERRORS)
def test_disk_fails_during_a_capture(tmp_path: Path, kind: str, sticky: bool, share: int) -> None:
    fault = partial(Faults, errno=ERRORS[kind], sticky=sticky)
    fail_capture(tmp_path, every(share), fault)
