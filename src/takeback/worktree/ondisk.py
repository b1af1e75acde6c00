"""Looks at what is on the disk at one name, and compares it with an entry of a snapshot."""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISLNK, S_ISREG

from takeback.git.objects import BLOB, new_hasher, object_id
from takeback.model.snapshot import DIRECTORY, Entry, entry_mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.worktree.unit import Inside

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 20


def status(dir_fd: int, name: bytes) -> os.stat_result | None:
    """Returns the status of a name, not following a link; None if it is not there."""
    try:
        return os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def entry_at(dir_fd: int, name: bytes) -> Entry | None:
    """Returns what is at a name as an entry: content hashed, nothing trusted.

    A directory's id is empty: compare its inside apart. None for nothing and for specials.
    Raises OSError where it cannot be read.
    """
    found = status(dir_fd, name)
    if found is None:
        return None
    if S_ISLNK(found.st_mode):
        return Entry(entry_mode(found.st_mode), object_id(BLOB, os.readlink(name, dir_fd=dir_fd)))
    if S_ISDIR(found.st_mode):
        return Entry(entry_mode(found.st_mode), b"")
    if not S_ISREG(found.st_mode):
        return None
    fd = os.open(name, _FLAGS, dir_fd=dir_fd)
    try:
        found = os.fstat(fd)
        hasher = new_hasher(found.st_size)
        hasher.update(b"blob %d\0" % found.st_size)
        while piece := os.read(fd, _PIECE):
            hasher.update(piece)
        return Entry(entry_mode(found.st_mode), hasher.digest())
    finally:
        os.close(fd)


def matches(dir_fd: int, name: bytes, entry: Entry | None, inside: Inside = ()) -> bool:
    """Tells whether a name holds exactly ``entry`` (None: nothing), a directory with ``inside``."""
    found = status(dir_fd, name)
    if entry is None or found is None:
        return entry is None and found is None
    if entry_mode(found.st_mode) != entry.mode:
        return False
    if not entry.is_directory:
        at = entry_at(dir_fd, name)
        return at is not None and at.oid == entry.oid
    fd = os.open(name, _DIRECTORY_FLAGS, dir_fd=dir_fd)
    try:
        return _inside_matches(fd, inside)
    finally:
        os.close(fd)


def _inside_matches(dir_fd: int, inside: Inside) -> bool:
    wanted = dict(inside)
    for path, entry in walk(dir_fd):
        expected = wanted.pop(path, None)
        if expected is None or entry is None or expected.mode != entry.mode:
            return False
        if not expected.is_directory and expected.oid != entry.oid:
            return False
    return not wanted


def walk(dir_fd: int, prefix: bytes = b"") -> Iterator[tuple[bytes, Entry | None]]:
    """Yields everything below an open directory, hashed; None for a special file.

    Parents come before children. Raises OSError where something cannot be read.
    """
    with os.scandir(dir_fd) as listing:
        names = sorted(os.fsencode(entry.name) for entry in listing)
    for name in names:
        entry = entry_at(dir_fd, name)
        yield prefix + name, entry
        if entry is not None and entry.mode & 0o170000 == DIRECTORY:
            fd = os.open(name, _DIRECTORY_FLAGS, dir_fd=dir_fd)
            try:
                yield from walk(fd, prefix + name + b"/")
            finally:
                os.close(fd)
