"""Writes the new version of a path under a temporary name beside it."""

from __future__ import annotations

import os
from stat import S_ISREG

from takeback import durable
from takeback.worktree import place
from takeback.worktree.place import Descent
from takeback.worktree.removal import OURS, remove_tree, rename_to_free_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from takeback.model.checkpoint import Entry
    from takeback.worktree.apply import Inside, Unit

    class BlobSource(Protocol):
        """Where the bytes of a snapshot come from, hash-checked."""

        def blob(self, oid: bytes) -> bytes: ...

        def stream(self, oid: bytes, write: Callable[[bytes], None]) -> None: ...


_IN_MEMORY = 4 << 20


def stage(dir_fd: int, temporary: bytes, unit: Unit, blobs: BlobSource, *, flush: bool) -> None:
    """Makes ``temporary`` the new version of a unit. Raises OSError or StoreDamaged."""
    assert unit.new is not None
    if not unit.new.is_directory:
        _write(dir_fd, temporary, unit.new, blobs, flush=flush, like=unit.name)
        return
    durable.mkdir(temporary, dir_fd=dir_fd)
    with Descent(dir_fd) as at:
        at.down(temporary)
        _fill(at.fd, unit.inside_new, blobs, flush=flush)
        durable.chmod(at.fd, unit.new.mode)
        if flush:
            durable.sync(at.fd)


def _fill(top_fd: int, inside: Inside, blobs: BlobSource, *, flush: bool) -> None:
    """Writes everything that a new directory holds; directories get their modes last."""
    directories = []
    with Descent(top_fd) as at:
        for path, entry in inside:
            parent, _, name = path.rpartition(b"/")
            at.go(parent)
            if entry.is_directory:
                durable.mkdir(name, dir_fd=at.fd)
                directories.append((path, entry))
            else:
                _write(at.fd, name, entry, blobs, flush=flush)
        for path, entry in reversed(directories):
            at.go(path)
            durable.chmod(at.fd, entry.mode)
            if flush:
                durable.sync(at.fd)


def flush_staged(dir_fd: int, temporary: bytes, unit: Unit) -> None:
    """Flushes a new version that was staged without flushing."""
    assert unit.new is not None
    if not unit.new.is_directory:
        _flush(dir_fd, temporary, unit.new)
        return
    with Descent(dir_fd) as at:
        for path, entry in unit.inside_new:
            parent, _, name = (temporary + b"/" + path).rpartition(b"/")
            at.go(parent)
            _flush(at.fd, name, entry)
        at.go(b"")
        _flush(at.fd, temporary, unit.new)


def _flush(dir_fd: int, name: bytes, entry: Entry) -> None:
    if entry.is_link:
        return  # it is part of its directory
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        durable.sync(fd)
    finally:
        os.close(fd)


def refill(
    dir_fd: int, name: bytes, leaving: bytes, entry: Entry, inside: Inside, blobs: BlobSource
) -> None:
    """Restores the parts of a directory that were removed; touches nothing that is there.

    Each file is written in ``leaving``, a directory of ours, and then renamed into its place.
    """
    directories = [(name, entry)]
    with Descent(dir_fd) as at, Descent(dir_fd) as new:
        if place.status(dir_fd, name) is None:
            durable.mkdir(name, dir_fd=dir_fd)
        new.down(leaving)
        for path, wanted in inside:
            parent, _, own = (name + b"/" + path).rpartition(b"/")
            at.go(parent)
            there = place.status(at.fd, own) is not None
            if wanted.is_directory:
                directories.append((name + b"/" + path, wanted))
                if not there:
                    durable.mkdir(own, dir_fd=at.fd)
            elif not there:
                _write(new.fd, OURS, wanted, blobs, flush=True)
                try:
                    rename_to_free_name(OURS, own, dir_fd=new.fd, to_fd=at.fd)
                except FileExistsError:
                    remove_tree(new.fd, OURS)
        for path, wanted in reversed(directories):
            at.go(path)
            if os.fstat(at.fd).st_mode & 0o777 != wanted.mode & 0o777:
                durable.chmod(at.fd, wanted.mode)


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
    pen = _Pen(dir_fd, name)
    try:
        blobs.stream(entry.oid, pen.write)
        fd = pen.finish()
        if like is not None:
            _inherit(fd, dir_fd, like)
        durable.chmod(fd, entry.mode)
        if flush:
            durable.sync(fd)
    finally:
        pen.close()


class _Pen:
    """Writes a new file in pieces. The file is created only when the first few MB are there.

    The hash of a blob is known only at its end, so a damaged one that is not large makes no file.
    """

    def __init__(self, dir_fd: int, name: bytes) -> None:
        self._dir_fd = dir_fd
        self._name = name
        self._fd = -1
        self._held: list[bytes] = []
        self._size = 0

    def write(self, piece: bytes) -> None:
        if self._fd >= 0:
            durable.write_sparse(self._fd, piece)
            return
        self._held.append(piece)
        self._size += len(piece)
        if self._size > _IN_MEMORY:
            self.finish()

    def finish(self) -> int:
        """Returns the descriptor of the file, which holds everything that was written."""
        if self._fd < 0:
            self._fd = durable.create(self._name, dir_fd=self._dir_fd)
            for piece in self._held:
                durable.write_sparse(self._fd, piece)
            self._held.clear()
        return self._fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


def _inherit(fd: int, dir_fd: int, name: bytes) -> None:
    """Gives a file the owner, group and user attributes of what it replaces, where permitted."""
    old = place.status(dir_fd, name)
    if old is None or not S_ISREG(old.st_mode):
        return
    mine = os.fstat(fd)
    if (old.st_uid, old.st_gid) != (mine.st_uid, mine.st_gid):
        try:
            durable.chown(fd, old.st_uid, old.st_gid)
        except OSError:
            pass  # only the owner's own groups are allowed, or root
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
                durable.set_attribute(fd, attribute, os.getxattr(source, attribute))
    except OSError:
        pass  # the file system has no attributes, or no room for them
    finally:
        os.close(source)
