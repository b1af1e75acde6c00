"""Watching: what a watch tells one look at a workspace, and what that look tells the watch.

        armed     every directory that the stat cache knows is watched; then everything is looked at
        in step   all that happened since the cache was saved is in the queue
        busy      from before the queue is read until the cache is saved: who finds it so, looks at
                  everything, as somebody was killed or failed at it

A look that relies on the watch lists the directories of which the queue tells, and compares those
that a queue cannot tell of: with files of several links, and with what the cache does not vouch
for. A look at everything counts what the queue should have told of and did not.
"""

from __future__ import annotations

import marshal
import os

from takeback import kernel
from takeback.worktree.detect import changed_among
from takeback.worktree.directory import (
    LISTED,
    NAMES,
    OIDS,
    PATH,
    SAVED_NAMES,
    SAVED_OIDS,
    SIGNATURES,
    SUBS,
    directory_signature,
)
from takeback.worktree.record import CacheDamaged
from takeback.worktree.watch import Watch, is_reliable
from takeback.worktree.watch_table import ARMED, BUSY, IN_STEP, Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from takeback.worktree.directory import Row
    from takeback.worktree.known import Known
    from takeback.worktree.mounts import Mounts
    from takeback.worktree.statcache import StatCache
    from takeback.worktree.watch import Happened
    from takeback.worktree.workspace import Workspace

    Count = Callable[[int, list[bytes]], None]
    """Told after a look at everything: how many looks relied on the watch before it, and where it
    found what the watch had missed."""

_INODE = slice(16, 24)
_FEW = 1000
"""If more directories are looked at whatever happened, a look at everything is quicker."""


class WatchedLook:
    """One look with a watch. ``relies`` says that it may look only where something happened."""

    def __init__(self, watch: Watch, *, relies: bool, count: Count) -> None:
        self._watch = watch
        self._relies = relies
        self._count = count
        self.is_limited = False
        """Whether this look relies on the watch."""
        self._note = watch.table.note
        self._happened: Happened | None = None
        self._always: set[bytes] = set()
        """Directories that are looked at whether or not something happened there."""
        self._later: set[bytes] = set()
        self._suspects: dict[bytes, object] = {}
        self._unsure: list[bytes] = []
        self._missed: list[bytes] = []

    def begin(self, cache: StatCache, workspace: Workspace, mounts: Mounts) -> bool:
        """Reads the queue; False if the watch does not go with this stat cache or workspace.

        Then it has to be made anew.
        """
        watch, note = self._watch, self._watch.table.note
        token = cache.header.token
        of_this = (token, identity(workspace), _mounted(mounts))
        if not token or (note.token, note.root, note.mounts) != of_this:
            watch.give_up()
            return False
        self._note = note
        self._later, self._suspects = set(), {}
        watch.table.write_note(note.replace(state=BUSY))
        happened = watch.drain()
        in_step = note.state == IN_STEP and happened.whole and watch.is_sound
        self._happened = happened if in_step else None
        if in_step:
            unsure = marshal.loads(watch.table.kept(note.unsure))
            self._always = {*cache.known.linked(), *unsure}
        self.is_limited = in_step and self._relies and len(self._always) <= _FEW
        return watch.is_sound

    def look_everywhere(self) -> None:
        """Has this look list every directory, whatever the queue says."""
        self.is_limited, self._happened = False, None

    # -- what the look is told

    def changed(self, root_fd: int, known: Known) -> set[bytes]:
        """Returns the directories to list; for a look that relies on the watch."""
        assert self._happened is not None
        rows = [known[path].dump() for path in self._always if path in known]
        return _reached(known, self._happened).union(changed_among(root_fd, rows))

    def meanwhile(self, known: Known) -> set[bytes] | None:
        """Returns where something happened since the look began; None if that is not known."""
        if not self.is_limited:
            return None
        happened = self._watch.drain()
        if not happened.whole:
            self._happened = None
            return None
        reached = _reached(known, happened)
        self._later |= reached  # what was read before it happened is read again next time
        return reached

    # -- what it is told

    def lists(self, path: bytes, fd: int) -> None:
        """Watches a directory that is about to be listed."""
        self._watch.add(path, fd)

    def compare(self, changed: Iterable[bytes], known: Known) -> set[bytes]:
        """Holds what a look at everything found against what the queue told.

        Returns the directories in which something happened while it looked.
        """
        if self._happened is None:
            return set()
        told = _reached(known, self._happened) | self._always
        untold = [path for path in changed if path not in told]
        if not untold:
            return set()
        happened = self._watch.drain()
        if not happened.whole:
            self._happened = None
            return set()
        meanwhile = _reached(known, happened)
        self._suspects = {
            path: _content(known[path].dump()) for path in untold if path not in meanwhile
        }
        return meanwhile

    def looked(self, known: Known, listed: Iterable[bytes]) -> None:
        """Notes what the look has found; ``listed`` are the directories that it listed."""
        unsure = {path for path in listed if path in known and not known[path].is_sure}
        self._unsure = sorted(unsure | self._later)
        self._missed = [
            path
            for path, before in self._suspects.items()
            if path not in known or _content(known[path].dump()) != before
        ]

    def done(self, token: bytes) -> None:
        """Notes that the stat cache with that token holds what this look has found."""
        watch, note = self._watch, self._note
        compared = self._happened is not None and not self.is_limited
        if watch.is_sound and token:
            watch.table.write_note(
                note.replace(
                    state=IN_STEP,
                    token=token,
                    unsure=watch.table.keep(marshal.dumps(self._unsure)),
                    rounds=note.rounds + 1 if self.is_limited else 0,
                )
            )
        if compared and (note.rounds or self._missed):
            self._count(note.rounds, self._missed)
        self._happened = None


def arm(
    workspace: Workspace, cache: StatCache, mounts: Mounts, *, most: int, unlisted: bool = False
) -> Watch | None:
    """Returns a new watch of every directory that the stat cache knows; None if there can be none.

    Those that the next look has to list are left to it, unless ``unlisted`` says that nobody looks
    with this watch, and it has to tell of them, too. Nothing may have taken the place of a
    directory since it was listed: it would be watched instead. Raises OSError.
    """
    if not is_reliable(workspace.fd) or not cache.header.token:
        return None
    watch = Watch.new(most)
    try:
        note = Note(ARMED, cache.header.token, identity(workspace), _mounted(mounts))
        watch.table.write_note(note)
        for row in cache.known.rows():
            if row[LISTED] or unlisted:  # else the next look watches it when it lists it
                _add(watch, workspace.fd, row[PATH], row[LISTED])
            if not watch.is_sound:
                break
    except (OSError, CacheDamaged):
        watch.is_sound = False
    if watch.is_sound:
        return watch
    watch.close()
    return None


def _add(watch: Watch, root_fd: int, path: bytes, listed: bytes) -> None:
    fd = kernel.open_directory_beneath(root_fd, path)
    try:
        watch.add(path, fd)
        if listed:
            watch.is_sound &= directory_signature(os.fstat(fd))[_INODE] == listed[_INODE]
    finally:
        os.close(fd)


def identity(workspace: Workspace) -> tuple[int, int]:
    """Returns what tells the root of a workspace from every other directory."""
    status = os.fstat(workspace.fd)
    return (status.st_dev, status.st_ino)


def _mounted(mounts: Mounts) -> tuple[bytes, ...]:
    return tuple(sorted(mounts.below))


def _reached(known: Known, happened: Happened) -> set[bytes]:
    """Returns the known directories in which something may have changed by what happened.

    Where a directory came or went, another one may be at its path, and at every path below.
    """
    reached = {path for path in happened.paths if path in known}
    below: set[bytes] = set()
    for entry in sorted(happened.entries):
        if entry not in below:
            below.update(known.below(entry))
    return reached | below


def _content(row: Row) -> object:
    """Returns what a snapshot has of a directory, but for the trees of those in it."""
    modes = memoryview(row[SIGNATURES]).cast("q").tolist()[4::5]
    names = (row[NAMES], row[SAVED_NAMES], *sorted(row[SUBS]))
    return (names, row[OIDS], row[SAVED_OIDS], modes)
