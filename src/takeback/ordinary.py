"""Opens a file to read it, and nothing else in its place.

A model, or a mistake, can put a pipe where a file was: who opens that to read it waits for ever.
"""

from __future__ import annotations

import errno
import os
from stat import S_ISDIR, S_ISREG


class NotOrdinary(OSError):
    """A pipe, a socket or a device is where a file should be."""


_SMALL = 1 << 12


def small_content(path: str) -> bytes:
    """Returns the bytes of an ordinary file of ours that has few; raises OSError.

    With half the system calls of ``open``, for what is read at every event.
    """
    fd = ordinary(path, os.O_RDONLY)
    try:
        return os.read(fd, _SMALL)
    finally:
        os.close(fd)


def ordinary(path: str, flags: int) -> int:
    """Opens an ordinary file, for ``open(opener=)``; raises NotOrdinary if it is none."""
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    mode = os.fstat(fd).st_mode
    if S_ISREG(mode):
        return fd
    os.close(fd)
    if S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise NotOrdinary(errno.EINVAL, "not an ordinary file", path)
