"""Reads the files that the scan found new or changed; if there are many, in two processes."""

from __future__ import annotations

import errno
import marshal
import os

from takeback import kernel
from takeback.errors import WriteFailed
from takeback.model.coverage import UNREADABLE
from takeback.model.value import Value
from takeback.worktree.detect import can_fork, read_all
from takeback.worktree.directory import doubted, signature
from takeback.worktree.reading import GONE, Intake, Kept, is_of_this_process, keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from takeback.ports import Reporter
    from takeback.worktree.known import Known

_WORTH_A_FORK_FILES = 1500
_WORTH_A_FORK_BYTES = 16 << 20
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


def read_files(tasks: list[Task], how: FileReading) -> None:
    """Fills in the outcome of every task."""
    tasks.sort(key=lambda task: (task.directory, task.name))
    total = sum(task.size for task in tasks)
    worth_it = len(tasks) >= _WORTH_A_FORK_FILES or total >= _WORTH_A_FORK_BYTES
    if len(tasks) < 2 or not worth_it or not can_fork():
        _read_all(tasks, how, how.intake, how.reporter)
        return
    middle = _middle(tasks, total)
    try:
        child = _Reader(tasks[middle:], how)
    except OSError:  # no process or descriptor is left for it
        _read_all(tasks, how, how.intake, how.reporter)
        return
    try:
        _read_all(tasks[:middle], how, how.intake, how.reporter, total=len(tasks))
    except BaseException:
        child.abandon()
        raise
    child.collect()


def _middle(tasks: Sequence[Task], total: int) -> int:
    """Splits by bytes, with a charge for each file: opening one costs as much as 20 KB."""
    cost, half = 0, (total + 20_000 * len(tasks)) // 2
    for position, task in enumerate(tasks):
        cost += task.size + 20_000
        if cost >= half:
            return position + 1
    return len(tasks)


def _read_all(
    tasks: Sequence[Task], how: FileReading, intake: Intake, reporter: Reporter, *, total: int = 0
) -> None:
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
                reporter.progress(
                    "reading files", number * (2 if total else 1), total or len(tasks)
                )
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


class _ParentWatch:
    """Takes the progress inside a forked process, and ends it once nobody waits for it any more."""

    def __init__(self, parent: int) -> None:
        self._parent = parent

    def progress(self, what: str, done: int, total: int) -> None:
        if os.getppid() != self._parent:
            os._exit(1)

    def note(self, text: str) -> None:
        pass


class _Reader:
    """A forked process that reads its share into packs of its own and reports the outcomes."""

    def __init__(self, tasks: Sequence[Task], how: FileReading) -> None:
        self._tasks = tasks
        self._sink = sink = how.intake.sink
        self._read, write = os.pipe()
        parent = os.getpid()
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
                how.in_child()
                own = sink.fork()
                answer: object
                try:
                    _read_all(tasks, how, how.intake.into(own), _ParentWatch(parent))
                    packs = own.publish()
                    answer = (packs, [task.outcome for task in tasks])
                except OSError as error:
                    own.discard()
                    answer = error.errno or errno.EIO
                data = marshal.dumps(answer)
                while data:
                    data = data[os.write(write, data) :]
                status = 0
            finally:
                os._exit(status)  # never unwind into the parent's frames
        os.close(write)

    def abandon(self) -> None:
        """Ends the child; what it published is unreferenced and harmless."""
        os.close(self._read)
        os.kill(self._pid, 9)
        os.waitpid(self._pid, 0)

    def collect(self) -> None:
        """Takes over the outcomes; raises the error that the child ran into."""
        data = read_all(self._read)
        os.close(self._read)
        _, status = os.waitpid(self._pid, 0)
        if status != 0 or not data:
            raise WriteFailed("the process that read half of the files ended before its time")
        answer = marshal.loads(data)
        if isinstance(answer, int):
            raise OSError(answer, os.strerror(answer))
        packs, outcomes = answer
        self._sink.adopt(packs)
        for task, outcome in zip(self._tasks, outcomes, strict=True):
            task.outcome = outcome
