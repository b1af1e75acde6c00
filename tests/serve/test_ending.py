"""A server that is told to end does so, also if a workspace never answers."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from takeback.serve.guard import Presence
from tests.serve.served import V1, ServedProcess, serving, until
from tests.support.cli import Cli
from tests.support.host import Host

_GIT = """#!/bin/sh
if [ -e {hang} ]; then echo $$ > {asked}.new; mv {asked}.new {asked}; exec sleep 600; fi
exec {git} "$@"
"""


@contextmanager
def hanging(host: Host, tmp_path: Path) -> Iterator[ServedProcess]:
    """A server that was asked something about a workspace that does not answer."""
    programs, hang, asked = tmp_path / "programs", tmp_path / "hang", tmp_path / "asked"
    programs.mkdir()
    git = programs / "git"
    git.write_text(_GIT.format(git=shutil.which("git"), hang=hang, asked=asked))
    git.chmod(0o755)
    path = os.pathsep.join((str(programs), os.environ["PATH"]))
    with serving(Cli(host.cli.directory, {"PATH": path})) as server:
        [known] = server.get("/workspaces").ok()["workspaces"]
        hang.touch()
        connection = server.connection()
        headers = {"Authorization": f"Bearer {server.secret}"}
        at = f"{V1}/workspaces/{known['id']}/checkpoints/turn:3/diff"
        connection.request("GET", at, headers=headers)
        try:
            until(asked.exists)
            yield server
        finally:
            connection.close()
            if asked.exists():
                os.kill(int(asked.read_text()), signal.SIGKILL)


def ended(server: ServedProcess, host: Host) -> None:
    """Checks that it has ended and said what it did not wait for."""
    process = server.process
    said = process.communicate(timeout=30)[1].decode()
    assert process.returncode == 1
    error = json.loads(said.splitlines()[-1])
    assert error["code"] == "timed_out"
    assert str(host.cli.directory) in error["message"]
    assert not server.secret_file.parent.exists()


def test_the_second_signal_waits_no_longer(host: Host, tmp_path: Path) -> None:
    with hanging(host, tmp_path) as server:
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(1)
        server.process.send_signal(signal.SIGINT)
        ended(server, host)


@pytest.mark.long
def test_the_first_one_waits_for_what_moves_alone(host: Host, tmp_path: Path) -> None:
    with hanging(host, tmp_path) as server:
        server.process.send_signal(signal.SIGTERM)
        ended(server, host)


def test_a_directory_that_hangs_is_asked_about_once_and_holds_up_nothing() -> None:
    let_go = threading.Event()
    looked: list[bytes] = []

    def look(root: bytes) -> bool:
        looked.append(root)
        return root != b"gone" and (root != b"hung" or let_go.wait(30))

    async def story() -> None:
        presence = Presence(look)
        roots = [b"hung", b"here", b"gone"]
        expected = {b"hung": False, b"here": True, b"gone": False}
        for _ in range(3):
            assert await presence.of(roots) == expected
        assert looked.count(b"hung") == 1
        let_go.set()
        end = time.monotonic() + 60
        while not (await presence.of(roots))[b"hung"]:
            assert time.monotonic() < end
            await asyncio.sleep(0.01)

    asyncio.run(story())
