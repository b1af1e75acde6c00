"""The system calls that Python does not offer: birth times, safe opens, exchanges, watches.

``ctypes`` is imported on first use (5 ms): a capture that only looks at known files does without.
On a system that lacks a call the functions return None or raise ``Unsupported``, and the caller has
a longer way.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes

_AT_FDCWD = -100
_AT_SYMLINK_NOFOLLOW = 0x100
_STATX_BTIME = 0x800
_SYS_STATX = {"x86_64": 332, "aarch64": 291}
_SYS_OPENAT2 = 437
_RESOLVE_BENEATH = 0x08
_RESOLVE_NO_XDEV = 0x01
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_NO_MAGICLINKS = 0x02
_LONGEST_PATH = 4096  # one call takes no more
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
_MADV_POPULATE_WRITE = 23
_MAC_RENAME_SWAP = 2
_MAC_RENAME_EXCL = 4
_WATCHED = 0xFCE | 0x01000000 | 0x04000000
"""inotify: written, other attributes, closed, came, went, renamed; itself too; nothing but
directories, and nothing of files that have no name any more."""
_NO_SUCH_CALL = (errno.ENOSYS, errno.EPERM)
"""The errors of an old kernel and of a sandbox that forbids the call; syncfs itself has neither."""
_LITTLE = 64 << 20  # bytes, which take a slow disk as long as 25 flushes: half a second
_A_FLUSH = _LITTLE // 25
LINUX = sys.platform.startswith("linux")
_loaded: ctypes.CDLL | None = None
_openat2_works = LINUX


class Unsupported(Exception):
    """This kernel or file system cannot exchange two names."""


def _libc() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        import ctypes

        _loaded = ctypes.CDLL(None, use_errno=True)
    return _loaded


def birth_time(path: bytes) -> int:
    """Returns when a file was created, in nanoseconds, or 0 if that is not recorded."""
    if not LINUX:
        return int(getattr(os.lstat(path), "st_birthtime", 0) * 1_000_000_000)
    number = _SYS_STATX.get(os.uname().machine)
    if number is None:
        return 0
    import ctypes

    buffer = ctypes.create_string_buffer(256)
    answer = _libc().syscall(
        ctypes.c_long(number),
        ctypes.c_int(_AT_FDCWD),
        ctypes.c_char_p(path),
        ctypes.c_int(_AT_SYMLINK_NOFOLLOW),
        ctypes.c_uint(_STATX_BTIME),
        buffer,
    )
    raw = buffer.raw
    if answer != 0 or not int.from_bytes(raw[0:4], sys.byteorder) & _STATX_BTIME:
        return 0
    # struct statx: stx_btime is the second of four 16-byte timestamps that begin at byte 64
    seconds = int.from_bytes(raw[80:88], sys.byteorder, signed=True)
    return seconds * 1_000_000_000 + int.from_bytes(raw[88:92], sys.byteorder)


def open_directory_beneath(root_fd: int, path: bytes, *, only_to_read: bool = False) -> int:
    """Opens the directory ``path`` below ``root_fd``, crossing no symbolic link and no mount.

    Raises OSError: ELOOP or ENOTDIR if a link or a file is in the way, EXDEV if something is
    mounted there (without openat2: unless it is of the same file system), ENOENT. ``only_to_read``
    does without openat2, and so without loading ``ctypes``.
    """
    if not path:
        return os.dup(root_fd)
    components = path.split(b"/")
    if any(component in (b"", b".", b"..") for component in components):
        raise OSError(errno.EINVAL, "not a plain relative path", path)
    if not only_to_read and _openat2_works:
        fd = _open_in_stretches(root_fd, path)
        if fd is not None:
            return fd
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    device = os.fstat(root_fd).st_dev
    current = os.dup(root_fd)
    for component in components:
        try:
            following = os.open(component, flags, dir_fd=current)
        finally:
            os.close(current)
        current = following
        if os.fstat(current).st_dev != device:
            os.close(current)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    return current


def _open_in_stretches(root_fd: int, path: bytes) -> int | None:
    """Opens a path with as few calls as its length allows; None if there is no openat2."""
    current = root_fd
    while True:
        cut = len(path) if len(path) < _LONGEST_PATH else path.rfind(b"/", 0, _LONGEST_PATH)
        try:
            following = _openat2(current, path[: cut if cut > 0 else len(path)])
        finally:
            if current != root_fd:
                os.close(current)
        if following is None or cut <= 0 or cut == len(path):
            return following
        current, path = following, path[cut + 1 :]


def _openat2(root_fd: int, path: bytes) -> int | None:
    global _openat2_works
    import ctypes

    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    resolve = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_XDEV
    how = b"".join(n.to_bytes(8, sys.byteorder) for n in (flags, 0, resolve))
    while True:
        fd = int(
            _libc().syscall(
                ctypes.c_long(_SYS_OPENAT2),
                ctypes.c_int(root_fd),
                ctypes.c_char_p(path),
                ctypes.c_char_p(how),
                ctypes.c_size_t(len(how)),
            )
        )
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number in (errno.EAGAIN, errno.EINTR):  # a rename elsewhere raced with ".."
            continue
        if number in (errno.ENOSYS, errno.EPERM, errno.EINVAL):
            _openat2_works = False
            return None
        raise OSError(number, os.strerror(number), path)


def exchange(dir_fd: int, one: bytes, other: bytes) -> None:
    """Swaps two names of one directory in one instant; raises Unsupported or OSError."""
    _rename_with(dir_fd, one, dir_fd, other, _RENAME_EXCHANGE if LINUX else _MAC_RENAME_SWAP)


def rename_to_free_name(dir_fd: int, old: bytes, new: bytes, to_fd: int | None = None) -> None:
    """Renames only if ``new`` is free (FileExistsError otherwise); raises Unsupported too.

    ``to_fd`` is the directory of ``new`` if that is a different one.
    """
    flag = _RENAME_NOREPLACE if LINUX else _MAC_RENAME_EXCL
    _rename_with(dir_fd, old, dir_fd if to_fd is None else to_fd, new, flag)


def _rename_with(dir_fd: int, old: bytes, to_fd: int, new: bytes, flag: int) -> None:
    import ctypes

    function = getattr(_libc(), "renameat2" if LINUX else "renameatx_np", None)
    if function is None:
        raise Unsupported
    answer = function(
        ctypes.c_int(dir_fd),
        ctypes.c_char_p(old),
        ctypes.c_int(to_fd),
        ctypes.c_char_p(new),
        ctypes.c_uint(flag),
    )
    if answer == 0:
        return
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP):
        raise Unsupported
    raise OSError(number, os.strerror(number), old)


def flush_file_system(fd: int) -> bool:
    """Flushes the whole file system of ``fd``; False if there is no such call.

    Any other failure comes from the disk (EIO, ENOSPC, EDQUOT) and is raised: an earlier write has
    not arrived.
    """
    function = getattr(_libc(), "syncfs", None)
    if function is None:
        return False
    import ctypes

    if int(function(ctypes.c_int(fd))) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NO_SUCH_CALL:
        return False
    raise OSError(number, os.strerror(number))


def is_quiet(flushes: int = 2) -> bool:
    """Tells whether to flush a whole file system rather than so many files of it.

    Not while so much of other programs waits to be written that it would take longer.
    """
    return unwritten_bytes() <= max(_LITTLE, flushes * _A_FLUSH)


def unwritten_bytes() -> int:
    """Returns how much of all programs is still to be written to disks; 0 if nobody tells."""
    try:
        with open("/proc/meminfo", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return 0
    return sum(
        int(line.split()[1]) << 10 for line in lines if line.startswith((b"Dirty:", b"Writeback:"))
    )


UNKNOWN_RUN = "unknown"


def run_of_machine() -> str:
    """Returns a word for the time since the machine started: another one after each start.

    What was not flushed is believed in its own run only. Without such a word, one for all runs.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return UNKNOWN_RUN


def own_memory() -> None:
    """Copies the memory that this process still shares with the one it was forked from.

    Otherwise each page is copied when it is first written to, and Python writes wherever it reads.
    Only speed depends on it; without such a call nothing is done.
    """
    if not LINUX:
        return
    import ctypes

    advise = _libc().madvise
    try:
        with open("/proc/self/maps") as maps:
            regions = [line.split()[:2] for line in maps]
    except OSError:
        return
    for addresses, rights in regions:
        if rights == "rw-p":
            start, end = (int(number, 16) for number in addresses.split("-"))
            advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_POPULATE_WRITE)


def give_back_memory() -> None:
    """Gives the system back what was freed; a C library that cannot be asked to keeps it.

    After much was read at once, most of it would else stay with a process that stays.
    """
    trim = getattr(_libc(), "malloc_trim", None)
    if trim is not None:
        trim(0)


def open_queue() -> int:
    """Opens a queue for what happens in directories, in which nobody waits; raises OSError."""
    return _checked(_libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))


def watch_directory(queue: int, fd: int) -> int:
    """Has whatever happens in an open directory put into a queue; returns its number there.

    The same directory has the same number as long as it is watched. Raises OSError.
    """
    import ctypes

    path = b"/proc/self/fd/%d" % fd  # this very directory, wherever its path leads by now
    return _checked(_libc().inotify_add_watch(queue, path, ctypes.c_uint32(_WATCHED)))


def file_system(fd: int) -> int:
    """Returns the number that the kernel has for the kind of file system a file is on.

    Raises OSError.
    """
    import ctypes

    buffer = ctypes.create_string_buffer(256)
    _checked(_libc().fstatfs(fd, buffer))
    return int.from_bytes(buffer.raw[: ctypes.sizeof(ctypes.c_long)], sys.byteorder)


def _checked(answer: int) -> int:
    if answer >= 0:
        return answer
    import ctypes

    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number))
