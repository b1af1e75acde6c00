"""Notices that files moved from directory to directory while these were being listed.

        list b   ->   mv a/f b/f   ->   list a            f is in neither list

So a directory is looked at once more when all is listed and read: if its times are other than
when it was listed, it is listed again. A file may also have gone to a directory that was not
listed at all, because nothing in it had changed by then: when a name that was known vanished
in the course of the capture, the times of all directories are compared again.
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

_STEP = 10_000_000
"""Kernels give out times in steps of up to 10 ms; a change within one may not show."""


class Movement:
    """What the directories were like when this capture listed them."""

    def __init__(self, root_fd: int) -> None:
        self._root_fd = root_fd
        self._listed: dict[bytes, tuple[bytes, int]] = {}
        self.vanished = False
        """A name that was there is not there any more, and it went while we were looking."""

    def saw(self, path: bytes, status: os.stat_result, when: int) -> None:
        """Notes a directory that is about to be listed, as it was just before."""
        step_ends = status.st_ctime_ns + _STEP
        young = when - _STEP < status.st_ctime_ns <= when
        self._listed[path] = (directory_signature(status), step_ends if young else 0)

    def __contains__(self, path: bytes) -> bool:
        return path in self._listed

    def forget(self, path: bytes) -> None:
        self._listed.pop(path, None)

    def moved(self, known: Known) -> list[bytes]:
        """Returns the directories that must be listed again for the capture to be true.

        Costs one stat for each directory that was listed, and one for each other directory
        only if a name vanished. Waits until a change would show, 10 ms at most, where a
        directory changed just before it was listed.
        """
        found = []
        wait_until = 0
        for path, (mark, step_ends) in self._listed.items():
            status = self._status(path)
            if status is None or directory_signature(status) != mark or step_ends:
                found.append(path)
                wait_until = max(wait_until, step_ends)
        if self.vanished:
            self.vanished = False
            others = [row for row in known.rows() if row[PATH] not in self._listed]
            found += moved_directories(self._root_fd, others)
        left = wait_until - time.time_ns()
        if 0 < left <= _STEP:
            time.sleep(left / 1_000_000_000)
        return found

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
