"""One connection to the server: it proves that it knows the secret before it is told it."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import secrets
import socket
import stat
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import urlsplit

Document = dict[str, Any]
LONGEST_LINE = 1 << 24
V1 = "/api/v1"
_HOST = "127.0.0.1"
_PATIENCE = 60.0


class ApiError(Exception):
    """What the server refused, or that it cannot be reached: ``code`` says what, for programs.

    ``hint`` is what to do about it, ``flag`` the override that would waive a refusal, if there is
    one; ``status`` is that of HTTP, 0 if there was no answer.
    """

    def __init__(
        self, code: str, message: str, *, hint: str = "", flag: str = "", status: int = 0
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.flag = flag
        self.status = status


class Wire:
    """One connection: the server proves itself, then it is told the secret and asked."""

    def __init__(self, address: str | int, secret: str) -> None:
        self._secret = secret
        self._connection = _connection(address)

    def __enter__(self) -> Self:
        try:
            nonce = secrets.token_urlsafe(32)
            body = json.dumps({"nonce": nonce}).encode()
            proof = read_document(self.read(self._send("POST", f"{V1}/challenge", body, {}))).get(
                "proof"
            )
            message = b"takeback challenge " + nonce.encode()
            right = hmac.new(self._secret.encode(), message, hashlib.sha256).hexdigest()
            if not isinstance(proof, str) or not hmac.compare_digest(
                proof.encode(), right.encode()
            ):
                raise ApiError("another_server", "another program answers where the server was")
        except BaseException:
            self._connection.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._connection.close()

    def open(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        """Sends a request with the secret, on the connection that was proved; raises ApiError."""
        if self._connection.sock is None:  # closed since: a new one would be somebody unknown
            raise ApiError("unreachable", "the server closed the connection")
        known = {**headers, "Authorization": f"Bearer {self._secret}"}
        return self._send(method, path, body, known)

    def _send(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        kind = {} if body is None else {"Content-Type": "application/json"}
        try:
            self._connection.request(method, path, body, {**kind, **headers})
            answer = self._connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise ApiError("unreachable", f"the server does not answer: {error}") from error
        if answer.status != 200:
            raise _error(answer.status, self.read(answer))
        return answer

    def read(self, answer: http.client.HTTPResponse) -> bytes:
        try:
            return answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ApiError("unreachable", f"the answer broke off: {error}") from error

    def line(self, answer: http.client.HTTPResponse) -> str:
        try:
            return answer.readline(LONGEST_LINE).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            raise ApiError("unreachable", f"the events broke off: {error}") from error


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_PATIENCE)
        self._path = path
        self.auto_open = 0

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_PATIENCE)
        self.sock.connect(self._path)


def _connection(address: str | int) -> http.client.HTTPConnection:
    made = (
        _UnixConnection(address)
        if isinstance(address, str)
        else http.client.HTTPConnection(_HOST, address, timeout=_PATIENCE)
    )
    try:
        made.connect()
    except OSError as error:
        made.close()
        raise ApiError("unreachable", f"the server cannot be reached: {error}") from error
    made.auto_open = 0  # never another connection than the one that was proved
    return made


def address_in(url: str) -> str | int:
    """Returns the port or the path of the socket in a URL; the secret goes nowhere else."""
    if url.startswith("unix:"):
        return url.removeprefix("unix:")
    parts = urlsplit(url)
    if parts.scheme != "http" or parts.hostname != _HOST or parts.port is None:
        raise ValueError(f"this is not the address of a takeback server: {url}")
    return parts.port


def secret_in(path: str) -> str:
    """Returns the secret in a file that only its owner, who is us, can read; raises ApiError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, encoding="ascii") as file:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise ApiError("not_private", f"{path} is not a file")
            if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
                raise ApiError("not_private", f"others can read or write {path}")
            return file.read(4096).strip()
    except (OSError, ValueError) as error:
        raise ApiError("no_secret", f"the secret cannot be read: {error}") from error


def _error(status: int, body: bytes) -> ApiError:
    """Returns the error that an answer tells of; one without a body has only its status."""
    try:
        told = json.loads(body)["error"]
        return ApiError(
            str(told["code"]),
            str(told["message"]),
            hint=str(told.get("hint") or ""),
            flag=str(told.get("flag") or ""),
            status=status,
        )
    except (ValueError, KeyError, TypeError):
        code = {401: "unauthorized", 429: "too_many_tries"}.get(status, "failed")
        return ApiError(code, f"the server answered {status}", status=status)


def read_document(body: bytes) -> Document:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ApiError("failed", "the answer is not JSON") from error
    if not isinstance(found, dict):
        raise ApiError("failed", "the answer is no object")
    return found
