"""Reads files and directories as they are, whatever is done to them meanwhile.

A model, or a mistake, can put a pipe where a file was: who opens that to read it waits for ever.
And that a listing of a directory lacks a name is no proof that it is gone.
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


def all_names(directory: str | int) -> list[str]:
    """Returns the names in a directory, those too that are being replaced; raises OSError.

    btrfs lists a directory without a name over which another file is just renamed, though it can be
    opened at every moment. So it is listed twice, and what only one of the listings has is looked
    for by its name. It also lists an open directory as it was when it was opened, or rewound last.
    Whoever decides by what is *not* there asks here.
    """
    if isinstance(directory, int):
        os.lseek(directory, 0, os.SEEK_SET)
    before = os.listdir(directory)
    now = os.listdir(directory)
    if now == before:
        return now
    names = set(now)
    return [*now, *(name for name in before if name not in names and _is_there(directory, name))]


def _is_there(directory: str | int, name: str) -> bool:
    try:
        if isinstance(directory, int):
            os.lstat(name, dir_fd=directory)
        else:
            os.lstat(os.path.join(directory, name))
    except FileNotFoundError:
        return False
    except OSError:  # whatever it is, it is there
        return True
    return True


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
