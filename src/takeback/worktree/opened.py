"""Directories of the workspace that are held open while files in them are changed."""

from __future__ import annotations

import os

from takeback import kernel

_AT_MOST = 256


class OpenDirectories:
    """Opens each directory once, crossing no link and no mount, and the oldest goes first."""

    def __init__(self, root_fd: int) -> None:
        self._root_fd = root_fd
        self._open: dict[bytes, int] = {}

    def __getitem__(self, path: bytes) -> int:
        fd = self._open.get(path)
        if fd is None:
            if len(self._open) >= _AT_MOST:
                os.close(self._open.pop(next(iter(self._open))))
            fd = kernel.open_directory_beneath(self._root_fd, path)
            self._open[path] = fd
        return fd

    def forget(self, path: bytes) -> None:
        """Closes a directory that is about to be removed."""
        fd = self._open.pop(path, None)
        if fd is not None:
            os.close(fd)

    def close(self) -> None:
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()
