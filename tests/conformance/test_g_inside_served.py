"""From inside its running turn a model changes nothing through a server that a person started.

It runs with the person's rights and can read the secret: what tells it from the page is which
process holds the other end of the connection.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from takeback.app.engine import Engine
from takeback.errors import Refused
from takeback.model.checkpoint import Asker
from takeback.model.coverage import Overrides
from takeback.serve.routes import ENDPOINTS
from tests.conformance.test_g_inside import WORDS, own, state
from tests.serve.served import ServedProcess, serving
from tests.support.agent import AgentProcess
from tests.support.cli import Cli
from tests.support.host import Host

__all__ = ["own"]  # a fixture

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says")

ASK = """
import http.client, json, os, socket, subprocess, sys

url, secret_file, calls, how = sys.argv[1:]
secret = open(secret_file).read().strip()
if url.startswith("unix:"):
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(url[5:])
else:
    port = int(url.rstrip("/").rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.connect()
if how == "forked" and os.fork():  # the connection is kept alive, and two have it
    os.wait()
    sys.exit()
if how == "shared":  # with a process that was told what a model's tool is told
    words = {**os.environ, "TAKEBACK_AGENT": "mine", "TAKEBACK_SESSION_ID": "s1"}
    other = subprocess.Popen(["sleep", "60"], env=words, pass_fds=[connection.sock.fileno()])
if how == "detached" and os.fork():
    os._exit(0)
if how == "detached":
    os.setsid()
    if os.fork():
        os._exit(0)

def ask(method, path, body=None):
    headers = {"Authorization": "Bearer " + secret}
    if body is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(body)
    connection.request(method, "/api/v1" + path, body, headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())

at = "/workspaces/" + ask("GET", "/workspaces")[1]["workspaces"][0]["id"]
said = []
for name, path, body in json.loads(calls):
    if path is not None:
        status, planned = ask("POST", at + path, body)
        body = {"nonce": planned["nonce"]} if status == 200 else None
    if body is not None:
        status, planned = ask("POST", at + "/" + name, body)
    said.append((name, status, planned.get("error")))
sys.stdout.write(json.dumps(said) + "\\n")
if how == "shared":
    other.kill()
sys.exit(13 if said[-1][1] == 409 else 0)
"""

OVERRIDES = ["during_turn", "mass_delete", "overwrite_others"]


def plan(kind: str, **fields: object) -> tuple[str, str, dict[str, object]]:
    return kind, "/plan", {"kind": kind, "overrides": OVERRIDES, **fields}


CHANGING: list[tuple[str, str | None, dict[str, object]]] = [
    plan("rewind", target="turn:1", scope="files"),
    plan("undo"),
    plan("revert", turns=["turn:1"], conflicts={"default": "theirs"}),
    plan("fork", target="turn:1", files=True),
    plan("fork", target="turn:1", directory="elsewhere"),
    plan("summarise", target="turn:1"),
    ("label", None, {"checkpoint": "turn:1", "label": None}),
    ("label", None, {"checkpoint": "turn:1", "label": "another"}),
    ("recover", None, {}),
    ("prune", "/prune/plan", {"checkpoints": ["turn:1"]}),
    ("restore", None, {}),
]
"""Everything that changes something: its name, where its plan is made if it has one, the body."""


@pytest.fixture
def home() -> Iterator[str]:
    """A home whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="tb") as short:
        yield short


@pytest.fixture
def host(
    cli: Cli, tmp_path: Path, home: str, own: AgentProcess, monkeypatch: pytest.MonkeyPatch
) -> Host:
    """An agent with a finished turn, a rewind that can be undone, and a turn that runs."""
    monkeypatch.setenv("TAKEBACK_HOME", os.path.join(home, "t"))
    made = Host(cli.told_by(own), tmp_path)
    made.turn("one", {"a.txt": b"1"})
    cli.ok("label", "turn:1", "kept")
    cli.ok("config", "summariser", "true")
    cli.ok("rewind", "turn:1", "--files", "--yes", "--force")
    made.prompt("two")
    (cli.directory / "a.txt").write_bytes(b"2")
    return made


def argv(server: ServedProcess, calls: Sequence[object], how: str = "") -> list[str]:
    secret = str(server.secret_file)
    return [sys.executable, "-c", ASK, server.url, secret, json.dumps(calls), how]


def asked(
    server: ServedProcess,
    cli: Cli,
    calls: Sequence[object],
    how: str = "",
    model: AgentProcess | None = None,
    **env: str,
) -> list[Any]:
    """Lets a person's process ask, or a model's; returns name, status and error of each call."""
    words = argv(server, calls, how)
    if model is None:
        done = subprocess.run(words, env=cli.environment(), capture_output=True)
    else:
        done = model.tool(words, cwd=cli.directory, env=cli.environment(env))
    assert done.stdout, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def test_every_call_that_changes_something_is_in_the_table() -> None:
    first = {"enter", "challenge", "plan", "plan_prune"}
    changing = {one.name for one in ENDPOINTS if one.method != "GET"} - first
    assert {name for name, *_ in CHANGING} | {"redo"} == changing


@pytest.mark.parametrize("door", [(), ("--socket",)])
def test_a_model_with_the_secret_changes_nothing(
    host: Host, cli: Cli, own: AgentProcess, door: tuple[str]
) -> None:
    told = cli.inside(own).run("--json", "prune", "turn:1", "--yes")
    before = state(cli)
    with serving(cli, *door) as server:
        for how, calls in (("", CHANGING), ("forked", CHANGING[:1]), ("detached", CHANGING[:1])):
            for name, status, error in asked(server, cli, calls, how, own, **WORDS):
                assert (status, error["code"]) == (409, told.error["code"]), (name, error)
                assert error["hint"] == told.error["hint"], name
                assert 'inside a running turn of mine ("two")' in error["message"], error
        [hidden] = asked(server, cli, CHANGING[:1], "detached", own)
        assert (hidden[1], state(cli)) == (409, before), "nobody knows whose it is"
        [shared] = asked(server, cli, CHANGING[:1], "shared")
        assert (shared[1], state(cli)) == (409, before), "one of those who hold it is enough"
        for how in ("", "forked"):  # a person's program, with one connection for all
            [rewound] = asked(server, cli, CHANGING[:1], how)
            assert rewound[1] == 200
            assert not (cli.directory / "a.txt").exists()
            [undone] = asked(server, cli, [plan("undo")], how)
            assert undone[1] == 200
        assert asked(server, cli, [plan("redo")], model=own)[0][1] == 409
        host.end()
        assert asked(server, cli, CHANGING[:1], model=own)[0][1] == 409, "it has the command line"
        assert asked(server, cli, CHANGING[:1])[0][1] == 200


def test_where_nobody_knows_who_asks_a_running_turn_has_to_end_first(host: Host, cli: Cli) -> None:
    """As on macOS: wherever it is asked for, and as long as it runs."""
    elsewhere = cli.directory.parent / "elsewhere"
    elsewhere.mkdir()
    unseen, allowed = Asker(unseen=True), Overrides(during_turn=True, mass_delete=True)

    def rewind(tb: Engine) -> object:
        return tb.rewind("turn:1", scope="files", overrides=allowed)

    with Engine.open(elsewhere) as other:
        other.checkpoint(label="first")
        with pytest.raises(Refused, match=r'of mine \("two"\) \(session mine-s1, .* asks for it'):
            other.for_asker(unseen, lambda tb: tb.label("first", None))
    with Engine.open(cli.directory) as tb:
        for job in (rewind, lambda tb: tb.refuse_inside("a prune")):
            with pytest.raises(Refused, match=r'of mine \("two"\).* asks for it; press Esc there'):
                tb.for_asker(unseen, job)
        host.end()
        tb.for_asker(unseen, rewind)
        assert not (cli.directory / "a.txt").exists()
