"""Which signatures of files that were just read are believed at the next capture."""

from __future__ import annotations

from takeback.worktree.directory import DOUBT, NEVER_TRUSTED, undoubted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.worktree.times import ScanTime

_FILES = 1000
_BYTES = 32 << 20
"""What the next capture reads again at most because a mapping may change it unseen: 1,000 small
files or one of 32 MB cost it about 30 ms."""


class Belief:
    """Decides for one capture, file by file, what the stat cache may keep of it."""

    def __init__(self, time: ScanTime) -> None:
        self.time = time
        self._files_left = _FILES
        self._bytes_left = _BYTES

    def of(self, mark: bytes) -> bytes:
        """Returns the signature to keep: the one given, or one that matches no file.

        A file whose times are too near to the capture is never believed. One that a program
        may be writing to through a mapping is not either, as long as there are few of these.
        """
        size, mtime, ctime, _, mode = memoryview(mark).cast("q")
        if not self.time.settled(mtime, ctime):
            return NEVER_TRUSTED
        if not mode & DOUBT:
            return mark
        self._files_left -= 1
        self._bytes_left -= size
        return mark if self._files_left >= 0 and self._bytes_left >= 0 else undoubted(mark)
