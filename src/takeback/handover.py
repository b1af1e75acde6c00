"""Handing over: a hook gives its event to the standby, which has all modules in memory.

Starting Python is a quarter of a hook's time, importing takeback half of it. So a hook that finds
the standby (``standby.py``) imports nothing more than this module:

    hook                                     standby
    where it is, its words, its environment ──>
                                        <──  "+" can do it    or "-", or nothing in time: the hook
    "!" and its streams and directory ──>                     does all itself, as if there were none
                                        <──  how it ended

Only "!" hands the event over, and with it what keeps the agent waiting: a standby that hangs has
neither, and finds later that nobody is there. Nothing but builtins is imported here, not even
``__future__``.
"""

import _socket
import marshal
import posix
import sys

NAME = "standby"
TAKEN, REFUSED, GO = b"+", b"-", b"!"
_PATIENCE = 0.5
_LENGTH = 4
_FD = 4
_PIECE = 1 << 16


class Lost(Exception):
    """The standby ended after it had taken the event."""


def hand_over(directory: str, words: list[str]) -> int | None:
    """Lets the standby in a directory take this process's event; returns the status to end with.

    None if there is no standby, or none that could do just what this process would do.
    Raises Lost.
    """
    if not posix.access(f"{directory}/{NAME}", posix.F_OK):
        return None
    door = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        if not _taken(door, directory, words):
            return None
        door.settimeout(None)
        answer = door.recv(1)
    finally:
        door.close()
    if not answer:
        raise Lost("the standby ended before the event was recorded")
    return answer[0]


def _taken(door: _socket.socket, directory: str, words: list[str]) -> bool:
    try:
        here = posix.open(".", posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return False
    try:
        posix.chdir(directory)  # the path of a socket may have no more than 107 bytes
        try:
            door.settimeout(_PATIENCE)
            door.connect(NAME)
        finally:
            posix.fchdir(here)
        umask = posix.umask(0)
        posix.umask(umask)
        request = marshal.dumps((surroundings(), words, posix.environ, umask))
        door.sendall(len(request).to_bytes(_LENGTH, "big") + request)
        if door.recv(1) != TAKEN:
            return False
        rights = b"".join(fd.to_bytes(_FD, sys.byteorder) for fd in (0, 1, 2, here))
        door.sendmsg([GO], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    except OSError:
        return False
    finally:
        posix.close(here)
    return True


def surroundings() -> tuple[int | str | None, ...]:
    """Returns what must be the same for two processes to do the same with the same paths.

    A container may share the home, and so the socket, and see other files at the same paths.
    """
    found: list[int | str | None] = [sys.hexversion, sys.executable, __file__]
    found += [posix.geteuid(), posix.getegid(), *posix.getgroups()]
    for path in ("/", "/proc/self/ns/mnt", "/proc/self/ns/pid", "/proc/self/ns/user"):
        try:
            status = posix.stat(path)
            found += [status.st_dev, status.st_ino]
        except OSError:
            found.append(None)
    return tuple(found)


class Handed:
    """What a hook says of itself before it hands over."""

    def __init__(self, door: _socket.socket) -> None:
        """Reads it; raises OSError, or an error of ``marshal``."""
        length = int.from_bytes(_read(door, _LENGTH), "big")
        self.surroundings: tuple[int | str | None, ...]
        self.words: list[str]
        self.environ: dict[bytes, bytes]
        self.umask: int
        request = marshal.loads(_read(door, length))
        self.surroundings, self.words, self.environ, self.umask = request


def received(door: _socket.socket) -> list[int]:
    """Returns the three streams and the directory of a hook; none if it does not hand over."""
    said, ancillary, _, _ = door.recvmsg(1, _socket.CMSG_SPACE(4 * _FD))
    fds = [
        int.from_bytes(rights[at : at + _FD], sys.byteorder)
        for level, kind, rights in ancillary
        if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS)
        for at in range(0, len(rights), _FD)
    ]
    return fds if said == GO else []


def _read(door: _socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        piece = door.recv(min(length - len(data), _PIECE))
        if not piece:
            raise EOFError("the request is cut")
        data += piece
    return data
