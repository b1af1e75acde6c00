"""Many sessions at once in one workspace: no event is lost, no turn is taken for another's."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.model.event import EDIT, AgentEvent, ToolCall
from tests.support.faults import start

SESSIONS = 8
EVENTS = 4


def play(root: Path, environ: dict[str, str], name: str, turns: int) -> list[tuple[str, str]]:
    """Plays turns of four events; returns the checkpoints that were acknowledged, with content."""
    acknowledged: list[tuple[str, str]] = []
    own = root / f"{name}.txt"
    with Takeback.open(root, environ=environ) as tb:
        for number in range(turns):
            event = AgentEvent(
                kind="prompt",
                agent="mine",
                session=name,
                directory=str(root),
                turn=f"{name}-{number}",
                prompt=f"{name} asks for {number}",
            )
            tb.receive(event)
            own.write_text(f"{number}\n")
            edited = (ToolCall("Edit", EDIT, (str(own),)),)
            told = event.replace(kind="round_end", prompt=None, tools=edited)
            received = tb.receive(told)
            if received.checkpoint is not None and not received.waiting:
                acknowledged.append((received.checkpoint.id, f"{number}\n"))
            tb.receive(told.replace(tools=(ToolCall("Look"),)))
            tb.receive(event.replace(kind="turn_end", prompt=None))
    return acknowledged


@pytest.mark.parametrize("count", [8, pytest.param(50, marks=pytest.mark.long)])
def test_eight_processes_tell_many_events_each(tmp_path: Path, count: int) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    environ = {
        "HOME": str(tmp_path / "home"),
        "TAKEBACK_HOME": str(tmp_path / "takeback"),
        "PATH": os.environ["PATH"],
    }
    with Takeback.open(root, environ=environ) as tb:
        tb.checkpoint()
    names = [f"s{number}" for number in range(SESSIONS)]
    players = [start(partial(play, root, environ, name, count), limit=600) for name in names]
    told = {name: player.outcome() for name, player in zip(names, players, strict=True)}
    for ran in told.values():
        assert ran.done, ran.text
    with Takeback.open(root, environ=environ) as tb:
        assert tb.status().waiting == 0
        assert tb.verify().problems == ()
        for name in names:
            entries = tb.checkpoints(session=f"mine-{name}", everything=True)
            assert len(entries) == count * EVENTS
            turns = [entry for entry in entries if entry.turn is not None]
            assert [entry.checkpoint.prompt for entry in reversed(turns)] == [
                f"{name} asks for {number}" for number in range(count)
            ]
            assert [entry.checkpoint.turn for entry in reversed(turns)] == list(range(1, count + 1))
            own = f"{name}.txt".encode()
            for entry in turns:
                assert {change.path for change in entry.done} <= {own}
            # A prompt that had to wait was recorded late, perhaps after its file was written.
            assert all(entry.done or entry.checkpoint.late for entry in turns)
        for name in names:
            for checkpoint, content in told[name].answer:
                assert tb.cat(checkpoint, f"{root}/{name}.txt") == content.encode()
