"""Notices files that moved from one directory to another while these were being listed.

        list b   ->   mv a/f b/f   ->   list a            f is in neither list

So each directory is checked once more when everything is listed and read: if its times have changed
since it was listed, it is listed again. A file may also have moved to a directory that was not
listed at all, because nothing in it had changed by then: if a known name vanished during the
capture, the times of all directories are compared again, or a watch tells where something happened.
"""

from __future__ import annotations

import os
import time

from takeback import kernel
from takeback.worktree.detect import moved_directories
from takeback.worktree.directory import PATH, directory_signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.worktree.known import Known
    from takeback.worktree.watching import WatchedLook

_STEP = 10_000_000
"""Kernels give out times in steps of up to 10 ms; a change within one step may not show."""


class Movement:
    """What the directories were like when this capture listed them."""

    def __init__(
        self, root_fd: int, *, everywhere: bool = True, watching: WatchedLook | None = None
    ) -> None:
        self._root_fd = root_fd
        self._everywhere = everywhere
        """False if whatever other directories get meanwhile is left to the next capture."""
        self._watching = watching
        self._listed: dict[bytes, tuple[bytes, int]] = {}
        self.vanished = False
        """A name that was there has vanished, while we were looking."""

    def saw(self, path: bytes, status: os.stat_result, when: int) -> bytes:
        """Notes the state of a directory just before it is listed; returns its signature."""
        step_ends = status.st_ctime_ns + _STEP
        young = when - _STEP < status.st_ctime_ns <= when
        mark = directory_signature(status)
        self._listed[path] = (mark, step_ends if young else 0)
        return mark

    def __contains__(self, path: bytes) -> bool:
        return path in self._listed

    def forget(self, path: bytes) -> None:
        self._listed.pop(path, None)

    def moved(self, known: Known) -> list[bytes]:
        """Returns the directories that must be listed again for the capture to be correct.

        Costs one stat for each directory that was listed, and one for each other directory only if
        a name vanished. If a directory changed just before it was listed, waits until a change
        would show, 10 ms at most.
        """
        found = []
        wait_until = 0
        for path, (mark, step_ends) in self._listed.items():
            status = self._status(path)
            if status is None or directory_signature(status) != mark or step_ends:
                found.append(path)
                wait_until = max(wait_until, step_ends)
        if self.vanished and self._everywhere:
            self.vanished = False
            found += self._elsewhere(known)
        left = wait_until - time.time_ns()
        if 0 < left <= _STEP:
            time.sleep(left / 1_000_000_000)
        return found

    def _elsewhere(self, known: Known) -> list[bytes]:
        """Returns the directories that were not listed and have changed since the capture began."""
        heard = None if self._watching is None else self._watching.meanwhile(known)
        if heard is not None:
            return [path for path in heard if path not in self._listed]
        others = (row for row in known.listings() if row[PATH] not in self._listed)
        return moved_directories(self._root_fd, others)

    def _status(self, path: bytes) -> os.stat_result | None:
        try:
            return os.stat(path or b".", dir_fd=self._root_fd, follow_symlinks=False)
        except OSError:  # gone; or its path is too long for one call
            pass
        try:
            fd = kernel.open_directory_beneath(self._root_fd, path, only_to_read=True)
        except OSError:
            return None
        try:
            return os.fstat(fd)
        finally:
            os.close(fd)
