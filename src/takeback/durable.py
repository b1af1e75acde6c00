"""The only module that writes files durably.

Every call below that changes a disk is one *step*. Between any two steps the process may
be killed and on any of them the disk may fail; tests/crash does both at each step, through
``faults``. Nothing else in takeback opens a file for writing, or creates, renames, links, removes
or changes what belongs to one (tests/house holds that), but for SQLite with the ledger, git with
our own store, and the demo, which plays an agent.

Steps never follow a symbolic link in the last component, and inside a workspace they take a single
component below an open directory, so swapping a directory for a link meanwhile cannot lead them
astray.
"""

from __future__ import annotations

import errno
import os
from stat import S_ISREG

from takeback import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable
    from typing import Protocol

    class Faults(Protocol):
        """What tests put in the way: ``step`` may raise OSError or end the process."""

        def step(self, name: str) -> None: ...


faults: Faults | None = None
"""Set by tests/crash in a process of its own, never in production."""

Name = str | bytes

_FULL_SYNC = 51  # macOS F_FULLFSYNC: fsync there does not reach the platter
_SCRATCH = b".takeback-"
"""The prefix of all our temporary names."""


_BLOCK = 1 << 14
_ZEROS = bytes(_BLOCK)
_HEX = b"0123456789abcdef"


def scratch_name(token: str, number: int) -> bytes:
    """Returns the name of the temporary file ``number`` of the operation ``token``."""
    return b"%s%s-%x" % (_SCRATCH, token.encode(), number)


def is_scratch_name(name: bytes, token: str | None) -> bool:
    """Tells whether a directory entry is a temporary file of the operation ``token``.

    The form of a name alone proves nothing: anybody may name their file like that.
    """
    if token is None or not name.startswith(_SCRATCH):
        return False
    number = name.removeprefix(b"%s%s-" % (_SCRATCH, token.encode()))
    return number != name and bool(number) and number.strip(_HEX) == b""


def _step(name: str) -> None:
    if faults is not None:
        faults.step(name)


def create(name: Name, *, dir_fd: int | None = None, mode: int = 0o600) -> int:
    """Creates a new file and returns its descriptor; an existing name is an error."""
    _step("create")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, mode, dir_fd=dir_fd)


def unmask_owner() -> int:
    """Removes the owner's own bits from this process's umask; returns what that was.

    For the faces, at their start: under ``umask 0177`` a directory that was just made could not be
    entered, and neither git nor SQLite can be told otherwise. The bits for others stay.
    """
    mask = os.umask(0o077)
    os.umask(mask & 0o077)
    return mask


def write(fd: int, data: bytes | memoryview) -> None:
    """Writes all of ``data`` at the current position."""
    _step("write")
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_sparse(fd: int, data: bytes) -> None:
    """Writes all of ``data`` at the current position, which is the end of a new file.

    Blocks of zeros become holes if the file system supports them, which read the same.
    """
    if len(data) < _BLOCK:
        write(fd, data)
        return
    start = at = 0
    view = memoryview(data)
    while at + _BLOCK <= len(data):
        if view[at : at + _BLOCK] != _ZEROS:
            at += _BLOCK
            continue
        if start < at:
            write(fd, view[start:at])
        while at + _BLOCK <= len(data) and view[at : at + _BLOCK] == _ZEROS:
            at += _BLOCK
            os.lseek(fd, _BLOCK, os.SEEK_CUR)
        start = at
    if start < len(data):
        write(fd, view[start:])
    else:  # else the file would end where the hole begins
        truncate(fd, os.lseek(fd, 0, os.SEEK_CUR))


def truncate(fd: int, size: int) -> None:
    """Gives an open file the length ``size`` and moves to its end."""
    _step("truncate")
    os.ftruncate(fd, size)
    os.lseek(fd, size, os.SEEK_SET)


def overwrite(fd: int, offset: int, data: bytes) -> None:
    """Writes ``data`` at ``offset`` of a file that is not yet visible under its final name."""
    _step("overwrite")
    if os.pwrite(fd, data, offset) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def sync(fd: int) -> None:
    """Returns when the bytes of an open file or directory are on the disk."""
    _step("sync")
    if hasattr(os, "fdatasync"):
        os.fsync(fd)
        return
    import fcntl  # macOS only: saves Linux 1 ms

    try:
        fcntl.fcntl(fd, _FULL_SYNC)
    except OSError:
        os.fsync(fd)


def sync_directory(path: Name) -> None:
    """Returns when the entries of the directory at ``path`` are on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync(fd)
    finally:
        os.close(fd)


def rename(old: Name, new: Name, *, dir_fd: int | None = None, to_fd: int | None = None) -> None:
    """Renames within one directory, into another, or between two full paths, replacing ``new``."""
    _step("rename")
    os.rename(old, new, src_dir_fd=dir_fd, dst_dir_fd=dir_fd if to_fd is None else to_fd)


def exchange(one: bytes, other: bytes, *, dir_fd: int) -> None:
    """Swaps two names of one directory in one instant, or raises kernel.Unsupported."""
    _step("exchange")
    kernel.exchange(dir_fd, one, other)


def rename_to_free_name(old: bytes, new: bytes, *, dir_fd: int, to_fd: int | None = None) -> None:
    """Renames only if ``new`` is free, else FileExistsError; raises kernel.Unsupported too."""
    _step("rename")
    kernel.rename_to_free_name(dir_fd, old, new, to_fd)


def flush_file_system(fd: int) -> bool:
    """Flushes the whole file system that holds ``fd``; False if there is no such call.

    Raises OSError if the disk did not take everything.
    """
    _step("sync")
    return kernel.flush_file_system(fd)


def link(old: Name, new: Name, *, dir_fd: int | None = None) -> None:
    """Gives a file a second name within one directory; an existing ``new`` is an error."""
    _step("link")
    os.link(old, new, src_dir_fd=dir_fd, dst_dir_fd=dir_fd, follow_symlinks=False)


def symlink(target: bytes, name: Name, *, dir_fd: int | None = None) -> None:
    """Creates a symbolic link; an existing name is an error."""
    _step("symlink")
    os.symlink(target, os.fsencode(name), dir_fd=dir_fd)


def unlink(name: Name, *, dir_fd: int | None = None) -> None:
    """Removes one name that is not a directory."""
    _step("unlink")
    os.unlink(name, dir_fd=dir_fd)


def mkdir(name: Name, *, dir_fd: int | None = None, mode: int = 0o700) -> None:
    """Creates one directory."""
    _step("mkdir")
    os.mkdir(name, mode, dir_fd=dir_fd)


def rmdir(name: Name, *, dir_fd: int | None = None) -> None:
    """Removes one empty directory."""
    _step("rmdir")
    os.rmdir(name, dir_fd=dir_fd)


def chmod(fd: int, mode: int) -> None:
    """Sets the permission bits of an open file or directory.

    setuid, setgid and sticky stay as they are: any that is set is the user's (a new directory gets
    the setgid bit from its parent, like any other made there), and none is ever added. Also works
    on a directory that we may not read, opened as a mere path (O_PATH).
    """
    _step("chmod")
    bits = os.fstat(fd).st_mode & 0o7000 | mode & 0o777
    try:
        os.fchmod(fd, bits)
    except OSError as error:
        if error.errno != errno.EBADF or not hasattr(os, "O_PATH"):
            raise
        os.chmod(f"/proc/self/fd/{fd}", bits)


def make_private(path: str, mode: int) -> None:
    """Sets the permission bits of a file or directory of ours, by its path."""
    _step("chmod")
    os.chmod(path, mode)


def set_times(path: Name, accessed_ns: int, modified_ns: int) -> None:
    """Gives a file of ours the times of another one."""
    _step("times")
    os.utime(path, ns=(accessed_ns, modified_ns))


def chown(fd: int, user: int, group: int) -> None:
    """Gives an open file to a user and a group."""
    _step("chown")
    os.fchown(fd, user, group)


def set_attribute(fd: int, name: str, value: bytes) -> None:
    """Sets an extended attribute of an open file."""
    _step("attribute")
    os.setxattr(fd, name, value)


def replace_file(
    path: str,
    data: bytes | Iterable[bytes],
    *,
    flush: bool = True,
    mode: int = 0o600,
    check: Callable[[], None] | None = None,
    after: str | None = None,
) -> None:
    """Replaces one file of ours whole: readers see the old or the new bytes.

    ``data`` is all of it, or pieces that are made one after the other as they are written.
    With ``flush`` the new bytes are on the disk when it returns; without, a power loss may leave
    the old ones (good enough for what can be rebuilt). ``check`` is called just before the rename,
    and may raise. ``after`` is a directory on the same disk, flushed before the new bytes show.
    """
    directory, name = os.path.split(path)
    temporary = f"{directory}/.{name}.{os.getpid()}.tmp"
    try:
        fd = create(temporary)
    except FileExistsError:  # left by a dead process that had our number
        unlink(temporary)
        fd = create(temporary)
    try:
        try:
            for piece in (data,) if isinstance(data, bytes) else data:
                write(fd, piece)
            if mode != 0o600:
                chmod(fd, mode)
            if after is not None and not (kernel.is_quiet() and flush_file_system(fd)):
                sync_directory(after)
                sync(fd)
            elif after is None and flush:
                sync(fd)
        finally:
            os.close(fd)
        if check is not None:
            check()
        rename(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise
    if flush:
        sync_directory(directory or ".")


def create_file(name: str, data: bytes, *, dir_fd: int) -> None:
    """Makes a new file in one step: it does not exist, or exists with all its bytes, flushed.

    May be called again after a crash. Raises FileExistsError rather than replace other bytes.
    """
    temporary = f".{name}.takeback-new"
    if _lexists(temporary, dir_fd):
        unlink(temporary, dir_fd=dir_fd)
    if _lexists(name, dir_fd):
        if _holds(name, data, dir_fd):
            return
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
    fd = create(temporary, dir_fd=dir_fd)
    try:
        try:
            write(fd, data)
            sync(fd)
        finally:
            os.close(fd)
        link(temporary, name, dir_fd=dir_fd)
    except OSError:
        os.unlink(temporary, dir_fd=dir_fd)
        raise
    unlink(temporary, dir_fd=dir_fd)
    sync(dir_fd)


def _lexists(name: str, dir_fd: int) -> bool:
    try:
        os.lstat(name, dir_fd=dir_fd)
    except FileNotFoundError:
        return False
    return True


def _holds(name: str, data: bytes, dir_fd: int) -> bool:
    """Tells whether a name is an ordinary file with these bytes; never blocks."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(name, flags, dir_fd=dir_fd)
    except OSError:
        return False
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        return S_ISREG(status.st_mode) and status.st_size == len(data) and file.read() == data


def make_directories(path: str) -> None:
    """Creates a directory of the store and its missing parents, each private to the user."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for directory in reversed(missing):
        try:
            mkdir(directory)
            os.chmod(directory, 0o700)  # whatever the host's umask
        except FileExistsError:
            continue


def append(path: str, data: bytes) -> int:
    """Appends one record to a log, created if missing; returns its new length.

    Neither a link nor a FIFO is followed: if others may write there, a link could lead elsewhere,
    and a FIFO keep an agent waiting.
    """
    _step("append")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    fd = os.open(path, flags, 0o600)
    try:
        os.write(fd, data)
        return os.fstat(fd).st_size
    finally:
        os.close(fd)


def open_lock(path: str, *, make: bool) -> int:
    """Opens a file that is only ever locked, created if allowed; returns its descriptor."""
    _step("open")
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(path, flags | os.O_CREAT if make else flags, 0o600)


def inscribe(fd: int, data: bytes) -> None:
    """Replaces the bytes of an open file, for people to read: nothing relies on them."""
    _step("overwrite")
    os.ftruncate(fd, 0)
    os.pwrite(fd, data, 0)


def bind(door: socket.socket, name: str) -> None:
    """Makes the file of a socket, by its path or in the current directory."""
    _step("bind")
    door.bind(name)
