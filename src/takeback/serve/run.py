"""Runs the server, from its first socket to its end."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time

import uvicorn

from takeback.app.proposal import Agreements
from takeback.app.serving import PrivateFiles
from takeback.errors import Command, TakebackError, TimedOut
from takeback.model.path_text import to_text
from takeback.model.value import Value
from takeback.serve.feed import Feed, OpenWorkspaces
from takeback.serve.guard import Entrance, Presence, Secrets, address
from takeback.serve.protocol import PatientProtocol, ServerSettings
from takeback.serve.routes import application

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

    Log = Callable[[str], None]

# -- ending: a server that is told to end does so, also if a workspace never answers
#
# What is being done is finished first, as long as it moves. What hangs is left as by a kill: the
# journal of the operation is there, and the next command recovers it.


_PAUSE = 0.1
_NAMED = 3


class Ending:
    """Waits for the work of a server in a thread of its own, and gives it up in the end.

    ``give_up`` gets what to say of workspaces that were at work, if any was. After it the process
    ends, without waiting for any thread.
    """

    def __init__(self, server: Server, give_up: Callable[[TakebackError | None], None]) -> None:
        self._server = server
        self._give_up = give_up
        self._asked = 0
        self._begun = threading.Lock()

    def begin(self) -> None:
        """Is called for each signal: the first begins, the second waits no longer."""
        self._asked += 1
        if self._begun.acquire(blocking=False):
            threading.Thread(target=self._wait, daemon=True, name="takeback-ending").start()

    def _wait(self) -> None:
        settings, workspaces = self._server.settings, self._server.workspaces
        seen, moved = workspaces.steps(), time.monotonic()
        last = moved + settings.ending_seconds
        while self._asked < 2 and time.monotonic() < min(last, moved + settings.silent_seconds):
            time.sleep(_PAUSE)
            now = workspaces.steps()
            if now != seen:
                seen, moved = now, time.monotonic()
        roots = workspaces.at_work()
        error = _left(roots) if roots else None
        try:
            self._give_up(error)
        finally:  # nobody may hear it any more
            os._exit(0 if error is None else error.exit_status)


def _left(roots: list[bytes]) -> TakebackError:
    """Returns the error that names the workspaces that were not waited for."""
    first = ", ".join(to_text(root) for root in roots[:_NAMED])
    more = f" and {len(roots) - _NAMED} more" if len(roots) > _NAMED else ""
    return TimedOut(
        f"ended without waiting any longer for {first}{more}",
        hint=("what was interrupted there is recovered by the next command: ", Command("status")),
    )


# -- server: what all requests of one run share


class Server(Value):
    """The parts of one running server. ``authority`` is its name as clients have to say it.

    A nonce belongs to one plan of one workspace, is good once, and not for long.
    """

    settings: ServerSettings
    secrets: Secrets
    workspaces: OpenWorkspaces
    nonces: Agreements
    feed: Feed
    presence: Presence
    authority: str
    origin: str | None
    """None where no page can be: on a Unix socket."""


def new_server(
    settings: ServerSettings, authority: str, origin: str | None, clock: Callable[[], float]
) -> Server:
    """Returns a server with a secret of its own, and nothing open yet."""
    return Server(
        settings,
        Secrets(settings, clock),
        OpenWorkspaces(settings),
        Agreements(settings.nonces, _nonce, seconds=settings.nonce_seconds, clock=clock),
        Feed(settings),
        Presence(),
        authority,
        origin,
    )


def _nonce() -> str:
    return secrets.token_urlsafe(24)


# -- runs the server until it is ended: binds, says where it is, answers, removes its files


_SWITCH = 0.001
"""Seconds that a thread computes before another may: who asks the ledger lets others go first at
each row, and would wait for Python's usual five thousandths each time."""


LOOPBACK, LOCALHOST = "127.0.0.1", "localhost"
"""The Host of requests: with a port, and on a Unix socket."""


class Running(Value):
    """What is told of a server when it runs.

    ``opened`` tells whether a browser was started; ``entrance`` is the file that leads one in where
    it was not, ``link`` an address that does, if a terminal is there to print it.
    """

    url: str
    pid: int
    secret_file: str
    opened: bool = False
    entrance: str | None = None
    link: str | None = None


class Says(Value):
    """How a server speaks to whoever started it.

    ``running`` is called once, with where it is; ``left`` with what it did not wait for when it
    ended; ``log`` with a line for each answer.
    """

    running: Callable[[Running], None]
    left: Callable[[TakebackError], None]
    log: Log


class ServerOptions(Value):
    """How it is to run: on a Unix socket instead of a port, with a browser opened or without.

    ``link`` asks for an address that leads a browser in, for a person's eyes alone; ``workspace``
    is the id of the one that the page begins with.
    """

    socket: bool = False
    browser: bool = False
    link: bool = False
    workspace: str | None = None


def serve(environ: Mapping[str, str], wanted: ServerOptions, says: Says) -> None:
    """Serves until SIGINT or SIGTERM, for this machine and this user alone."""
    with PrivateFiles(environ) as files:
        door, url, origin = _unix_door(files) if wanted.socket else _loopback_door()
        with door:
            authority = LOCALHOST if origin is None else origin.removeprefix("http://")
            server = new_server(ServerSettings(), authority, origin, time.monotonic)
            secret_file = files.write("secret", f"{server.secrets.secret}\n".encode())
            running = Running(url, os.getpid(), secret_file)
            if origin is not None:
                running = _let_in(running, server, files, environ, wanted)

            def give_up(error: TakebackError | None) -> None:
                if error is not None:
                    says.left(error)
                files.remove_all()

            answering = _answering(server, says.log, Ending(server, give_up))
            for number in (signal.SIGINT, signal.SIGTERM):  # for one that comes before or after it
                signal.signal(number, answering.handle_exit)
            says.running(running)
            sys.setswitchinterval(_SWITCH)
            answering.run(sockets=[door])


def _let_in(
    running: Running,
    server: Server,
    files: PrivateFiles,
    environ: Mapping[str, str],
    wanted: ServerOptions,
) -> Running:
    """Makes the way in that is wanted: a browser, or what a person needs to open one."""
    settings = server.settings
    if wanted.browser:
        entrance = Entrance(server, files, address(server, settings.code_seconds, wanted.workspace))
        running = running.replace(entrance=entrance.path, opened=entrance.open(environ))
    if wanted.link and not running.opened:
        running = running.replace(link=address(server, settings.link_seconds, wanted.workspace))
    return running


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


def _answering(server: Server, log: Log, ending: Ending) -> _Server:
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
    return _Server(config, ending)
