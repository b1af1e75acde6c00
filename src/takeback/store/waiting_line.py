"""The line of those who wait for a lock: who came first is served first.

    lock   held by p
    line   7: q, waits since 0.9 s     8: r, since 0.5 s     9: s, since 0.1 s

Without it all who wait draw lots at each release, and with eight of them one may lose for as long
as it has patience. A place in the line is a kernel lock on one byte, numbered on from the last that
is taken, of the directory that the lock is in: it needs no file of its own, and a process that dies
leaves the line. Two who come at the same moment may have the same number; they draw lots.

It only says who tries more often, so nothing depends on it: where the system has no such locks, or
the file system none on a directory, everybody tries equally often.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys

_FLOCK = "hhxxxxqqixxxx"  # struct flock of 64-bit Linux: type, whence, start, length, pid
_PLACES = 24  # so many bits of places for each lock; above them is the number of its file


class WaitingLine:
    """A place in the line, taken when it is made."""

    def __init__(self, lock: int, directory: str) -> None:
        """``lock`` is a descriptor of the lock's file."""
        self._fd: int | None = None
        self._first = self._place = 0
        if not hasattr(fcntl, "F_OFD_SETLK") or sys.maxsize < 1 << 32:
            return
        try:
            self._fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
            self._first = (os.fstat(lock).st_ino & (1 << 38) - 1) << _PLACES
            self._place = self._first
            while (taken := self._taken(self._place, self._first + (1 << _PLACES))) is not None:
                self._place = taken + 1
            self._ask(fcntl.F_OFD_SETLK, fcntl.F_RDLCK, self._place, 1)
        except OSError:
            self.leave()

    @property
    def is_first(self) -> bool:
        """Tells whether nobody waits who came before."""
        if self._fd is None or self._place == self._first:
            return True
        try:
            return self._taken(self._first, self._place) is None
        except OSError:
            return True

    def leave(self) -> None:
        """Gives the place up."""
        if self._fd is not None:
            try:  # before it is closed: a child that was forked meanwhile has a copy
                self._ask(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, self._place, 1)
            except OSError:
                pass
            os.close(self._fd)
            self._fd = None

    def _taken(self, start: int, end: int) -> int | None:
        """Returns a place of another from ``start`` to before ``end``."""
        kind, _, found, length, _ = self._ask(fcntl.F_OFD_GETLK, fcntl.F_WRLCK, start, end - start)
        return None if kind == fcntl.F_UNLCK else found + length - 1

    def _ask(self, command: int, kind: int, start: int, length: int) -> tuple[int, ...]:
        assert self._fd is not None
        asked = struct.pack(_FLOCK, kind, os.SEEK_SET, start, length, 0)
        return struct.unpack(_FLOCK, fcntl.fcntl(self._fd, command, asked))
