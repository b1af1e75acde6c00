"""What becomes of an event for which there is no time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback import durable
from takeback.errors import TimedOut
from takeback.events import hear
from takeback.model import event as events
from takeback.model.event import AgentEvent
from takeback.turns.receive import (
    Delivery,
    Patience,
    Received,
    await_rounds,
    has_waiting,
    is_first_left,
    receive,
    take_waiting,
)
from tests.support.agent import speaker
from tests.support.cli import Cli
from tests.support.engine import Heard, opened
from tests.support.faults import Faults
from tests.support.journey import write_files


class Ringing(Heard):
    """Hears the progress of a capture, in which the time is up once."""

    def __init__(self, ring: Callable[[], None]) -> None:
        super().__init__()
        self._ring = ring

    def progress(self, what: str, done: int, total: int) -> None:
        super().progress(what, done, total)
        if len(self.steps) == 1:
            self._ring()


def many_files(workspace: Path) -> None:
    write_files(workspace, {f"file{number}": b"%d" % number * 200 for number in range(3000)})


def prompt_of(workspace: Path) -> AgentEvent:
    return AgentEvent(events.PROMPT, "mine", "s1", os.fspath(workspace), turn="t1", prompt="p")


def test_a_capture_that_takes_too_long_is_not_begun_again_while_the_agent_waits(
    workspace: Path,
) -> None:
    many_files(workspace)

    def ring() -> None:
        raise TimedOut("the capture did not fit into the hook's time limit")

    with opened(workspace, reporter=Ringing(ring)) as context:
        received = receive(context, prompt_of(workspace), delivery=Delivery(context.clock.now(), 1))
        assert (received.waiting, received.timed_out) == (True, True)
        assert has_waiting(context)
        assert take_waiting(context) == 1  # as the process in the background does
        assert not has_waiting(context)


def test_a_capture_goes_on_when_its_agent_has_waited_for_long_enough(workspace: Path) -> None:
    many_files(workspace)
    gone: list[tuple[str | None, bool, bool]] = []

    def let_go(note: str | None, is_left: bool) -> None:
        gone.append((note, is_left, has_waiting(context)))

    patience = Patience(let_go)
    with opened(workspace, reporter=(heard := Ringing(patience.end))) as context:
        delivery = Delivery(context.clock.now(), 1, patience=patience)
        received = receive(context, prompt_of(workspace), delivery=delivery)
        assert gone == [(None, True, True)], "a kill would have lost the event"
        assert received.checkpoint is not None
        assert (received.checkpoint.late, received.checkpoint.files) == (True, 3000)
        assert not has_waiting(context)
        done = [done for _, done, _ in heard.steps]
        assert done == sorted(set(done)), "the files were read twice"
    assert [line["prompt"] for line in Cli(workspace).log()] == ["p"]


def test_who_comes_while_the_first_capture_goes_on_does_not_wait_for_it_nor_stand_on_it(
    workspace: Path,
) -> None:
    many_files(workspace)
    cli = Cli(workspace)
    cli.ok("config", "hook_seconds", "600")  # whoever waits for the lock waits for ever
    told: list[str | None] = []

    def let_go(note: str | None, is_left: bool) -> None:
        assert is_first_left(context)
        write_files(workspace, {"file0": b"before the second prompt"})
        second = {"event": "prompt", "agent": "mine", "session": "s2", "prompt": "second"}
        heard = hear(speaker(), lambda: {**second, "turn": "t2", "cwd": os.fspath(workspace)})
        assert heard.waiting
        with opened(workspace) as another:
            assert not await_rounds(another, wait=600), "nobody was waited for any more"
        told.append(heard.warning)

    patience = Patience(let_go)
    with opened(workspace, reporter=Ringing(patience.end)) as context:
        receive(context, prompt_of(workspace), delivery=Delivery(0.0, 1, patience=patience))
        assert not is_first_left(context)
    assert "first capture" in (told[0] or "")
    [second, first] = cli.log()
    assert [(one["prompt"], one["late"]) for one in (first, second)] == [
        ("p", True),
        ("second", True),
    ]
    assert cli.ok("cat", str(second["id"]), "file0").stdout == "before the second prompt"


class Comings(Faults):
    """Lets another event come, which does not get the lock, before a step of each of these names.

    The first may be any while the lock is held, the others that one which was read is removed.
    """

    def __init__(self, names: list[str], come: Callable[[], None]) -> None:
        super().__init__()
        self._next = names
        self._come = come

    def step(self, name: str) -> None:
        if self._next[:1] == [name]:
            self._next.pop(0)
            durable.faults = None
            self._come()
            durable.faults = self


def test_what_comes_while_others_are_recorded_is_recorded_too(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time, who comes finds the lock held, and who holds it has read already who waits."""
    sessions = iter(("s2", "s3", "s4", "s5"))

    def come() -> None:
        told = prompt_of(workspace).replace(session=next(sessions))
        with opened(workspace) as other:
            delivery = Delivery(other.clock.now(), 0)
            assert receive(other, told, delivery=delivery) == Received(waiting=True)

    with opened(workspace) as context:
        coming = Comings(["rename", "unlink", "unlink", "unlink"], come)
        monkeypatch.setattr(durable, "faults", coming)
        receive(context, prompt_of(workspace), delivery=Delivery(context.clock.now(), 1))
        monkeypatch.setattr(durable, "faults", None)
        assert next(sessions, None) is None, "not all have come"
        assert not has_waiting(context)
    prompts = [line["session"].rpartition("-")[2] for line in Cli(workspace).log("--all")]
    assert sorted(prompts) == ["s1", "s2", "s3", "s4", "s5"]
