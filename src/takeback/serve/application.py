"""The application: the table of endpoints as routes, the page, and the guard before both."""

from __future__ import annotations

import asyncio
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
from takeback.serve.endpoint import Asked
from takeback.serve.errors import Rejected, bad_request, json_answer, response
from takeback.serve.guard import ROUTE, V1, Guard
from takeback.serve.openapi import IN_PATH
from takeback.serve.page import page, part
from takeback.serve.protocol import CONNECTION
from takeback.serve.routes import ENDPOINTS
from takeback.serve.schemas import check, read_json, read_text
from takeback.serve.watching import Watching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import Any

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from takeback.serve.endpoint import Endpoint
    from takeback.serve.server import Server

    Log = Callable[[str], None]


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
