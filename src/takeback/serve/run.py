"""Runs the server until it is ended: binds, says where it is, answers, removes its files."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time

import uvicorn

from takeback.app.private_files import PrivateFiles
from takeback.model.value import Value
from takeback.serve.application import application
from takeback.serve.entrance import Entrance
from takeback.serve.protocol import PatientProtocol
from takeback.serve.server import new_server
from takeback.serve.settings import ServerSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

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


class ServerOptions(Value):
    """How it is to run: on a Unix socket instead of a port, with a browser opened or without."""

    socket: bool = False
    browser: bool = False


def serve(
    environ: Mapping[str, str], wanted: ServerOptions, *, say: Callable[[Running], None], log: Log
) -> None:
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
            say(running)
            _answer(server, door, log)


def _loopback_door() -> tuple[socket.socket, str, str | None]:
    """Returns a socket on a free port of this machine, its address, and the page's origin."""
    door = socket.create_server((LOOPBACK, 0))
    origin = f"http://{LOOPBACK}:{door.getsockname()[1]}"
    return door, f"{origin}/", origin


def _unix_door(files: PrivateFiles) -> tuple[socket.socket, str, str | None]:
    """Returns a socket in a directory that nobody else can enter; no page can ask there."""
    door, path = files.socket("socket")
    return door, f"unix:{path}", None


def _answer(server: Server, door: socket.socket, log: Log) -> None:
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
    for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises them again when it has ended
        signal.signal(number, _ended)
    uvicorn.Server(config).run(sockets=[door])


def _ended(number: int, frame: FrameType | None) -> None:
    """Takes a signal that has done its work."""
