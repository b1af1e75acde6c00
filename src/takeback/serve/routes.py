"""Routes: which address is answered by whom, with the page itself."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from contextlib import asynccontextmanager
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from takeback.app.border import bug
from takeback.errors import Bug, TakebackError
from takeback.model.operation import FORK, REDO, REVERT, REWIND, SUMMARISE, UNDO
from takeback.model.schemas import NAME, PATH, fields
from takeback.ordinary import ordinary
from takeback.serve import answering, feed, guard, openapi
from takeback.serve.answering import NEW, OLD
from takeback.serve.feed import Watching
from takeback.serve.guard import ROUTE, V1, Guard
from takeback.serve.openapi import ENTRY, IN_PATH
from takeback.serve.protocol import (
    CONNECTION,
    Asked,
    Endpoint,
    Parameter,
    Rejected,
    bad_request,
    check,
    json_answer,
    no_such,
    read_json,
    read_text,
    response,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import Any

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from takeback.model.schemas import Schema
    from takeback.serve.run import Server

    Document = dict[str, Any]
    Log = Callable[[str], None]

# -- the page: plain files from the package, each by its name in a list


_FOLDER = os.path.join(os.path.dirname(__file__), "static")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}


async def page(request: Request) -> Response:
    """Gives the page itself."""
    request.scope[ROUTE] = "/"
    return _file("index.html")


async def part(request: Request) -> Response:
    """Gives a script, a style or a picture of the page."""
    request.scope[ROUTE] = "/static/{name}"
    return _file(request.path_params["name"])


def _file(name: str) -> Response:
    if name not in _listed():
        return response(no_such("the page has no such part"))
    with open(os.path.join(_FOLDER, name), "rb", opener=ordinary) as file:
        data = file.read()
    return Response(data, media_type=_TYPES[os.path.splitext(name)[1]])


def _listed() -> set[str]:
    """Returns the names of all parts: a name from outside is only ever compared with them."""
    return {
        os.path.relpath(os.path.join(folder, name), _FOLDER)
        for folder, _, names in os.walk(_FOLDER)
        for name in names
        if os.path.splitext(name)[1] in _TYPES
    }


# -- the table of all endpoints. The routes and the OpenAPI document are both made from it


_SESSION = Parameter("session", NAME, "Whose turns are meant: an id, its beginning, an agent.")
_TO = Parameter(
    "to", NAME, "after (what the turn changed), now (what going there would do), previous, or one."
)
_ONE = "/workspaces/{workspace}"
_CHECKPOINT = f"{_ONE}/checkpoints/{{checkpoint}}"


def _holds(*names: str) -> Schema:
    """Returns the schema of an answer with these fields, and more."""
    return {"type": "object", "required": list(names)}


def _limit(default: int, most: int) -> Parameter:
    schema = {"type": "integer", "minimum": 1, "maximum": most, "default": default}
    return Parameter("limit", schema, "How many at most.")


async def _openapi(asked: Asked) -> Document:
    return openapi.document(ENDPOINTS)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST",
        "/enter",
        "enter",
        "Gives the secret for a code that is good once.",
        guard.enter,
        _holds("secret"),
        body=fields(("code",), code={"type": "string", "minLength": 1, "maxLength": 128}),
        open=True,
    ),
    Endpoint(
        "POST",
        "/challenge",
        "challenge",
        "Proves that the server knows the secret: HMAC-SHA256 of the nonce, in hex.",
        guard.challenge,
        _holds("proof"),
        body=fields(("nonce",), nonce={"type": "string", "minLength": 16, "maxLength": 128}),
        open=True,
    ),
    Endpoint(
        "GET", "/openapi.json", "openapi", "This document.", _openapi, _holds("openapi", "paths")
    ),
    Endpoint(
        "GET",
        "/workspaces",
        "workspaces",
        "Lists the workspaces of the user.",
        answering.workspaces,
        _holds("workspaces"),
    ),
    Endpoint(
        "GET",
        f"{_ONE}/status",
        "status",
        "Says where the files stand, what is kept, and what went wrong.",
        answering.status,
        _holds("checkpoints", "workspace", "agents"),
    ),
    Endpoint(
        "GET",
        f"{_ONE}/doctor",
        "doctor",
        "Names what is wrong; mends nothing.",
        answering.doctor,
        _holds("findings"),
    ),
    Endpoint(
        "GET",
        f"{_ONE}/sessions",
        "sessions",
        "Lists the sessions of the agents, the latest first.",
        answering.sessions,
        _holds("sessions"),
    ),
    Endpoint(
        "GET",
        f"{_ONE}/tree",
        "tree",
        "Gives sessions and turns as a tree.",
        answering.tree,
        _holds("sessions"),
    ),
    Endpoint(
        "GET",
        f"{_ONE}/operations",
        "operations",
        "Lists rewinds, undos and the like, newest first.",
        answering.operations,
        _holds("operations"),
    ),
    Endpoint(
        "GET",
        f"{_ONE}/turns",
        "turns",
        "Lists turns and checkpoints, newest first, a page at a time.",
        answering.turns,
        _holds("turns", "next"),
        query=(
            _SESSION,
            Parameter("before", NAME, "Only what is older than this checkpoint."),
            _limit(answering.TURNS, 500),
        ),
    ),
    Endpoint(
        "GET",
        _CHECKPOINT,
        "checkpoint",
        "Shows one checkpoint in full.",
        answering.checkpoint,
        _holds("id", "changed", "steps"),
        query=(_SESSION,),
    ),
    Endpoint(
        "GET",
        f"{_CHECKPOINT}/prompt",
        "prompt",
        "Gives the prompt that was asked there, to be typed again.",
        answering.prompt,
        _holds("prompt"),
        query=(_SESSION,),
    ),
    Endpoint(
        "GET",
        f"{_CHECKPOINT}/messages",
        "messages",
        "Gives the conversation up to there, a page at a time.",
        answering.messages,
        _holds("messages", "total", "next"),
        query=(
            _SESSION,
            Parameter("offset", ENTRY, "From this message on."),
            _limit(answering.MESSAGES, 500),
        ),
    ),
    Endpoint(
        "GET",
        f"{_CHECKPOINT}/diff",
        "diff",
        "Gives what changed, with lines where they are asked for or few.",
        answering.diff,
        _holds("changes", "purged"),
        query=(
            _SESSION,
            _TO,
            Parameter("path", PATH, "Only this one, with its lines."),
            Parameter("colour", {"type": "boolean"}, "With `tokens`, for syntax colours."),
        ),
    ),
    Endpoint(
        "GET",
        f"{_CHECKPOINT}/files/{{number}}",
        "file",
        "Gives the bytes of one side of a change, by its `number` in `changes`.",
        answering.file,
        {"type": "string"},
        query=(
            _SESSION,
            _TO,
            Parameter("side", {"type": "string", "enum": [OLD, NEW]}, "Before (old) or after."),
        ),
        media="application/octet-stream",
    ),
    Endpoint(
        "GET",
        f"{_ONE}/search",
        "search",
        "Finds prompts and paths with all words, or lines of files, newest first.",
        answering.search,
        _holds("found"),
        query=(
            Parameter("q", {"type": "string", "minLength": 1, "maxLength": 1000}, "The words."),
            _limit(answering.FOUND, 500),
            Parameter("content", {"type": "boolean"}, "In the files of all snapshots instead."),
        ),
    ),
    Endpoint(
        "POST",
        f"{_ONE}/plan",
        "plan",
        "Works out what an operation would do, and gives the nonce that does it.",
        answering.plan,
        _holds("written", "deleted", "refused", "nonce", "expires"),
        body=answering.BODY,
    ),
    *(
        Endpoint(
            "POST",
            f"{_ONE}/{kind}",
            kind,
            about,
            answering.action(kind),
            _holds("operation", "written", "deleted", "notes"),
            body=answering.NONCE,
        )
        for kind, about in (
            (REWIND, "Goes to a checkpoint, as planned."),
            (REVERT, "Takes some turns out of the files, as planned."),
            (FORK, "Begins a new session, as planned."),
            (SUMMARISE, "Begins a new session with a summary in it, as planned."),
            (UNDO, "Takes back the last operation, as planned."),
            (REDO, "Goes forward again, as planned."),
        )
    ),
    Endpoint(
        "POST",
        f"{_ONE}/recover",
        "recover",
        "Finishes or rolls back an operation that was interrupted.",
        answering.recover,
        _holds("recovered", "lines"),
        body=answering.NO_FIELDS,
    ),
    Endpoint(
        "POST",
        f"{_ONE}/label",
        "label",
        "Gives a checkpoint a name, or takes it off (null).",
        answering.label,
        _holds("id", "label", "label_by", "before"),
        body=answering.LABEL,
    ),
    Endpoint(
        "POST",
        f"{_ONE}/prune/plan",
        "plan_prune",
        "Says which checkpoints would lose their files, and gives the nonce that drops them.",
        answering.plan_prune,
        _holds("dropped", "nonce", "expires"),
        body=answering.PRUNE,
    ),
    Endpoint(
        "POST",
        f"{_ONE}/prune",
        "prune",
        "Drops the files of checkpoints, as planned.",
        answering.prune,
        _holds("dropped", "done"),
        body=answering.NONCE,
    ),
    Endpoint(
        "GET",
        f"{_ONE}/trash",
        "trash",
        "Lists what was dropped and can be brought back, newest first.",
        answering.trash,
        _holds("trash", "grace_days"),
    ),
    Endpoint(
        "POST",
        f"{_ONE}/restore",
        "restore",
        "Brings back what was dropped: of that prune or checkpoint, or the newest.",
        answering.restore,
        _holds("operation", "checkpoints", "sessions"),
        body=answering.RESTORE,
    ),
    Endpoint(
        "GET",
        "/events",
        "events",
        "Streams what happens (server-sent events); resumes by Last-Event-ID.",
        feed.events,
        {"type": "string"},
        query=(Parameter("workspace", openapi.WORKSPACE, "Only of this one."),),
        media="text/event-stream",
    ),
)


# -- the application: the table of endpoints as routes, the page, and the guard before both


def application(server: Server, log: Log) -> ASGIApp:
    """Returns all that the server answers; it closes the workspaces when it ends."""

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(Watching(server, log).watch())
        yield
        watching.cancel()
        await server.workspaces.close()

    routes = [
        Route(f"{V1}{one.path}", _route(one, server, log), methods=[one.method])
        for one in ENDPOINTS
    ]
    routes += [Route("/", page), Route("/static/{name:path}", part)]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _not_ours}, lifespan=life)
    app.router.redirect_slashes = False
    return Guard(_by_components(app), server, log)


def _by_components(app: ASGIApp) -> ASGIApp:
    """Returns an application that finds its routes in the path as it was sent.

    Decoded as a whole, a slash in a name would be one of the path. The guard has looked at the
    decoded path: what is one of ours as it was sent is one of ours there, too.
    """

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["path"] = scope["raw_path"].decode("ascii")
        await app(scope, receive, send)

    return routed


def _route(
    endpoint: Endpoint, server: Server, log: Log
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        request.scope[ROUTE] = f"{V1}{endpoint.path}"
        try:
            asked = Asked(
                server,
                _parameters(endpoint, request),
                await _fields(endpoint, request, server),
                request.headers.get("last-event-id"),
                request.scope.get(CONNECTION),
            )
            made = await endpoint.handler(asked)
            return made if isinstance(made, Response) else json_answer(made)
        except Rejected as error:
            return _rejected(error)
        except TakebackError as error:
            if isinstance(error, Bug):
                log(_place(error.__cause__ or error))
            return response(error)
        except Exception as error:  # a bug of ours ends one request, not the server
            log(_place(error))
            return response(bug(error))

    return answer


def _rejected(error: Rejected) -> Response:
    if error.message:
        return response(error)
    return Response(b"", error.status, dict(error.headers))


def _parameters(endpoint: Endpoint, request: Request) -> dict[str, Any]:
    """Returns the parameters of the path and the query; raises Rejected for any that is off."""
    found = {
        name: read_text(_decoded(value), IN_PATH[name], name)
        for name, value in request.path_params.items()
    }
    known = {one.name: one for one in endpoint.query}
    for name, value in request.query_params.multi_items():
        if name not in known:
            raise bad_request(f"there is no parameter {name[:80]!r}")
        if name in found:
            raise bad_request(f"{name} is given twice")
        found[name] = read_text(value, known[name].schema, name)
    return found


def _decoded(component: str) -> str:
    """Returns what a component of a path says; raises Rejected for what is no text."""
    try:
        return unquote(component, errors="strict")
    except UnicodeDecodeError:
        raise bad_request("the path is not UTF-8") from None


async def _fields(endpoint: Endpoint, request: Request, server: Server) -> dict[str, Any]:
    if endpoint.body is None:
        return {}
    body = read_json(await request.body(), server.settings.json_depth)
    check(body, endpoint.body)
    assert isinstance(body, dict), "the schema of each body is that of an object"
    return body


def _place(error: BaseException) -> str:
    """Returns which error it was and where it was raised, without its words."""
    frames = traceback.extract_tb(error.__traceback__)
    where = frames[-1] if frames else None
    line = "" if where is None else f" in {where.name}, line {where.lineno}"
    return f"bug: {type(error).__name__}{line}"


async def _not_ours(request: Request, error: Exception) -> Response:
    """Answers what is not in the table."""
    assert isinstance(error, HTTPException)
    code, message = {
        404: ("no_such", "there is nothing at this path"),
        405: ("wrong_method", "this path does not take that method"),
    }.get(error.status_code, ("bad_request", "the request cannot be answered"))
    return response(Rejected(error.status_code, code, message, headers=error.headers))


def to_stderr(line: str) -> None:
    """Writes a line of the log."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
