"""Who is at the other end of a connection on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback.gate.peers import Connection, Peers, connection, peers
from tests.support.processes import Started

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says")

Ends = tuple[socket.socket, socket.socket]


def by_port(folder: Path, family: socket.AddressFamily = socket.AF_INET) -> Ends:
    with socket.create_server(("127.0.0.1", 0)) as door:
        other = socket.socket(family, socket.SOCK_STREAM)
        prefix = "::ffff:" if family == socket.AF_INET6 else ""
        other.connect((f"{prefix}127.0.0.1", door.getsockname()[1]))
        return door.accept()[0], other


def by_port_of_ipv6(folder: Path) -> Ends:
    return by_port(folder, socket.AF_INET6)


def by_path(folder: Path) -> Ends:
    before = os.getcwd()
    os.chdir(folder)  # the name of a socket has to be short
    try:
        with socket.socket(socket.AF_UNIX) as door:
            door.bind("door")
            door.listen()
            other = socket.socket(socket.AF_UNIX)
            other.connect("door")
            return door.accept()[0], other
    finally:
        os.chdir(before)


@pytest.mark.parametrize("made", [by_port, by_port_of_ipv6, by_path])
def test_whoever_holds_the_other_end_is_known_until_it_is_closed(
    tmp_path: Path, made: Callable[[Path], Ends]
) -> None:
    own, other = made(tmp_path)
    with own:
        asked = connection(own)
        assert peers(asked) == Peers((os.getpid(),))
        with Started[bytes](
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[other.fileno()]
        ) as child:
            assert set(peers(asked).pids) == {os.getpid(), child.pid}
            other.close()
            assert peers(asked) == Peers((child.pid,)), "the one that it was handed to"
            child.communicate(b"\n", timeout=60)
        assert peers(asked) == Peers((), known=True), "nobody waits for an answer"


def test_where_the_system_does_not_say_nobody_is_known() -> None:
    assert peers(Connection()) == Peers((), known=False)
    nowhere = Connection(addresses=(("127.0.0.1", 1), ("127.0.0.1", 2)))
    assert peers(nowhere) == Peers((), known=False)
    assert peers(Connection(inode=1, process=os.getpid())) == Peers((os.getpid(),))
