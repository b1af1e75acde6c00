"""The server for tests: in this process without a socket, or as a process of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.types import ASGIApp, Message

from takeback.serve.protocol import ServerSettings
from takeback.serve.routes import application
from takeback.serve.run import new_server
from tests.support.cli import Cli

AUTHORITY = "127.0.0.1:8123"
V1 = "/api/v1"


@dataclass(frozen=True)
class Reply:
    """What a request was answered with."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found

    @property
    def code(self) -> str:
        """The code of an error."""
        return str(self.json["error"]["code"])

    def ok(self) -> dict[str, Any]:
        assert self.status == 200, f"{self.status} {self.body!r}"
        return self.json


@dataclass
class InProcess:
    """The whole application, guard and all, asked without a socket."""

    settings: ServerSettings = field(default_factory=ServerSettings)
    log: list[str] = field(default_factory=list)
    now: float = 1000.0

    def __post_init__(self) -> None:
        self.server = new_server(self.settings, AUTHORITY, f"http://{AUTHORITY}", lambda: self.now)
        self.app: ASGIApp = application(self.server, self.log.append)
        self._runner = asyncio.Runner()

    def close(self) -> None:
        self._runner.run(self.server.workspaces.close())
        self._runner.close()

    def headers(self, *, secret: bool = True) -> dict[str, str]:
        found = {"Host": AUTHORITY}
        if secret:
            found["Authorization"] = f"Bearer {self.server.secrets.secret}"
        return found

    def ask(
        self, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Sends a request with exactly these headers; by default the right ones."""
        given = self.headers() if headers is None else headers
        return self._runner.run(self._ask(method, target, body, list(given.items())))

    def get(self, target: str) -> Reply:
        return self.ask("GET", V1 + target)

    def post(self, target: str, fields: object) -> Reply:
        headers = {**self.headers(), "Content-Type": "application/json"}
        return self.ask("POST", V1 + target, json.dumps(fields).encode(), headers)

    @property
    def workspace(self) -> str:
        """The path below which the first workspace is."""
        found = self.get("/workspaces").ok()["workspaces"]
        return f"/workspaces/{found[0]['id']}"

    async def _ask(
        self, method: str, target: str, body: bytes, headers: list[tuple[str, str]]
    ) -> Reply:
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(k.lower().encode(), v.encode("latin-1")) for k, v in headers],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8123),
        }
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start = sent[0]
        names = {k.decode().lower(): v.decode("latin-1") for k, v in start["headers"]}
        return Reply(start["status"], names, b"".join(one.get("body", b"") for one in sent[1:]))


@dataclass(frozen=True)
class ServedProcess:
    """A server in a process of its own."""

    process: subprocess.Popen[bytes]
    said: Mapping[str, Any]

    @property
    def url(self) -> str:
        return str(self.said["url"])

    @property
    def secret_file(self) -> Path:
        return Path(self.said["secret_file"])

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None
        return port

    @property
    def secret(self) -> str:
        return self.secret_file.read_text().strip()

    def connection(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask(
        self, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Reply:
        if headers is None:
            headers = {"Authorization": f"Bearer {self.secret}"}
            if method == "POST":
                headers["Content-Type"] = "application/json"
        connection = self.connection()
        try:
            connection.request(method, target, body or None, dict(headers))
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, names, answer.read())
        finally:
            connection.close()

    def get(self, target: str) -> Reply:
        return self.ask("GET", V1 + target)

    def post(self, target: str, fields: object) -> Reply:
        return self.ask("POST", V1 + target, json.dumps(fields).encode())


@contextmanager
def serving(cli: Cli, *args: str) -> Iterator[ServedProcess]:
    """Runs ``takeback serve --json`` and ends it afterwards."""
    process = subprocess.Popen(
        cli.argv("serve", "--json", *args),
        cwd=cli.directory,
        env=cli.environment(None),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate(timeout=60)[1].decode()
        yield ServedProcess(process, json.loads(line))
    finally:
        process.terminate()
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate(timeout=60)


def until(condition: Any, seconds: float = 60.0) -> None:
    """Waits for a condition; fails if it does not come true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
