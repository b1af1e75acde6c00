"""HTTP on one connection, for clients that take their time or send too much."""

from __future__ import annotations

import os
import sys

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from takeback.gate import asker
from takeback.serve.settings import ServerSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

    from starlette.types import ASGIApp, Receive, Scope, Send

    from takeback.gate.peers import Connection

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
