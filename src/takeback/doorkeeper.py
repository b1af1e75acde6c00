"""The doorkeeper: checks who hands over an event, and believes nothing it says about itself.

The standby does what a hook would do, so a hook may only hand over to one that can do exactly what
it can do itself: else a sandboxed process would have a way out, and one without a sandbox would be
held in one that is not its own.

    who asks        the kernel says, with each message (SCM_CREDENTIALS)
    what it is      /proc/PID says: users, groups, capabilities, namespaces, root, no_new_privs,
                    seccomp, limits, niceness, security label: all as the standby's own
    Landlock        /proc says nothing of it. But from inside a domain no process outside can be
                    looked at: the hook has to open a file of the standby through
                    /proc/PID/fd, and the standby has looked at the hook. If both succeed, they
                    are in the same domain, or in none.
    seccomp         two filters cannot be compared, only counted: a hook that has more of them
                    than the first process of the system does everything itself
    its places      PATH, HOME, TMPDIR, TAKEBACK_HOME, XDG_*_HOME: same as the standby's own

A process id may be reused: the same process is there before it is given the name of the file and
after the file was sent, so it is the one that sent it.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time

from takeback import handover
from takeback.c_modules import socket

_PATIENCE = 1.0
_SO_PASSCRED = 16
_SCM_CREDENTIALS = 2
_CREDENTIALS = 12
_PIECE = 1 << 16
_FILTERS = b"Seccomp_filters:"


class NotAdmitted(Exception):
    """The caller is not a hook, or not one that the standby can stand in for."""


class Handed:
    """What a hook has handed over: its words, its variables, its streams, its directory.

    ``process`` is the hook's own, as the kernel has named it.
    """

    def __init__(
        self, process: int, words: list[str], environ: dict[bytes, bytes], fds: list[int]
    ) -> None:
        self.process = process
        self.words = words
        self.environ = environ
        *self.streams, self.directory = fds


def listen_for_names(door: socket.socket) -> None:
    """Has the kernel say with each message who sent it.

    It is set on the listening socket, from which each connection inherits it: set afterwards, what
    a quick hook has sent already would have no sender.
    """
    door.setsockopt(socket.SOL_SOCKET, _SO_PASSCRED, 1)


class Doorkeeper:
    """Admits hooks that are like this process."""

    def __init__(self) -> None:
        """Raises OSError if the kernel does not tell what a process is."""
        self._kind = handover.kind("self")
        self._places = handover.places(os.environb._data)  # type: ignore[attr-defined]
        self.is_comparable = _filters("self") == _filters("1")

    def admit(self, visitor: socket.socket, wait: float) -> Handed:
        """Takes over from a hook, which then waits as long; raises NotAdmitted or OSError.

        This waits a second at most.
        """
        talk = Talk(visitor)
        words, environ = _understood(talk.request())
        if not self._is_like_us(talk.pid) or handover.places(environ) != self._places:
            visitor.sendall(handover.REFUSED)
            raise NotAdmitted("it is of another kind")
        began = handover.started(str(talk.pid))
        proof = os.memfd_create("takeback")
        told = (handover.TAKEN, os.getpid(), proof, int(wait * 1000))
        visitor.sendall(b"%b%d %d %d" % told)
        *fds, shown = talk.rights()
        if not _is_same(shown, proof) or handover.started(str(talk.pid)) != began:
            raise NotAdmitted("it cannot look at this process")
        os.close(shown)
        os.close(proof)
        return Handed(talk.pid, words, environ, fds)

    def _is_like_us(self, pid: int) -> bool:
        return self.is_comparable and handover.kind(str(pid)) == self._kind


def _filters(process: str) -> bytes:
    with open(f"/proc/{process}/status", "rb") as status:
        return next((line for line in status if line.startswith(_FILTERS)), b"")


def _is_same(shown: int, proof: int) -> bool:
    """Tells whether a descriptor leads to the file, and was opened separately for writing."""
    theirs, ours = os.fstat(shown), os.fstat(proof)
    writes = fcntl.fcntl(shown, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
    return writes and (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)


def _understood(request: bytes) -> tuple[list[str], dict[bytes, bytes]]:
    pieces = request.split(b"\0")
    if b"" not in pieces:
        raise NotAdmitted("that is no request")
    words = pieces.index(b"")
    environ: dict[bytes, bytes] = {}
    for variable in pieces[words + 1 :]:
        name, equals, value = variable.partition(b"=")
        if not name or not equals:
            raise NotAdmitted("that is no environment")
        environ.setdefault(name, value)  # of two with one name programs take the first
    return [os.fsdecode(word) for word in pieces[:words]], environ


class Talk:
    """Listens to one process, which the kernel names with each message."""

    def __init__(self, visitor: socket.socket) -> None:
        self._visitor = visitor
        self._end = time.monotonic() + _PATIENCE
        self.pid = 0

    def request(self) -> bytes:
        length = int.from_bytes(self._exactly(handover.LENGTH), "big")
        if length > handover.LONGEST:
            raise NotAdmitted("that is too long")
        return self._exactly(length)

    def rights(self) -> list[int]:
        """Returns the descriptors that come with the message that hands over."""
        said, fds = self._hear(1)
        if said != handover.GO or len(fds) != handover.STREAMS + 2:
            raise NotAdmitted("it does not hand over")
        return fds

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            piece, fds = self._hear(min(length - len(data), _PIECE))
            if not piece or fds:
                raise NotAdmitted("it breaks off")
            data += piece
        return data

    def _hear(self, most: int) -> tuple[bytes, list[int]]:
        left = self._end - time.monotonic()
        if left <= 0:
            raise NotAdmitted("it takes too long")
        self._visitor.settimeout(left)
        room = socket.CMSG_SPACE(_CREDENTIALS) + socket.CMSG_SPACE(
            handover.FD * (handover.STREAMS + 2)
        )
        data, ancillary, flags, _ = self._visitor.recvmsg(most, room)
        fds: list[int] = []
        for level, what, content in ancillary:
            if (level, what) == (socket.SOL_SOCKET, _SCM_CREDENTIALS):
                self._same_process(int.from_bytes(content[: handover.FD], sys.byteorder))
            elif (level, what) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds += _descriptors(content)
        if flags & socket.MSG_CTRUNC or not self.pid:
            raise NotAdmitted("it says more than it may, or not who it is")
        return data, fds

    def _same_process(self, pid: int) -> None:
        if self.pid not in (0, pid):
            raise NotAdmitted("two processes speak")
        self.pid = pid


def _descriptors(content: bytes) -> list[int]:
    return [
        int.from_bytes(content[at : at + handover.FD], sys.byteorder)
        for at in range(0, len(content), handover.FD)
    ]
