"""Checks the processes that wait for hooks: are they alive, and of the takeback that hooks run?

A standby itself checks whether its files have changed, so an old one serves nobody; it only stays
in memory. One that was killed leaves its socket, which costs each hook an attempt.
"""

from __future__ import annotations

import os
import socket
from struct import Struct

from takeback import durable
from takeback.adapters import launcher
from takeback.check.finding import MENDED, OFFER, Finding
from takeback.errors import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PEER = Struct("3i")  # process, user, group
_PATIENCE = 1.0
_NAME = "standby"


def check_standbys(home: str, *, fix: bool) -> Iterator[Finding]:
    """Yields a finding for each standby that is no longer of use."""
    if not hasattr(socket, "SO_PEERCRED"):
        return  # there are none if the system cannot tell who is calling
    recorded = launcher.recorded(home)
    for path in launcher.standby_sockets(home):
        process = _listener(path)
        if process is None:
            stale = f"one was killed and left {os.path.basename(path)}"
        elif recorded is not None and not _is_of(process, recorded[1]):
            stale = f"process {process} is of another takeback than the hooks run"
        else:
            continue
        if fix:
            _take_away(path)
            yield Finding(_NAME, MENDED, f"{stale}; its socket was removed, which ends it")
        else:
            yield Finding(_NAME, OFFER, stale, ("end it: ", Command("doctor", "--fix")))


def _listener(path: str) -> int | None:
    """Returns the process that listens at a socket; None if none does."""
    folder, name = os.path.split(path)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        try:
            door.settimeout(_PATIENCE)
            door.connect(f"/proc/self/fd/{place}/{name}")  # a path may have at most 107 bytes
            peer = door.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        except OSError:
            return None
        finally:
            os.close(place)
    process: int = _PEER.unpack(peer)[0]
    return process


def _is_of(process: int, package: str) -> bool:
    """Tells whether a process runs the takeback of a directory; True if unknown."""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return True
    return os.fsencode(package) in words


def _take_away(path: str) -> None:
    try:
        durable.unlink(path)
    except FileNotFoundError:
        return
