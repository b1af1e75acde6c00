"""The turn of a killed agent ends when its process is gone, for all who read the refs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from takeback import Takeback
from takeback.model import event as events
from takeback.model.checkpoint import Process
from takeback.model.event import AgentEvent
from takeback.turns.processes import can_be_seen, is_gone, seen
from tests.support.agent import usual_agent
from tests.support.cli import Cli
from tests.support.journey import write_files
from tests.support.processes import Started


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """The process of an agent, which waits until its input is closed."""
    with Started[bytes](["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        yield process


def kill(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait(60)


def tell(tb: Takeback, session: str, kind: Any, process: int | None, prompt: str = "") -> None:
    event = AgentEvent(kind, "mine", session, os.fsdecode(tb.root))
    tb.receive(event.replace(process=process, turn=prompt or None, prompt=prompt or None))


def turns(tb: Takeback) -> dict[str, tuple[str, list[str]]]:
    """Returns each turn with its state and the files that are booked on it."""
    found = [entry for entry in tb.checkpoints() if entry.turn is not None]
    return {
        entry.turn.prompt or "": (
            entry.turn.state,
            sorted(change.path.decode() for change in entry.shown),
        )
        for entry in found
        if entry.turn is not None
    }


def test_what_others_do_is_not_booked_on_a_dead_agent(
    workspace: Path, child: subprocess.Popen[bytes]
) -> None:
    with Takeback.open(workspace) as tb:
        tell(tb, "dead", events.PROMPT, child.pid, "killed")
        write_files(workspace, {"of the dead": b"1"})
        kill(child)
        tell(tb, "other", events.PROMPT, os.getpid(), "later")
        write_files(workspace, {"of the other": b"1"})
        tell(tb, "other", events.TURN_END, os.getpid(), "later")
        write_files(workspace, {"of the person": b"1"})
        made = tb.checkpoint().checkpoint
        expected = {"killed": ("unfinished", ["of the dead"]), "later": ("ended", ["of the other"])}
        assert turns(tb) == expected
        assert [change.who for change in tb.show(made).entry.changes] == ["outside"]
        tb.doctor(rebuild=True)  # it is in the refs, so a ledger made anew says the same
        assert turns(tb) == expected
        assert [change.who for change in tb.show(made).entry.changes] == ["outside"]
        before = tb.find("mine-other/turn:1")
        assert [refusal.code for refusal in tb.plan(before, scope="files").refused] == []


@pytest.mark.parametrize("how", ["checkpoint", "rewind"])
def test_a_command_of_the_person_ends_it_too(
    workspace: Path, child: subprocess.Popen[bytes], how: str
) -> None:
    write_files(workspace, {"a": b"0"})
    with Takeback.open(workspace) as tb:
        first = tb.checkpoint().checkpoint
        tell(tb, "dead", events.PROMPT, child.pid, "killed")
        write_files(workspace, {"a": b"1"})
        kill(child)
        if how == "rewind":
            tb.rewind(first)
        else:
            tb.checkpoint()
        assert turns(tb)["killed"] == ("unfinished", ["a"])
        write_files(workspace, {"b": b"of the person"})
        made = tb.checkpoint().checkpoint
        assert [change.who for change in tb.show(made).entry.changes] == ["outside"]


def test_an_agent_that_is_there_keeps_its_turn(
    workspace: Path, child: subprocess.Popen[bytes]
) -> None:
    with Takeback.open(workspace) as tb:
        tell(tb, "one", events.PROMPT, child.pid, "working")
        tell(tb, "nobody", events.PROMPT, None, "of an agent that does not say its process")
        tell(tb, "two", events.PROMPT, os.getpid(), "beside it")
        tell(tb, "two", events.TURN_END, os.getpid(), "beside it")
        tb.checkpoint()
        states = {prompt: state for prompt, (state, _) in turns(tb).items()}
        assert sorted(states.values()) == ["ended", "running", "running"]
        open_turns = sorted(os.listdir(os.path.join(tb.store_directory, "turns")))
        assert open_turns == ["mine-nobody", "mine-one"]
        tell(tb, "one", events.TURN_END, child.pid, "working")
        assert os.listdir(os.path.join(tb.store_directory, "turns")) == ["mine-nobody"]


def test_a_dead_agent_that_is_resumed_goes_on_with_a_turn_of_its_own(
    workspace: Path, child: subprocess.Popen[bytes]
) -> None:
    with Takeback.open(workspace) as tb:
        tell(tb, "one", events.PROMPT, child.pid, "killed")
        kill(child)
        tb.checkpoint()
        tell(tb, "one", events.SESSION_START, os.getpid())
        tell(tb, "one", events.PROMPT, os.getpid(), "resumed")
        write_files(workspace, {"a": b"1"})
        tell(tb, "one", events.TURN_END, os.getpid(), "resumed")
        assert turns(tb) == {"killed": ("unfinished", []), "resumed": ("ended", ["a"])}


def test_the_number_of_a_process_means_nothing_in_another_namespace() -> None:
    mine = seen(os.getpid())
    assert can_be_seen(mine)
    assert not is_gone(mine)
    assert is_gone(Process(1 << 22, "1", mine.namespace))
    contained = Process(1 << 22, "1", "4711")
    assert not can_be_seen(contained)
    assert not is_gone(contained)


CONTAINER = ["unshare", "--pid", "--mount", "--fork", "--mount-proc"]


def can_contain() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_contain(), reason="no namespace of processes can be made here")
def test_an_agent_in_a_container_counts_as_working(cli: Cli, workspace: Path) -> None:
    write_files(workspace, {"a": b"0"})
    said = {"event": "prompt", "session": "s1", "agent": "mine", "turn": "t", "prompt": "p"}
    hook = [*CONTAINER, sys.executable, "-m", "takeback", "hook", "generic"]
    stdin = json.dumps(said).encode()
    usual_agent().run(hook, cwd=workspace, input=stdin, check=True)  # where it is the first process
    write_files(workspace, {"a": b"1"})
    cli.ok("checkpoint")
    answer = cli.run("--json", "rewind", "turn:1", "--files", "--yes")
    assert (answer.status, answer.error["flag"]) == (13, "--during-turn"), str(answer)
