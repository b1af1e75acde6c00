"""Clears directories of takeback's own."""

from __future__ import annotations

import os
from stat import S_ISDIR

from takeback import durable
from takeback.ordinary import all_names

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def delete_below(directory: str) -> None:
    """Deletes everything in a directory.

    Follows no link, that of the directory itself included: then it raises OSError.
    """
    _empty(os.open(directory, _FLAGS))


def _empty(fd: int) -> None:
    """Deletes what is in an open directory, and closes it."""
    try:
        for name in all_names(fd):
            if S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                _empty(os.open(name, _FLAGS, dir_fd=fd))
                durable.rmdir(name, dir_fd=fd)
            else:
                durable.unlink(name, dir_fd=fd)
    finally:
        os.close(fd)
