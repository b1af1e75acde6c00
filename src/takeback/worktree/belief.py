"""Decides when a file's times can be trusted, and which signatures the next capture may trust."""

from __future__ import annotations

from takeback.worktree.directory import DOUBT, NEVER_TRUSTED, undoubted

_TICK = 50_000_000
"""Kernels give out times in steps of up to 10 ms; an edit in the same step is invisible."""
_COARSE = 2_000_000_000
_SKEWED = 10_000_000_000
_SECOND = 1_000_000_000
_DIRTY = 40_000_000_000
"""By then the kernel has written changed pages to the disk (after 35 s by default) and notices
the next change to them; until then a mapped page changes without a new time of its file."""
_FILES = 1000
_BYTES = 32 << 20
"""The most that the next capture reads again because a mapping may change it unseen: 1,000 small
files or one of 32 MB cost it about 30 ms."""


class ScanTime:
    """When a scan began: what changed too close to it is read again next time."""

    __slots__ = ("_now", "dirty_ns", "distrusted")

    def __init__(self, now_ns: int, *, distrusted: bool, in_memory: bool = False) -> None:
        self._now = now_ns
        self.distrusted = distrusted
        """Directory times mean nothing here (a network or user-space file system)."""
        self.dirty_ns = 1 << 62 if in_memory else _DIRTY
        """How long a file's pages may be dirty: without a disk, for ever."""

    def settled(self, mtime_ns: int, ctime_ns: int) -> bool:
        """Tells whether a later edit is sure to change the times."""
        if self.distrusted:
            margin = _SKEWED
        elif mtime_ns % _SECOND == 0 and ctime_ns % _SECOND == 0:
            margin = _COARSE
        else:
            margin = _TICK
        return max(mtime_ns, ctime_ns) < self._now - margin


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
