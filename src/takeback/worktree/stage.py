"""Writes the new version of a path under a temporary name beside it."""

from __future__ import annotations

import os
from stat import S_ISREG

from takeback import durable
from takeback.worktree import ondisk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from takeback.model.snapshot import Entry
    from takeback.worktree.unit import Unit

    class BlobSource(Protocol):
        """Where the bytes of a snapshot come from, hash-checked."""

        def blob(self, oid: bytes) -> bytes: ...

        def size_of(self, oid: bytes) -> int: ...

        def stream(self, oid: bytes, write: Callable[[bytes], None]) -> None: ...


_IN_MEMORY = 64 << 20
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def stage(dir_fd: int, temporary: bytes, unit: Unit, blobs: BlobSource, *, flush: bool) -> None:
    """Makes ``temporary`` the new version of a unit. Raises OSError or StoreDamaged."""
    assert unit.new is not None
    if not unit.new.is_directory:
        _write(dir_fd, temporary, unit.new, blobs, flush=flush, like=unit.name)
        return
    durable.mkdir(temporary, dir_fd=dir_fd)
    fd = os.open(temporary, _DIRECTORY_FLAGS, dir_fd=dir_fd)
    try:
        _fill(fd, unit, blobs, flush=flush)
        durable.chmod(fd, unit.new.mode)
        if flush:
            durable.sync(fd)
    finally:
        os.close(fd)


def _fill(top_fd: int, unit: Unit, blobs: BlobSource, *, flush: bool) -> None:
    """Writes all that a new directory holds; modes of directories come after their children."""
    directories = []
    for path, entry in unit.inside_new:
        parent, _, name = path.rpartition(b"/")
        fd = _open_staged(top_fd, parent)
        try:
            if entry.is_directory:
                durable.mkdir(name, dir_fd=fd)
                directories.append((path, entry))
            else:
                _write(fd, name, entry, blobs, flush=flush)
        finally:
            os.close(fd)
    for path, entry in reversed(directories):
        fd = _open_staged(top_fd, path)
        try:
            durable.chmod(fd, entry.mode)
            if flush:
                durable.sync(fd)
        finally:
            os.close(fd)


def _open_staged(top_fd: int, path: bytes) -> int:
    """Opens a directory below one that is ours alone (0700, under a name nobody knows)."""
    current = os.dup(top_fd)
    for component in path.split(b"/") if path else ():
        try:
            following = os.open(component, _DIRECTORY_FLAGS, dir_fd=current)
        finally:
            os.close(current)
        current = following
    return current


def _write(
    dir_fd: int,
    name: bytes,
    entry: Entry,
    blobs: BlobSource,
    *,
    flush: bool,
    like: bytes | None = None,
) -> None:
    if entry.is_link:
        durable.symlink(blobs.blob(entry.oid), name, dir_fd=dir_fd)
        return
    small = blobs.size_of(entry.oid) <= _IN_MEMORY
    data = blobs.blob(entry.oid) if small else b""  # before the file exists: it may be damaged
    fd = durable.create(name, dir_fd=dir_fd)
    try:
        if small:
            durable.write(fd, data)
        else:
            blobs.stream(entry.oid, lambda piece: durable.write(fd, piece))
        if like is not None:
            _inherit(fd, dir_fd, like)
        durable.chmod(fd, entry.mode)
        if flush:
            durable.sync(fd)
    finally:
        os.close(fd)


def _inherit(fd: int, dir_fd: int, name: bytes) -> None:
    """Gives a file the owner, group and user attributes of what it replaces, where permitted."""
    old = ondisk.status(dir_fd, name)
    if old is None or not S_ISREG(old.st_mode):
        return
    mine = os.fstat(fd)
    if (old.st_uid, old.st_gid) != (mine.st_uid, mine.st_gid):
        try:
            os.fchown(fd, old.st_uid, old.st_gid)
        except OSError:
            pass  # only the owner's own groups, or root
    if hasattr(os, "listxattr"):
        _inherit_attributes(fd, dir_fd, name)


def _inherit_attributes(fd: int, dir_fd: int, name: bytes) -> None:
    try:
        source = os.open(
            name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=dir_fd
        )
    except OSError:
        return
    try:
        for attribute in os.listxattr(source):
            if attribute.startswith("user."):
                os.setxattr(fd, attribute, os.getxattr(source, attribute))
    except OSError:
        pass  # the file system has none, or is full of them
    finally:
        os.close(source)


def remove_tree(dir_fd: int, name: bytes) -> None:
    """Removes a file, or a directory with all in it, under a temporary name of ours."""
    found = ondisk.status(dir_fd, name)
    if found is None:
        return
    if found.st_mode & 0o170000 != 0o040000:
        durable.unlink(name, dir_fd=dir_fd)
        return
    fd = os.open(name, _DIRECTORY_FLAGS, dir_fd=dir_fd)
    try:
        os.fchmod(fd, 0o700)
        with os.scandir(fd) as listing:
            names = [os.fsencode(entry.name) for entry in listing]
        for inner in names:
            remove_tree(fd, inner)
    finally:
        os.close(fd)
    durable.rmdir(name, dir_fd=dir_fd)
