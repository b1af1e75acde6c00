"""Safekeeping: saves first what is in the way of an operation and in no snapshot."""

from __future__ import annotations

import errno
import os
from stat import S_ISDIR

from takeback import kernel
from takeback.model.snapshot import Entry, entry_mode
from takeback.ordinary import all_names
from takeback.worktree import ondisk
from takeback.worktree.reading import Kept, keep
from takeback.worktree.resume import is_exactly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.held import Held
    from takeback.worktree.patterns import LeftOut
    from takeback.worktree.reading import Intake
    from takeback.worktree.unit import Inside

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Unsavable(Exception):
    """Something that takeback never reads: a FIFO, a device, a repository's .git, a secret."""


class Safekeeping:
    """Looks at paths of the workspace, and takes in what ``held`` lacks.

    ``extra`` is what was saved, by path; what was purged is never saved. Without ``save`` files are
    only hashed, as a plan needs.
    """

    def __init__(
        self, root_fd: int, intake: Intake, held: Held, left_out: LeftOut, *, save: bool
    ) -> None:
        self._root_fd = root_fd
        self._intake = intake
        self._held = held
        self._left_out = left_out
        self._save = save
        self.extra: dict[bytes, Entry] = {}
        self.parents: dict[bytes, Entry] = {}
        """The directories above ``extra`` that no snapshot holds either."""

    def status(self, path: bytes) -> os.stat_result | None:
        """Looks at a path without following a link at any of its components.

        None if nothing is there. Raises OSError if we may not look: then it is unknown.
        """
        parent, _, name = path.rpartition(b"/")
        try:
            fd = kernel.open_directory_beneath(self._root_fd, parent)
        except OSError as error:
            if error.errno in _NOT_THERE:
                return None
            raise
        try:
            return ondisk.status(fd, name)
        finally:
            os.close(fd)

    def is_directory(self, path: bytes) -> bool:
        try:
            found = self.status(path)
        except OSError:
            return False
        return found is not None and S_ISDIR(found.st_mode)

    def is_still(self, path: bytes, made: Entry) -> bool:
        """Tells whether a path is what an operation made; of a directory only the bits count."""
        parent, _, name = path.rpartition(b"/")
        if made.is_directory:
            found = self.status(path)
            return found is not None and (found.st_mode & 0o170777) == made.mode
        try:
            fd = kernel.open_directory_beneath(self._root_fd, parent)
        except OSError:
            return False
        try:
            return is_exactly(fd, name, made)
        finally:
            os.close(fd)

    def kept(self, path: bytes) -> Entry | None:
        """Saves a file that no snapshot holds; None if it cannot be saved."""
        parent, _, name = path.rpartition(b"/")
        if self._is_hidden(path):
            return None
        try:
            fd = kernel.open_directory_beneath(self._root_fd, parent)
        except OSError:
            return None
        try:
            entry = self._kept_at(fd, name)
        finally:
            os.close(fd)
        if entry is not None:
            self.extra[path] = entry
            self._note_parents(path)
        return entry

    def _is_hidden(self, path: bytes) -> bool:
        """Tells whether no byte of a file may be taken in: by the settings, or by a purge."""
        purged = self._intake.purged
        return self._left_out.is_secret(path) or (purged is not None and purged.hides(path))

    def _is_banned(self, oid: bytes) -> bool:
        purged = self._intake.purged
        return purged is not None and purged.bans(oid)

    def _note_parents(self, path: bytes) -> None:
        while path := path.rpartition(b"/")[0]:
            if path not in self._held and path not in self.parents:
                found = self.status(path)
                if found is not None and S_ISDIR(found.st_mode):
                    self.parents[path] = Entry(entry_mode(found.st_mode), b"")

    def _kept_at(self, fd: int, name: bytes) -> Entry | None:
        if not self._save:
            try:
                entry = ondisk.entry_at(fd, name)
            except OSError:
                return None
            if entry is None or entry.is_directory or self._is_banned(entry.oid):
                return None
            return entry
        kept = keep(fd, name, self._intake)
        if not isinstance(kept, Kept):
            return None
        return Entry(entry_mode(kept.status.st_mode), kept.oid)

    def keep_bits(self, path: bytes, mode: int) -> Entry:
        """Saves the permission bits of a directory that no snapshot holds; returns its entry."""
        entry = Entry(entry_mode(mode), b"")
        if path not in self._held:
            self.extra[path] = entry
            self._note_parents(path)
        return entry

    def inside(self, path: bytes) -> Inside:
        """Puts the contents of a directory that makes way into the sink, and returns them.

        By path relative to it, parents first. Raises Unsavable or OSError if not all of it can be
        saved. Afterwards ``keep_directory`` makes it part of ``extra``.
        """
        found = self._look_into(path)
        pending = sorted(found, reverse=True)
        while pending:  # one directory is open at a time, however deep it goes
            place = pending.pop()
            if found[place].is_directory:
                below = self._look_into(place)
                found.update(below)
                pending.extend(sorted(below, reverse=True))
        base = len(path) + 1
        return tuple((place[base:], found[place]) for place in sorted(found))

    def keep_directory(self, path: bytes, inside: Inside) -> Entry:
        """Notes what no snapshot holds of a directory and its contents; returns its own entry."""
        for place, entry in inside:
            full = path + b"/" + place
            if full not in self._held:
                self.extra[full] = entry
        found = self.status(path)
        if found is None or not S_ISDIR(found.st_mode):
            raise Unsavable(os.fsdecode(path))
        return self.keep_bits(path, found.st_mode)

    def _look_into(self, path: bytes) -> dict[bytes, Entry]:
        """Returns the direct contents of a directory, by full path, with its files in the sink."""
        found = {}
        fd = kernel.open_directory_beneath(self._root_fd, path)
        try:
            for name in sorted(map(os.fsencode, all_names(fd))):
                full = path + b"/" + name
                found[full] = self._saved_entry(fd, name, full)
        finally:
            os.close(fd)
        return found

    def _saved_entry(self, fd: int, name: bytes, full: bytes) -> Entry:
        status = ondisk.status(fd, name)
        if name == b".git" or status is None:
            raise Unsavable(os.fsdecode(full))
        if S_ISDIR(status.st_mode):
            return Entry(entry_mode(status.st_mode), b"")
        held = self._held[full]
        if self._is_hidden(full):
            raise Unsavable(os.fsdecode(full))
        entry = held if held is not None and not held.is_directory else self._kept_at(fd, name)
        if entry is None:
            raise Unsavable(os.fsdecode(full))
        return entry
