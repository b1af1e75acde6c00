"""The files that a process was made from: whether what it runs is still what is installed.

at every event     has anything in their directories been touched? The kernel tells (inotify),
                   for the price of one question; only if so, or if it cannot tell, is each
                   file looked at
between events     each file is looked at: the kernel does not tell what another machine does to
                   a directory that both have mounted
"""

from __future__ import annotations

import os
import sys

from takeback import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_PIECE = 1 << 16


class OwnCode:
    """The files of all modules that are loaded by now."""

    def __init__(self) -> None:
        modules = [module for name, module in sys.modules.items() if name.startswith("takeback")]
        files = [module.__file__ for module in modules if module.__file__]
        self._watch = _watched({os.path.dirname(file) for file in files})
        self._place = os.path.dirname(__file__)
        self._identity = _identity(self._place)
        self._stamps = {file: _stamp(file) for file in files}

    def has_changed(self) -> bool:
        """Looks at each file; exact, whatever became of it."""
        return any(_stamp(file) != stamp for file, stamp in self._stamps.items())

    def may_have_changed(self) -> bool:
        """The same at a hundredth of the price, as far as this machine's own kernel can tell.

        Whoever hears that it has, ends: what the kernel told is known to nobody else then.
        """
        if self._watch is None or self._is_touched() or _identity(self._place) != self._identity:
            return self.has_changed()
        return False

    def _is_touched(self) -> bool:
        """Tells whether something happened since the last call, in any process that shares this.

        What is read is gone before the files are looked at, so that nothing is overlooked.
        """
        assert self._watch is not None
        try:
            return bool(os.read(self._watch, _PIECE))
        except BlockingIOError:
            return False


def _watched(directories: Iterable[str]) -> int | None:
    """Returns a queue that hears of them; None if the kernel has none, or not for so many."""
    if not kernel.LINUX:
        return None
    queue = None
    try:
        queue = kernel.open_queue()
        for directory in directories:
            fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                kernel.watch_directory(queue, fd)
            finally:
                os.close(fd)
    except OSError:
        if queue is not None:
            os.close(queue)
        return None
    return queue


def _identity(place: str) -> tuple[int, int] | None:
    """Returns which directory is at a path: one above it may have been renamed."""
    try:
        status = os.stat(place)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _stamp(file: str) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
