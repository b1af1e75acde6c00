"""The standby holds a watch for its spares: rounds rely on it, and no snapshot is ever wrong."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.holding import WATCH, HeldWatches, line, tell
from tests.support.cli import Cli
from tests.support.engine import settle
from tests.support.processes import wait_for
from tests.support.second_look import Rounds
from tests.support.standby import alive, spare_of

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="there is a standby on Linux only"
)


@pytest.fixture
def agent(tmp_path: Path, workspace: Path) -> Iterator[Rounds]:
    for name in ("a", "sub/b", "sub/deep/c"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("1")
    settle()
    agent = Rounds(tmp_path, workspace)
    agent.ask()
    agent.standby()
    yield agent
    agent.end()


@pytest.fixture
def watched(agent: Rounds) -> Rounds:
    agent.until_watched()
    return agent


def test_rounds_rely_on_it_and_say_so(watched: Rounds) -> None:
    (watched.workspace / "sub" / "deep" / "c").write_text("2")
    (watched.workspace / "new" / "er").mkdir(parents=True)
    (watched.workspace / "new" / "er" / "f").write_text("new")
    assert watched.round().watched
    (watched.workspace / "new" / "er" / "f").write_text("edited")
    assert watched.round().watched
    assert watched.failures() == []


def test_prompts_and_the_ends_of_turns_look_at_everything(watched: Rounds) -> None:
    watched.stop()
    end = watched.newest()
    watched.ask()
    prompt = watched.newest()
    assert end is not None
    assert prompt is not None
    assert (end.kind, end.watched) == ("turn end", False)
    assert (prompt.kind, prompt.watched) == ("prompt", False)
    (watched.workspace / "a").write_text("2")
    assert watched.round().watched


def test_the_standby_itself_never_reads_from_it(watched: Rounds) -> None:
    """What was heard stays in the queue until a spare does an event."""
    standby = watched.standby()
    spent = processor_time(standby)
    for number in range(300):
        (watched.workspace / f"n{number % 3}").write_text(str(number))
    assert processor_time(standby) == spent
    assert watched.round().watched


def processor_time(process: int) -> list[str]:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]


def test_a_command_in_between_costs_one_look_at_everything(watched: Rounds) -> None:
    (watched.workspace / "by-hand").mkdir()
    (watched.workspace / "by-hand" / "f").write_text("1")
    Cli(watched.workspace, env={"TAKEBACK_HOME": str(watched.home)}).ok("checkpoint")
    (watched.workspace / "by-hand" / "f").write_text("22")
    assert not watched.round().watched
    watched.until_watched()


def test_a_rewind_in_between_does_too(watched: Rounds) -> None:
    cli = Cli(watched.workspace, env={"TAKEBACK_HOME": str(watched.home)})
    (watched.workspace / "a").write_text("to be taken back")
    watched.round()
    watched.stop()
    cli.ok("rewind", "--files", "--yes", "turn:1")
    assert (watched.workspace / "a").read_text() == "1"
    watched.ask()
    watched.round()
    watched.until_watched()


def test_a_new_standby_begins_anew(watched: Rounds) -> None:
    standby = watched.standby()
    spare = spare_of(standby)
    os.kill(standby, signal.SIGKILL)
    wait_for(lambda: not alive(spare))
    (watched.workspace / "a").write_text("nobody heard that")
    assert not watched.round().watched
    watched.until_watched()


def test_of_many_workspaces_the_newest_few_are_held() -> None:
    held, (hears, says) = HeldWatches(), line()
    before = len(os.listdir("/proc/self/fd"))
    for number in (1, 2, 3, 4, 5, 6, 5):
        handed = os.open("/", os.O_RDONLY), os.open("/", os.O_RDONLY)
        tell(says, WATCH + b"/workspace%d" % number, handed)
        for fd in handed:
            os.close(fd)
        assert held.hear(hears) == WATCH + b"/workspace%d" % number
    assert len(held.watches()) == 4
    assert len(os.listdir("/proc/self/fd")) == before + 8
    assert held.changes == 7
    assert not any(os.get_inheritable(fd) for pair in held.watches() for fd in pair)
    says.close()
    assert held.hear(hears) == b""
    hears.close()
    for pair in held.watches():
        for fd in pair:
            os.close(fd)


def test_doctor_says_what_was_missed(watched: Rounds) -> None:
    cli = Cli(watched.workspace, env={"TAKEBACK_HOME": str(watched.home)})
    outside = watched.workspace.parent / "outside"
    os.link(watched.workspace / "sub" / "b", outside)
    with outside.open("r+") as file:
        file.write("unheard")
    settle()
    watched.call(watched.payload())
    unheard = watched.newest()
    assert unheard is not None
    assert unheard.watched
    watched.stop()
    looks, rounds, missed, last = watched.misses()
    assert (missed, last) == (b"1", b"sub")
    said = cli.run("doctor").stdout
    assert f"{int(rounds)} rounds relied on it, {int(looks)} looks at every file" in said
    assert "1 directory had changed unheard, last sub" in said
    watched.ask()
    assert watched.newest() is not None
    watched.round()
