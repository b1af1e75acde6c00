"""A program goes on working in a directory that makes way: what it saves there is never lost.

It saves before each durable step of the rewind in turn, and, in other rounds, after the rewind was
killed at that step and before it is recovered.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from takeback import kernel
from takeback.model.coverage import Overrides
from tests.crash.world import Notes, World, write
from tests.support.faults import Faults
from tests.support.lanes import cases, shares
from tests.support.trees import tree_state

PRECIOUS = b"typed five seconds ago"
SHARES = 2
OLD = b"as captured"


class Directory:
    """A directory that was open before the rewind, as the current one of a program is."""

    def __init__(self, path: Path) -> None:
        self.top = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self.sub = os.open(path / "sub", os.O_RDONLY | os.O_DIRECTORY)
        self.file = os.open(path / "sub" / "b", os.O_RDWR)

    def close(self) -> None:
        for fd in (self.top, self.sub, self.file):
            os.close(fd)


def a_new_file(at: Directory) -> None:
    save(at.top, "my-notes.txt")


def a_new_file_further_down(at: Directory) -> None:
    save(at.sub, "my-notes.txt")


def an_edit_by_renaming(at: Directory) -> None:
    save(at.sub, ".b.swp")
    os.rename(".b.swp", "b", src_dir_fd=at.sub, dst_dir_fd=at.sub)


def an_edit_in_place(at: Directory) -> None:
    if os.fstat(at.file).st_nlink:
        os.pwrite(at.file, PRECIOUS, 0)


def save(directory: int, name: str) -> None:
    try:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=directory)
    except FileNotFoundError:  # the directory is gone: the program is told, and nothing is lost
        return
    os.write(fd, PRECIOUS)
    os.close(fd)


Save = Callable[[Directory], None]
ABLE = ["exchange", "no exchange", "no rename"]
WAYS = [a_new_file, a_new_file_further_down, an_edit_by_renaming, an_edit_in_place]


class Saving(Faults):
    """Saves before the step ``at`` instead of failing there."""

    def __init__(self, at: int, way: Save, directory: Directory) -> None:
        super().__init__(at)
        self._way = way
        self._directory = directory

    def step(self, name: str) -> None:
        self.names.append(name)
        # A write to an open file between the last look and the unlink itself is the one danger
        # that is left: it is said in removal.py.
        if len(self.names) == self.at and (name, self._way) != ("unlink", an_edit_in_place):
            save_if_it_goes(self._way, self._directory)


def save_if_it_goes(way: Save, directory: Directory) -> None:
    try:
        way(directory)
    except FileNotFoundError:
        pass


def make_world(base: Path, *, able: str) -> World:
    """Returns a world in which ``flip`` is a directory now and a file in the target."""
    world = World(base, exchange=able != "no exchange")
    write(world.root / "flip", b"a file then")
    with world.open() as takeback:
        world.target = takeback.checkpoint("target").checkpoint.id
    (world.root / "flip").unlink()
    (world.root / "flip" / "sub" / "empty").mkdir(parents=True)
    for name in ("a", "sub/b", "sub/c"):
        write(world.root / "flip" / name, OLD)
    world.operation = "rewind"
    return world


def precious(world: World) -> list[bytes]:
    state = tree_state(world.root)
    return [path for path, entry in state.items() if entry.content.startswith(PRECIOUS)]


def rounds(tmp_path: Path, share: int, *, able: str) -> Iterator[int]:
    """Yields the steps of a share, from shortly before the directory makes way."""
    world = make_world(tmp_path / "counted", able=able)
    ran = world.run(partial(rewind, world, able))
    world.remove()
    yield from range(ran.steps.index("exchange") - 1 + share, 10_000, SHARES)


@cases("able, way", ABLE, WAYS, each=5)
@shares(SHARES)
def test_what_is_saved_into_a_directory_that_makes_way_is_kept_and_named(
    tmp_path: Path, way: Save, share: int, able: str
) -> None:
    met = 0
    for at in rounds(tmp_path, share, able=able):
        world = make_world(tmp_path / str(at), able=able)
        directory = Directory(world.root / "flip")
        faults = Saving(at, way, directory)
        ran = world.run(partial(rewind, world, able), faults)
        assert ran.done, ran.text
        found = precious(world)
        check_kept(world, found, ran.answer)
        met += any(b".takeback-" in path for path in found)
        if at > len(ran.steps):
            directory.close()
            break
        if way in (a_new_file, a_new_file_further_down):
            gone = os.fstat(directory.top if way is a_new_file else directory.sub).st_nlink == 0
            assert found or gone or in_undo_snapshot(world), f"lost at step {at}"
        elif way is an_edit_by_renaming:
            gone = os.fstat(directory.sub).st_nlink == 0
            assert found or gone or in_undo_snapshot(world), f"lost at step {at}"
        elif os.pread(directory.file, len(PRECIOUS), 0) == PRECIOUS:
            assert found or in_undo_snapshot(world), f"lost at step {at}"
        directory.close()
        world.remove()
    assert met or able == "no rename", (
        "no save fell into the time in which the directory was out of its place"
    )


def limit(able: str) -> None:
    """Makes this process find a directory of a lower layer of overlayfs: it cannot be renamed."""
    if able != "no rename":
        return
    exchange = kernel.exchange

    def refuse(dir_fd: int, one: bytes, other: bytes) -> None:
        for name in (one, other):
            if stat.S_ISDIR(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode):
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        exchange(dir_fd, one, other)

    kernel.exchange = refuse


def rewind(world: World, able: str) -> list[tuple[bytes, str]]:
    limit(able)
    with world.open() as takeback:
        outcome = takeback.rewind(world.target, overrides=Overrides.all())
        left = [(item.path, item.reason) for item in outcome.left_alone if not item.by_rule]
        assert outcome.verified is not bool(left)
        return left


def check_kept(world: World, found: list[bytes], named: list[tuple[bytes, str]]) -> None:
    """Whatever is under a name of ours is named with the path at which it is."""
    paths = {path for path, _ in named}
    for path in found:
        if b".takeback-" in path:
            assert path in paths, (path, named)
        else:
            assert path.startswith(b"flip/"), path
            assert b"flip" in paths, named
    if not found:
        beside = [path for path in tree_state(world.root) if b".takeback-" in path]
        assert not beside


def in_undo_snapshot(world: World) -> bool:
    """Goes back by an undo, and looks again: saved before the capture, it is part of that."""
    with world.open() as takeback:
        if not takeback.operations():
            return False
        takeback.undo(overrides=Overrides.all())
    return bool(precious(world))


@cases("able, way", ABLE, [a_new_file, a_new_file_further_down, an_edit_by_renaming], each=4)
@shares(SHARES)
def test_what_is_saved_between_a_kill_and_its_recovery_is_kept_and_named(
    tmp_path: Path, way: Save, share: int, able: str
) -> None:
    met = 0
    for at in rounds(tmp_path, share, able=able):
        world = make_world(tmp_path / str(at), able=able)
        directory = Directory(world.root / "flip")
        ran = world.run(partial(rewind, world, able), Faults(at))
        save_if_it_goes(way, directory)
        saved = bool(precious(world))
        beside = [path for path in precious(world) if b".takeback-" in path]
        met += bool(beside)
        notes = Notes()
        recovered = world.run(partial(recover, world, notes, able))
        assert recovered.done, recovered.text
        assert bool(precious(world)) == saved, f"lost after a kill at step {at}"
        for path in precious(world):
            if b".takeback-" in path:
                assert path in recovered.answer, recovered.answer
        directory.close()
        world.remove()
        if not ran.killed:
            break
    assert met or able == "no rename", "no kill left the directory out of its place"


def recover(world: World, notes: Notes, able: str) -> list[bytes]:
    limit(able)
    with world.open(notes) as takeback:
        recovered = takeback.recover()
        return [] if recovered is None else [item.path for item in recovered.left_alone]


@cases("able", ABLE, each=2)
def test_a_kill_while_a_directory_makes_way_is_recovered_and_can_be_undone(
    tmp_path: Path, able: str
) -> None:
    for at in rounds(tmp_path, 0, able=able):
        world = make_world(tmp_path / str(at), able=able)
        before = tree_state(world.root)
        ran = world.run(partial(rewind, world, able), Faults(at))
        recovered = world.run(partial(recover, world, Notes(), able))
        assert recovered.done, recovered.text
        assert recovered.answer == []
        assert [*tree_state(world.root)] == [b"flip"], at
        assert (world.root / "flip").read_bytes() == b"a file then"
        with world.open() as takeback:
            assert takeback.undo(overrides=Overrides.all()).whole
        assert tree_state(world.root) == before
        world.remove()
        if not ran.killed:
            break
