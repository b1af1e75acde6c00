"""The protocol: what is asked and answered, its schemas, its errors, its settings."""

from __future__ import annotations

import json
import os
import re
import sys

import h11
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from takeback import errors
from takeback.errors import TakebackError
from takeback.gate import asker
from takeback.model import json_text, schemas
from takeback.model.value import Value
from takeback.words import choices as wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any, TypeVar

    from starlette.types import ASGIApp, Receive, Scope, Send

    from takeback.app.engine import Engine
    from takeback.gate.peers import Connection
    from takeback.model.schemas import Schema
    from takeback.serve.run import Server

    Document = dict[str, Any]
    Handler = Callable[["Asked"], Awaitable[Document | Response]]
    Job = Callable[[Engine, "Asked"], Document | Response]
    T = TypeVar("T")

# -- the limits of the server, in one table; docs/server.md has it for people


class ServerSettings(Value):
    """What the server grants its clients; sizes in bytes, times in seconds."""

    header_bytes: int = 64 << 10
    body_bytes: int = 1 << 20
    json_depth: int = 64
    streams: int = 20
    connections: int = 256
    patience: float = 30.0
    """How long a client may take to send a request, or to take an answer."""
    wrong_tries: int = 10
    """How many wrong secrets and codes are answered within a minute."""
    code_seconds: float = 60.0
    """How long the code is good that a browser is started with."""
    link_seconds: float = 600.0
    """How long that of a link is good, which a person copies, perhaps to another machine."""
    nonce_seconds: float = 300.0
    nonces: int = 100
    workspaces: int = 32
    idle_seconds: float = 60.0
    """How long a workspace that nobody asks about stays open."""
    readers: int = 4
    """How many questions about one workspace are answered at the same time."""
    all_readers: int = 16
    """How many about all of them, beside one for each."""
    events: int = 1000
    """How many events are kept for a client that comes back."""
    heartbeat: float = 15.0
    poll: float = 0.3
    """How often workspaces are looked at while somebody listens."""
    silent_seconds: float = 10.0
    """How long a server that is to end waits for work that does not move."""
    ending_seconds: float = 60.0
    """How long it waits for work that does."""


# -- errors as answers: each has a status, and a body with code, message, hint and flag


_STATUS: tuple[tuple[type[TakebackError], int], ...] = (
    (errors.UsageError, 400),
    (errors.NotAWorkspace, 404),
    (errors.Expired, 410),
    (errors.NoSuchCheckpoint, 404),
    (errors.Refused, 409),
    (errors.RecoveredInstead, 409),
    (errors.InUse, 423),
    (errors.GitUnusable, 503),
    (errors.TimedOut, 503),
)
"""The first that fits; what is not here is a failure of the server's side: 500."""


class Rejected(TakebackError):
    """A request that is not answered as such; ``status`` says why, as HTTP has it."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        hint: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code
        self.headers = headers or {}


def bad_request(message: str) -> Rejected:
    """Returns the rejection of a request that does not fit its schema."""
    return Rejected(400, "bad_request", message)


def no_such(what: str) -> Rejected:
    return Rejected(404, "no_such", what)


def status_of(error: TakebackError) -> int:
    if isinstance(error, Rejected):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def document(error: TakebackError) -> Document:
    """Returns the body that tells of an error: no traceback, and nothing of a bug's own words."""
    if isinstance(error, errors.Bug):
        said: Document = {
            "code": error.code,
            "message": "This is a bug in takeback.",
            "hint": error.hint,
            "actions": [],
        }
    else:
        said = wording.document(wording.said(error))
        del said["exit"]  # this is no process
    return {"error": {"flag": "", **said}}


def response(error: TakebackError) -> Response:
    """Returns the answer that tells of an error."""
    headers = dict(error.headers) if isinstance(error, Rejected) else {}
    return json_answer(document(error), status_of(error), headers)


def json_answer(
    fields: Document, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Returns a document as an answer, in ASCII: bytes that are not UTF-8 stay escaped."""
    text = json_text.dumps(fields).encode()
    return Response(text, status, dict(headers or {}), media_type="application/json")


# -- reads what requests hold, as their schemas say (``model/schemas.py``)


def read_json(data: bytes, depth: int) -> object:
    """Returns what a body holds; raises Rejected if it is not JSON, or nested too deep."""
    if nesting(data) > depth:
        raise bad_request(f"the JSON of the body is nested deeper than {depth}")
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise bad_request("the body is not valid JSON") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def nesting(data: bytes) -> int:
    """Returns how deep the brackets of a JSON text are nested, without reading it as JSON."""
    deepest = now = 0
    for token in _TOKEN.findall(data):
        if token in (b"[", b"{"):
            now += 1
            deepest = max(deepest, now)
        elif token in (b"]", b"}"):
            now -= 1
    return deepest


# A string that does not end is taken whole: else the search would begin anew at each quote in it.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


def check(value: object, schema: Schema, name: str = "the body") -> None:
    """Raises Rejected, naming the field, if a value is not as its schema says."""
    try:
        schemas.check(value, schema, name)
    except schemas.Unfit as error:
        raise bad_request(str(error)) from None


def read_text(given: str, schema: Schema, name: str) -> object:
    """Returns a parameter of a path or query as its schema types it; raises Rejected."""
    value: object = given
    if schema["type"] == "integer":
        if not re.fullmatch(r"-?[0-9]{1,15}", given, re.ASCII):
            raise bad_request(f"{name} is not an integer")
        value = int(given)
    elif schema["type"] == "boolean":
        if given not in ("true", "false"):
            raise bad_request(f"{name} is not true or false")
        value = given == "true"
    check(value, schema, name)
    return value


# -- HTTP on one connection, for clients that take their time or send too much


CONNECTION = "takeback.connection"
"""Where a request's scope has what names its connection, to find out who asks."""


class PatientProtocol(H11Protocol):
    """Ends a connection on which nothing moves: no whole request comes, no answer is taken."""

    _PATIENCE = ServerSettings().patience
    _waiting: asyncio.TimerHandle | None = None
    _sending: asyncio.TimerHandle | None = None
    _said_all = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        try:
            peer = asker.connection(transport.get_extra_info("socket"))
        except OSError:  # it was closed at once
            transport.abort()
            return
        if peer.user not in (None, os.geteuid()):  # a Unix socket's directory lets in nobody else
            transport.abort()
        self.app = _asked_by(peer, self.app)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:  # the head is whole; the guard reads the body
            self._stop_waiting()
        elif self._waiting is None:
            self._wait()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keeps the connection if an answer is due: a client that says no more may listen."""
        is_whole = self.conn.their_state in (h11.DONE, h11.MUST_CLOSE)
        self._said_all = is_whole and not self.cycle.response_started
        return self._said_all

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._said_all:
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._sending is None:
            self._sending = self.loop.call_later(self._PATIENCE, self.transport.abort)

    def resume_writing(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answers what is not HTTP; headers that are too large have a status of their own."""
        error = sys.exc_info()[1]
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        self._refuse(status)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self._PATIENCE, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _too_slow(self) -> None:
        self._waiting = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._refuse(408)

    def _refuse(self, status: int) -> None:
        headers = [(b"content-length", b"0"), (b"connection", b"close")]
        answer = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
        try:
            self.transport.write(self.conn.send(answer) or b"")
            self.transport.write(self.conn.send(h11.EndOfMessage()) or b"")
        except h11.LocalProtocolError:  # in the middle of another answer
            pass
        self.transport.close()


def _asked_by(peer: Connection, app: ASGIApp) -> ASGIApp:
    """Returns an application that knows on which connection it is asked."""

    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, CONNECTION: peer}, receive, send)

    return asked


# -- endpoints: one thing that the API does, as data, and what one request asks of it


class Parameter(Value):
    """Something that stands in the query of a request, or in its path."""

    name: str
    schema: Schema
    about: str


class Asked(Value):
    """One request, checked: its parameters and fields are as the endpoint's schemas say."""

    server: Server
    parameters: Mapping[str, Any]
    body: Mapping[str, Any]
    last_event: str | None = None
    connection: Connection | None = None

    def text(self, name: str) -> str | None:
        """Returns a parameter that is text; None if it is not given."""
        found = self.parameters.get(name)
        return found if isinstance(found, str) else None

    def number(self, name: str, default: int) -> int:
        found = self.parameters.get(name, default)
        return found if isinstance(found, int) else default

    def flag(self, name: str) -> bool:
        return self.parameters.get(name) is True


class Endpoint(Value):
    """One line of the table: how it is called, what it takes, what it gives, who does it."""

    method: str
    path: str
    name: str
    about: str
    handler: Handler
    answer: Schema
    query: tuple[Parameter, ...] = ()
    body: Schema | None = None
    errors: tuple[int, ...] = ()
    """The statuses beside those that every endpoint may have."""
    media: str = "application/json"
    open: bool = False
    """Needs no secret."""


def in_workspace(job: Job) -> Handler:
    """Returns a handler that looks at the files of the request's workspace, in its turn."""

    async def handler(asked: Asked) -> Document | Response:
        return await asked.server.workspaces.ask(
            asked.parameters["workspace"], lambda tb: job(tb, asked)
        )

    return handler


def looking(job: Job) -> Handler:
    """Returns a handler that only looks at the workspace of the request, beside others."""
    return _looking(job, long=False)


def looking_long(job: Job) -> Handler:
    """Returns a handler that looks at much of it, such as a whole conversation."""
    return _looking(job, long=True)


def _looking(job: Job, *, long: bool) -> Handler:
    async def handler(asked: Asked) -> Document | Response:
        return await asked.server.workspaces.look(
            asked.parameters["workspace"], lambda tb: job(tb, asked), long=long
        )

    return handler


async def for_client(asked: Asked, job: Callable[[Engine], T]) -> T:
    """Runs a job with the workspace of the request, knowing who asks for it.

    That is looked up when the job begins: whoever has gone by then, or handed its connection on to
    a tool of a model, is not the person who is to have the answer.
    """
    return await asked.server.workspaces.change(
        asked.parameters["workspace"],
        lambda tb: tb.for_asker(asker.asker_of(asked.connection), job),
    )


async def for_person(asked: Asked, what: str, job: Callable[[Engine], T]) -> T:
    """Runs a job that changes something; raises Refused if a model asks inside its running turn.

    As ``serve`` itself, no part of this is for a model: it has the command line.
    """

    def checked(tb: Engine) -> T:
        tb.refuse_inside(what)
        return job(tb)

    return await for_client(asked, checked)
