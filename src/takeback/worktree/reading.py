"""Reads files so that what is kept is what was there at one moment, or says that this failed.

One odd file never stops a capture: whatever error the system gives while it is looked at, opened or
read, that file is reported and the rest goes on. An error from the *sink* is another matter: the
store's disk is failing, and nothing can be kept. The two are told apart by where an error comes
from, never by its number.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from stat import S_ISLNK, S_ISREG

from takeback.c_modules import signal
from takeback.git.objects import BLOB, object_id, stream_id
from takeback.git.pack import SourceFailed
from takeback.git.packs import Collision
from takeback.model.coverage import OVERSIZED, PURGED, SPECIAL, UNREADABLE, UNSTABLE
from takeback.worktree.directory import signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    from takeback.model.coverage import Reason
    from takeback.ports import ObjectSink, Purged

    Missed = Reason | Literal["gone"]

_ATTEMPTS = 3
_IN_MEMORY = 128 << 20
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_ABSENT = (errno.ENOENT, errno.ENOTDIR)
_FLEETING = (errno.ELOOP, errno.EINVAL, errno.ESTALE, errno.ENXIO)
"""What opening says of a file that became a link or a socket, or a link a file, while we looked."""
_OF_A_PROCESS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_LEASE = getattr(fcntl, "F_SETLEASE", None)
_SETSIG = getattr(fcntl, "F_SETSIG", 0)
_RDLCK, _UNLCK = fcntl.F_RDLCK, fcntl.F_UNLCK
_HARMLESS = signal.SIGURG
_control = fcntl.fcntl
GONE: Final = "gone"
"""The file vanished between the listing and the reading: it is absent, not missing."""


class Kept:
    """A file's bytes are in the sink: their id, and the file's status when they were read.

    ``doubtful``: the bytes may change without the status changing, through a mapping of the file.
    """

    __slots__ = ("doubtful", "oid", "status")

    def __init__(self, oid: bytes, status: os.stat_result, *, doubtful: bool = False) -> None:
        self.oid = oid
        self.status = status
        self.doubtful = doubtful


class _SinkFailed(Exception):
    """Carries an error of the sink past the handling of errors of the file."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error)
        self.error = error


class Intake:
    """Where the bytes of files go, and which files are not taken.

    A file larger than ``size_limit`` is not taken. One that changed less than ``dirty_ns`` ago may
    have pages that a program writes to unseen: that is checked. A content that was ``purged`` is
    not taken.
    """

    __slots__ = ("dirty_ns", "purged", "sink", "size_limit")

    def __init__(
        self,
        sink: ObjectSink,
        *,
        size_limit: int | None = None,
        dirty_ns: int = 0,
        purged: Purged | None = None,
    ) -> None:
        self.sink = sink
        self.size_limit = size_limit
        self.dirty_ns = dirty_ns
        self.purged = purged

    def into(self, sink: ObjectSink) -> Intake:
        """Returns the same with another sink."""
        return Intake(sink, size_limit=self.size_limit, dirty_ns=self.dirty_ns, purged=self.purged)

    def bans(self, data: bytes) -> bool:
        """Tells whether a content was purged."""
        return self.purged is not None and self.purged.bans(object_id(BLOB, data))


def keep(
    dir_fd: int,
    name: bytes,
    intake: Intake,
    *,
    seen: tuple[bytes, bytes] | None = None,
    listed_as_file: bool = False,
) -> Kept | Missed:
    """Puts the bytes of a file or link into the sink, or returns the reason why not.

    A FIFO, socket or device is never read and never waited for: the open does not block, and what
    it opened is checked before the first byte is read. ``seen`` is the signature and the id that it
    had when it was last read; if both are unchanged, its bytes are not compared with those that are
    kept. What was ``listed_as_file`` a moment ago is opened without another look at its name; if it
    is no longer a file, that is noticed all the same. Raises OSError only if the sink fails or this
    process lacks something.
    """
    reason: Reason = UNSTABLE
    for _ in range(_ATTEMPTS):
        try:
            outcome = _attempt(dir_fd, name, intake, seen, listed_as_file)
        except _SinkFailed as failure:
            raise failure.error from None
        except Collision:  # the id already stands for other bytes, and would give those back
            return UNREADABLE
        except OSError as error:
            if error.errno in _ABSENT:
                return GONE
            if is_of_this_process(error, dir_fd):
                raise
            reason = UNREADABLE
            listed_as_file = False
            if error.errno in _FLEETING:
                continue
            break
        if outcome is not None:
            return outcome
        reason = UNSTABLE
    return reason


def is_of_this_process(error: OSError, dir_fd: int) -> bool:
    """Tells whether the process or the machine is out of descriptors or memory.

    Then every file would be reported as unreadable, one after the other. A file system may also
    give the same error for a single file, so opening the directory is tried.
    """
    if error.errno not in _OF_A_PROCESS:
        return False
    try:
        os.close(os.open(b".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=dir_fd))
    except OSError as again:
        return again.errno in _OF_A_PROCESS
    return False


def _attempt(
    dir_fd: int,
    name: bytes,
    intake: Intake,
    seen: tuple[bytes, bytes] | None,
    listed_as_file: bool,
) -> Kept | Missed | None:
    sink = intake.sink
    if not listed_as_file:
        status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
        if S_ISLNK(status.st_mode):
            target = os.readlink(name, dir_fd=dir_fd)
            if intake.bans(target):
                return PURGED
            after = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
            return Kept(_put(sink, target), after) if _unmoved(status, after) else None
        if not S_ISREG(status.st_mode):
            return SPECIAL
    fd = os.open(name, _FLAGS, dir_fd=dir_fd)
    try:
        before = os.fstat(fd)
        if not S_ISREG(before.st_mode):
            return SPECIAL
        if intake.size_limit is not None and before.st_size > intake.size_limit:
            return OVERSIZED
        # Before the first byte is read: if anyone opens the file for writing later, its times show
        # it.
        doubtful = time.time_ns() - max(
            before.st_mtime_ns, before.st_ctime_ns
        ) < intake.dirty_ns and _may_be_written_to(fd)
        if before.st_size > _IN_MEMORY:
            if intake.purged is not None:
                oid = stream_id(BLOB, fd, before.st_size)
                if oid is not None and intake.purged.bans(oid):
                    return PURGED
            oid = _put_stream(sink, fd, before.st_size)
            unmoved = oid is not None and _unmoved(before, os.fstat(fd))
            return Kept(oid, before, doubtful=doubtful) if oid and unmoved else None
        data = _read(fd, before.st_size)
        if len(data) != before.st_size or not _unmoved(before, os.fstat(fd)):
            return None
        if intake.bans(data):
            return PURGED
        known = seen[1] if seen is not None and seen[0] == signature(before) else None
        return Kept(_put(sink, data, known), before, doubtful=doubtful)
    finally:
        os.close(fd)


def _may_be_written_to(fd: int) -> bool:
    """Tells whether some process has the file open for writing or mapped; True if unknown.

    The kernel grants a lease on a file only while nobody does, not even through a mapping whose
    descriptor is closed. It is given back at once (2 us in all); a process that opens the file for
    writing in between waits that long, and the signal that asks for the lease back is harmless.
    """
    if _LEASE is None:
        return True
    try:
        _control(fd, _SETSIG, _HARMLESS)
        _control(fd, _LEASE, _RDLCK)
    except OSError:  # open for writing; or not ours, or a file system without leases
        return True
    _control(fd, _LEASE, _UNLCK)
    return False


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


def _put(sink: ObjectSink, data: bytes, known: bytes | None = None) -> bytes:
    oid = object_id(BLOB, data)
    try:
        if not (sink.has(oid) if oid == known else sink.holds(oid, data)):
            sink.add(BLOB, data, oid)
    except OSError as error:
        raise _SinkFailed(error) from error
    return oid


def _put_stream(sink: ObjectSink, fd: int, size: int) -> bytes | None:
    try:
        return sink.add_stream(BLOB, fd, size)
    except SourceFailed:
        raise
    except OSError as error:
        raise _SinkFailed(error) from error
