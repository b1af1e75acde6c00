"""The server as a process: what it says, its files, and how it ends."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import stat
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from takeback.serve import run
from tests.cli.typing_person import at_a_terminal
from tests.serve.served import V1, serving, until
from tests.support.cli import Cli
from tests.support.host import Host


def test_it_says_where_it_is_answers_and_leaves_nothing(host: Host, cli: Cli) -> None:
    with serving(cli) as server:
        folder = server.secret_file.parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(server.secret_file.stat().st_mode) == 0o600
        assert len(server.secret) == 43
        [one] = server.get("/workspaces").ok()["workspaces"]
        assert one["path"] == os.fsdecode(cli.directory)
        assert len(server.get(f"/workspaces/{one['id']}/turns").ok()["turns"]) == 3
        assert server.ask("GET", "/", headers={"X": "y" * (66 << 10)}).status == 431
        assert server.ask("GET", "/", headers={"X": "y" * (200 << 10)}).status == 431
        with open(f"/proc/{server.process.pid}/cmdline", "rb") as file:
            assert server.secret.encode() not in file.read()
    assert server.process.returncode == 0
    assert not folder.exists()


def test_the_page_is_opened_by_a_file_with_a_code_and_no_secret(host: Host, cli: Cli) -> None:
    place = cli.directory.parent / "programs"
    place.mkdir()
    seen = place / "seen"
    opener = place / "xdg-open"
    opener.write_text(
        f'#!/bin/sh\ncat "$1" > {seen}.new\necho "$1" >> {seen}.new\nmv {seen}.new {seen}\n'
    )
    opener.chmod(0o755)
    inside = cli.directory / "xdg-open"
    inside.write_text(f"#!/bin/sh\ntouch {place}/wrong\n")
    inside.chmod(0o755)
    path = f"{cli.directory}:{place}:{os.environ['PATH']}"
    with serving(Cli(cli.directory, {"PATH": path}), "--open") as server:
        until(seen.exists)
        assert not (place / "wrong").exists(), "nothing of a workspace is started"
        *page, file = seen.read_text().splitlines()
        assert server.secret not in "".join(page)
        [code] = set(re.findall(r"/#code=([\w-]{43})", "".join(page)))
        entrance = Path(file)
        assert stat.S_IMODE(entrance.stat().st_mode) == 0o600
        headers = {"Content-Type": "application/json"}
        body = json.dumps({"code": code}).encode()
        reply = server.ask("POST", f"{V1}/enter", body, headers)
        assert reply.ok() == {"secret": server.secret}
        assert not entrance.exists()
        assert server.ask("POST", f"{V1}/enter", body, headers).status == 401


def test_over_ssh_it_says_how_to_get_here_and_starts_no_browser(host: Host, cli: Cli) -> None:
    place = cli.directory.parent / "programs"
    place.mkdir()
    opener = place / "xdg-open"
    opener.write_text(f"#!/bin/sh\ntouch {place}/started\n")
    opener.chmod(0o755)
    env = {
        "PATH": f"{place}:{os.environ['PATH']}",
        "SSH_CONNECTION": "198.51.100.4 51022 192.0.2.7 2222",
        "USER": "ada",
    }
    ends = (b"Ctrl-C ends it.\r\n",)
    seen = at_a_terminal(cli, "serve", "--open", answers=("\x03",), asks=ends, env=env)
    assert seen.status == 0, seen.screen
    [port] = set(re.findall(r"127\.0\.0\.1:(\d+)", seen.screen))
    assert f"  ssh -N -L {port}:127.0.0.1:{port} -p 2222 ada@192.0.2.7\n" in seen.screen
    assert f"  http://127.0.0.1:{port}/#code=" in seen.screen
    assert not (place / "started").exists()
    hostile = {**env, "SSH_CONNECTION": "1 2 192.0.2.7;id 22"}
    seen = at_a_terminal(cli, "serve", answers=("\x03",), asks=ends, env=hostile)
    assert "ssh" not in seen.screen


def test_what_is_not_printed_for_eyes_holds_no_code(host: Host, cli: Cli) -> None:
    with cli.start("serve") as process:
        assert process.stdout is not None
        first, second = process.stdout.readline(), process.stdout.readline()
        process.terminate()
        process.communicate(timeout=60)
    assert first.startswith(b"Serving: http://127.0.0.1:")
    assert second.startswith(b"The secret is in: ")
    assert b"code" not in first + second


def test_it_says_so_where_nothing_is_kept_of_the_directory(host: Host, cli: Cli) -> None:
    empty = cli.directory.parent / "empty"
    empty.mkdir()
    with serving(cli) as inside, serving(Cli(empty)) as outside:
        [one] = inside.get("/workspaces").ok()["workspaces"]
        assert inside.said["workspace"] == one["id"]
        assert outside.said["workspace"] is None
        assert outside.process.stderr is not None
        note = json.loads(outside.process.stderr.readline())["message"]
        assert note.endswith("has no checkpoints yet; the page begins with another workspace.")


def test_a_unix_socket_for_programs(host: Host, cli: Cli, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="tb") as short:
        shutil.copytree(os.environ["TAKEBACK_HOME"], f"{short}/home")
        os.chmod(f"{short}/home", 0o700)
        with serving(Cli(cli.directory, {"TAKEBACK_HOME": f"{short}/home"}), "--socket") as server:
            path = Path(server.url.removeprefix("unix:"))
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            for host_header, status in (("localhost", 200), ("127.0.0.1", 421)):
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
                    door.connect(str(path))
                    door.sendall(
                        f"GET {V1}/workspaces HTTP/1.1\r\nHost: {host_header}\r\nConnection: close"
                        f"\r\nAuthorization: Bearer {server.secret}\r\n\r\n".encode()
                    )
                    assert door.makefile("rb").readline().split()[1] == str(status).encode()
    assert cli.run("serve", "--socket", "--open").status == 2


def test_what_a_killed_server_left_is_removed_by_the_next(host: Host, cli: Cli) -> None:
    with serving(cli) as killed:
        killed.process.kill()
        killed.process.wait(60)
        assert killed.secret_file.exists()
        with serving(cli) as server:
            assert not killed.secret_file.exists()
            assert server.secret_file.exists()


def test_small_answers_are_sent_at_once() -> None:
    """Else each waits 40 ms for the client to acknowledge its headers."""
    door, url, _ = run._loopback_door()
    port = urlsplit(url).port
    with door, socket.create_connection(("127.0.0.1", port or 0)):
        accepted, _ = door.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
