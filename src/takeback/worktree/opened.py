"""Directories of the workspace that are held open while files in them are changed."""

from __future__ import annotations

import errno
import os

from takeback import kernel

_AT_MOST = 256
_AT_LEAST = 4


def _room() -> int:
    """Returns how many may be held open: a quarter of what a process may have."""
    import resource  # not needed before the first directory is opened

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _AT_MOST
    return max(_AT_LEAST, min(_AT_MOST, soft // 4))


class OpenDirectories:
    """Opens each directory once, crossing no link and no mount, and closes the oldest first.

    A descriptor is valid until the next directory is asked for.
    """

    def __init__(self, root_fd: int) -> None:
        self._root_fd = root_fd
        self._open: dict[bytes, int] = {}
        self._room = 0

    def __getitem__(self, path: bytes) -> int:
        fd = self._open.get(path)
        if fd is None:
            self._room = self._room or _room()
            while len(self._open) >= self._room:
                self._close_oldest(1)
            fd = self._opened(path)
            self._open[path] = fd
        return fd

    def _opened(self, path: bytes) -> int:
        while True:
            try:
                return kernel.open_directory_beneath(self._root_fd, path)
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._open:
                    raise
                # others hold more than we thought: with fewer of ours it may work
                self._room = max(_AT_LEAST, len(self._open) // 2)
                self._close_oldest((len(self._open) + 1) // 2)

    def _close_oldest(self, number: int) -> None:
        for path in list(self._open)[:number]:
            os.close(self._open.pop(path))

    def forget(self, path: bytes) -> None:
        """Closes a directory that is about to be removed."""
        fd = self._open.pop(path, None)
        if fd is not None:
            os.close(fd)

    def close(self) -> None:
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()
