"""The guard: stands in front of everything, and lets only our own page and programs in.

A page of another site, a server of the model's on another port, a name that was made to lead here
(rebinding): none of them has all three of the right Host, the right Origin and the secret.
"""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from takeback.serve.errors import Rejected, response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from takeback.serve.server import Server

API = "/api/"
V1 = "/api/v1"
OPEN = (f"{V1}/enter", f"{V1}/challenge")
"""What a page asks before it has the secret."""
ROUTE = "takeback.route"
"""Where a request's scope has the template of its path, for the log."""
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _CSP,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Guard:
    """Checks each request, and gives each answer the headers that keep a page to itself."""

    def __init__(self, app: ASGIApp, server: Server, log: Callable[[str], None]) -> None:
        self._app = app
        self._server = server
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answered = _Answering(scope, send, self._log)
        try:
            self._check(scope)
            body = await self._body(scope, receive)
        except Rejected as error:
            await _rejection(error)(scope, receive, answered)
            return
        await self._app(scope, _replayed(body, receive), answered)

    def _check(self, scope: Scope) -> None:
        """Raises Rejected for a request that did not come from where it should."""
        headers, path = Headers(scope=scope), scope["path"]
        size = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        if size > self._server.settings.header_bytes:
            raise Rejected(431, "headers_too_large", "the headers are too large")
        hosts = headers.getlist("host")
        if len(hosts) > 1:
            raise Rejected(400, "bad_request", "there is more than one Host")
        if hosts != [self._server.authority]:
            raise Rejected(421, "wrong_host", "this server has another name")
        self._check_origin(scope, headers)
        if path.startswith(API) and path not in OPEN:
            self._check_secret(headers)
        if scope["method"] == "POST" and _media_type(headers) != "application/json":
            raise Rejected(415, "not_json", "a request is application/json")

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        """Raises Rejected for a request that another page made."""
        for origin in headers.getlist("origin"):
            if origin != self._server.origin:
                raise Rejected(403, "wrong_origin", "a page of another origin asks")
        for site in headers.getlist("sec-fetch-site"):
            if site != "same-origin" and not _opens_page(site, scope, headers):
                raise Rejected(403, "wrong_origin", "a page of another site asks")

    def _check_secret(self, headers: Headers) -> None:
        given = headers.getlist("authorization")
        kind, _, secret = (given[0] if len(given) == 1 else "").partition(" ")
        known = self._server.secrets
        if kind.lower() == "bearer" and known.is_right(secret.strip().encode("latin-1")):
            return
        raise wrong_secret(self._server)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Reads the whole body; raises Rejected if it is too large or takes too long."""
        settings = self._server.settings
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdigit() and int(announced[:20]) > settings.body_bytes:
            raise _too_large()
        if scope["method"] != "POST":
            return b""
        data = bytearray()
        try:
            async with asyncio.timeout(settings.patience):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Rejected(400, "bad_request", "the body broke off")
                    data += message.get("body", b"")
                    if len(data) > settings.body_bytes:
                        raise _too_large()
                    if not message.get("more_body", False):
                        return bytes(data)
        except TimeoutError:
            raise Rejected(408, "too_slow", "the body took too long") from None


def wrong_secret(server: Server) -> Rejected:
    """Returns the answer to a wrong secret or code: not even a body, and not too often."""
    if server.secrets.is_tried:
        return Rejected(429, "too_many_tries", "", headers={"Retry-After": "60"})
    return Rejected(401, "unauthorized", "", headers={"WWW-Authenticate": "Bearer"})


def _too_large() -> Rejected:
    return Rejected(413, "body_too_large", "the body is too large")


def _media_type(headers: Headers) -> str:
    given = headers.getlist("content-type")
    return given[0].partition(";")[0].strip().lower() if len(given) == 1 else ""


def _opens_page(site: str, scope: Scope, headers: Headers) -> bool:
    """Tells whether a person opens the page, or the browser loads a part of it.

    The file that ``--open`` makes is a page too, of no site: from there, and from any link, the
    page may be gone to, in a window of its own. It holds nothing before it has the secret.
    """
    if scope["method"] not in ("GET", "HEAD") or scope["path"].startswith(API):
        return False
    if site == "none":
        return True
    mode, goes_to = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return scope["path"] == "/" and mode == "navigate" and goes_to == "document"


def _rejection(error: Rejected) -> Response:
    """Returns the answer; the connection ends, as the body of the request may be unread."""
    made = response(error) if error.message else Response(b"", error.status, dict(error.headers))
    made.headers["Connection"] = "close"
    return made


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Returns what gives an application the body that was read already."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class _Answering:
    """Sends an answer with the guard's headers, and writes its line of the log."""

    def __init__(self, scope: Scope, send: Send, log: Callable[[str], None]) -> None:
        self._scope = scope
        self._send = send
        self._log = log

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            route = self._scope.get(ROUTE, "-")
            self._log(f"{self._scope['method']} {route} {message['status']}")
        await self._send(message)
