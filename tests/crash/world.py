"""A small workspace with everything a rewind can meet, and what must hold after a crash in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from takeback import Takeback, kernel
from takeback.context import SilentReporter
from takeback.errors import RecoveredInstead
from takeback.model.coverage import Overrides
from takeback.model.operation import Outcome
from takeback.rewind.request import EDITS, Keeping
from tests.support.faults import Faults, Ran, run
from tests.support.removal import remove_tree
from tests.support.trees import Entry, differences, tree_state

State = dict[bytes, Entry]


class Notes(SilentReporter):
    """Keeps the sentences that a user would read."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(text)


@dataclass
class World:
    """One workspace with its store. ``old`` is its tree before the operation, ``new`` after it."""

    base: Path
    exchange: bool = True
    old: State = field(default_factory=dict)
    new: State = field(default_factory=dict)
    target: str = ""
    checkpoints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root = self.base / "workspace"
        self.outside = self.base / "outside"
        self.root.mkdir(parents=True)
        self.outside.mkdir()
        (self.outside / "precious").write_bytes(b"not ours")
        self.outside_before = tree_state(self.outside, identity=True)
        self.environ = {
            "HOME": str(self.base / "home"),
            "TAKEBACK_HOME": str(self.base / "takeback"),
            "PATH": os.environ["PATH"],
        }

    @contextmanager
    def open(self, notes: Notes | None = None) -> Iterator[Takeback]:
        with Takeback.open(self.root, environ=self.environ, reporter=notes) as takeback:
            yield takeback

    def state(self) -> State:
        """Returns the tree with inodes and times."""
        return tree_state(self.root, identity=True)

    # -- what is done, mostly in a process of its own; each returns what it had to leave undone

    def rewind(self) -> list[bytes]:
        with self.open() as takeback:
            return _undone(takeback.rewind(self.target, overrides=Overrides.all()))

    def undo(self) -> list[bytes]:
        with self.open() as takeback:
            return _undone(takeback.undo(overrides=Overrides.all()))

    def redo(self) -> list[bytes]:
        with self.open() as takeback:
            return _undone(takeback.redo(overrides=Overrides.all()))

    def revert(self) -> list[bytes]:
        with self.open() as takeback:
            return _undone(takeback.revert([self.target], overrides=Overrides.all()))

    def keep_edits(self) -> list[bytes]:
        keeping = Keeping(EDITS)
        with self.open() as takeback:
            return _undone(takeback.rewind(self.target, overrides=Overrides.all(), keeping=keeping))

    def checkpoint(self) -> None:
        with self.open() as takeback:
            takeback.checkpoint()

    def recover(self) -> None:
        with self.open() as takeback:
            takeback.recover()

    operation: str = "checkpoint"
    """Which of these is the one that is disturbed."""

    def operate(self) -> list[bytes] | None:
        """Carries out the operation that this world was prepared for."""
        done: list[bytes] | None = getattr(self, self.operation)()
        return done

    def run(self, action: Callable[[], object], faults: Faults | None = None) -> Ran:
        """Runs an action in a process of its own, with something in its way."""

        def act() -> object:
            if not self.exchange:
                _without_exchange()
            return action()

        return run(act, faults)

    # -- what must hold

    def check_paths(self, *, gaps: bool = False) -> None:
        """Each path is its old or its new version; what is neither is a temporary file of ours.

        ``gaps`` allows a path to be away for a moment: where names cannot be exchanged, a
        directory that gives way to a file, or takes a file's place, is renamed aside first.
        """
        found = self.state()
        for path in found.keys() | self.old.keys() | self.new.keys():
            if is_scratch(path):
                continue
            versions = [bare(self.old.get(path)), bare(self.new.get(path))]
            if gaps and any(entry is None or entry.kind == "directory" for entry in versions):
                versions.append(None)
            if gaps and any(self._flips(place) for place in _upwards(path)):
                versions.append(None)
            assert bare(found.get(path)) in versions, f"{path!r} is {found.get(path)}"
        self.check_outside()

    def _flips(self, path: bytes) -> bool:
        old, new = self.old.get(path), self.new.get(path)
        return old is not None and new is not None and old.kind != new.kind

    def check_outside(self) -> None:
        assert tree_state(self.outside, identity=True) == self.outside_before

    def check_is(self, wanted: State) -> None:
        """The tree is exactly this one, and no temporary file is left."""
        lines = differences(_bare_state(wanted), _bare_state(self.state()))
        assert not lines, "\n".join(["wanted -> found", *lines])

    def check_untouched(self) -> None:
        """What is the same before and after the operation is the same file, not an equal one."""
        found = self.state()
        for path, entry in self.old.items():
            if bare(self.new.get(path)) == bare(entry):
                assert found[path] == entry, f"{path!r} was touched"

    def check_store(self, takeback: Takeback) -> None:
        """Everything reads back, and no checkpoint is lost."""
        assert takeback.verify(read_data=True).problems == ()
        kept = {entry.checkpoint.id for entry in takeback.checkpoints(everything=True)}
        assert set(self.checkpoints) <= kept

    def check_operation(self, *, by: str, thorough: bool = True) -> None:
        """After a crash: recovers, and then can go on to either state.

        ``by`` says which command meets the interrupted operation: recover, checkpoint or undo.
        ``thorough`` goes back and forth afterwards, else back only.
        """
        with self.open() as takeback:
            interrupted = takeback.interrupted
            in_the_log = self._happened(takeback)
            self.check_store(takeback)
        notes = Notes()
        with self.open(notes) as takeback:
            finished = _recover(takeback, notes, interrupted, by)
            happened = self._happened(takeback)
            assert not (in_the_log and not happened)
            assert finished is None or finished == happened
            self.check_is(self.new if happened else self.old)
            self.check_untouched()
            assert not takeback.interrupted
            assert takeback.recover() is None
        if not happened:
            self.operate()
            self.check_is(self.new)
        self.check_way_back(thorough=thorough)

    operations_before: int = 0

    def _happened(self, takeback: Takeback) -> bool:
        return len(takeback.operations()) > self.operations_before

    def check_way_back(self, *, thorough: bool) -> None:
        """The operation can be taken back and done again, and nothing was lost on the way."""
        back, forth = ("redo", "undo") if self.operation == "undo" else ("undo", "redo")
        with self.open() as takeback:
            assert _undone(getattr(takeback, back)(overrides=Overrides.all())) == []
            self.check_is(self.old)
            if thorough:
                assert _undone(getattr(takeback, forth)(overrides=Overrides.all())) == []
                self.check_is(self.new)
                self.check_store(takeback)
        self.check_outside()

    def remove(self) -> None:
        remove_tree(self.base)


def _recover(takeback: Takeback, notes: Notes, interrupted: bool, by: str) -> bool | None:
    """Lets a command meet the crash; returns whether it finished an operation, None for none."""
    if by == "recover" or not interrupted:
        recovered = takeback.recover()
        assert (recovered is not None) == interrupted
        if recovered is None:
            return None
        assert [item for item in recovered.left_alone if not item.by_rule] == []
        return recovered.finished
    if by == "checkpoint":
        takeback.checkpoint()
    else:
        with pytest.raises(RecoveredInstead):
            takeback.undo(overrides=Overrides.all())
    [said] = [text for text in notes.texts if "interrupted" in text]
    assert " was found and finished" in said or " was found and rolled back" in said
    return " was found and finished" in said


def _undone(outcome: Outcome) -> list[bytes]:
    left = [item.path for item in outcome.left_alone if not item.by_rule]
    assert outcome.verified is not bool(left)
    return left


# -- the two trees between which a rewind goes


def make_target_tree(world: World) -> None:
    root = world.root
    for name in (b"flip_to_directory/sub/empty", b"private", b"empty", b"deep/er", b"stays"):
        os.makedirs(os.path.join(os.fsencode(root), name))
    write(root / "edited", b"version 1\n" * 50)
    write(root / "emptied", b"not empty yet")
    write(root / "gone", b"comes back", 0o640)
    write(root / "mode", b"secret", 0o600)
    write(root / "private" / "key", b"key", 0o400)
    (root / "private").chmod(0o700)
    write(root / "flip_to_file", b"was a file", 0o755)
    write(root / "flip_to_directory" / "run", b"#!/bin/sh\n", 0o755)
    write(root / "flip_to_directory" / "sub" / "data", b"\0\1\2")
    (root / "flip_to_directory" / "sub").chmod(0o750)
    write(root / "deep" / "er" / "edited", b"deep 1")
    write(root / "hidden.ign", b"tracked then")
    write(root / "stays" / "same", b"same")
    write(root / "stays" / "same too", b"")
    os.symlink("edited", root / "link")
    os.symlink(world.outside, root / "link_to_file")
    write(root / "file_to_link", b"file")


def edit_tree(world: World) -> None:
    """Makes of the target tree what the rewind finds: the other state of every kind of path."""
    root = world.root
    write(root / "edited", b"version 2\n" * 70)
    write(root / "emptied", b"")
    (root / "gone").unlink()
    (root / "mode").chmod(0o644)
    (root / "private").chmod(0o755)
    (root / "flip_to_file").unlink()
    (root / "flip_to_file" / "in").mkdir(parents=True)
    write(root / "flip_to_file" / "in" / "side", b"inside", 0o600)
    os.symlink("nowhere", root / "flip_to_file" / "dangling")
    write(root / "flip_to_file" / "cache.ign", b"ignored, in a directory that gives way")
    shutil.rmtree(root / "flip_to_directory")
    write(root / "flip_to_directory", b"is a file now")
    write(root / "deep" / "er" / "edited", b"deep 2")
    write(root / ".gitignore", b"*.ign\n")
    write(root / "hidden.ign", b"ignored now, and in the way", 0o600)
    write(root / "later.ign", b"ignored, in nobody's way")
    (root / "empty").rmdir()
    (root / "new empty").mkdir()
    (root / "new").mkdir()
    write(root / "new" / "one", b"1")
    write(root / "new" / "two", b"2")
    write(root / "stays" / "new", b"new")
    (root / "link").unlink()
    os.symlink("elsewhere", root / "link")
    (root / "link_to_file").unlink()
    write(root / "link_to_file", b"no link any more")
    (root / "file_to_link").unlink()
    os.symlink(world.outside / "precious", root / "file_to_link")


def write(path: Path, content: bytes, mode: int = 0o644) -> None:
    path.write_bytes(content)
    path.chmod(mode)


def prepare_rewind(world: World) -> World:
    """Leaves ``world`` at the edited tree, one rewind away from the target tree."""
    make_target_tree(world)
    new = world.state()
    with world.open() as takeback:
        world.target = takeback.checkpoint("target").checkpoint.id
        world.checkpoints.append(world.target)
        edit_tree(world)
        world.checkpoints.append(takeback.checkpoint().checkpoint.id)
    write(world.root / "edited", b"version 3, in no checkpoint")
    world.operation = "rewind"
    world.old = world.state()
    # What was ignored when the rewind began and is in nobody's way stays.
    world.new = new | {b"later.ign": world.old[b"later.ign"]}
    return world


def prepare_undo(world: World) -> World:
    """Leaves ``world`` after a rewind, one undo away from the edited tree."""
    prepare_rewind(world)
    world.rewind()
    return _prepare_step(world, "undo")


def prepare_redo(world: World) -> World:
    """Leaves ``world`` after a rewind and an undo, one redo away from the target tree."""
    prepare_undo(world)
    world.undo()
    return _prepare_step(world, "redo")


def _prepare_step(world: World, operation: str) -> World:
    world.check_is(world.new)
    world.old, world.new = world.state(), world.old
    world.operation = operation
    with world.open() as takeback:
        world.checkpoints = [entry.checkpoint.id for entry in takeback.checkpoints(everything=True)]
        world.operations_before = len(takeback.operations())
    return world


def prepare_revert(world: World) -> World:
    """Leaves ``world`` with a turn in the middle that is one revert away."""
    return _prepare_merged(world, "revert")


def prepare_keep_edits(world: World) -> World:
    """Leaves ``world`` one rewind away from a turn's beginning with a person's edits in it."""
    return _prepare_merged(world, "keep_edits")


def _prepare_merged(world: World, operation: str) -> World:
    """An agent does everything there is, then a person changes another end of the same text."""
    make_target_tree(world)
    lines = [b"line %d\n" % number for number in range(20)]
    write(world.root / "text", b"".join(lines))
    with world.open() as takeback:
        with takeback.session(agent="mine").turn("change it all") as turn:
            edit_tree(world)
            write(world.root / "text", b"".join([b"the agent's\n", *lines[1:]]))
        world.target = turn.before.id
        write(world.root / "text", b"".join([b"the agent's\n", *lines[1:-1], b"mine\n"]))
        write(world.root / "mine", b"mine")
        takeback.checkpoint()
    world.operation, world.old = operation, world.state()
    assert world.operate() == []
    world.new = world.state()
    assert (world.root / "text").read_bytes() == b"".join([*lines[:-1], b"mine\n"])
    assert (world.root / "mine").read_bytes() == b"mine"
    new = world.new
    world.undo()
    world.new = world.old
    _prepare_step(world, operation)
    world.old, world.new = world.state(), new
    return world


# -- small things


def is_scratch(path: bytes) -> bool:
    return any(part.startswith(b".takeback-") for part in path.split(b"/"))


def bare(entry: Entry | None) -> Entry | None:
    return None if entry is None else entry._replace(inode=0, mtime_ns=0)


def _bare_state(state: State) -> State:
    return {path: entry._replace(inode=0, mtime_ns=0) for path, entry in state.items()}


def _upwards(path: bytes) -> Iterator[bytes]:
    while path:
        yield path
        path = path.rpartition(b"/")[0]


def _without_exchange() -> None:
    """Makes this process find a file system that cannot exchange two names."""

    def exchange(dir_fd: int, one: bytes, other: bytes) -> None:
        raise kernel.Unsupported

    def rename_to_free_name(dir_fd: int, old: bytes, new: bytes, to_fd: int | None = None) -> None:
        raise kernel.Unsupported

    kernel.exchange = exchange
    kernel.rename_to_free_name = rename_to_free_name


PREPARED = {
    "rewind": prepare_rewind,
    "undo": prepare_undo,
    "redo": prepare_redo,
    "revert": prepare_revert,
    "keep_edits": prepare_keep_edits,
}


def prepare(base: Path, operation: str, *, exchange: bool = True) -> World:
    """Makes a world in which the operation is the next thing to do."""
    return PREPARED[operation](World(base, exchange=exchange))
