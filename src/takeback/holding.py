"""What the standby holds for its spares, and how a spare tells it: watches of workspaces.

A spare ends with its event, so what it has opened would end with it. It hands the descriptors over;
the standby gives them to every later spare by forking, and never reads from them: the queue and its
table are looked at only where an event is done.
"""

from __future__ import annotations

import os
import sys

from takeback.c_modules import socket

WATCH = b"@"
"""What a message begins with that has the descriptors of a watch; its workspace follows."""
_MOST_WATCHES = 4
_PARTS = 2
_FD = 4
_MESSAGE = 1 << 16


def line() -> tuple[socket.socket, socket.socket]:
    """Returns both ends of a line on which a message comes as a whole, or the end."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def tell(end: socket.socket, message: bytes, fds: tuple[int, ...] = ()) -> None:
    """Says something to the standby, if that is still there."""
    numbers = b"".join(fd.to_bytes(_FD, sys.byteorder) for fd in fds)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)] if fds else []
    try:
        end.sendmsg([message], rights)
    except OSError:
        return


class HeldWatches:
    """The watches that spares have handed over, the newest of a few workspaces."""

    def __init__(self) -> None:
        self._fds: dict[bytes, tuple[int, int]] = {}
        self.changes = 0
        """A spare that was forked after as many has all that are held."""

    def hear(self, end: socket.socket) -> bytes:
        """Returns what a spare says, empty if it has ended; takes over what it hands over."""
        room = socket.CMSG_SPACE(_FD * _PARTS)
        message, ancillary, _, _ = end.recvmsg(_MESSAGE, room)
        for _, _, numbers in ancillary:
            fds = [
                int.from_bytes(numbers[at : at + _FD], sys.byteorder)
                for at in range(0, len(numbers), _FD)
            ]
            self._take(message.removeprefix(WATCH), fds)
        return message

    def _take(self, workspace: bytes, fds: list[int]) -> None:
        if len(fds) != _PARTS:  # this process has too many open
            for fd in fds:
                os.close(fd)
            return
        for fd in fds:
            os.set_inheritable(fd, False)
        self._drop(workspace)
        while len(self._fds) >= _MOST_WATCHES:
            self._drop(next(iter(self._fds)))
        queue, table = fds
        self._fds[workspace] = (queue, table)
        self.changes += 1

    def _drop(self, workspace: bytes) -> None:
        for fd in self._fds.pop(workspace, ()):
            os.close(fd)

    def watches(self) -> list[tuple[int, int]]:
        """Returns the queue and the table of each watch."""
        return list(self._fds.values())
