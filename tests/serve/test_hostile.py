"""What a hostile program on the same machine, or a page of another site, sends: each is answered.

One server in a process of its own, and bytes on its socket.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from takeback.serve.protocol import nesting
from tests.serve.served import V1, ServedProcess, serving, until
from tests.support.cli import Cli
from tests.support.host import Host

CHALLENGE = b'{"nonce": "0123456789abcdef"}'


def sent(server: ServedProcess, *pieces: bytes) -> tuple[int, bytes]:
    """Sends bytes as they are; returns the status of the answer and all of it. 0 is no answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as one:
        try:
            for piece in pieces:
                one.sendall(piece)
            one.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has heard enough
        heard = b""
        try:
            while piece := one.recv(65536):
                heard += piece
        except ConnectionError:
            pass
    line = heard.partition(b"\r\n")[0].split(b" ")
    return int(line[1]) if len(line) > 1 else 0, heard


def request(
    server: ServedProcess, line: str, *headers: str, body: bytes = b"", host: str | None = None
) -> bytes:
    """Returns a request with the right Host and these headers."""
    named = f"127.0.0.1:{server.port}" if host is None else host
    lines = [f"{line} HTTP/1.1", *([f"Host: {named}"] if named else []), *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body


def test_what_hostile_programs_send_is_answered_as_documented(host: Host, cli: Cli) -> None:
    with serving(cli) as server:
        known = f"Authorization: Bearer {server.secret}"
        json_body = "Content-Type: application/json"
        asks, challenge = f"GET {V1}/workspaces", f"POST {V1}/challenge"
        port = server.port
        deep = b'{"nonce":' + b"[" * 65 + b"]" * 65 + b"}"
        cases: list[tuple[str, bytes, tuple[int, ...]]] = [
            ("right", request(server, asks, known), (200,)),
            *(
                (f"rebinding {name}", request(server, asks, known, host=name), (421,))
                for name in (
                    f"evil.example:{port}",
                    f"localhost:{port}",
                    f"127.0.0.1.evil.example:{port}",
                    f"127.1:{port}",
                    f"[::1]:{port}",
                    f"127.0.0.1:{port}.",
                    f"user@127.0.0.1:{port}",
                    "127.0.0.1",
                    "127.0.0.1:80",
                )
            ),
            ("no host", request(server, asks, known, host=""), (400,)),
            ("old and no host", f"{asks} HTTP/1.0\r\n{known}\r\n\r\n".encode(), (421,)),
            ("two hosts", request(server, asks, known, f"Host: 127.0.0.1:{port}"), (400,)),
            ("other host", request(server, asks, known, "Host: evil.example"), (400,)),
            ("proxy", request(server, f"GET http://evil.example{V1}/workspaces", known), (404,)),
            ("double slash", request(server, f"GET /{V1}/workspaces"), (404,)),
            ("escaped", request(server, "GET /%61pi/v1/workspaces"), (401,)),
            ("trailing", request(server, f"GET {V1}/enter/"), (401,)),
            ("dots", request(server, f"GET /static/..{V1}/workspaces"), (404,)),
            *(
                (f"origin {name}", request(server, asks, known, f"Origin: {name}"), (403,))
                for name in ("null", "http://127.0.0.1", f"http://127.0.0.1:{port + 1}", "*", "")
            ),
            ("same site", request(server, asks, known, "Sec-Fetch-Site: same-site"), (403,)),
            (
                "two origins",
                request(server, asks, known, f"Origin: http://127.0.0.1:{port}", "Origin: null"),
                (403,),
            ),
            (
                "image",
                request(
                    server,
                    "GET /",
                    "Sec-Fetch-Site: same-site",
                    "Sec-Fetch-Mode: no-cors",
                    "Sec-Fetch-Dest: image",
                ),
                (403,),
            ),
            (
                "frame",
                request(
                    server,
                    "GET /",
                    "Sec-Fetch-Site: cross-site",
                    "Sec-Fetch-Mode: navigate",
                    "Sec-Fetch-Dest: iframe",
                ),
                (403,),
            ),
            (
                "worker",
                request(
                    server,
                    "GET /static/main.js",
                    "Sec-Fetch-Site: same-site",
                    "Sec-Fetch-Dest: worker",
                ),
                (403,),
            ),
            (
                "form",
                request(
                    server,
                    challenge,
                    "Content-Type: application/x-www-form-urlencoded",
                    body=b"a=b",
                ),
                (415,),
            ),
            (
                "text",
                request(server, challenge, "Content-Type: text/plain", body=CHALLENGE),
                (415,),
            ),
            (
                "two types",
                request(server, challenge, json_body, "Content-Type: text/plain", body=CHALLENGE),
                (415,),
            ),
            (
                "preflight",
                request(
                    server,
                    f"OPTIONS {V1}/workspaces",
                    "Origin: http://evil.example",
                    "Access-Control-Request-Method: POST",
                ),
                (403,),
            ),
            ("upgrade", request(server, asks, "Upgrade: websocket", "Connection: upgrade"), (401,)),
            ("no secret", request(server, asks), (401,)),
            ("not http", b"\x16\x03\x01\x02\x00" * 100, (400,)),
            ("bytes", b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n", (400, 421)),
            ("folded", request(server, asks, known, "X: a\r\n b"), (200, 400)),
            ("long target", request(server, f"GET /{'x' * 70_000}"), (404, 414, 431)),
            ("long header", request(server, "GET /", f"X: {'x' * 70_000}"), (431,)),
            ("many headers", request(server, "GET /", *["a: b"] * 20_000), (431,)),
            (
                "negative",
                f"{challenge} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                "Content-Length: -1\r\n\r\n".encode(),
                (400,),
            ),
            (
                "two lengths",
                f"{challenge} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{json_body}\r\n"
                "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab".encode(),
                (400,),
            ),
            ("large", request(server, challenge, json_body, body=b" " * (1 << 20) + b"{}"), (413,)),
            (
                "chunked",
                request(server, challenge, json_body, "Transfer-Encoding: chunked")
                + b"".join(b"8000\r\n" + b" " * 0x8000 + b"\r\n" for _ in range(40)),
                (413,),
            ),
            (
                "broken off",
                request(server, challenge, json_body, "Content-Length: 99") + b"{",
                (0, 400),
            ),
            ("deep", request(server, challenge, json_body, body=deep), (400,)),
            ("very deep", request(server, challenge, json_body, body=b"[" * 900_000), (400,)),
            ("quotes", request(server, challenge, json_body, body=b'"' + b'\\"' * 400_000), (400,)),
            ("constant", request(server, challenge, json_body, body=b'{"nonce": NaN}'), (400,)),
            ("long number", request(server, challenge, json_body, body=b"1" * 900_000), (400,)),
            (
                "half a pair",
                request(server, challenge, json_body, body=b'{"nonce": "0123456789abcdef\\ud800"}'),
                (400,),
            ),
            (
                "twice",
                request(
                    server, challenge, json_body, body=b'{"nonce": 1, "nonce": "0123456789abcdef"}'
                ),
                (200, 400),
            ),
            ("no body", request(server, challenge, json_body), (400,)),
            ("code", request(server, f"POST {V1}/enter", json_body, body=b'{"code": "x"}'), (401,)),
        ]
        for name, data, statuses in cases:
            status, heard = sent(server, data)
            assert status in statuses, (name, status, heard[:300])
            assert b"access-control" not in heard.lower(), name
            assert b"set-cookie" not in heard.lower(), name
            assert b"Traceback" not in heard, name
            assert server.secret.encode() not in heard, name
            if status == 401:
                assert heard.endswith(b"\r\n\r\n"), name  # no body
        assert sent(server, cases[0][1])[0] == 200


def test_no_secret_is_where_others_can_see_it(host: Host, cli: Cli) -> None:
    with serving(cli) as server:
        processes = subprocess.run(["ps", "axeww"], capture_output=True, check=True).stdout
        assert str(server.process.pid).encode() in processes
        assert server.secret.encode() not in processes
        pid = server.process.pid
        for name in ("cmdline", "environ"):
            assert server.secret.encode() not in Path(f"/proc/{pid}/{name}").read_bytes()
        links = [os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir() if one.is_symlink()]
        assert not any(server.secret in link for link in links)


def test_two_hundred_streams_leave_room_for_a_request(host: Host, cli: Cli) -> None:
    with serving(cli) as server:
        ask = request(server, f"GET {V1}/events", f"Authorization: Bearer {server.secret}")
        open_ones, heads = [], []
        try:
            for _ in range(200):
                one = socket.create_connection(("127.0.0.1", server.port), timeout=60)
                open_ones.append(one)
                one.sendall(ask)
            heads = [one.recv(4096) for one in open_ones]
            assert server.get("/workspaces").status == 200
        finally:
            for one in open_ones:
                one.close()
        statuses = [int(head.split(b" ")[1]) for head in heads]
        assert sorted(set(statuses)) == [200, 503]
        assert statuses.count(200) == 20
        assert all(b"retry-after" in head.lower() for head in heads if b" 503 " in head[:14])

        def is_given_again() -> bool:
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as one:
                one.sendall(ask)
                return one.recv(4096).startswith(b"HTTP/1.1 200")

        until(is_given_again)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_unix_socket_answers_no_other_user(host: Host, cli: Cli) -> None:
    """The directory keeps others out; if it were opened to them, the kernel says who asks."""
    connect = (
        "import os, socket, sys; os.setgid(65534); os.setuid(65534)\n"
        "one = socket.socket(socket.AF_UNIX); one.connect(sys.argv[1])\n"
        "one.sendall(b'GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n'); print(one.recv(99))"
    )
    with tempfile.TemporaryDirectory(prefix="tb") as short:
        shutil.copytree(os.environ["TAKEBACK_HOME"], f"{short}/home")
        os.chmod(f"{short}/home", 0o700)
        with serving(Cli(cli.directory, {"TAKEBACK_HOME": f"{short}/home"}), "--socket") as server:
            path = server.url.removeprefix("unix:")
            argv = [sys.executable, "-c", connect, path]
            shut = subprocess.run(argv, capture_output=True, check=False)
            assert b"PermissionError" in shut.stderr
            for folder in [Path(short), *Path(path).parents]:
                if str(folder).startswith(short):
                    folder.chmod(0o755)
            Path(path).chmod(0o777)
            opened = subprocess.run(argv, capture_output=True, check=False)
            assert b"PermissionError" not in opened.stderr
            assert b"HTTP" not in opened.stdout
            assert opened.stdout == b"b''\n" or b"Error" in opened.stderr


@pytest.mark.long
def test_who_sends_slowly_is_answered_and_holds_up_nobody(host: Host, cli: Cli) -> None:
    with serving(cli) as server:
        head = request(server, f"POST {V1}/challenge", "Content-Type: application/json")
        slow = (b"", b"GET / HT", head[:-2], head[:-4] + b"\r\nContent-Length: 9\r\n\r\n{")
        doors = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in slow]
        for door, data in zip(doors, slow, strict=True):
            door.sendall(data)
        assert server.get("/workspaces").status == 200
        heard = [door.recv(4096) for door in doors]  # after half a minute
        for door in doors:
            door.close()
    assert [head[:12] for head in heard] == [b"HTTP/1.1 408"] * 4


def test_a_string_without_an_end_is_read_once() -> None:
    """Each quote in it used to begin a search of its own: hours, for a body of the largest size."""
    assert nesting(b'"' + b'\\"' * (1 << 19)) == 0
    assert nesting(json.dumps([{"a": '["\\', "[": [[]]}]).encode()) == 4
