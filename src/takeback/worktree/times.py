"""When a file's times can be believed."""

from __future__ import annotations

_TICK = 50_000_000
"""Kernels give out times in steps of up to 10 ms; an edit in the same step is invisible."""
_COARSE = 2_000_000_000
_SKEWED = 10_000_000_000
_SECOND = 1_000_000_000


class Moment:
    """The moment a scan began: what changed too near to it is read again next time."""

    __slots__ = ("_now", "distrusted")

    def __init__(self, now_ns: int, *, distrusted: bool) -> None:
        self._now = now_ns
        self.distrusted = distrusted
        """Directory times mean nothing here (a network or user-space file system)."""

    def settled(self, mtime_ns: int, ctime_ns: int) -> bool:
        """Tells whether an edit after this moment is sure to show in the times."""
        if self.distrusted:
            margin = _SKEWED
        elif mtime_ns % _SECOND == 0 and ctime_ns % _SECOND == 0:
            margin = _COARSE
        else:
            margin = _TICK
        return max(mtime_ns, ctime_ns) < self._now - margin
