"""The workspace's lock: a kernel lock, so that a dead process holds nothing.

The file's text only says who holds it; it means nothing when the lock is free.
"""

from __future__ import annotations

import fcntl
import os
import time

from takeback.errors import Locked


class Lock:
    """Held by at most one process; free again when that process ends, however it ends."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd: int | None = None
        self._depth = 0

    @property
    def held(self) -> bool:
        return self._fd is not None

    def acquire(self, holder: str, *, wait: float) -> None:
        """Takes the lock or raises Locked after ``wait`` seconds, naming the holder."""
        if self._fd is not None:
            self._depth += 1
            return
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        deadline = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    who = os.pread(fd, 200, 0).decode(errors="replace").strip()
                    os.close(fd)
                    raise Locked(
                        f"the workspace is in use by {who or 'another process'}",
                        hint="wait for it to end, then run the command again",
                    ) from None
                time.sleep(0.01)
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"process {os.getpid()} ({holder})\n".encode(), 0)
        self._fd = fd
        self._depth = 1

    def release(self) -> None:
        """Gives the lock back, once for each acquire."""
        if self._fd is None:
            return
        self._depth -= 1
        if self._depth == 0:
            os.close(self._fd)
            self._fd = None

    def forget_in_child(self) -> None:
        """Closes a forked child's copy, so that the end of the parent frees the lock."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()
