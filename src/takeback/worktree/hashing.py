"""The files that the scan found new or changed: what there is to read, and how it is read."""

from __future__ import annotations

import errno
import os

from takeback import kernel
from takeback.model.coverage import UNREADABLE
from takeback.model.value import Value
from takeback.worktree.directory import doubted, signature
from takeback.worktree.reading import GONE, Intake, Kept, is_of_this_process, keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from takeback.ports import Reporter
    from takeback.worktree.known import Known

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
