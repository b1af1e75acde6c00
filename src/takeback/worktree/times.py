"""When a file's times can be trusted."""

from __future__ import annotations

_TICK = 50_000_000
"""Kernels give out times in steps of up to 10 ms; an edit in the same step is invisible."""
_COARSE = 2_000_000_000
_SKEWED = 10_000_000_000
_SECOND = 1_000_000_000


_DIRTY = 40_000_000_000
"""By then the kernel has written changed pages to the disk (after 35 s by default) and notices
the next change to them; until then a mapped page changes without a new time of its file."""


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
