"""Reads files so that what is kept is what was there at one moment, or says that it was not."""

from __future__ import annotations

import errno
import os
from stat import S_ISLNK, S_ISREG

from takeback.git.objects import BLOB, object_id
from takeback.model.coverage import OVERSIZED, SPECIAL, UNREADABLE, UNSTABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ports import ObjectSink

_ATTEMPTS = 3
_IN_MEMORY = 128 << 20
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
GONE = "gone"
"""The file vanished between the listing and the reading: it is absent, not missing."""


class Kept:
    """A file's bytes are in the sink: their id, and the file's status when they were read."""

    __slots__ = ("oid", "status")

    def __init__(self, oid: bytes, status: os.stat_result) -> None:
        self.oid = oid
        self.status = status


def keep(dir_fd: int, name: bytes, sink: ObjectSink, *, size_limit: int | None) -> Kept | str:
    """Puts the bytes of a file or link into the sink; else returns the reason why not.

    A FIFO, socket or device is never read and never waited for: the open does not block,
    and what it opened is looked at before the first byte is taken.
    """
    for _ in range(_ATTEMPTS):
        try:
            outcome = _attempt(dir_fd, name, sink, size_limit)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return GONE
            if error.errno == errno.ENXIO:  # a socket, or a device without a driver
                return SPECIAL
            if error.errno in (errno.ELOOP, errno.EINVAL, errno.ESTALE):
                continue  # a file became a link, or a link a file, under our eyes
            if error.errno in (errno.EACCES, errno.EPERM, errno.EIO, errno.ETXTBSY):
                return UNREADABLE
            raise
        if outcome is not None:
            return outcome
    return UNSTABLE


def _attempt(
    dir_fd: int, name: bytes, sink: ObjectSink, size_limit: int | None
) -> Kept | str | None:
    status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    if S_ISLNK(status.st_mode):
        target = os.readlink(name, dir_fd=dir_fd)
        after = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
        return Kept(_put(sink, target), after) if _unmoved(status, after) else None
    if not S_ISREG(status.st_mode):
        return SPECIAL
    fd = os.open(name, _FLAGS, dir_fd=dir_fd)
    try:
        before = os.fstat(fd)
        if not S_ISREG(before.st_mode):
            return SPECIAL
        if size_limit is not None and before.st_size > size_limit:
            return OVERSIZED
        if before.st_size > _IN_MEMORY:
            oid = sink.add_stream(BLOB, fd, before.st_size)
            return Kept(oid, before) if oid and _unmoved(before, os.fstat(fd)) else None
        data = _read(fd, before.st_size)
        if len(data) != before.st_size or not _unmoved(before, os.fstat(fd)):
            return None
        return Kept(_put(sink, data), before)
    finally:
        os.close(fd)


def _read(fd: int, size: int) -> bytes:
    """Reads one byte more than expected, so that growth shows."""
    data = os.read(fd, size + 1)
    if len(data) == size or not data:
        return data
    pieces, length = [data], len(data)
    while length <= size and (data := os.read(fd, size + 1 - length)):
        pieces.append(data)
        length += len(data)
    return b"".join(pieces)


def _unmoved(before: os.stat_result, after: os.stat_result) -> bool:
    return (
        before.st_mtime_ns == after.st_mtime_ns
        and before.st_ctime_ns == after.st_ctime_ns
        and before.st_size == after.st_size
        and before.st_ino == after.st_ino
    )


def _put(sink: ObjectSink, data: bytes) -> bytes:
    oid = object_id(BLOB, data)
    if not sink.has(oid):
        sink.add(BLOB, data, oid)
    return oid
