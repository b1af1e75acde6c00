"""Runs the server until it is ended: binds, says where it is, answers, removes its files."""

from __future__ import annotations

import os
import signal
import socket
import time

import uvicorn

from takeback.app.private_files import PrivateFiles
from takeback.model.value import Value
from takeback.serve.application import application
from takeback.serve.protocol import PatientProtocol
from takeback.serve.server import new_server
from takeback.serve.settings import ServerSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

    from takeback.serve.server import Server

    Log = Callable[[str], None]

LOOPBACK = "127.0.0.1"


class Running(Value):
    """What is told of a server when it runs."""

    url: str
    pid: int
    secret_file: str


def serve(environ: Mapping[str, str], *, say: Callable[[Running], None], log: Log) -> None:
    """Serves on a free port of this machine until SIGINT or SIGTERM."""
    settings = ServerSettings()
    with socket.create_server((LOOPBACK, 0)) as door:
        authority = f"{LOOPBACK}:{door.getsockname()[1]}"
        server = new_server(settings, authority, f"http://{authority}", time.monotonic)
        with PrivateFiles(environ) as files:
            secret_file = files.write("secret", f"{server.secrets.secret}\n".encode())
            say(Running(f"http://{authority}/", os.getpid(), secret_file))
            _answer(server, door, log)


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
    for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises them again when it has ended
        signal.signal(number, _ended)
    uvicorn.Server(config).run(sockets=[door])


def _ended(number: int, frame: FrameType | None) -> None:
    """Takes a signal that has done its work."""
