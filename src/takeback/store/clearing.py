"""Clears directories of takeback's own."""

from __future__ import annotations

import os
from stat import S_ISDIR

from takeback import durable
from takeback.ordinary import all_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container


_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def delete_below(directory: str, *, besides: Container[str] = ()) -> None:
    """Deletes everything in a directory, except some names right in it.

    Follows no link, that of the directory itself included: then it raises OSError.
    """
    _empty(os.open(directory, _FLAGS), besides)


def _empty(fd: int, besides: Container[str] = ()) -> None:
    """Deletes what is in an open directory, and closes it."""
    try:
        for name in all_names(fd):
            if name in besides:
                continue
            if S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                _empty(os.open(name, _FLAGS, dir_fd=fd))
                durable.rmdir(name, dir_fd=fd)
            else:
                durable.unlink(name, dir_fd=fd)
    finally:
        os.close(fd)
