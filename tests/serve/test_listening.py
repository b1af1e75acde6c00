"""Events: what happens is told as it happens, to several, and to those who come back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from typing import Any

import pytest

from takeback.app.engine import Engine
from takeback.serve.feed import Event, Feed
from takeback.serve.protocol import Rejected, ServerSettings
from tests.serve.served import V1, ServedProcess, serving
from tests.support.cli import Cli
from tests.support.host import Host


class Stream:
    """Reads the events of one client."""

    def __init__(self, answer: HTTPResponse) -> None:
        self._answer = answer
        self.id = ""

    def next(self) -> tuple[str, dict[str, Any]]:
        """Returns the next event, its name and data; ids are noted, progress is passed over."""
        event, data = "", ""
        deadline = time.monotonic() + 60  # a heartbeat ends each wait for a line
        while time.monotonic() < deadline:
            line = self._answer.readline().decode().rstrip("\r\n")
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "data":
                data = value
            elif name == "id":
                self.id = value
            elif not line and event not in ("", "progress"):
                return event, json.loads(data)
            elif not line:
                event = data = ""
        raise AssertionError("no event was told for a minute")


@contextmanager
def listening(server: ServedProcess, query: str = "", last: str | None = None) -> Iterator[Stream]:
    connection = server.connection()
    headers = {"Authorization": f"Bearer {server.secret}"}
    if last is not None:
        headers["Last-Event-ID"] = last
    connection.request("GET", f"{V1}/events{query}", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    assert answer.getheader("content-type", "").startswith("text/event-stream")
    try:
        yield Stream(answer)
    finally:
        connection.close()


def test_turns_operations_and_labels_are_told_to_all_who_listen(host: Host, cli: Cli) -> None:
    with serving(cli) as server:
        [one] = server.get("/workspaces").ok()["workspaces"]
        query, at = f"?workspace={one['id']}", f"/workspaces/{one['id']}"
        with listening(server, query) as first, listening(server, query) as second:
            host.prompt("a fourth")
            name, data = first.next()
            assert (name, data["what"], data["workspace"]) == ("turn", "began", one["id"])
            assert (data["session"], data["turn"]["prompt"]) == (host.id, "a fourth")
            assert data["turn"]["state"] == "running"
            began = first.id
            host.end()
            name, data = first.next()
            assert (name, data["what"], data["turn"]["state"]) == ("turn", "ended", "ended")
            cli.ok("checkpoint")
            assert first.next()[0] == "checkpoint"
            planned = server.post(f"{at}/plan", {"target": "turn:2", "scope": "files"}).ok()
            done = server.post(f"{at}/rewind", {"nonce": planned["nonce"]}).ok()
            name, data = first.next()
            assert (name, data["operation"]["id"]) == ("operation", done["operation"])
            cli.ok("label", "turn:2", "good")
            assert first.next()[0] == "workspace"
            seen = [second.next()[0] for _ in range(5)]
            assert seen == ["turn", "turn", "checkpoint", "operation", "workspace"]
            assert first.id == second.id
        with listening(server, query, last=began) as back:
            seen = [back.next()[0] for _ in range(4)]
            assert seen == ["turn", "checkpoint", "operation", "workspace"]
        with listening(server, query, last="00000000-1") as stranger:
            assert stranger.next()[0] == "reset"
        assert server.get("/events?workspace=0123456789abcdef").status == 404


def test_what_happens_as_soon_as_one_listens_is_told(host: Host, cli: Cli) -> None:
    """The workspaces are looked at now and then: also a change before the first look is one."""
    with serving(cli) as server, Engine.open(cli.directory) as tb:
        server.get("/workspaces").ok()
        with listening(server) as everything:
            tb.checkpoint("at once")
            assert everything.next()[0] in ("workspace", "checkpoint")


def test_a_client_that_comes_back_gets_what_it_missed_or_a_reset() -> None:
    feed = Feed(ServerSettings(events=5, streams=2))
    first = feed.name()
    for number in range(3):
        feed.publish("turn", "w", {"n": number})
    assert [e.data["n"] for e in feed.listen("w", first).waiting] == [0, 1, 2]
    assert not feed.listen("w", feed.name()).waiting
    with pytest.raises(Rejected) as refused:
        feed.listen("w", None)
    assert (refused.value.status, dict(refused.value.headers)) == (503, {"Retry-After": "5"})
    feed.listeners.clear()
    for number in range(3):
        feed.publish("turn", "w", {"n": number})
    assert [e.kind for e in feed.listen("w", first).waiting] == ["reset"]
    assert [e.kind for e in feed.listen("w", "nonsense").waiting] == ["reset"]
    feed.listeners.clear()
    run, _, last = feed.name().partition("-")
    for unknown in (f"{run}-{int(last) + 1}", f"{run}-{10**14}", f"{run}--1", f"{run}-", ""):
        [only] = feed.listen("w", unknown).waiting
        assert (only.kind, feed.name(only.number)) == ("reset", feed.name()), unknown
        feed.listeners.clear()
    restarted = Feed(feed.settings)
    assert [e.kind for e in restarted.listen("w", feed.name()).waiting] == ["reset"]


def test_what_was_not_watched_is_a_reset_and_who_is_too_slow_gets_one() -> None:
    feed = Feed(ServerSettings(events=5))
    feed.publish("turn", "w", {})
    last = feed.name()
    feed.forget()
    assert [e.kind for e in feed.listen("w", last).waiting] == ["reset"]
    slow, other = feed.listen("w", None), feed.listen("other", None)
    for _ in range(7):
        feed.publish("turn", "w", {})
    assert [e.kind for e in slow.waiting] == ["reset", "turn"]
    feed.mention(Event("progress", "w", {}))
    feed.publish("workspace", "w", {})
    assert [e.kind for e in other.waiting] == ["workspace"]
