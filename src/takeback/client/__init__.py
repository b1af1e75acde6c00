"""The client: a running ``takeback serve`` for editors and desktop shells, in plain Python.

from takeback.client import Client

with Client.start() as tb:
    workspace = tb.workspaces()[0]["id"]
    plan = tb.plan(workspace, "turn:3")
    print(plan.document["question"], plan.document["written"])
    tb.carry_out(plan)

It needs the standard library alone, so the folder can be copied. Documents are those of ``--json``
(docs/scripting.md). Each request has a connection of its own, on which the server first proves
that it knows the secret: whoever has taken its port since gets to see nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self
from urllib.parse import quote, urlencode

from takeback.client.wire import (
    LONGEST_LINE,
    V1,
    ApiError,
    Document,
    Wire,
    address_in,
    read_document,
    secret_in,
)

__all__ = ["ApiError", "Client", "Document", "ProposedPlan", "ServerEvent"]

Kind = Literal["rewind", "revert", "fork", "summarise", "undo", "redo"]
_PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)


class ProposedPlan(NamedTuple):
    """What would be done: ``document`` for the person, ``nonce`` to do just that, once."""

    workspace: str
    kind: Kind
    nonce: str
    document: Document


class ServerEvent(NamedTuple):
    """Something that happened: ``id`` to resume after it, ``kind``, and what it was about."""

    id: str
    kind: str
    data: Document


class Client:
    """A connection to a running server. All its methods may be called from any thread."""

    def __init__(
        self, url: str, secret_file: str, process: subprocess.Popen[bytes] | None = None
    ) -> None:
        """Connects to ``http://127.0.0.1:PORT/`` or ``unix:PATH``; sends nothing yet."""
        self._address = address_in(url)
        self._secret = secret_in(secret_file)
        self._process = process

    @classmethod
    def start(cls, command: Sequence[str] = (), *, unix: bool = False) -> Self:
        """Starts a server of its own, which ends with ``close``.

        ``command`` is how takeback is called, by default with this very Python.
        """
        # -P: the directory that this runs in may be a workspace, and is not to be imported from
        call = [*(command or (sys.executable, "-P", "-m", "takeback")), "serve", "--json"]
        process = subprocess.Popen(
            [*call, "--socket"] if unix else call,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline(LONGEST_LINE))
            if said["type"] == "error":
                raise ApiError(said["code"], said["message"], hint=said.get("hint", ""))
            return cls(said["url"], said["secret_file"], process)
        except (ValueError, KeyError, TypeError) as error:
            _end(process)
            raise ApiError("not_started", f"the server did not start: {call[0]}") from error
        except BaseException:
            _end(process)
            raise

    def close(self) -> None:
        """Ends the server if ``start`` started it."""
        if self._process is not None:
            _end(self._process)
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # -- looking

    def workspaces(self) -> list[Document]:
        """Returns every workspace of the user: ``id``, ``path`` and more."""
        return _list(self._get("/workspaces"), "workspaces")

    def status(self, workspace: str) -> Document:
        return self._get(_in(workspace, "status"))

    def sessions(self, workspace: str) -> list[Document]:
        return _list(self._get(_in(workspace, "sessions")), "sessions")

    def turns(
        self, workspace: str, *, session: str | None = None, page: int = 100
    ) -> Iterator[Document]:
        """Yields the turns, newest first; asks for more of them as they are taken."""
        before = None
        while True:
            asked = {"session": session, "limit": page, "before": before}
            found = self._get(_in(workspace, "turns"), asked)
            yield from _list(found, "turns")
            before = found["next"]
            if before is None:
                return

    def checkpoint(
        self, workspace: str, checkpoint: str, *, session: str | None = None
    ) -> Document:
        return self._get(_at(workspace, checkpoint), {"session": session})

    def messages(self, workspace: str, checkpoint: str, *, page: int = 100) -> Iterator[Document]:
        """Yields what was said up to a checkpoint, oldest first."""
        offset: int | None = 0
        while offset is not None:
            asked = {"offset": offset, "limit": page}
            found = self._get(_at(workspace, checkpoint, "messages"), asked)
            yield from _list(found, "messages")
            offset = found["next"]

    def prompt(self, workspace: str, checkpoint: str) -> str | None:
        """Returns the prompt that a rewind to there takes back, to refill a composer."""
        found: str | None = self._get(_at(workspace, checkpoint, "prompt"))["prompt"]
        return found

    def diff(
        self,
        workspace: str,
        checkpoint: str,
        *,
        to: str = "after",
        path: str | None = None,
    ) -> Document:
        """Returns what the turn changed, or what a rewind would (``to="now"``)."""
        return self._get(_at(workspace, checkpoint, "diff"), {"to": to, "path": path})

    def search(self, workspace: str, words: str, *, content: bool = False) -> list[Document]:
        asked = {"q": words, "content": "true" if content else "false"}
        return _list(self._get(_in(workspace, "search"), asked), "found")

    # -- changing

    def plan(
        self, workspace: str, target: str | None = None, kind: Kind = "rewind", **wanted: Any
    ) -> ProposedPlan:
        """Asks what would be done; changes nothing.

        ``wanted`` are the other fields of the request: ``scope``, ``paths``, ``hunks``, ``keep``,
        ``conflicts``, ``overrides``, ``session``, ``turns``, ``ignored``, ``directory``, ``files``.
        """
        body = {"kind": kind, **({} if target is None else {"target": target}), **wanted}
        found = self._post(_in(workspace, "plan"), body)
        return ProposedPlan(workspace, kind, found["nonce"], found)

    def carry_out(self, plan: ProposedPlan) -> Document:
        """Does what a plan shows, once; raises ApiError if something has changed since."""
        return self._post(_in(plan.workspace, plan.kind), {"nonce": plan.nonce})

    def label(self, workspace: str, checkpoint: str, label: str | None) -> Document:
        """Gives a checkpoint a name, or removes it (None)."""
        return self._post(_in(workspace, "label"), {"checkpoint": checkpoint, "label": label})

    # -- hearing

    def events(
        self, *, workspace: str | None = None, after: str | None = None
    ) -> Iterator[ServerEvent]:
        """Yields what happens, from now on or ``after`` an event; comes back by itself.

        An event ``reset`` says that some were missed: read again what you show. Raises ApiError
        if the server is gone.
        """
        failures = 0
        while True:
            try:
                for event in self._stream(workspace, after):
                    failures, after = 0, event.id or after
                    if event.kind:
                        yield event
                failure = ApiError("unreachable", "the server ended the stream of events")
            except ApiError as error:
                if error.code != "unreachable" and error.status not in (0, 503):
                    raise
                failure = error
            if failures == len(_PAUSES):
                raise failure
            time.sleep(_PAUSES[failures])
            failures += 1

    def _stream(self, workspace: str | None, after: str | None) -> Iterator[ServerEvent]:
        path = _with_query(f"{V1}/events", {"workspace": workspace})
        headers = {} if after is None else {"Last-Event-ID": after}
        with Wire(self._address, self._secret) as wire:
            answer = wire.open("GET", path, None, headers)
            fields: dict[str, str] = {}
            while line := wire.line(answer):
                text = line.rstrip("\r\n")
                name, _, value = text.partition(":")
                if name:
                    fields[name] = value.removeprefix(" ")
                elif not text:  # the end of an event, of an id to resume from, of a sign of life
                    data = read_document(fields.get("data", "{}").encode())
                    yield ServerEvent(fields.get("id", ""), fields.get("event", ""), data)
                    fields = {}

    # -- asking

    def _get(self, path: str, query: Mapping[str, object] | None = None) -> Document:
        return self._ask("GET", _with_query(V1 + path, query or {}), None)

    def _post(self, path: str, body: Document) -> Document:
        return self._ask("POST", V1 + path, json.dumps(body).encode())

    def _ask(self, method: str, path: str, body: bytes | None) -> Document:
        with Wire(self._address, self._secret) as wire:
            return read_document(wire.read(wire.open(method, path, body, {})))


def _list(found: Document, name: str) -> list[Document]:
    listed = found.get(name)
    if not isinstance(listed, list):
        raise ApiError("failed", f"the answer has no {name}")
    return listed


def _in(workspace: str, what: str) -> str:
    return f"/workspaces/{quote(workspace, safe='')}/{what}"


def _at(workspace: str, checkpoint: str, what: str = "") -> str:
    place = _in(workspace, f"checkpoints/{quote(checkpoint, safe='')}")
    return f"{place}/{what}" if what else place


def _with_query(path: str, query: Mapping[str, object]) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
