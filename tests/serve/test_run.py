"""The server as a process: what it says, its files, and how it ends."""

from __future__ import annotations

import os
import stat

from tests.serve.served import serving
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
