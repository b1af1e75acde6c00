"""The workspace's lock: a kernel lock, so that a dead process holds nothing.

    top        exclusive: an operation in top
    top/sub    shared on the lock of top, then exclusive on its own: an operation in sub

A workspace inside another shares the outer one's lock while it holds its own, so that neither sees
the other's work half-done, and two side by side do not wait for one another. The file's text only
says who holds the lock; it means nothing when the lock is free.
"""

from __future__ import annotations

import fcntl
import os
import time

from takeback import durable
from takeback.errors import InUse, StoreMoved, WriteFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_OFTEN = 0.002
_PAUSE = 0.01
_SELDOM = 0.1
"""Seconds between two tries of the first of those who wait, two looks whether one is the first, and
two tries of one who is not."""


class Lock:
    """Held by at most one process; free again when that process ends, however it ends."""

    def __init__(self, path: str, above: Callable[[], Iterable[str]] = tuple) -> None:
        """``above`` lists the locks of the workspaces around this one, the outermost first."""
        self._path = path
        self._above = above
        self._fd: int | None = None
        self._shared: list[int] = []

    @property
    def held(self) -> bool:
        return self._fd is not None

    @property
    def is_free(self) -> bool:
        """Tells whether nobody holds it, or did a moment ago; False if that cannot be known."""
        try:
            self.acquire("a look", wait=0)
        except (InUse, StoreMoved, WriteFailed):
            return False
        self.release()
        return True

    def acquire(self, holder: str, *, wait: float) -> None:
        """Takes the lock or raises InUse after a total of ``wait`` seconds, naming the holder.

        Raises WriteFailed if the file cannot be made or locked. It cannot be taken again while it
        is held: two holders who believe that they are alone would each change what the other relies
        on.
        """
        if self._fd is not None:
            raise RuntimeError("this process holds the lock already; what needs it is handed it")
        deadline = time.monotonic() + wait
        try:
            for path in self._above():
                try:
                    fd = durable.open_lock(path, make=False)
                except FileNotFoundError:  # the store was forgotten a moment ago
                    continue
                self._shared.append(fd)
                _wait_for(fd, path, fcntl.LOCK_SH, deadline)
                _say_who(fd, holder)
            self._fd = self._own(holder, deadline)
        except OSError as error:
            self._close_shared()
            raise WriteFailed.of("locking the workspace", error) from error
        except BaseException:
            self._close_shared()
            raise

    def _own(self, holder: str, deadline: float) -> int:
        try:
            fd = durable.open_lock(self._path, make=True)
        except FileNotFoundError:
            raise StoreMoved from None
        try:
            _wait_for(fd, self._path, fcntl.LOCK_EX, deadline)
            if not _is_at(fd, self._path):
                raise StoreMoved
            _say_who(fd, holder)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def release(self) -> None:
        """Releases the lock; does nothing if it is not held."""
        if self._fd is None:
            return
        try:
            _say_nobody(self._fd)
        finally:
            os.close(self._fd)
            self._fd = None
            self._close_shared()

    def _close_shared(self) -> None:
        while self._shared:
            os.close(self._shared.pop())

    def forget_in_child(self) -> None:
        """Closes a forked child's copy, so that the lock is freed when the parent ends."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._close_shared()

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


def _wait_for(fd: int, path: str, how: int, deadline: float) -> None:
    if _is_got(fd, how):
        return
    if time.monotonic() < deadline and _is_got_in_line(fd, path, how, deadline):
        return
    who = os.pread(fd, 200, 0).decode(errors="replace").strip()
    raise InUse(
        f"the workspace is in use by {who or 'another process'}",
        hint="wait for it to end, then run the command again",
    )


def _is_got_in_line(fd: int, path: str, how: int, deadline: float) -> bool:
    """Tries until the deadline, in the order in which all who wait have come."""
    from takeback.store.waiting_line import WaitingLine  # seldom needed

    line = WaitingLine(fd, os.path.dirname(path))
    try:
        tried = now = time.monotonic()
        while now < deadline:
            # The first of the line may have been stopped: the others try, too, now and then.
            if line.is_first or now - tried > _SELDOM:
                tried = now
                if _is_got(fd, how):
                    return True
            time.sleep(_OFTEN if line.is_first else _PAUSE)
            now = time.monotonic()
        return _is_got(fd, how)
    finally:
        line.leave()


def _is_got(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _say_who(fd: int, holder: str) -> None:
    try:
        durable.inscribe(fd, f"process {os.getpid()} ({holder})\n".encode())
    except OSError:  # a full disk: the lock is held all the same, by an unnamed holder
        return


def _say_nobody(fd: int) -> None:
    """Empties the file, which then takes no block of the disk."""
    try:
        durable.inscribe(fd, b"")
    except OSError:  # it means nothing when the lock is free
        return


def _is_at(fd: int, path: str) -> bool:
    """Tells whether an open file is still the one at that path."""
    try:
        there = os.stat(path)
    except OSError:
        return False
    here = os.fstat(fd)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
