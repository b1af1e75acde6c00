"""Puts the new version of one path, staged beside it, in the place of the old one.

        exchange      in one instant; then the old one is checked, and removed
        no exchange   the old one is put aside (linked, so that a file stays in place), checked,
                      and the new one renamed to the place
        no rename     a directory of a lower layer of overlayfs: emptied in place, what was
                      checked only, then the new one renamed to the place

What differs from the undo snapshot is put back, and the path is reported.
"""

from __future__ import annotations

import errno
from stat import S_ISDIR

from takeback import durable, kernel
from takeback.model.value import Value
from takeback.worktree import place
from takeback.worktree.removal import (
    make_leaving,
    remove_checked,
    remove_leaving,
    remove_tree,
    rename_to_free_name,
    take_down,
    unlink_exactly,
)
from takeback.worktree.resume import (
    CHANGED,
    OLD_STAYS,
    TWO_VERSIONS,
    is_exactly,
    is_same_file,
    take_back,
)
from takeback.worktree.stage import refill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.worktree.apply import Scratch, Unit
    from takeback.worktree.stage import BlobSource

FATAL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Errors that concern the disk or the machine, not one path: the operation stops."""
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)


class Replaced(Value):
    """``written`` if the new version is in place, ``reason`` if there is something to report.

    ``kept`` are paths beside it of what was saved into a directory while it was being displaced.
    """

    written: bool
    reason: str | None = None
    kept: tuple[bytes, ...] = ()


class Replacement:
    """The replacement of one unit. If it raises OSError, the old version is in place."""

    def __init__(self, fd: int, unit: Unit, scratch: Scratch, blobs: BlobSource) -> None:
        self._fd = fd
        self._unit = unit
        self._scratch = scratch
        self._blobs = blobs

    def run(self) -> Replaced:
        if place.status(self._fd, self._unit.name) is None:
            return self._move_in()
        if self._unit.old is None:  # something appeared where nothing was
            return self._give_up()
        if self._unit.old.is_directory:
            return self._replace_directory()
        try:
            durable.exchange(self._scratch.temporary, self._unit.name, dir_fd=self._fd)
        except kernel.Unsupported:
            return self._replace_file_without_exchange()
        except OSError:  # nothing was exchanged, so the temporary file is ours
            self._discard_staged()
            raise
        return self._settle_displaced_file()

    def _discard_staged(self) -> None:
        remove_tree(self._fd, self._scratch.temporary)

    def _give_up(self) -> Replaced:
        self._discard_staged()
        return Replaced(False, CHANGED)

    def _move_in(self) -> Replaced:
        try:
            rename_to_free_name(self._scratch.temporary, self._unit.name, dir_fd=self._fd)
        except FileExistsError:
            return self._give_up()
        except OSError:
            self._discard_staged()
            raise
        return Replaced(True)

    # -- a file or link

    def _settle_displaced_file(self) -> Replaced:
        assert self._unit.old is not None
        try:
            if unlink_exactly(self._fd, self._scratch.temporary, self._unit.old):
                return Replaced(True)
        except OSError as error:
            return _old_stays(error)
        return Replaced(False, take_back(self._fd, self._unit, self._scratch.temporary))

    def _replace_file_without_exchange(self) -> Replaced:
        """Links the old file aside, checks it, renames the new one over it.

        The path is checked again at the last moment: what was saved there while the old one was
        hashed stays. The remaining danger is a save by renaming between that check and the rename
        right after it.
        """
        assert self._unit.old is not None
        assert self._unit.new is not None
        name, aside = self._unit.name, self._scratch.aside
        if self._unit.new.is_directory:  # which cannot be renamed over a file
            return self._replace_moved_aside()
        try:
            durable.link(name, aside, dir_fd=self._fd)
        except OSError as error:
            if error.errno in _NO_LINKS:
                return self._replace_moved_aside()
            self._discard_staged()
            raise
        try:
            seen = place.look(self._fd, aside)
        except OSError:
            seen = None
        here = place.status(self._fd, name)
        if (
            seen is None
            or seen.entry != self._unit.old
            or here is None
            or place.signature(here) != seen.signature
        ):
            self._discard_staged()
            return Replaced(False, self._drop_link())
        try:
            durable.rename(self._scratch.temporary, name, dir_fd=self._fd)
        except OSError:
            self._discard_staged()
            self._drop_link()
            raise
        return self._remove_aside()

    def _drop_link(self) -> str:
        """Removes the second name of a file that stays; returns why its path is reported."""
        name, aside = self._unit.name, self._scratch.aside
        if is_same_file(self._fd, name, aside):
            durable.unlink(aside, dir_fd=self._fd)
            return CHANGED
        return self._give_back()

    def _give_back(self) -> str:
        """Brings back what was put aside; returns why the path is reported."""
        unit, aside = self._unit, self._scratch.aside
        assert unit.old is not None
        if place.status(self._fd, unit.name) is None:
            rename_to_free_name(aside, unit.name, dir_fd=self._fd)
            return CHANGED
        # the path was created anew: what was put aside is removed if it is saved
        removed = remove_checked(self._fd, aside, self._scratch.leaving, unit.old, unit.inside_old)
        return TWO_VERSIONS if removed else CHANGED

    def _remove_aside(self) -> Replaced:
        unit = self._unit
        assert unit.old is not None
        try:
            kept = remove_checked(
                self._fd, self._scratch.aside, self._scratch.leaving, unit.old, unit.inside_old
            )
        except OSError as error:
            return _old_stays(error)
        if kept and not unit.old.is_directory:
            return Replaced(True, TWO_VERSIONS)
        return Replaced(True, None, tuple(kept))

    def _replace_moved_aside(self) -> Replaced:
        """Renames the old version aside, checks it, moves the new one to the free place."""
        unit, aside = self._unit, self._scratch.aside
        try:
            durable.rename(unit.name, aside, dir_fd=self._fd)
        except OSError as error:
            if error.errno == errno.EXDEV and unit.makes_way:
                return self._replace_in_place()
            self._discard_staged()
            raise
        if is_exactly(self._fd, aside, unit.old, unit.inside_old):
            moved = self._try_to_move_in()
            if moved:
                return self._remove_aside()
        self._discard_staged()
        return Replaced(False, self._give_back())

    def _try_to_move_in(self) -> bool:
        try:
            rename_to_free_name(self._scratch.temporary, self._unit.name, dir_fd=self._fd)
        except FileExistsError:
            return False
        return True

    # -- a directory

    def _replace_directory(self) -> Replaced:
        # It is checked before it is moved: what is in it but not in the undo snapshot must not be
        # out of place even for a moment.
        unit, temporary = self._unit, self._scratch.temporary
        assert unit.old is not None
        try:
            checked = place.examine(self._fd, unit.name, unit.old, unit.inside_old)
        except OSError:
            checked = None
        if checked is None:
            return self._give_up()
        try:
            durable.exchange(temporary, unit.name, dir_fd=self._fd)
        except kernel.Unsupported:
            return self._replace_moved_aside()
        except OSError as error:
            if error.errno == errno.EXDEV:
                return self._replace_in_place()
            self._discard_staged()
            raise
        try:
            untouched = place.unchanged(self._fd, temporary, checked)
        except OSError:
            untouched = False
        if not untouched:
            return Replaced(False, take_back(self._fd, unit, temporary))
        try:
            kept = remove_checked(
                self._fd, temporary, self._scratch.leaving, unit.old, unit.inside_old
            )
        except OSError as error:
            return _old_stays(error)
        return Replaced(True, None, tuple(kept))

    def _replace_in_place(self) -> Replaced:
        """Empties a directory that cannot be renamed; if that fails, restores it."""
        unit, leaving = self._unit, self._scratch.leaving
        assert unit.old is not None
        make_leaving(self._fd, leaving)
        try:
            take_down(self._fd, unit.name, leaving, unit.inside_old)
            if place.status(self._fd, unit.name) is None and self._try_to_move_in():
                return Replaced(True, None, tuple(remove_leaving(self._fd, leaving)))
        except OSError as error:
            if error.errno not in FATAL:
                self._make_whole_again()
            raise
        return Replaced(False, CHANGED, tuple(self._make_whole_again()))

    def _make_whole_again(self) -> list[bytes]:
        unit, leaving = self._unit, self._scratch.leaving
        assert unit.old is not None
        found = place.status(self._fd, unit.name)
        if found is None or S_ISDIR(found.st_mode):
            refill(self._fd, unit.name, leaving, unit.old, unit.inside_old, self._blobs)
        self._discard_staged()
        return remove_leaving(self._fd, leaving)


def _old_stays(error: OSError) -> Replaced:
    """The old version is saved and cannot be removed: it is reported, and the rest goes on."""
    if error.errno in FATAL:
        raise error
    return Replaced(True, OLD_STAYS)
