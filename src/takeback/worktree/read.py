"""Reads files so that what is kept is what was there at one moment, or says that this failed."""

from __future__ import annotations

import errno
import fcntl
import marshal
import os
import time
from stat import S_ISLNK, S_ISREG
from struct import Struct

from takeback import kernel
from takeback.c_modules import signal
from takeback.errors import WriteFailed
from takeback.git.objects import BLOB, object_id, stream_id
from takeback.git.pack import SourceFailed
from takeback.git.packs import Collision
from takeback.model.coverage import OVERSIZED, PURGED, SPECIAL, UNREADABLE, UNSTABLE
from takeback.model.value import Value
from takeback.worktree.directory import doubted, signature
from takeback.worktree.glance import can_fork, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Final, Literal

    from takeback.model.coverage import Reason
    from takeback.ports import ObjectSink, Purged, Reporter
    from takeback.worktree.cache import Known

    Missed = Reason | Literal["gone"]

# -- reads files so that what is kept is what was there at one moment, or says that this failed
#
# One odd file never stops a capture: whatever error the system gives while it is looked at,
# opened or read, that file is reported and the rest goes on. An error from the *sink* is another
# matter: the store's disk is failing, and nothing can be kept. The two are told apart by where an
# error comes from, never by its number.


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


# -- the files that the scan found new or changed: what there is to read, and how it is read


_REPORT_EVERY = 500
UNCHANGED, CHANGED, NEW, LEFT = range(4)
"""Ranks of tasks: held before and read again only to be sure; held before; never seen; left out by
an earlier capture."""


class Task:
    """One file to read: where it is, its expected size, and afterwards the outcome.

    ``is_link``: it was no regular file when it was listed, but a link.
    ``outcome`` is (object id, stat signature) or the reason why the file is not held. ``rank`` says
    which go first if not all can be read, ``blocks`` how many bytes of it are on disk.
    """

    __slots__ = ("blocks", "directory", "is_link", "name", "outcome", "rank", "size")

    def __init__(self, directory: bytes, name: bytes, size: int, *, is_link: bool = False) -> None:
        self.directory = directory
        self.name = name
        self.size = size
        self.blocks = size
        self.is_link = is_link
        self.rank = NEW
        self.outcome: tuple[bytes, bytes] | str = GONE


class FileReading(Value):
    """How files are read: below which root, where the bytes go, who is told of the progress.

    ``in_child`` runs first in a forked process; ``earlier`` is what was known of the files before.
    """

    root_fd: int
    intake: Intake
    reporter: Reporter
    in_child: Callable[[], None]
    earlier: Known | None = None


def read_all(
    tasks: Sequence[Task], how: FileReading, intake: Intake, reached: Callable[[int], None]
) -> None:
    """Fills in the outcome of every task, and tells now and then how many are done."""
    current, dir_fd, reason = b"", -1, GONE
    seen: dict[bytes, tuple[bytes, bytes]] = {}
    try:
        for number, task in enumerate(tasks):
            if dir_fd < 0 or task.directory != current:
                if dir_fd >= 0:
                    os.close(dir_fd)
                current = task.directory
                dir_fd, reason = _open(how.root_fd, task.directory)
                before = how.earlier.get(current) if how.earlier is not None else None
                rows = before.files if before is not None else ()
                seen = {name: (mark, oid) for name, mark, oid in rows}
            if dir_fd < 0:
                task.outcome = reason
                continue
            kept = keep(
                dir_fd,
                task.name,
                intake,
                seen=seen.get(task.name),
                listed_as_file=not task.is_link,
            )
            if isinstance(kept, Kept):
                mark = signature(kept.status)
                task.outcome = (kept.oid, doubted(mark) if kept.doubtful else mark)
            else:
                task.outcome = kept
            if number % _REPORT_EVERY == _REPORT_EVERY - 1:
                reached(number)
    finally:
        if dir_fd >= 0:
            os.close(dir_fd)


def _open(root_fd: int, path: bytes) -> tuple[int, str]:
    """Returns a descriptor; or -1 and the reason why the files of a directory cannot be read."""
    try:
        return kernel.open_directory_beneath(root_fd, path, only_to_read=True), ""
    except OSError as error:
        if is_of_this_process(error, root_fd):
            raise
        absent = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
        return -1, GONE if error.errno in absent else UNREADABLE


# -- reads the files that the scan found new or changed; if there are many, in two processes
#
# They come in portions, as the survey finds them: what is known of a million files at once would
# take most of a gigabyte. The second process lives as long as there are portions, and so writes
# one pack.


_WORTH_A_FORK_FILES = 1500
_WORTH_A_FORK_BYTES = 16 << 20
_LENGTH = Struct("=Q")
_ENDED_EARLY = "the process that read half of the files ended before its time"


class FileReader:
    """Reads portions of files. To be closed: then a process that is still reading is ended."""

    def __init__(self, how: FileReading) -> None:
        self._how = how
        self._child: _Reader | None = None
        self._done = 0

    def __enter__(self) -> FileReader:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.abandon()
            self._child = None

    def read(self, tasks: list[Task], *, last: bool = True) -> None:
        """Fills in the outcome of every task; after the ``last`` ones all bytes are in the sink."""
        tasks.sort(key=lambda task: (task.directory, task.name))
        total = sum(task.size for task in tasks)
        middle = _middle(tasks, total)
        if not self._has_help(tasks, middle, total, last=last):
            self._read(tasks)
            return
        assert self._child is not None
        self._read(tasks[:middle], twice=True)
        self._child.collect(tasks[middle:], last=last)
        if last:
            self._child = None

    def _has_help(self, tasks: list[Task], middle: int, total: int, *, last: bool) -> bool:
        """Gives the second half to another process, if it is worth it or there is one already."""
        if self._child is not None:
            self._child.hand_over(tasks[middle:], last=last)
            return True
        worth_it = len(tasks) >= _WORTH_A_FORK_FILES or total >= _WORTH_A_FORK_BYTES
        if len(tasks) < 2 or not worth_it or not can_fork():
            return False
        try:
            self._child = _Reader(tasks[middle:], self._how, last=last)
        except OSError:  # no process or descriptor is left for it
            return False
        return True

    def _read(self, tasks: Sequence[Task], *, twice: bool = False) -> None:
        """Reads here; ``twice`` as many are read in all."""
        times = 2 if twice else 1
        progress = _Progress(self._how.reporter, self._done, len(tasks), times)
        read_all(tasks, self._how, self._how.intake, progress.reached)
        self._done += len(tasks) * times


def _middle(tasks: Sequence[Task], total: int) -> int:
    """Splits by bytes, with a charge for each file: opening one costs as much as 20 KB."""
    cost, half = 0, (total + 20_000 * len(tasks)) // 2
    for position, task in enumerate(tasks):
        cost += task.size + 20_000
        if cost >= half:
            return position + 1
    return len(tasks)


class _Progress:
    """Tells the reporter how far the reading is, as far as its length is known by now."""

    def __init__(self, reporter: Reporter, before: int, count: int, times: int) -> None:
        self._reporter = reporter
        self._before = before
        self._total = before + count * times
        self._times = times

    def reached(self, number: int) -> None:
        self._reporter.progress("reading files", self._before + number * self._times, self._total)


class _ParentWatch:
    """Takes the progress inside a forked process, and ends it once nobody waits for it any more."""

    def __init__(self, parent: int) -> None:
        self._parent = parent

    def reached(self, number: int) -> None:
        if os.getppid() != self._parent:
            os._exit(1)


class _Reader:
    """A forked process that reads its shares into packs of its own and reports the outcomes."""

    def __init__(self, tasks: Sequence[Task], how: FileReading, *, last: bool) -> None:
        self._sink = how.intake.sink
        requests, self._requests = os.pipe()
        try:
            self._answers, answers = os.pipe()
        except OSError:
            os.close(requests)
            os.close(self._requests)
            raise
        parent = os.getpid()
        try:
            self._pid = os.fork()
        except OSError:
            for fd in (requests, self._requests, answers, self._answers):
                os.close(fd)
            raise
        if self._pid == 0:
            status = 1
            try:
                os.close(self._requests)
                os.close(self._answers)
                how.in_child()
                _serve(requests, answers, tasks, last, how, _ParentWatch(parent))
                status = 0
            finally:
                os._exit(status)  # never unwind into the parent's frames
        os.close(requests)
        os.close(answers)

    def hand_over(self, tasks: Sequence[Task], *, last: bool) -> None:
        """Gives it another share; ``collect`` has to come before the next."""
        rows = [(task.directory, task.name, task.size, task.is_link) for task in tasks]
        try:
            _send(self._requests, (rows, last))
        except BrokenPipeError:
            raise WriteFailed(_ENDED_EARLY) from None

    def abandon(self) -> None:
        """Ends the child; what it published is unreferenced and harmless."""
        os.close(self._requests)
        os.close(self._answers)
        os.kill(self._pid, 9)
        os.waitpid(self._pid, 0)

    def collect(self, tasks: Sequence[Task], *, last: bool) -> None:
        """Takes over the outcomes of a share; raises the error that the child ran into.

        With the ``last`` one it has ended, and its packs are the sink's.
        """
        answer = _received(self._answers)
        if answer is None:
            raise WriteFailed(_ENDED_EARLY)
        if isinstance(answer, int):
            raise OSError(answer, os.strerror(answer))
        packs, outcomes = answer
        if last:
            self._sink.adopt(packs)
            os.close(self._requests)
            os.close(self._answers)
            os.waitpid(self._pid, 0)
        for task, outcome in zip(tasks, outcomes, strict=True):
            task.outcome = outcome


def _serve(
    requests: int,
    answers: int,
    tasks: Sequence[Task],
    last: bool,
    how: FileReading,
    watch: _ParentWatch,
) -> None:
    """Reads shares until the last one; discards them all if it fails or nobody wants any more."""
    sink = how.intake.sink.fork()
    try:
        while True:
            read_all(tasks, how, how.intake.into(sink), watch.reached)
            packs = sink.publish() if last else []
            _send(answers, (packs, [task.outcome for task in tasks]))
            request = None if last else _received(requests)
            if request is None:
                break
            rows, last = request
            tasks = [Task(*row[:3], is_link=row[3]) for row in rows]
    except OSError as error:
        sink.discard()
        _send(answers, error.errno or errno.EIO)
    sink.discard()


def _send(fd: int, value: Any) -> None:
    data = marshal.dumps(value)
    write_all(fd, _LENGTH.pack(len(data)) + data)


def _received(fd: int) -> Any:
    """Returns what was sent; None if whoever sends has ended."""
    head = _exactly(fd, _LENGTH.size)
    data = None if head is None else _exactly(fd, *_LENGTH.unpack(head))
    return None if data is None else marshal.loads(data)


def _exactly(fd: int, length: int) -> bytes | None:
    pieces = []
    while length:
        piece = os.read(fd, length)
        if not piece:
            return None
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)
