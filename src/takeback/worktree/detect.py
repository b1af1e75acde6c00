"""Finds the known directories in which something may have changed.

This is the one part of a capture that looks at every file. Above a few thousand files it is done
by threads of C (``look``). Where these are not built, the work is split between this process and a
forked one; two threads of Python would gain nothing, because each lstat holds the interpreter for
most of its time.
"""

from __future__ import annotations

import marshal
import os
import sys

from takeback.worktree.directory import (
    LISTED,
    MODE,
    NAMES,
    OIDS,
    PATH,
    SAVED_NAMES,
    SAVED_SIGNATURES,
    SIGNATURE_SIZE,
    SIGNATURES,
    UNSIGNED,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from takeback.worktree.directory import Row
    from takeback.worktree.known import Known

_MANY = 4000
_NUMBERS = SIGNATURE_SIZE // 8


def changed_directories(root_fd: int, known: Known, *, in_child: Callable[[], None]) -> list[bytes]:
    """Returns the paths of those whose own listing or whose files no longer match the cache.

    ``in_child`` runs first in a forked process: it must drop the workspace's lock there.
    """
    total = known.file_count()
    if total < _MANY:
        return changed_among(root_fd, known.rows())
    from takeback.worktree.look import changed_paths  # with ctypes: 3 ms, only where it gains more

    found = changed_paths(root_fd, known)
    if found is not None:
        return found
    rows = list(known.rows())
    if not can_fork():
        return changed_among(root_fd, rows)
    middle = _middle(rows, total)
    try:
        child = _Child(lambda: changed_among(root_fd, rows[middle:]), in_child)
    except OSError:  # no process or descriptor is left for it
        return changed_among(root_fd, rows)
    mine = changed_among(root_fd, rows[:middle])
    theirs = child.answer()
    if theirs is None:  # the child died: do its half here
        theirs = changed_among(root_fd, rows[middle:])
    return mine + theirs


def moved_directories(root_fd: int, rows: Iterable[Row]) -> list[bytes]:
    """Returns those whose own listing no longer matches the cache; files are not looked at."""
    return [row[PATH] for row in rows if not _same_listing(root_fd, row)]


def can_fork() -> bool:
    """Tells whether this process has only one thread, so that it is safe to fork.

    Python does not know the threads that a library started; /proc does (0.02 ms). From 3.12 on
    Python warns of a fork while there are any, and a host's warnings may be errors.
    """
    if len(sys._current_frames()) != 1:
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return True


def _middle(rows: Sequence[Row], total: int) -> int:
    seen = 0
    for position, row in enumerate(rows):
        seen += len(row[OIDS])
        if seen * 2 >= total * 20:
            return position + 1
    return len(rows)


def changed_among(root_fd: int, rows: Iterable[Row]) -> list[bytes]:
    """Does the same in this process, for a few directories."""
    changed = []
    for row in rows:
        path = row[PATH]
        if (
            not _same_listing(root_fd, row)
            or not _same(root_fd, path, row[NAMES], row[SIGNATURES])
            or not _same(root_fd, path, row[SAVED_NAMES], row[SAVED_SIGNATURES])
        ):
            changed.append(path)
    return changed


def _same_listing(root_fd: int, row: Row) -> bool:
    listed = row[LISTED]
    if not listed:
        return False
    try:
        status = os.stat(row[PATH] or b".", dir_fd=root_fd, follow_symlinks=False)
    except OSError:
        return False
    mtime, ctime, inode = memoryview(listed).cast("q")
    return bool(
        status.st_mtime_ns == mtime
        and status.st_ctime_ns == ctime
        and (status.st_ino == inode or status.st_ino - UNSIGNED == inode)
        and status.st_mode == row[MODE]
    )


def _same(root_fd: int, directory: bytes, names: bytes, signatures: bytes) -> bool:
    if not names:
        return True
    stat = os.stat
    prefix = directory + b"/" if directory else b""
    numbers = memoryview(signatures).cast("q").tolist()
    at = 0
    try:
        for name in names.split(b"/"):
            s = stat(prefix + name, dir_fd=root_fd, follow_symlinks=False)
            if (
                s.st_ctime_ns != numbers[at + 2]
                or s.st_mtime_ns != numbers[at + 1]
                or s.st_size != numbers[at]
                or (s.st_ino != numbers[at + 3] and s.st_ino - UNSIGNED != numbers[at + 3])
                or s.st_mode != numbers[at + 4]
            ):
                return False
            at += _NUMBERS
    except OSError:
        return False
    return True


class _Child:
    """A forked process that computes a list and hands it back through a pipe."""

    def __init__(self, work: Callable[[], list[bytes]], in_child: Callable[[], None]) -> None:
        self._read, write = os.pipe()
        try:
            self._pid = os.fork()
        except OSError:
            os.close(self._read)
            os.close(write)
            raise
        if self._pid == 0:
            status = 1
            try:
                os.close(self._read)
                in_child()
                write_all(write, marshal.dumps(work()))
                status = 0
            finally:
                os._exit(status)  # never unwind into the parent's frames
        os.close(write)

    def answer(self) -> list[bytes] | None:
        """Returns the list, or None if the child did not finish."""
        data = read_all(self._read)
        os.close(self._read)
        _, status = os.waitpid(self._pid, 0)
        if status != 0:
            return None
        return list(marshal.loads(data))


def write_all(fd: int, data: bytes) -> None:
    """Writes all of ``data`` to a descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_all(fd: int) -> bytes:
    """Reads a descriptor to its end."""
    pieces = []
    while piece := os.read(fd, 1 << 16):
        pieces.append(piece)
    return b"".join(pieces)
