"""The guard: who gets in, by a secret, by a page that leads to it, and only while it is there."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import secrets
import threading
from collections import deque
from html import escape
from threading import Timer

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from takeback.app.serving import open_file
from takeback.serve.protocol import Asked, Rejected, ServerSettings, response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from takeback.app.serving import PrivateFiles
    from takeback.serve.run import Server

    Document = dict[str, Any]

# -- the secret of one run: who knows it may ask; and the codes with which a page gets it


_CHALLENGE = b"takeback challenge "


class Secrets:
    """Makes the secret, checks what clients bring, and counts wrong tries."""

    def __init__(self, settings: ServerSettings, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._codes: dict[str, float] = {}
        self._wrong: deque[float] = deque(maxlen=settings.wrong_tries + 1)
        self.secret = secrets.token_urlsafe(32)
        self.entered: Callable[[], None] = _nothing
        """Called when a code was used."""

    def is_right(self, given: bytes) -> bool:
        """Tells whether a client knows the secret; how long it takes says nothing about it."""
        return self._judged(hmac.compare_digest(given, self.secret.encode()))

    def proof(self, nonce: str) -> str:
        """Returns what only somebody who knows the secret can answer to a nonce."""
        message = _CHALLENGE + nonce.encode()
        return hmac.new(self.secret.encode(), message, hashlib.sha256).hexdigest()

    def new_code(self, seconds: float) -> str:
        """Returns a code that gives the secret, once, for a short time."""
        code, now = secrets.token_urlsafe(32), self._clock()
        self._codes = {known: ends for known, ends in self._codes.items() if now <= ends}
        self._codes[code] = now + seconds
        return code

    def redeem(self, code: str) -> str | None:
        """Returns the secret for a code and forgets the code; None if it is not valid any more."""
        ends = None
        for known in list(self._codes):
            if hmac.compare_digest(known.encode(), code.encode()):
                ends = self._codes.pop(known)
        valid = ends is not None and self._clock() <= ends
        if not self._judged(valid):
            return None
        self.entered()
        return self.secret

    @property
    def is_tried(self) -> bool:
        """Returns True while there were too many wrong tries within a minute."""
        full = len(self._wrong) > self._settings.wrong_tries
        return full and self._clock() - self._wrong[0] < 60

    def _judged(self, right: bool) -> bool:
        if not right and not self.is_tried:
            self._wrong.append(self._clock())
        return right


def _nothing() -> None:
    """Waits for nobody to enter."""


# -- presence: which directories of workspaces are there, though some may never answer
#
# A directory may lie on a network file system that hangs. Only the thread that asks about it then
# hangs with it, and nobody asks a second time before it answers.


_PATIENCE = 1.0


class Presence:
    """Tells which of many directories are there; one that does not answer is not."""

    def __init__(self, look: Callable[[bytes], bool] = os.path.isdir) -> None:
        self._look = look
        self._asked: dict[bytes, asyncio.Future[bool]] = {}

    async def of(self, roots: Iterable[bytes]) -> dict[bytes, bool]:
        """Returns which are there; waits for those that hang only when they are first asked."""
        answers: dict[bytes, asyncio.Future[bool]] = {}
        silent = set(self._asked)
        for root in roots:
            answers[root] = self._asked[root] if root in self._asked else self._ask(root)
        waiting = [answer for root, answer in answers.items() if root not in silent]
        if waiting:
            await asyncio.wait(waiting, timeout=_PATIENCE)
        return {root: answer.done() and answer.result() for root, answer in answers.items()}

    def _ask(self, root: bytes) -> asyncio.Future[bool]:
        loop = asyncio.get_running_loop()
        answer = self._asked[root] = loop.create_future()

        def tell(there: bool) -> None:
            del self._asked[root]
            answer.set_result(there)

        def look() -> None:
            there = self._look(root)
            try:
                loop.call_soon_threadsafe(tell, there)
            except RuntimeError:  # the server has ended meanwhile
                pass

        threading.Thread(target=look, daemon=True, name="takeback-presence").start()
        return answer


# -- the guard
#
# A page of another site, a server of the model's on another port, a name that was made to lead here
# (rebinding): none of them has all three of the right Host, the right Origin and the secret.


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


# -- how a page comes in: with a code that is good once, and how it makes sure whom it speaks to


async def enter(asked: Asked) -> Document:
    """Gives the secret for a code."""
    server = asked.server
    secret = server.secrets.redeem(asked.body["code"])
    if secret is None:
        raise wrong_secret(server)
    return {"secret": secret}


async def challenge(asked: Asked) -> Document:
    """Proves that this is still the server that gave out the secret."""
    return {"proof": asked.server.secrets.proof(asked.body["nonce"])}


# -- the entrance: an address with a code leads a browser in, mostly from a file of the user's
#
# No secret is on a command line, in a history, in a log or in a Referer: the code stands behind the
# ``#`` of the address, which browsers keep to themselves, and is good once, and not for long.


_NAME = "open.html"
_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>takeback</title>
<meta http-equiv="refresh" content="0; url={url}">
<p><a href="{url}">takeback</a></p>
</html>
"""


def address(server: Server, seconds: float, workspace: str | None) -> str:
    """Returns the address of the page with a new code; it begins with a workspace, if one is named.

    Both are words of letters, digits, ``-`` and ``_``.
    """
    place = "" if workspace is None else f"&w={workspace}"
    return f"{server.origin}/#code={server.secrets.new_code(seconds)}{place}"


class Entrance:
    """The file, from when it is made until a code was used, or until its own is too old."""

    def __init__(self, server: Server, files: PrivateFiles, url: str) -> None:
        self._files = files
        self.path = files.write(_NAME, _PAGE.format(url=escape(url)).encode())
        server.secrets.entered = self.close
        self._timer = Timer(server.settings.code_seconds, self.close)
        self._timer.daemon = True
        self._timer.start()

    def open(self, environ: Mapping[str, str]) -> bool:
        """Opens it in the browser; False if the system has nothing to open it with."""
        return open_file(self.path, environ)

    def close(self) -> None:
        """Removes it."""
        self._timer.cancel()
        self._files.remove(_NAME)
