"""The watch: the kernel's queue of what happened in the directories of a workspace."""

from __future__ import annotations

import marshal
import os
from struct import Struct

from takeback import kernel
from takeback.model.value import Value
from takeback.worktree.directory import (
    LISTED,
    NAMES,
    OIDS,
    PATH,
    SAVED_NAMES,
    SAVED_OIDS,
    SIGNATURES,
    SUBS,
    CacheDamaged,
    directory_signature,
)
from takeback.worktree.glance import changed_among

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from takeback.worktree.cache import Known, StatCache
    from takeback.worktree.directory import Row
    from takeback.worktree.glance import Mounts
    from takeback.worktree.workspace import Workspace

    Count = Callable[[int, list[bytes]], None]
    """Told after a look at everything: how many looks relied on the watch before it, and where it
    found what the watch had missed."""
    Keep = Callable[[bytes, tuple[int, int]], None]
    """Hands the descriptors of a watch, with the root of its workspace, to whoever stays."""

# -- what the numbers of a watch mean, in memory that one process after the other looks into
#
#         0          the note: how far the watch and the stat cache go together
#         4 KB       for each number of the queue, where its path is
#         1 GB       lengths and paths, one after the other
#
# It is a file without a name, of which only what was written takes memory. The standby holds it
# for its spares and never looks into it. Finding the path of a number, or noting one, takes as
# long with a hundred thousand directories as with ten.


_NUMBERS = 4096
_PATHS = 1 << 30
_MOST = 1 << 28
"""Bytes of paths: a watch that has seen more directories come and go is made anew."""
_PLACE = Struct("=q")
_LENGTH = Struct("=i")
_LOOKED_AT_ONCE = 512

ARMED, BUSY, IN_STEP = "armed", "busy", "in step"


class Note(Value):
    """How far a watch and the stat cache go together.

    It is ``ARMED`` until everything was looked at once, ``BUSY`` from before the queue is read
    until what was in it is in the cache whose ``token`` it is then ``IN_STEP`` with. ``unsure`` is
    where the directories are listed that the cache does not vouch for, ``rounds`` how many looks
    relied on the watch since the last one at everything.
    """

    state: str
    token: bytes
    root: tuple[int, int]
    mounts: tuple[bytes, ...]
    unsure: int = 0
    rounds: int = 0


class WatchTable:
    """The table of one watch; ``fd`` is all of it. Raises OSError."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @classmethod
    def new(cls) -> WatchTable:
        table = cls(os.memfd_create("takeback-watch"))
        table._write(_NUMBERS - _PLACE.size, _PLACE.pack(0))
        table._write(_PATHS, bytes(_LENGTH.size))  # so that no path is at 0
        return table

    # -- the note

    @property
    def note(self) -> Note:
        length = _LENGTH.unpack(os.pread(self.fd, _LENGTH.size, 0))[0]
        return Note(*marshal.loads(os.pread(self.fd, length, _LENGTH.size)))

    def write_note(self, note: Note) -> None:
        """Replaces the note; one that is too long is that of a watch nobody relies on."""
        fields = (note.state, note.token, note.root, note.mounts, note.unsure, note.rounds)
        data = marshal.dumps(fields)
        if len(data) > _NUMBERS // 2:
            data = marshal.dumps((BUSY, b"", note.root, (), 0, 0))
        self._write(0, _LENGTH.pack(len(data)) + data)

    # -- numbers and paths

    @property
    def watches(self) -> int:
        """How many directories are watched."""
        place = os.pread(self.fd, _PLACE.size, _NUMBERS - _PLACE.size)
        return int(_PLACE.unpack(place)[0])

    def path(self, number: int) -> bytes | None:
        """Returns the path that a number of the queue stands for; None if it is unknown."""
        at = self._place(number)
        return self.kept(at) if at else None

    def put(self, number: int, path: bytes) -> None:
        """Notes which directory a number stands for, from now on."""
        at = self._place(number)
        if at and self.kept(at) == path:
            return
        self._write(_NUMBERS + number * _PLACE.size, _PLACE.pack(self.keep(path)))
        if not at:
            self._count(1)

    def remove(self, number: int) -> None:
        """Notes that a number stands for nothing any more."""
        if self._place(number):
            self._write(_NUMBERS + number * _PLACE.size, _PLACE.pack(0))
            self._count(-1)

    def _place(self, number: int) -> int:
        place = os.pread(self.fd, _PLACE.size, _NUMBERS + number * _PLACE.size)
        return int(_PLACE.unpack(place)[0]) if len(place) == _PLACE.size else 0

    def _count(self, more: int) -> None:
        self._write(_NUMBERS - _PLACE.size, _PLACE.pack(self.watches + more))

    # -- bytes

    @property
    def is_full(self) -> bool:
        return os.fstat(self.fd).st_size > _PATHS + _MOST

    def keep(self, data: bytes) -> int:
        """Keeps some bytes, and returns where."""
        end = os.fstat(self.fd).st_size
        self._write(end, _LENGTH.pack(len(data)) + data)
        return end

    def kept(self, at: int) -> bytes:
        """Returns what was kept there."""
        data = os.pread(self.fd, _LOOKED_AT_ONCE, at)
        length = _LENGTH.unpack_from(data)[0] + _LENGTH.size
        if length > len(data):
            data = os.pread(self.fd, length, at)
        return data[_LENGTH.size : length]

    def _write(self, at: int, data: bytes) -> None:
        if os.pwrite(self.fd, data, at) != len(data):
            raise OSError("there is no memory for the watch")


# -- the watch
#
# Nobody waits at it. It is read at an event until it is empty: the kernel puts a change into the
# queue inside the system call that makes it, so whatever was done before the reading is in it, or
# the queue says that it was too short. What it cannot tell of: stores through a mapping, and
# writes through a link in a directory that is not watched.
#
# A directory is watched before it is listed. Its number stays with it wherever it is moved; the
# path that the number stands for is noted anew with each listing.


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


# -- watching: what a watch tells one look at a workspace, and what that look tells the watch
#
#       armed     every directory that the stat cache knows is watched; then everything is looked at
#       in step   all that happened since the cache was saved is in the queue
#       busy      from before the queue is read until the cache is saved: who finds it so, looks at
#                 everything, as somebody was killed or failed at it
#
# A look that relies on the watch lists the directories of which the queue tells, and compares those
# that a queue cannot tell of: with files of several links, and with what the cache does not vouch
# for. A look at everything counts what the queue should have told of and did not.


_INODE = slice(16, 24)
_FEW = 1000
"""If more directories are looked at whatever happened, a look at everything is quicker."""


class WatchedLook:
    """One look with a watch. ``relies`` says that it may look only where something happened."""

    def __init__(self, watch: Watch, *, relies: bool, count: Count) -> None:
        self._watch = watch
        self._relies = relies
        self._count = count
        self.is_limited = False
        """Whether this look relies on the watch."""
        self._note = watch.table.note
        self._happened: Happened | None = None
        self._always: set[bytes] = set()
        """Directories that are looked at whether or not something happened there."""
        self._later: set[bytes] = set()
        self._suspects: dict[bytes, object] = {}
        self._unsure: list[bytes] = []
        self._missed: list[bytes] = []

    def begin(self, cache: StatCache, workspace: Workspace, mounts: Mounts) -> bool:
        """Reads the queue; False if the watch does not go with this stat cache or workspace.

        Then it has to be made anew.
        """
        watch, note = self._watch, self._watch.table.note
        token = cache.header.token
        of_this = (token, identity(workspace), _mounted(mounts))
        if not token or (note.token, note.root, note.mounts) != of_this:
            watch.give_up()
            return False
        self._note = note
        self._later, self._suspects = set(), {}
        watch.table.write_note(note.replace(state=BUSY))
        happened = watch.drain()
        in_step = note.state == IN_STEP and happened.whole and watch.is_sound
        self._happened = happened if in_step else None
        if in_step:
            unsure = marshal.loads(watch.table.kept(note.unsure))
            self._always = {*cache.known.linked(), *unsure}
        self.is_limited = in_step and self._relies and len(self._always) <= _FEW
        return watch.is_sound

    def look_everywhere(self) -> None:
        """Has this look list every directory, whatever the queue says."""
        self.is_limited, self._happened = False, None

    # -- what the look is told

    def changed(self, root_fd: int, known: Known) -> set[bytes]:
        """Returns the directories to list; for a look that relies on the watch."""
        assert self._happened is not None
        rows = [known[path].dump() for path in self._always if path in known]
        return _reached(known, self._happened).union(changed_among(root_fd, rows))

    def meanwhile(self, known: Known) -> set[bytes] | None:
        """Returns where something happened since the look began; None if that is not known."""
        if not self.is_limited:
            return None
        happened = self._watch.drain()
        if not happened.whole:
            self._happened = None
            return None
        reached = _reached(known, happened)
        self._later |= reached  # what was read before it happened is read again next time
        return reached

    # -- what it is told

    def lists(self, path: bytes, fd: int) -> None:
        """Watches a directory that is about to be listed."""
        self._watch.add(path, fd)

    def compare(self, changed: Iterable[bytes], known: Known) -> set[bytes]:
        """Holds what a look at everything found against what the queue told.

        Returns the directories in which something happened while it looked.
        """
        if self._happened is None:
            return set()
        told = _reached(known, self._happened) | self._always
        untold = [path for path in changed if path not in told]
        if not untold:
            return set()
        happened = self._watch.drain()
        if not happened.whole:
            self._happened = None
            return set()
        meanwhile = _reached(known, happened)
        self._suspects = {
            path: _content(known[path].dump()) for path in untold if path not in meanwhile
        }
        return meanwhile

    def looked(self, known: Known, listed: Iterable[bytes]) -> None:
        """Notes what the look has found; ``listed`` are the directories that it listed."""
        unsure = {path for path in listed if path in known and not known[path].is_sure}
        self._unsure = sorted(unsure | self._later)
        self._missed = [
            path
            for path, before in self._suspects.items()
            if path not in known or _content(known[path].dump()) != before
        ]

    def done(self, token: bytes) -> None:
        """Notes that the stat cache with that token holds what this look has found."""
        watch, note = self._watch, self._note
        compared = self._happened is not None and not self.is_limited
        if watch.is_sound and token:
            watch.table.write_note(
                note.replace(
                    state=IN_STEP,
                    token=token,
                    unsure=watch.table.keep(marshal.dumps(self._unsure)),
                    rounds=note.rounds + 1 if self.is_limited else 0,
                )
            )
        if compared and (note.rounds or self._missed):
            self._count(note.rounds, self._missed)
        self._happened = None


def arm(
    workspace: Workspace, cache: StatCache, mounts: Mounts, *, most: int, unlisted: bool = False
) -> Watch | None:
    """Returns a new watch of every directory that the stat cache knows; None if there can be none.

    Those that the next look has to list are left to it, unless ``unlisted`` says that nobody looks
    with this watch, and it has to tell of them, too. Nothing may have taken the place of a
    directory since it was listed: it would be watched instead. Raises OSError.
    """
    if not is_reliable(workspace.fd) or not cache.header.token:
        return None
    watch = Watch.new(most)
    try:
        note = Note(ARMED, cache.header.token, identity(workspace), _mounted(mounts))
        watch.table.write_note(note)
        for row in cache.known.rows():
            if row[LISTED] or unlisted:  # else the next look watches it when it lists it
                _add(watch, workspace.fd, row[PATH], row[LISTED])
            if not watch.is_sound:
                break
    except (OSError, CacheDamaged):
        watch.is_sound = False
    if watch.is_sound:
        return watch
    watch.close()
    return None


def _add(watch: Watch, root_fd: int, path: bytes, listed: bytes) -> None:
    fd = kernel.open_directory_beneath(root_fd, path)
    try:
        watch.add(path, fd)
        if listed:
            watch.is_sound &= directory_signature(os.fstat(fd))[_INODE] == listed[_INODE]
    finally:
        os.close(fd)


def identity(workspace: Workspace) -> tuple[int, int]:
    """Returns what tells the root of a workspace from every other directory."""
    status = os.fstat(workspace.fd)
    return (status.st_dev, status.st_ino)


def _mounted(mounts: Mounts) -> tuple[bytes, ...]:
    return tuple(sorted(mounts.below))


def _reached(known: Known, happened: Happened) -> set[bytes]:
    """Returns the known directories in which something may have changed by what happened.

    Where a directory came or went, another one may be at its path, and at every path below.
    """
    reached = {path for path in happened.paths if path in known}
    below: set[bytes] = set()
    for entry in sorted(happened.entries):
        if entry not in below:
            below.update(known.below(entry))
    return reached | below


def _content(row: Row) -> object:
    """Returns what a snapshot has of a directory, but for the trees of those in it."""
    modes = memoryview(row[SIGNATURES]).cast("q").tolist()[4::5]
    names = (row[NAMES], row[SAVED_NAMES], *sorted(row[SUBS]))
    return (names, row[OIDS], row[SAVED_OIDS], modes)


# -- the watches that a process has: those of the standby, and the way to hand it a new one


class Watches:
    """The watches of some workspaces, one each; no more than half of what the system allows."""

    def __init__(self, held: Iterable[tuple[int, int]], keep: Keep) -> None:
        self._most = most_watches()
        self._found = [Watch(queue, WatchTable(table), self._most) for queue, table in held]
        self._keep = keep

    def of(self, workspace: Workspace) -> Watch | None:
        """Returns the watch of a workspace, to be used while its lock is held."""
        root = identity(workspace)
        return next((watch for watch in self._found if _root_of(watch) == root), None)

    def room_besides(self, workspace: Workspace) -> int:
        """Returns how many directories of a workspace may be watched, beside all others."""
        root = identity(workspace)
        return self._most - sum(
            watch.table.watches for watch in self._found if _root_of(watch) != root
        )

    def take(self, workspace: Workspace, watch: Watch) -> None:
        """Hands a new watch over, in place of an earlier one of the workspace."""
        self._keep(workspace.root, (watch.queue, watch.table.fd))


def _root_of(watch: Watch) -> tuple[int, int] | None:
    try:
        return watch.table.note.root
    except (OSError, ValueError, EOFError, TypeError):
        return None
