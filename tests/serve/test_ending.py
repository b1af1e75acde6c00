"""A server that is told to end does so, also if a workspace never answers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.serve.presence import Presence
from tests.serve.served import V1, ServedProcess, serving, until
from tests.support.cli import Cli
from tests.support.host import Host


@contextmanager
def hanging(cli: Cli, tmp_path: Path) -> Iterator[tuple[ServedProcess, Path]]:
    """A server that was asked about a workspace that never answers."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "a").write_text("1")
    Cli(other).ok("checkpoint")
    [stuck] = [one for one in Takeback.workspaces() if one.root == os.fsencode(other)]
    held = Path(stuck.store) / "format"
    with serving(cli) as server:
        held.unlink()
        os.mkfifo(held)
        connection = server.connection()
        headers = {"Authorization": f"Bearer {server.secret}"}
        connection.request("GET", f"{V1}/workspaces/{stuck.id}/status", headers=headers)
        until(lambda: _waits_for(server.process.pid, held))
        yield server, other
        connection.close()


def _waits_for(pid: int, fifo: Path) -> bool:
    """Tells whether a process has a thread that waits for somebody to write."""
    tasks = Path(f"/proc/{pid}/task")
    if not tasks.exists():
        return True
    return any("wait_for_partner" in _read(one / "wchan") for one in tasks.iterdir())


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def ended(server: ServedProcess, other: Path) -> None:
    """Checks that it has ended and said what it did not wait for."""
    process = server.process
    said = process.communicate(timeout=30)[1].decode()
    assert process.returncode == 1
    error = json.loads(said.splitlines()[-1])
    assert error["code"] == "timed_out"
    assert str(other) in error["message"]
    assert not server.secret_file.parent.exists()


def test_the_second_signal_waits_no_longer(host: Host, cli: Cli, tmp_path: Path) -> None:
    with hanging(cli, tmp_path) as (server, other):
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(1)
        server.process.send_signal(signal.SIGINT)
        ended(server, other)


@pytest.mark.long
def test_the_first_one_waits_for_what_moves_alone(host: Host, cli: Cli, tmp_path: Path) -> None:
    with hanging(cli, tmp_path) as (server, other):
        server.process.send_signal(signal.SIGTERM)
        ended(server, other)


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
        while not (await presence.of(roots))[b"hung"]:
            await asyncio.sleep(0.01)

    asyncio.run(story())
