"""Finds out how far a killed run came with one unit, and makes the place tidy again.

T is the place, t the temporary name. An exchange is one instant, so these are all the cases:

        T is new   t absent            done
        T is new   t is old, or part   exchanged, not wholly removed: remove t, done
        T is new   t is else           an edit came in between: exchange back, name the path
        T is old   t anything          not exchanged, t is ours: remove t, to do
        T is else  t is old or ours    somebody was here since: remove t, name the path
        T is else  t is else           keep both, name the path
        (deletion) t is old            renamed aside, not removed: remove t, done
        (deletion) t is else           an edit came in between: rename back, name the path
"""

from __future__ import annotations

import errno
import os

from takeback import durable, kernel
from takeback.worktree import ondisk
from takeback.worktree.stage import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.snapshot import Entry
    from takeback.worktree.stage import BlobSource
    from takeback.worktree.unit import Inside, Unit

TO_DO = "to do"
DONE = "done"
CHANGED = "changed since the plan was made"
NEITHER = "neither its old nor its new version"
OLD_STAYS = "its old version cannot be removed and is beside it, its name begins with .takeback-"
TWO_VERSIONS = "another version of it is kept beside it under a name that begins with .takeback-"

KEPT_BESIDE = (OLD_STAYS, TWO_VERSIONS)
"""Something stays under a temporary name: it is said, however right the path itself is."""


def resume(fd: int, unit: Unit, temporary: bytes, aside: bytes, blobs: BlobSource) -> str:
    """Returns TO_DO, DONE, or the reason why the path is left alone."""
    if ondisk.status(fd, aside) is not None:
        outcome = _resume_aside(fd, unit, temporary, aside)
        if outcome is not None:
            return outcome
    there = ondisk.status(fd, temporary) is not None
    if unit.new is None:
        return _resume_deletion(fd, unit, temporary) if there else TO_DO
    if there:
        return _resume_write(fd, unit, temporary, blobs)
    if is_exactly(fd, unit.name, unit.new, unit.inside_new):
        return DONE
    return TO_DO if is_exactly(fd, unit.name, unit.old, unit.inside_old) else NEITHER


def _resume_aside(fd: int, unit: Unit, temporary: bytes, aside: bytes) -> str | None:
    """Settles the second temporary name, used where names cannot be exchanged."""
    if ondisk.status(fd, unit.name) is None:
        rename_back(aside, unit.name, dir_fd=fd)
        return None
    if _is_part_of(fd, aside, unit.old, unit.inside_old):
        remove_tree(fd, aside)
        return None
    return TWO_VERSIONS


def _resume_deletion(fd: int, unit: Unit, temporary: bytes) -> str:
    if is_exactly(fd, temporary, unit.old, unit.inside_old):
        durable.unlink(temporary, dir_fd=fd)
        return TO_DO if ondisk.status(fd, unit.name) is not None else DONE
    if ondisk.status(fd, unit.name) is not None:
        return TWO_VERSIONS
    rename_back(temporary, unit.name, dir_fd=fd)
    return CHANGED


def _resume_write(fd: int, unit: Unit, temporary: bytes, blobs: BlobSource) -> str:
    if is_exactly(fd, unit.name, unit.new, unit.inside_new):
        if _is_part_of(fd, temporary, unit.old, unit.inside_old) or is_exactly(
            fd, temporary, unit.new, unit.inside_new
        ):
            remove_tree(fd, temporary)
            return DONE
        if _is_ours(fd, temporary, unit, blobs):
            return TWO_VERSIONS  # a cut-off copy of ours, or an edit that looks like one
        durable.exchange(temporary, unit.name, dir_fd=fd)
        remove_tree(fd, temporary)
        return CHANGED
    if is_exactly(fd, unit.name, unit.old, unit.inside_old):
        remove_tree(fd, temporary)
        return TO_DO
    if _is_part_of(fd, temporary, unit.old, unit.inside_old) or _is_ours(
        fd, temporary, unit, blobs
    ):
        remove_tree(fd, temporary)
        return NEITHER
    return TWO_VERSIONS


def give_back(fd: int, unit: Unit, aside: bytes) -> str:
    """Undoes a putting aside; returns why the path is left alone."""
    here, there = ondisk.status(fd, unit.name), ondisk.status(fd, aside)
    if here is None:
        rename_back(aside, unit.name, dir_fd=fd)
        return CHANGED
    same = there is not None and (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
    if same or is_exactly(fd, aside, unit.old, unit.inside_old):
        remove_tree(fd, aside)  # a second name of the file in its place, or saved
        return CHANGED
    return TWO_VERSIONS


def is_exactly(fd: int, name: bytes, entry: Entry | None, inside: Inside = ()) -> bool:
    """Tells whether a name holds exactly this; what cannot be read is something else."""
    try:
        return ondisk.matches(fd, name, entry, inside)
    except OSError:
        return False


def _is_part_of(fd: int, name: bytes, entry: Entry | None, inside: Inside) -> bool:
    """Tells whether a name holds ``entry``, or what is left of it while it is removed."""
    if entry is None or not entry.is_directory:
        return is_exactly(fd, name, entry)
    known = dict(inside)
    try:
        opened = os.open(
            name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd
        )
    except OSError:
        return False
    try:
        for path, found in ondisk.walk(opened):
            expected = known.get(path)
            if found is None or expected is None or found.is_directory != expected.is_directory:
                return False
            if not found.is_directory and found != expected:
                return False
        return True
    except OSError:
        return False
    finally:
        os.close(opened)


def _is_ours(fd: int, name: bytes, unit: Unit, blobs: BlobSource) -> bool:
    """Tells whether a temporary name holds our own new version, whole or cut short."""
    found = ondisk.status(fd, name)
    if found is None or unit.new is None:
        return False
    if unit.new.is_directory:
        return _is_part_of(fd, name, unit.new, unit.inside_new)
    if unit.new.is_link or found.st_mode & 0o170000 != 0o100000:
        return is_exactly(fd, name, unit.new)
    whole = blobs.blob(unit.new.oid)
    opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        return whole.startswith(os.read(opened, len(whole) + 1))
    finally:
        os.close(opened)


def rename_back(old: bytes, new: bytes, *, dir_fd: int) -> None:
    """Renames to a name that must be free, as far as the file system can make sure of it."""
    try:
        durable.rename_to_free_name(old, new, dir_fd=dir_fd)
    except kernel.Unsupported:
        if ondisk.status(dir_fd, new) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        durable.rename(old, new, dir_fd=dir_fd)
