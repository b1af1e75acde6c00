"""Finds the known directories in which something may have changed, and whose times to believe."""

from __future__ import annotations

import marshal
import os
import sys

from takeback.worktree.directory import (
    DOUBT,
    LISTED,
    MODE,
    NAMES,
    NEVER_TRUSTED,
    OIDS,
    PATH,
    SAVED_NAMES,
    SAVED_SIGNATURES,
    SIGNATURE_SIZE,
    SIGNATURES,
    UNSIGNED,
    decode,
    undoubted,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from takeback.worktree.cache import Known
    from takeback.worktree.directory import Row

    Look = Callable[[int, bytes, bytes, bytearray], None]

# -- what is mounted where, according to the kernel: read once for each look at a workspace


_DISTRUSTED = (b"9p", b"fuse", b"nfs", b"cifs", b"smb", b"vboxsf", b"prl_fs", b"virtiofs", b"afs")

_IN_MEMORY = (b"tmpfs ", b"ramfs ", b"devtmpfs ")


class Mounts:
    """The mounts that matter to one workspace. Without /proc nothing is known."""

    def __init__(self, root: bytes, device: int) -> None:
        self.times_distrusted = False
        """Directory times mean nothing here: a network or user-space file system."""
        self.in_memory = False
        """There is no disk: pages are never written back, so mapped ones are never clean."""
        self.below: set[bytes] = set()
        """The mount points inside the workspace, relative to its root, bind mounts too."""
        wanted = b"%d:%d" % (os.major(device), os.minor(device))
        inside = root.rstrip(b"/") + b"/"
        for line in _lines():
            fields, _, kind = line.partition(b" - ")
            parts = fields.split(b" ", 5)
            if len(parts) < 5:
                continue
            if parts[2] == wanted and kind.startswith(_DISTRUSTED):
                self.times_distrusted = True
            if parts[2] == wanted and kind.startswith(_IN_MEMORY):
                self.in_memory = True
            point = _unescaped(parts[4]) if b"\\" in parts[4] else parts[4]
            if point.startswith(inside):
                self.below.add(point[len(inside) :])


def _lines() -> list[bytes]:
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            return file.read().split(b"\n")
    except OSError:  # not Linux
        return []


def _unescaped(text: bytes) -> bytes:
    """Undoes the kernel's octal escapes of blanks, tabs, newlines and backslashes."""
    first, *rest = text.split(b"\\")
    return first + b"".join(bytes([int(piece[:3], 8)]) + piece[3:] for piece in rest)


# -- decides when a file's times can be trusted, and which signatures the next capture may trust


_TICK = 50_000_000
"""Kernels give out times in steps of up to 10 ms; an edit in the same step is invisible."""
_COARSE = 2_000_000_000
_SKEWED = 10_000_000_000
_SECOND = 1_000_000_000
_DIRTY = 40_000_000_000
"""By then the kernel has written changed pages to the disk (after 35 s by default) and notices
the next change to them; until then a mapped page changes without a new time of its file."""
_FILES = 1000
_BYTES = 32 << 20
"""The most that the next capture reads again because a mapping may change it unseen: 1,000 small
files or one of 32 MB cost it about 30 ms."""


class ScanTime:
    """When a scan began: what changed too close to it is read again next time."""

    __slots__ = ("_now", "dirty_ns", "distrusted")

    def __init__(self, now_ns: int, *, distrusted: bool, in_memory: bool = False) -> None:
        self._now = now_ns
        self.distrusted = distrusted
        """Directory times mean nothing here (a network or user-space file system)."""
        self.dirty_ns = 1 << 62 if in_memory else _DIRTY
        """How long a file's pages may be dirty: without a disk, for ever."""

    def settled(self, mtime_ns: int, ctime_ns: int) -> bool:
        """Tells whether a later edit is sure to change the times."""
        if self.distrusted:
            margin = _SKEWED
        elif mtime_ns % _SECOND == 0 and ctime_ns % _SECOND == 0:
            margin = _COARSE
        else:
            margin = _TICK
        return max(mtime_ns, ctime_ns) < self._now - margin


class Belief:
    """Decides for one capture, file by file, what the stat cache may keep of it."""

    def __init__(self, time: ScanTime) -> None:
        self.time = time
        self._files_left = _FILES
        self._bytes_left = _BYTES

    def of(self, mark: bytes) -> bytes:
        """Returns the signature to keep: the one given, or one that matches no file.

        A file whose times are too close to the capture is never trusted. Nor is one that a program
        may be writing to through a mapping, as long as there are only a few of these.
        """
        size, mtime, ctime, _, mode = memoryview(mark).cast("q")
        if not self.time.settled(mtime, ctime):
            return NEVER_TRUSTED
        if not mode & DOUBT:
            return mark
        self._files_left -= 1
        self._bytes_left -= size
        return mark if self._files_left >= 0 and self._bytes_left >= 0 else undoubted(mark)


# -- calls the look at all known files that is written in C (``native/look.c``), where it is built
#
# It does what ``detect`` does in Python, in as many threads as there are processors, in a quarter
# of the time. Loading it takes 2 ms, so it is for workspaces of some thousands of files.


LIBRARY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "native", "built", "look.so")
"""The only place where it is looked for."""
_MOST_THREADS = 8
_OFFSET = 8
_CHANGED, _SKIP = b"\2", 3


def changed_paths(root_fd: int, known: Known) -> list[bytes] | None:
    """Returns the paths of directories that no longer match the cache; None without the library.

    Raises CacheDamaged if the cache does not say soundly which directory that is.
    """
    look = _library()
    if look is None:
        return None
    found = []
    in_table = known.in_table()
    if in_table is not None:
        table, superseded = in_table
        numbers = _changed(look, root_fd, table.whole(), table.offsets, superseded)
        found += [table.row(number)[PATH] for number in numbers]
    records, offsets = known.beside_table()
    starts = memoryview(offsets).cast("Q")
    for number in _changed(look, root_fd, records, offsets):
        found.append(decode(records[starts[number] : starts[number + 1]])[PATH])
    return found


def _changed(
    look: Look, root_fd: int, records: bytes, offsets: bytes, skipped: Iterable[int] = ()
) -> Iterator[int]:
    """Yields the numbers of the records that no longer match."""
    marks = bytearray(len(offsets) // _OFFSET - 1)
    for number in skipped:
        marks[number] = _SKIP
    if marks:
        look(root_fd, records, offsets, marks)
    at = marks.find(_CHANGED)
    while at >= 0:
        yield at
        at = marks.find(_CHANGED, at + 1)


def _library() -> Look | None:
    import ctypes

    try:
        function = ctypes.CDLL(LIBRARY).takeback_look_2
    except (OSError, AttributeError):  # not built, or for another machine or version
        return None
    function.restype = None
    threads = min(_MOST_THREADS, _processors())

    def look(root_fd: int, records: bytes, offsets: bytes, marks: bytearray) -> None:
        count = len(marks)
        shared = (ctypes.c_uint8 * count).from_buffer(marks)
        function(root_fd, threads, ctypes.c_size_t(count), records, offsets, shared)

    return look


def _processors() -> int:
    """Returns how many threads can run at once, as far as this process may."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


# -- finds the known directories in which something may have changed
#
# This is the one part of a capture that looks at every file. Above a few thousand files it is
# done by threads of C (``look``). Where these are not built, the work is split between this
# process and a forked one; two threads of Python would gain nothing, because each lstat holds the
# interpreter for most of its time.


_MANY = 4000
_NUMBERS = SIGNATURE_SIZE // 8


def changed_directories(root_fd: int, known: Known, *, in_child: Callable[[], None]) -> list[bytes]:
    """Returns the paths of those whose own listing or whose files no longer match the cache.

    ``in_child`` runs first in a forked process: it must drop the workspace's lock there.
    """
    total = known.file_count()
    if total < _MANY:
        return changed_among(root_fd, known.rows())

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
