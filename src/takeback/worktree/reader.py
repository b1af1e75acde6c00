"""Reads the files that the scan found new or changed; if there are many, in two processes.

They come in portions, as the survey finds them: what is known of a million files at once would take
most of a gigabyte. The second process lives as long as there are portions, and so writes one pack.
"""

from __future__ import annotations

import errno
import marshal
import os
from struct import Struct

from takeback.errors import WriteFailed
from takeback.worktree.detect import can_fork, write_all
from takeback.worktree.hashing import Task, read_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from takeback.ports import Reporter
    from takeback.worktree.hashing import FileReading

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
