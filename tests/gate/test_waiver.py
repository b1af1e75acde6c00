"""A person who is taken for a model says so at their terminal; a tool that types cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.typing_person import Seen, at_a_terminal
from tests.support.agent import AgentProcess, agent
from tests.support.cli import Cli
from tests.support.host import Host

VARIABLES = {"TAKEBACK_AGENT": "mine", "TAKEBACK_SESSION_ID": "s1"}
"""What a shell has inherited that was started from inside an agent, and outlived it."""
ASKS = b"type person: "
FORGET = ("forget", ".", "--yes", "--name", "workspace")


@pytest.fixture
def host(cli: Cli) -> Host:
    made = Host(cli, cli.directory)
    made.turn("one", {"a.txt": b"1"})
    made.prompt("two")
    (cli.directory / "a.txt").write_bytes(b"2")
    return made


def typed(cli: Cli, *words: str, word: str) -> Seen:
    return at_a_terminal(cli, *words, answers=(f"{word}\n",), env=VARIABLES, asks=(ASKS,))


def test_a_word_at_the_terminal_lets_a_person_go_on(cli: Cli, host: Host) -> None:
    back = ("rewind", "turn:1.end", "--files", "--yes", "--during-turn")
    assert typed(cli, *back, word="yes").status == 13
    seen = typed(cli, *back, word="person")
    assert seen.status == 0, seen
    assert "a running turn of mine" in seen.screen
    assert "session mine-s1, process" in seen.screen
    assert (cli.directory / "a.txt").read_bytes() == b"1"
    assert typed(cli, *FORGET, word="person").status == 0


def test_so_does_it_where_not_all_is_shown_to_a_model(cli: Cli, host: Host, tmp_path: Path) -> None:
    (cli.directory / ".env").write_text("the secret")
    cli.ok("checkpoint", "--label", "here")
    (tmp_path / "other").mkdir()
    other = Cli(tmp_path / "other")
    other.ok("checkpoint", "-m", "the secret")
    for at, words in ((cli, ("cat", "here", ".env")), (other, ("log",))):
        assert at.run(*words, env=VARIABLES).status == 13
        refused = typed(at, *words, word="yes")
        assert refused.status == 13
        assert "the secret" not in refused.screen
        assert "the secret" in typed(at, *words, word="person").screen
    assert "type person" not in at_a_terminal(cli, "log", env=VARIABLES).screen


def test_without_a_terminal_nobody_is_asked(cli: Cli, host: Host) -> None:
    said = cli.run(*FORGET, stdin=b"person\n", env=VARIABLES)
    assert said.status == 13
    assert "type person" not in said.stderr


def test_a_tool_that_opens_a_terminal_is_not_asked(cli: Cli, tmp_path: Path) -> None:
    with agent() as own:
        inside = Cli(cli.directory, agent=own)
        Host(inside, cli.directory).prompt("one")
        assert _typed_by_a_tool(own, inside) == 13
    assert cli.ok("log").stdout


def _typed_by_a_tool(own: AgentProcess, cli: Cli) -> int:
    script = (
        "import os, pty, sys\n"
        "status = pty.spawn(sys.argv[1:], lambda fd: os.read(fd, 999), lambda fd: b'person\\n')\n"
        "sys.exit(os.waitstatus_to_exitcode(status))\n"
    )
    words = ["python3", "-c", script, *map(str, cli.argv(*FORGET))]
    done = own.tool(words, cwd=cli.directory, env=cli.environment(), timeout=60)
    assert b"type person" not in done.stdout
    return done.returncode
