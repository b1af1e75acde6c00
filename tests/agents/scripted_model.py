"""A language model on loopback that says what a script prescribes, and logs what it is asked.

It keeps no state of a conversation. An agent sends its history with every request, so the log
is evidence of what the agent really remembers: after a rewind, after a resume, in a fork.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.agents import anthropic_messages, gemini_content, openai_chat, openai_responses
from tests.agents.dialogue import Dialogue, tables
from tests.agents.script import SIDE, SUMMARY, Script, choose
from tests.support.processes import join

_PROTOCOLS = {
    "/messages": anthropic_messages,
    "/responses": openai_responses,
    "/chat/completions": openai_chat,
    ":streamGenerateContent": gemini_content,
}


@dataclass(frozen=True)
class Request:
    """One request: which step of the script answered it, and what the agent remembered.

    ``humans`` are the texts that a person wrote; ``body`` is the whole of it, as text; ``at``
    is when it came, by a clock of its own.
    """

    label: str
    humans: tuple[str, ...]
    kinds: str
    body: str
    at: float

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the model was offered."""
        found: list[str] = []
        for tool in tables(json.loads(self.body).get("tools")):
            several = [one["name"] for one in tables(tool.get("functionDeclarations"))]
            named = (tool.get("name"), (tool.get("function") or {}).get("name"))
            found += several or [str(name) for name in named if name is not None]
        return found


_LONGEST_WAIT = 60.0


class ScriptedModel:
    """The server; a context manager. ``url`` has no slash at its end."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.needs_tools = True
        """False for an agent that has none: then its requests without any are played, too."""
        self.requests: list[Request] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        join(self._thread)

    def played(self) -> list[Request]:
        """Returns the requests that the script answered, without those beside it."""
        return [r for r in list(self.requests) if r.label not in (SIDE, SUMMARY)]

    def summarised(self) -> list[Request]:
        """Returns the requests by which a summary was asked for."""
        return [request for request in list(self.requests) if request.label == SUMMARY]

    def wait_for(self, prompt: str) -> None:
        """Waits until a prompt was sent; not for ever, and not for an empty one."""
        end = time.monotonic() + _LONGEST_WAIT
        while prompt and time.monotonic() < end:
            if any(request.humans[-1] == prompt for request in self.played()):
                return
            time.sleep(0.02)

    def first_of(self, prompt: str) -> Request:
        """Returns the request by which an agent sent a prompt for the first time."""
        found = [r for r in self.played() if r.humans[-1] == prompt]
        assert found, f"{prompt!r} was never sent; sent were {[r.humans for r in self.played()]}"
        return found[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: ScriptedModel

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing: an agent that is interrupted closes its connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the log is for the tests."""

    def do_GET(self) -> None:
        """Answers what agents look up at their start: nothing of it is here."""
        self._send({"error": {"type": "not_found_error", "message": "not here"}}, status=404)

    def do_POST(self) -> None:
        body = self._body()
        path = self.path.partition("?")[0]
        ending = next((one for one in _PROTOCOLS if path.endswith(one)), None)
        if ending is None:  # counting tokens, or telemetry
            self._send({"input_tokens": 100, "totalTokens": 100})
            return
        protocol = _PROTOCOLS[ending]
        dialogue = protocol.read(body)
        if protocol is gemini_content:
            dialogue.stream = "alt=sse" in self.path
            dialogue.model = path.rpartition("/")[2].partition(":")[0]
        model = self.server.model
        label, step = choose(model.script, dialogue, needs_tools=model.needs_tools)
        model.requests.append(_request(label, dialogue, body))
        time.sleep(step.delay)
        model.wait_for(step.meets)
        message = protocol.answer(step, dialogue)
        if dialogue.stream:
            self._send_events(protocol.events(message))
        else:
            self._send(message)

    def _body(self) -> Mapping[str, Any]:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        found = json.loads(raw or b"{}")
        return found if isinstance(found, dict) else {}

    def _send(self, document: Mapping[str, Any], *, status: int = 200) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _send_events(self, events: Iterable[Mapping[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            name = f"event: {event['type']}\n" if "type" in event else ""
            raw = f"{name}data: {json.dumps(event)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        self.wfile.write(b"0\r\n\r\n")


def _request(label: str, dialogue: Dialogue, body: Mapping[str, Any]) -> Request:
    said = tuple(dialogue.humans)
    return Request(label, said, dialogue.kinds, json.dumps(body), time.monotonic())
