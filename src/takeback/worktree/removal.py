"""Removes what is ours, and of the user's files only what is saved.

A directory that was displaced may still be in use: a program that has it as its current directory
goes on saving files into it. So it is taken down entry by entry:

        a file       renamed into a directory of ours, where nobody replaces it any more, hashed
                     there, and unlinked if that is what the undo snapshot holds; else put back
        a directory  removed if it is empty by then
        all else     stays where it is, and is reported

The remaining danger: a program that has the file open, and writes to it between the last look at
its times and the unlink right after it, writes into a file without a name.
"""

from __future__ import annotations

import errno
import os
from stat import S_IFMT, S_ISDIR

from takeback import durable, kernel
from takeback.worktree import place as ondisk
from takeback.worktree.place import Descent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Entry
    from takeback.worktree.apply import Inside

_NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)
_NO_DIRECTORY = (errno.ENOTDIR, errno.ELOOP)
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OURS = b"new"
"""Prefix, in the directory of ours, of the names of files on their way *into* a directory."""


def remove_tree(dir_fd: int, name: bytes) -> None:
    """Removes a file, or a directory with everything in it, that only we have ever used.

    Never call it on a directory of the user's, whatever its present name.
    """
    found = ondisk.status(dir_fd, name)
    if found is None:
        return
    if not S_ISDIR(found.st_mode):
        durable.unlink(name, dir_fd=dir_fd)
        return
    with Descent(dir_fd) as at:
        _enter_ours(at, name)
        pending = [(name, _open_up(at.fd))]
        while pending:
            own, names = pending[-1]
            if not names:
                pending.pop()
                at.up()
                durable.rmdir(own, dir_fd=at.fd)
                continue
            inner = names.pop()
            found = ondisk.status(at.fd, inner)
            if found is not None and S_ISDIR(found.st_mode):
                _enter_ours(at, inner)
                pending.append((inner, _open_up(at.fd)))
            elif found is not None:
                durable.unlink(inner, dir_fd=at.fd)


def _enter_ours(at: Descent, name: bytes) -> None:
    """Enters a directory of ours, even if it has the restrictive bits that a snapshot gave it."""
    try:
        at.down(name)
    except PermissionError:
        if not hasattr(os, "O_PATH"):
            raise
        flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(name, flags, dir_fd=at.fd)
        try:
            durable.chmod(fd, 0o700)
        finally:
            os.close(fd)
        at.down(name)


def _open_up(fd: int) -> list[bytes]:
    """Lists a directory whose entries are to be removed, and makes sure that they can be."""
    if os.fstat(fd).st_mode & 0o700 != 0o700:
        durable.chmod(fd, 0o700)
    return ondisk.names_in(fd)


def unlink_exactly(dir_fd: int, name: bytes, entry: Entry) -> bool:
    """Removes a file or link under a name of ours if it is ``entry`` up to the last moment."""
    try:
        seen = ondisk.look(dir_fd, name)
    except OSError:
        return False
    if seen is None or seen.entry != entry:
        return False
    found = ondisk.status(dir_fd, name)
    if found is None or ondisk.signature(found) != seen.signature:
        return False
    durable.unlink(name, dir_fd=dir_fd)
    return True


def remove_checked(
    dir_fd: int, name: bytes, leaving: bytes, entry: Entry, inside: Inside
) -> list[bytes]:
    """Removes a version that was displaced, as far as it is still what was saved.

    Returns the paths below ``dir_fd`` of everything that stays. ``leaving`` is the name of the
    directory of ours; a run that was killed may have left it there.
    """
    if not entry.is_directory:
        return [] if unlink_exactly(dir_fd, name, entry) else [name]
    make_leaving(dir_fd, leaving)
    kept = take_down(dir_fd, name, leaving, inside)
    return kept + remove_leaving(dir_fd, leaving)


def make_leaving(dir_fd: int, leaving: bytes) -> None:
    """Makes the directory of ours through which files are removed."""
    try:
        durable.mkdir(leaving, dir_fd=dir_fd)
    except FileExistsError:
        pass  # made by a run that was killed, and settled since


def remove_leaving(dir_fd: int, leaving: bytes) -> list[bytes]:
    """Removes that directory; returns the paths of what had to stay in it."""
    try:
        durable.rmdir(leaving, dir_fd=dir_fd)
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in _NOT_EMPTY:
            raise
        with Descent(dir_fd) as at:
            at.down(leaving)
            return [leaving + b"/" + inner for inner in ondisk.names_in(at.fd)]
    return []


def take_down(dir_fd: int, name: bytes, leaving: bytes, inside: Inside) -> list[bytes]:
    """Removes a directory entry by entry; returns the paths below ``dir_fd`` of what stays."""
    known = {path: (number, entry) for number, (path, entry) in enumerate(inside)}
    kept: list[bytes] = []
    standing: set[bytes] = set()
    through = os.open(leaving, _DIRECTORY_FLAGS, dir_fd=dir_fd)
    try:
        with Descent(dir_fd) as at:
            at.down(name)
            pending = [(name, b"", _open_up(at.fd))]
            while pending:
                own, prefix, names = pending[-1]
                if not names:
                    pending.pop()
                    at.up()
                    for path in _left_in(at.fd, own, prefix):
                        standing.add(prefix[:-1])
                        if path not in standing:
                            kept.append(path)
                    continue
                inner = names.pop()
                path = prefix + inner
                number, entry = known.get(path, (0, None))
                if entry is not None and entry.is_directory and _enter(at, inner):
                    pending.append((inner, path + b"/", _open_up(at.fd)))
                elif entry is not None and not entry.is_directory:
                    _leave(at.fd, inner, through, b"%x" % number, entry)
    finally:
        os.close(through)
    return [name + b"/" + path for path in kept]


def _enter(at: Descent, name: bytes) -> bool:
    try:
        at.down(name)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno not in _NO_DIRECTORY:
            raise
        return False
    return True


def _left_in(fd: int, name: bytes, prefix: bytes) -> list[bytes]:
    """Removes one directory if it is empty; otherwise returns the paths of what is in it."""
    try:
        durable.rmdir(name, dir_fd=fd)
    except FileNotFoundError:
        return []
    except OSError as error:
        if error.errno not in _NOT_EMPTY:
            raise
        with Descent(fd) as at:
            at.down(name)
            return [prefix + inner for inner in ondisk.names_in(at.fd)]
    return []


def _leave(fd: int, name: bytes, through: int, number: bytes, entry: Entry) -> None:
    """Removes one file by way of the directory of ours, unless it is not what was saved.

    A file that cannot be put back, because its name is taken again, stays in the directory of ours;
    ``remove_leaving`` reports it.
    """
    found = ondisk.status(fd, name)
    if found is None or S_IFMT(found.st_mode) != S_IFMT(entry.mode):
        return
    durable.rename(name, number, dir_fd=fd, to_fd=through)
    if not unlink_exactly(through, number, entry):
        put_back(number, name, dir_fd=through, to_fd=fd)


def settle_leaving(dir_fd: int, leaving: bytes, place: bytes, inside: Inside) -> None:
    """Finishes what a killed run had under way in the directory of ours.

    What is saved is removed; anything else is put back where it was in ``place``, if that is free.
    """
    with Descent(dir_fd) as at, Descent(dir_fd) as home:
        at.down(leaving)
        for number in ondisk.names_in(at.fd):
            if number.startswith(OURS):
                remove_tree(at.fd, number)
                continue
            try:
                path, entry = inside[int(number, 16)]
            except (ValueError, IndexError):
                continue  # not from us
            if unlink_exactly(at.fd, number, entry):
                continue
            parent, _, name = (place + b"/" + path).rpartition(b"/")
            try:
                home.go(parent)
                put_back(number, name, dir_fd=at.fd, to_fd=home.fd)
            except OSError as error:
                if error.errno not in (errno.ENOENT, *_NO_DIRECTORY):
                    raise


def put_back(old: bytes, new: bytes, *, dir_fd: int, to_fd: int) -> bool:
    """Renames something back to where it was, unless that name is taken again: then it stays."""
    try:
        rename_to_free_name(old, new, dir_fd=dir_fd, to_fd=to_fd)
    except FileExistsError:
        return False
    return True


def rename_to_free_name(old: bytes, new: bytes, *, dir_fd: int, to_fd: int | None = None) -> None:
    """Renames to a name that must be free, as far as the file system can make sure of it."""
    try:
        durable.rename_to_free_name(old, new, dir_fd=dir_fd, to_fd=to_fd)
    except kernel.Unsupported:
        if ondisk.status(dir_fd if to_fd is None else to_fd, new) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        durable.rename(old, new, dir_fd=dir_fd, to_fd=to_fd)
