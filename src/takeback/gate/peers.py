"""Peers: which processes hold the other end of a connection on this machine.

    client ── its socket, with an inode ── the kernel ── our socket
      └─ /proc/PID/fd names that inode; after a fork, or a descriptor handed on, in several PIDs

Linux tells the inode of the other end: of a port in /proc/net/tcp, of a Unix socket through
sock_diag. No other system is asked.
"""

from __future__ import annotations

import os
import socket
import struct
import sys

from takeback.model.value import Value

_PEER = struct.Struct("3i")
"""The process, user and group of a peer."""
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST = 1
_SHOW_PEER = 4
_ANY = 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBHIII2I")
_TOLD = struct.Struct("=BBBBI2I")
_ATTRIBUTE = struct.Struct("=HH")
_ATTRIBUTE_PEER = 2
_NETLINK_ERROR = 2
_ENDED = 0
"""The inode of an end that no process holds any more."""


class Connection(Value):
    """A connection that was accepted, by what names it: no descriptor, which may be reused.

    ``addresses`` are our own and the other's, of a port; ``inode`` is our own end's, of a Unix
    socket; ``process`` and ``user`` are those that connected there, if the system says.
    """

    addresses: tuple[tuple[str, int], tuple[str, int]] | None = None
    inode: int = 0
    process: int | None = None
    user: int | None = None


class Peers(Value):
    """The processes that hold, or may hold, the other end.

    ``known`` is false if there may be others. If it is true and there are none, the other end was
    closed.
    """

    pids: tuple[int, ...] = ()
    known: bool = True


def connection(accepted: socket.socket) -> Connection:
    """Returns what names a connection; raises OSError if it is closed."""
    if accepted.family == socket.AF_INET:
        return Connection(addresses=(accepted.getsockname(), accepted.getpeername()))
    if not hasattr(socket, "SO_PEERCRED"):
        return Connection()
    said = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    process, user, _ = _PEER.unpack(said)
    return Connection(None, os.fstat(accepted.fileno()).st_ino, process or None, user)


def peers(asked: Connection) -> Peers:
    """Returns who is at the other end now."""
    if asked.addresses is not None:
        inode = _other_port(*asked.addresses)
    else:
        inode = _other_socket(asked.inode) if asked.inode else None
    if inode == _ENDED:
        return Peers()
    if inode is None:  # the process that connected may still be known
        alive = asked.process is not None and os.path.exists(f"/proc/{asked.process}")
        return Peers((asked.process,) if alive and asked.process else (), known=alive)
    return _holding(inode)


def _other_port(own: tuple[str, int], other: tuple[str, int]) -> int | None:
    """Returns the inode of the other end of a loopback connection; None if nobody says.

    A client may use an IPv6 socket for an IPv4 address: that is in a list of its own, with the
    same last four bytes.
    """
    here, there = _as_listed(own), _as_listed(other)
    seen = False
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/net/{name}", "rb") as file:
                lines = file.read().decode("ascii").splitlines()
        except OSError:
            continue
        for line in lines[1:]:
            fields = line.split()
            ends = fields[1][-len(here) :], fields[2][-len(there) :]
            if ends == (there, here):
                return int(fields[9])
            seen = seen or ends == (here, there)
    return _ENDED if seen else None  # our own end is listed as long as we have it


def _as_listed(address: tuple[str, int]) -> str:
    host, port = address
    word = int.from_bytes(socket.inet_aton(host), sys.byteorder)
    return f"{word:08X}:{port:04X}"


def _other_socket(own: int) -> int | None:
    """Returns the inode of the other end of a Unix socket; None if nobody says."""
    if not hasattr(socket, "AF_NETLINK"):
        return None
    wanted = _ASKED.pack(socket.AF_UNIX, 0, 0, _ANY, own, _SHOW_PEER, _ANY, _ANY)
    length = _HEADER.size + len(wanted)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
            kernel.settimeout(1)
            kernel.send(_HEADER.pack(length, _SOCK_DIAG_BY_FAMILY, _REQUEST, 0, 0) + wanted)
            said = kernel.recv(1 << 16)
    except OSError:
        return None
    length, kind, *_ = _HEADER.unpack_from(said)
    if kind == _NETLINK_ERROR:
        return None
    place = _HEADER.size + _TOLD.size
    while place + _ATTRIBUTE.size <= length:
        size, name = _ATTRIBUTE.unpack_from(said, place)
        if name == _ATTRIBUTE_PEER:
            return int.from_bytes(said[place + _ATTRIBUTE.size : place + size], sys.byteorder)
        place += max((size + 3) & ~3, _ATTRIBUTE.size)
    return _ENDED


def _holding(inode: int) -> Peers:
    """Returns the processes that have a socket open.

    If none of those that can be looked at has it, it is one of those that cannot: of another user,
    or one that hides itself.
    """
    wanted, holding, hidden = f"socket:[{inode}]", [], []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if _has_open(f"/proc/{name}/fd", wanted):
                holding.append(int(name))
        except PermissionError:
            hidden.append(int(name))
        except OSError:  # it has ended
            continue
    return Peers(tuple(holding)) if holding else Peers(tuple(hidden), known=False)


def _has_open(folder: str, wanted: str) -> bool:
    for number in os.listdir(folder):
        try:
            if os.readlink(f"{folder}/{number}") == wanted:
                return True
        except FileNotFoundError:  # closed meanwhile
            continue
    return False
