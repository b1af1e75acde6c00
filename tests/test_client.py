"""The client: a real server, asked in plain Python."""

from __future__ import annotations

import ast
import hashlib
import hmac
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import islice
from pathlib import Path
from typing import ClassVar

import pytest

import takeback.client
from takeback.client import ApiError, Client, ServerEvent
from tests.serve.served import serving, until
from tests.support.cli import Cli
from tests.support.host import Host
from tests.support.processes import join

EXAMPLE = Path(__file__).parents[1] / "examples" / "desktop_shell.py"


@pytest.fixture
def host(cli: Cli, tmp_path: Path) -> Host:
    agent = Host(cli, tmp_path)
    agent.turn("write a", {"a.txt": b"one\n"})
    agent.turn("write b", {"b.txt": b"b\n"})
    agent.turn("change a", {"a.txt": b"two\n"})
    return agent


def test_it_reads_what_the_command_line_reads(host: Host, cli: Cli) -> None:
    with serving(cli) as server:
        tb = Client(server.url, str(server.secret_file))
        [workspace] = tb.workspaces()
        id = workspace["id"]
        log = [line["id"] for line in cli.ok("--json", "log").json_lines]
        assert workspace["path"] == str(cli.directory)
        assert [turn["id"] for turn in tb.turns(id, page=2)] == log
        assert [one["id"] for one in tb.sessions(id)] == [host.id]
        assert tb.status(id)["checkpoints"] == 6
        said = cli.ok("--json", "cat", "@", "--conversation", "--messages").json["messages"]
        assert list(tb.messages(id, "@", page=2)) == said
        assert tb.prompt(id, "turn:2") == "write b"
        assert tb.checkpoint(id, "turn:2", session="mine")["id"] == log[1]
        with pytest.raises(ApiError) as missing:
            tb.checkpoint(id, "no such thing?&")
        assert (missing.value.status, missing.value.code) == (404, "no_such_checkpoint")
        assert missing.value.message
        assert missing.value.hint
        server.secret_file.chmod(0o644)
        with pytest.raises(ApiError, match="others can read"):
            Client(server.url, str(server.secret_file))
        server.secret_file.chmod(0o600)
    with pytest.raises(ApiError) as gone:
        tb.workspaces()
    assert gone.value.code == "unreachable"


def test_it_plans_carries_out_and_undoes(host: Host, cli: Cli) -> None:
    file = cli.directory / "a.txt"
    with serving(cli) as server:
        tb = Client(server.url, str(server.secret_file))
        id = tb.workspaces()[0]["id"]
        plan = tb.plan(id, "turn:3", scope="files")
        assert (plan.kind, file.read_bytes()) == ("rewind", b"two\n")
        [change] = plan.document["written"]
        assert change["path"] == "a.txt"
        done = tb.carry_out(plan)
        assert (len(done["written"]), file.read_bytes()) == (1, b"one\n")
        with pytest.raises(ApiError) as again:
            tb.carry_out(plan)
        assert again.value.status == 409
        assert tb.diff(id, "turn:3")["changes"][0]["path"] == "a.txt"
        tb.carry_out(tb.plan(id, kind="undo"))
        assert file.read_bytes() == b"two\n"
        tb.carry_out(tb.plan(id, kind="redo"))
        tb.carry_out(tb.plan(id, kind="revert", turns=["turn:2"]))
        assert not (cli.directory / "b.txt").exists()
        tb.label(id, "turn:2", "good")
        assert tb.checkpoint(id, "good")["prompt"] == "write b"
        assert [one["text"] for one in tb.search(id, "write b")] == ["write b"]
        example = [sys.executable, str(EXAMPLE), server.url, str(server.secret_file)]
        shell = subprocess.run(
            example, input="2\ny\ny\n", capture_output=True, text=True, check=True, timeout=60
        )
    assert "change a" in shell.stdout
    assert "the composer: write a" in shell.stdout, shell.stdout
    assert not file.exists()


def test_it_hears_what_happens_and_resumes(
    host: Host, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client.start() as tb:
        id = tb.workspaces()[0]["id"]
        events = tb.events(workspace=id)
        heard: list[ServerEvent] = []
        thread = threading.Thread(target=lambda: heard.extend(islice(events, 1)))
        thread.start()
        until(lambda: tb.status(id)["checkpoints"] == 6)
        for number in range(60):  # until it listens
            host.turn("write c", {"c.txt": b"%d\n" % number})
            thread.join(1)
            if heard:
                break
        assert heard[0].data["workspace"] == id
        first = heard[0]
        host.turn("write d", {"d.txt": b"d\n"})
        later = tb.events(workspace=id, after=first.id)
        kinds = set()
        for event in later:
            assert event.id != first.id
            kinds.add(event.kind)
            if "write d" in json.dumps(event.data):
                break
        assert kinds & {"turn", "checkpoint"}
    monkeypatch.setattr("takeback.client._PAUSES", (0.01, 0.01))
    with pytest.raises(ApiError) as gone:
        list(later)
    assert gone.value.code == "unreachable"


def test_it_asks_on_a_unix_socket(host: Host, cli: Cli) -> None:
    with tempfile.TemporaryDirectory(prefix="tb") as short:  # a socket's path has a short limit
        shutil.copytree(os.environ["TAKEBACK_HOME"], f"{short}/home")
        os.chmod(f"{short}/home", 0o700)
        with serving(Cli(cli.directory, {"TAKEBACK_HOME": f"{short}/home"}), "--socket") as server:
            tb = Client(server.url, str(server.secret_file))
            assert [one["path"] for one in tb.workspaces()] == [str(cli.directory)]


def test_it_starts_a_server_of_its_own_and_ends_it(host: Host, cli: Cli) -> None:
    with Client.start() as tb:
        process = tb._process
        assert [one["path"] for one in tb.workspaces()] == [str(cli.directory)]
    assert process is not None
    assert process.returncode == 0
    with pytest.raises(ApiError, match="did not start"):
        Client.start((sys.executable, "-c", "print('no')"))


class Impostor(BaseHTTPRequestHandler):
    """Has taken a port, and answers whatever it is asked."""

    seen: ClassVar[list[tuple[str, str | None]]] = []
    proof = "0" * 64

    def do_POST(self) -> None:
        self.seen.append((self.path, self.headers["Authorization"]))
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"proof": self.proof}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_another_program_on_the_port_is_not_told_the_secret(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.touch(0o600)
    file.write_text("the secret\n")
    with HTTPServer(("127.0.0.1", 0), Impostor) as impostor:
        thread = threading.Thread(target=impostor.serve_forever)
        thread.start()
        tb = Client(f"http://127.0.0.1:{impostor.server_port}/", str(file))
        try:
            for _ in range(2):
                with pytest.raises(ApiError) as refused:
                    tb.workspaces()
                assert refused.value.code == "another_server"
        finally:
            impostor.shutdown()
            join(thread)
    assert Impostor.seen == [("/api/v1/challenge", None)] * 2


def test_only_the_connection_that_was_proved_is_told_the_secret(tmp_path: Path) -> None:
    """A relay passes the challenge on, then hangs up: the next connection is not trusted."""
    file = tmp_path / "secret"
    file.touch(0o600)
    file.write_text("the secret\n")
    heard: list[bytes] = []

    def relay(door: socket.socket) -> None:
        with door.accept()[0] as one:
            nonce = json.loads(one.recv(65536).partition(b"\r\n\r\n")[2] or one.recv(65536))[
                "nonce"
            ]
            message = b"takeback challenge " + nonce.encode()
            proof = hmac.new(b"the secret", message, hashlib.sha256).hexdigest()
            body = json.dumps({"proof": proof}).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            one.sendall(head.encode() + body)
        door.settimeout(1)
        try:
            with door.accept()[0] as another:
                heard.append(another.recv(65536))
        except TimeoutError:
            pass

    with socket.create_server(("127.0.0.1", 0)) as door:
        thread = threading.Thread(target=relay, args=(door,))
        thread.start()
        with pytest.raises(ApiError) as refused:
            Client(f"http://127.0.0.1:{door.getsockname()[1]}/", str(file)).workspaces()
        join(thread)
    assert refused.value.code == "unreachable"
    assert heard == []


def test_the_secret_goes_to_this_machine_alone(tmp_path: Path) -> None:
    for url in ("http://127.0.0.1.evil.example:80/", "http://localhost:1/", "https://127.0.0.1:1/"):
        with pytest.raises(ValueError, match="not the address"):
            Client(url, str(tmp_path / "secret"))


def test_it_needs_nothing_but_the_standard_library() -> None:
    [folder] = takeback.client.__path__
    for path in Path(folder).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [one.name for one in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            for name in names:
                own = name.startswith("takeback.client.")
                assert own or name.partition(".")[0] in sys.stdlib_module_names, (path, name)
