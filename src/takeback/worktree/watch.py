"""The watch: the kernel's queue of what happened in the directories of a workspace.

Nobody waits at it. It is read at an event until it is empty: the kernel puts a change into the
queue inside the system call that makes it, so whatever was done before the reading is in it, or the
queue says that it was too short. What it cannot tell of: stores through a mapping, and writes
through a link in a directory that is not watched.

A directory is watched before it is listed. Its number stays with it wherever it is moved; the path
that the number stands for is noted anew with each listing.
"""

from __future__ import annotations

import os
from struct import Struct

from takeback import kernel
from takeback.model.value import Value
from takeback.worktree.watch_table import WatchTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ENTRY = 0x40 | 0x80 | 0x100 | 0x200  # moved from, moved to, created, deleted
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED = 0x2000, 0x4000, 0x8000
_IS_DIRECTORY = 0x40000000
_HEAD = Struct("=iIII")
_AT_ONCE = 1 << 18

RELIABLE = frozenset(
    (
        0xEF53,  # ext2, ext3, ext4
        0x58465342,  # xfs
        0x9123683E,  # btrfs
        0x01021994,  # tmpfs
        0x2FC12FC1,  # zfs
        0xF2F52010,  # f2fs
        0xCA451A4E,  # bcachefs
    )
)
"""File systems that nobody can write to behind this kernel's back. Not overlays: who writes to a
layer is not heard above it."""


class Happened(Value):
    """What the queue held: the directories in which something happened.

    ``entries`` are directories that came, went or were replaced. If it is not ``whole``, anything
    may have happened.
    """

    paths: set[bytes]
    entries: set[bytes]
    whole: bool


class Watch:
    """The watch of one workspace: a queue, and the table of what its numbers mean.

    It has ``most`` directories at most.
    """

    def __init__(self, queue: int, table: WatchTable, most: int) -> None:
        self.queue = queue
        self.table = table
        self._most = most
        self.is_sound = True
        """False once it has to be made anew: a directory could not be watched, or it is over."""

    @classmethod
    def new(cls, most: int) -> Watch:
        """Opens a watch that watches nothing yet; raises OSError."""
        queue = kernel.open_queue()
        try:
            return cls(queue, WatchTable.new(), most)
        except OSError:
            os.close(queue)
            raise

    def close(self) -> None:
        os.close(self.queue)
        os.close(self.table.fd)

    def add(self, path: bytes, fd: int) -> None:
        """Watches an open directory; call it before the directory is listed."""
        if not self.is_sound:
            return
        try:
            self.table.put(kernel.watch_directory(self.queue, fd), path)
            fits = self.table.watches <= self._most and not self.table.is_full
        except OSError:  # the system allows no more of them
            fits = False
        if not fits:
            self.give_up()

    def give_up(self) -> None:
        """Notes, for whoever holds it, that it has to be made anew."""
        self.is_sound = False
        self.table.write_note(self.table.note.replace(token=b""))

    def drain(self) -> Happened:
        """Takes everything out of the queue."""
        paths: dict[int, bytes | None] = {}
        changed: set[bytes] = set()
        entries: set[bytes] = set()
        whole, over = True, False
        for number, what, name in self._events():
            if what & (_OVERFLOW | _UNMOUNT):
                whole = False
                over = over or bool(what & _UNMOUNT)
                continue
            if number not in paths:
                paths[number] = self.table.path(number)
            path = paths[number]
            if what & _IGNORED:  # it is gone, and its number with it
                self.table.remove(number)
            if path is None:  # whoever watched it was killed before it noted which one it is
                whole = whole and bool(what & _IGNORED)
                continue
            changed.add(path)
            if what & _IS_DIRECTORY and what & _ENTRY:
                entries.add(path + b"/" + name if path else name)
            if what & _IGNORED:
                entries.add(path)
            if not path and what & (_MOVE_SELF | _DELETE_SELF | _IGNORED):
                over = True  # the root is not where it was
        if over:
            self.give_up()
        return Happened(changed, entries, whole and not over)

    def _events(self) -> Iterator[tuple[int, int, bytes]]:
        while True:
            try:
                data = os.read(self.queue, _AT_ONCE)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, what, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                yield number, what, data[at : at + length].rstrip(b"\0")
                at += length


def is_reliable(fd: int) -> bool:
    """Tells whether the kernel hears of every change on the file system of a directory."""
    try:
        return kernel.LINUX and kernel.file_system(fd) in RELIABLE
    except OSError:
        return False


def most_watches() -> int:
    """Returns how many directories may be watched: half of what the system allows a user."""
    try:
        with open("/proc/sys/fs/inotify/max_user_watches", "rb") as file:
            return int(file.read()) // 2
    except (OSError, ValueError):
        return 0
