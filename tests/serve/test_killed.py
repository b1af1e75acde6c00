"""The server is killed in the middle of a rewind: the next one, and the command line, recover."""

from __future__ import annotations

import pytest

from tests.serve.served import InProcess
from tests.support.cli import Cli
from tests.support.faults import Faults, die, run
from tests.support.host import Host

FILES = 8


class HalfWay(Faults):
    """Kills when half of the files are exchanged."""

    def step(self, name: str) -> None:
        super().step(name)
        if name == "exchange" and self.names.count(name) > FILES // 2:
            die()


@pytest.fixture
def interrupted(host: Host, cli: Cli) -> Cli:
    """A rewind to before turn 5, killed half-way with the server that did it."""
    host.turn("write", {f"f{number}": b"one\n" for number in range(FILES)})
    host.turn("write again", {f"f{number}": b"two\n" for number in range(FILES)})

    def rewind() -> None:
        killed = InProcess()
        one = killed.workspace
        planned = killed.post(f"{one}/plan", {"target": "turn:5", "scope": "files"}).ok()
        killed.post(f"{one}/rewind", {"nonce": planned["nonce"]})

    assert run(rewind, HalfWay()).killed
    assert 0 < contents(cli).count(b"one\n") < FILES
    return cli


def contents(cli: Cli) -> list[bytes]:
    return [(cli.directory / f"f{number}").read_bytes() for number in range(FILES)]


def test_the_next_server_says_so_and_the_next_operation_recovers(
    interrupted: Cli, served: InProcess
) -> None:
    one = served.workspace
    assert served.get(f"{one}/status").ok()["interrupted"] is True
    planned = served.post(f"{one}/plan", {"target": "turn:5", "scope": "files"}).ok()
    outdated = served.post(f"{one}/rewind", {"nonce": planned["nonce"]})
    assert (outdated.status, outdated.code) == (409, "outdated")
    assert "interrupted" in outdated.json["error"]["message"]
    assert contents(interrupted) == [b"one\n"] * FILES, "it was finished"
    assert served.get(f"{one}/status").ok()["interrupted"] is False
    planned = served.post(f"{one}/plan", {"kind": "undo"}).ok()
    served.post(f"{one}/undo", {"nonce": planned["nonce"]}).ok()
    assert contents(interrupted) == [b"two\n"] * FILES


def test_what_was_interrupted_is_recovered_when_that_is_asked_for(
    interrupted: Cli, served: InProcess
) -> None:
    one = served.workspace
    recovered = served.post(f"{one}/recover", {})
    assert recovered.ok()["recovered"] is True
    assert recovered.json["lines"]
    assert contents(interrupted) == [b"one\n"] * FILES
    assert served.post(f"{one}/recover", {}).ok() == {"recovered": False, "lines": []}
    assert interrupted.ok("--json", "status").json["interrupted"] is False


def test_the_command_line_recovers_what_a_server_left(interrupted: Cli) -> None:
    assert interrupted.run("undo", "--yes").status == 4
    assert contents(interrupted) == [b"one\n"] * FILES
    interrupted.ok("undo", "--yes")
    assert contents(interrupted) == [b"two\n"] * FILES
