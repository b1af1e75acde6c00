"""Runs the server until it is ended: binds, says where it is, answers, removes its files."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time

import uvicorn

from takeback.app.private_files import PrivateFiles
from takeback.model.value import Value
from takeback.serve.application import application
from takeback.serve.ending import Ending
from takeback.serve.entrance import Entrance
from takeback.serve.protocol import PatientProtocol
from takeback.serve.server import new_server
from takeback.serve.settings import ServerSettings

_SWITCH = 0.001
"""Seconds that a thread computes before another may: who asks the ledger lets others go first at
each row, and would wait for Python's usual five thousandths each time."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

    from takeback.errors import TakebackError
    from takeback.serve.server import Server

    Log = Callable[[str], None]

LOOPBACK, LOCALHOST = "127.0.0.1", "localhost"
"""The Host of requests: with a port, and on a Unix socket."""


class Running(Value):
    """What is told of a server when it runs.

    ``entrance`` is the file that leads a browser in, if one is wanted; ``opened`` tells whether a
    browser was started with it.
    """

    url: str
    pid: int
    secret_file: str
    entrance: str | None = None
    opened: bool = False


class Says(Value):
    """How a server speaks to whoever started it.

    ``running`` is called once, with where it is; ``left`` with what it did not wait for when it
    ended; ``log`` with a line for each answer.
    """

    running: Callable[[Running], None]
    left: Callable[[TakebackError], None]
    log: Log


class ServerOptions(Value):
    """How it is to run: on a Unix socket instead of a port, with a browser opened or without."""

    socket: bool = False
    browser: bool = False


def serve(environ: Mapping[str, str], wanted: ServerOptions, says: Says) -> None:
    """Serves until SIGINT or SIGTERM, for this machine and this user alone."""
    with PrivateFiles(environ) as files:
        door, url, origin = _unix_door(files) if wanted.socket else _loopback_door()
        with door:
            authority = LOCALHOST if origin is None else origin.removeprefix("http://")
            server = new_server(ServerSettings(), authority, origin, time.monotonic)
            secret_file = files.write("secret", f"{server.secrets.secret}\n".encode())
            running = Running(url, os.getpid(), secret_file)
            if wanted.browser and origin is not None:
                entrance = Entrance(server, files)
                opened = entrance.open(environ)
                running = running.replace(entrance=entrance.path, opened=opened)
            says.running(running)

            def give_up(error: TakebackError | None) -> None:
                if error is not None:
                    says.left(error)
                files.remove_all()

            _answer(server, door, says.log, Ending(server, give_up))


def _loopback_door() -> tuple[socket.socket, str, str | None]:
    """Returns a socket on a free port of this machine, its address, and the page's origin."""
    door = socket.create_server((LOOPBACK, 0))
    # Connections have it from here. asyncio sets it only for sockets that say that they are TCP,
    # and an answer of two small packets would wait 40 ms for the first to be acknowledged.
    door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    origin = f"http://{LOOPBACK}:{door.getsockname()[1]}"
    return door, f"{origin}/", origin


def _unix_door(files: PrivateFiles) -> tuple[socket.socket, str, str | None]:
    """Returns a socket in a directory that nobody else can enter; no page can ask there."""
    door, path = files.socket("socket")
    return door, f"unix:{path}", None


class _Server(uvicorn.Server):
    """Ends at a signal, and not later because something hangs."""

    def __init__(self, config: uvicorn.Config, ending: Ending) -> None:
        super().__init__(config)
        self._ending = ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Takes a signal; uvicorn itself would raise it again when it has ended."""
        self._ending.begin()
        self.should_exit = True


def _answer(server: Server, door: socket.socket, log: Log, ending: Ending) -> None:
    config = uvicorn.Config(
        application(server, log),
        http=PatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=2 * server.settings.header_bytes,
        limit_concurrency=server.settings.connections,
    )
    logging.getLogger("uvicorn").disabled = True  # our log has a line for each answer
    logging.getLogger("uvicorn.error").disabled = True
    running = _Server(config, ending)
    for number in (signal.SIGINT, signal.SIGTERM):  # for one that comes before or after it runs
        signal.signal(number, lambda number, frame: ending.begin())
    sys.setswitchinterval(_SWITCH)
    running.run(sockets=[door])
