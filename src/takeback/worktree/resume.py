"""Finds out how far a killed run got with one unit, and tidies up after it.

T is the place, t the temporary name. An exchange is one instant, so these are all the cases:

        T is new   t absent            done
        T is new   t is old, or part   exchanged, not wholly removed: remove t, done
        T is new   t is else           an edit came in between: exchange back, name the path
        T is old   t anything          not exchanged, t is ours: remove t, to do
        T is else  t is old or ours    somebody was here since: remove t, name the path
        T is else  t is else           keep both, name the path
        (deletion) t is old            renamed aside, not removed: remove t, done
        (deletion) t is else           an edit came in between: rename back, name the path

A directory that was displaced is removed entry by entry by way of a directory of ours, see
removal.py. If that is there, the removal has begun, and is continued:

        T is new   t is a directory    remove what is saved of t, done; what is not stays, named
        T is part  t is no directory   T could not be renamed and was being emptied in place:
                                       restore it, remove t, to do
"""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISREG

from takeback import durable
from takeback.model.value import Value
from takeback.worktree import place as ondisk
from takeback.worktree.place import Descent
from takeback.worktree.removal import (
    remove_checked,
    remove_leaving,
    remove_tree,
    rename_to_free_name,
    settle_leaving,
    unlink_exactly,
)
from takeback.worktree.stage import refill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Entry
    from takeback.worktree.apply import Inside, Scratch, Unit
    from takeback.worktree.stage import BlobSource

TO_DO = "to do"
DONE = "done"
CHANGED = "changed since the plan was made"
NEITHER = "neither its old nor its new version"
OLD_STAYS = "its old version cannot be removed and is beside it, its name begins with .takeback-"
TWO_VERSIONS = "another version of it is kept beside it under a name that begins with .takeback-"
SAVED_MEANWHILE = "saved into a directory while that made way, so it is kept here"

KEPT_BESIDE = (OLD_STAYS, TWO_VERSIONS, SAVED_MEANWHILE)
"""Something stays under a temporary name: that is reported even if the path itself is right."""


class Resumed(Value):
    """TO_DO, DONE, or why the path is left alone; and the paths of what stays beside it."""

    outcome: str
    kept: tuple[bytes, ...] = ()


def resume(fd: int, unit: Unit, scratch: Scratch, blobs: BlobSource) -> Resumed:
    """Settles everything that is found under the temporary names of a unit."""
    kept: list[bytes] = []
    begun = ondisk.status(fd, scratch.leaving) is not None
    if begun:
        _settle_removal(fd, unit, scratch, blobs)
    outcome = None
    if ondisk.status(fd, scratch.aside) is not None:
        outcome = _resume_aside(fd, unit, scratch, kept, begun=begun)
    if outcome is None:
        outcome = _resume(fd, unit, scratch, kept, blobs, begun=begun)
    if begun:
        kept += remove_leaving(fd, scratch.leaving)
    return Resumed(outcome, tuple(kept))


def _resume(
    fd: int, unit: Unit, scratch: Scratch, kept: list[bytes], blobs: BlobSource, *, begun: bool
) -> str:
    there = ondisk.status(fd, scratch.temporary) is not None
    if unit.new is None:
        return _resume_deletion(fd, unit, scratch.temporary) if there else TO_DO
    if there:
        return _resume_write(fd, unit, scratch, kept, blobs, begun=begun)
    if is_exactly(fd, unit.name, unit.new, unit.inside_new):
        return DONE
    return TO_DO if is_exactly(fd, unit.name, unit.old, unit.inside_old) else NEITHER


def _settle_removal(fd: int, unit: Unit, scratch: Scratch, blobs: BlobSource) -> None:
    """Deals with the one file that was being removed, and restores a half-emptied directory."""
    place = unit.name
    for name in (scratch.temporary, scratch.aside):
        if _is_directory(fd, name):
            place = name
    settle_leaving(fd, scratch.leaving, place, unit.inside_old)
    here = ondisk.status(fd, unit.name)
    emptied = here is None or S_ISDIR(here.st_mode)
    if place == unit.name and emptied and unit.old is not None:
        refill(fd, unit.name, scratch.leaving, unit.old, unit.inside_old, blobs)


def _is_directory(fd: int, name: bytes) -> bool:
    found = ondisk.status(fd, name)
    return found is not None and S_ISDIR(found.st_mode)


def _resume_aside(
    fd: int, unit: Unit, scratch: Scratch, kept: list[bytes], *, begun: bool
) -> str | None:
    """Settles the second temporary name, used where names cannot be exchanged."""
    aside = scratch.aside
    taken = ondisk.status(fd, unit.name) is not None
    moved_in = unit.makes_way and is_exactly(fd, unit.name, unit.new)
    if begun or moved_in or (taken and _is_part_of(fd, aside, unit.old, unit.inside_old)):
        kept += _remove_old(fd, unit, scratch, aside)
        return None
    if is_same_file(fd, unit.name, aside):
        durable.unlink(aside, dir_fd=fd)
        return None
    if not taken:
        rename_to_free_name(aside, unit.name, dir_fd=fd)
        return None
    return TWO_VERSIONS


def _remove_old(fd: int, unit: Unit, scratch: Scratch, name: bytes) -> list[bytes]:
    assert unit.old is not None
    return remove_checked(fd, name, scratch.leaving, unit.old, unit.inside_old)


def _resume_deletion(fd: int, unit: Unit, temporary: bytes) -> str:
    if unit.old is not None and unlink_exactly(fd, temporary, unit.old):
        return TO_DO if ondisk.status(fd, unit.name) is not None else DONE
    if ondisk.status(fd, unit.name) is not None:
        return TWO_VERSIONS
    rename_to_free_name(temporary, unit.name, dir_fd=fd)
    return CHANGED


def _resume_write(
    fd: int, unit: Unit, scratch: Scratch, kept: list[bytes], blobs: BlobSource, *, begun: bool
) -> str:
    temporary = scratch.temporary
    displaced = begun and _is_directory(fd, temporary)
    if displaced or _is_part_of(fd, temporary, unit.old, unit.inside_old):
        if is_exactly(fd, unit.name, unit.new, unit.inside_new):
            kept += _remove_old(fd, unit, scratch, temporary)
            return DONE
        if not is_exactly(fd, unit.name, unit.old, unit.inside_old):
            kept += _remove_old(fd, unit, scratch, temporary)
            return NEITHER
    elif is_exactly(fd, unit.name, unit.new, unit.inside_new):
        if is_exactly(fd, temporary, unit.new, unit.inside_new):
            remove_tree(fd, temporary)  # the user made the same by hand
            return DONE
        if _is_ours(fd, temporary, unit, blobs):
            return TWO_VERSIONS  # a cut-off copy of ours, or an edit that looks like one
        return take_back(fd, unit, temporary)
    if is_exactly(fd, unit.name, unit.old, unit.inside_old):
        if unit.makes_way and _is_directory(fd, temporary):
            return TWO_VERSIONS  # ours is not a directory: somebody recreated the old one
        remove_tree(fd, temporary)
        return TO_DO
    if _is_ours(fd, temporary, unit, blobs):
        remove_tree(fd, temporary)
        return NEITHER
    return TWO_VERSIONS


def take_back(fd: int, unit: Unit, temporary: bytes) -> str:
    """Exchanges back what was displaced but is not what was saved; returns why it is reported."""
    durable.exchange(temporary, unit.name, dir_fd=fd)
    return CHANGED if discard_new(fd, unit, temporary) else TWO_VERSIONS


def discard_new(fd: int, unit: Unit, name: bytes) -> bool:
    """Removes our new version, which others could see; False if it is not what we wrote."""
    assert unit.new is not None
    if not unit.new.is_directory:
        return unlink_exactly(fd, name, unit.new)
    if not is_exactly(fd, name, unit.new, unit.inside_new):
        return False
    remove_tree(fd, name)
    return True


def is_exactly(fd: int, name: bytes, entry: Entry | None, inside: Inside = ()) -> bool:
    """Tells whether a name holds exactly this; what cannot be read is something else."""
    try:
        return ondisk.matches(fd, name, entry, inside)
    except OSError:
        return False


def is_same_file(fd: int, one: bytes, other: bytes) -> bool:
    """Tells whether two names belong to the same file."""
    first, second = ondisk.status(fd, one), ondisk.status(fd, other)
    if first is None or second is None:
        return False
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


def _is_part_of(fd: int, name: bytes, entry: Entry | None, inside: Inside) -> bool:
    """Tells whether a name holds ``entry``, or what is left of it while it is removed."""
    if entry is None or not entry.is_directory:
        return is_exactly(fd, name, entry)
    known = dict(inside)
    try:
        with Descent(fd) as at:
            at.down(name)
            for path, found in ondisk.walk(at.fd):
                expected = known.get(path)
                if found is None or expected is None:
                    return False
                if found.entry.is_directory != expected.is_directory:
                    return False
                if not expected.is_directory and found.entry != expected:
                    return False
            return True
    except OSError:
        return False


def _is_ours(fd: int, name: bytes, unit: Unit, blobs: BlobSource) -> bool:
    """Tells whether a temporary name holds our own new version, whole or cut short."""
    found = ondisk.status(fd, name)
    if found is None or unit.new is None:
        return False
    if unit.new.is_directory:
        return _is_part_of(fd, name, unit.new, unit.inside_new)
    if unit.new.is_link or not S_ISREG(found.st_mode):
        return is_exactly(fd, name, unit.new)
    opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        return _Comparison(opened).begins(unit.new.oid, blobs)
    finally:
        os.close(opened)


class _Comparison:
    """Compares a file with the beginning of a blob, piece by piece, whatever its size."""

    class _Known(Exception):
        """The answer is known before the end of the blob."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._same = True

    def begins(self, oid: bytes, blobs: BlobSource) -> bool:
        try:
            blobs.stream(oid, self._compare)
        except self._Known:
            return self._same
        return not os.read(self._fd, 1)

    def _compare(self, piece: bytes) -> None:
        while piece:
            mine = os.read(self._fd, len(piece))
            if not mine or not piece.startswith(mine):
                self._same = not mine
                raise self._Known
            piece = piece[len(mine) :]
