"""Decides which signatures of files that were just read the next capture may trust."""

from __future__ import annotations

from takeback.worktree.directory import DOUBT, NEVER_TRUSTED, undoubted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.worktree.times import ScanTime

_FILES = 1000
_BYTES = 32 << 20
"""The most that the next capture reads again because a mapping may change it unseen: 1,000 small
files or one of 32 MB cost it about 30 ms."""


class Belief:
    """Decides for one capture, file by file, what the stat cache may keep of it."""

    def __init__(self, time: ScanTime) -> None:
        self.time = time
        self._files_left = _FILES
        self._bytes_left = _BYTES

    def of(self, mark: bytes) -> bytes:
        """Returns the signature to keep: the one given, or one that matches no file.

        A file whose times are too close to the capture is never trusted. Nor is one that a program
        may be writing to through a mapping, as long as there are only a few of these.
        """
        size, mtime, ctime, _, mode = memoryview(mark).cast("q")
        if not self.time.settled(mtime, ctime):
            return NEVER_TRUSTED
        if not mode & DOUBT:
            return mark
        self._files_left -= 1
        self._bytes_left -= size
        return mark if self._files_left >= 0 and self._bytes_left >= 0 else undoubted(mark)
